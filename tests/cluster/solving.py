"""Batch problems in files, and the same solved by threads in place of processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from noregret.cluster import batch
from noregret.cluster.gathering import gather
from noregret.cluster.solution import ClusterSolution
from noregret.workers import Threads


def rows(count: int, width: int, density: float, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    X = sp.random(count, width, density, "csr", random_state=random)
    y = np.sign(X @ random.normal(size=width) + 0.1 * random.normal(size=count))
    return X, np.where(y == 0.0, 1.0, y)


def narrow_files(folder: Path) -> list[str]:
    """Write three files of rows with few features."""
    X, y = rows(900, 12, 0.5)
    names = [str(folder / f"{k}.svm") for k in range(3)]
    for k, name in enumerate(names):
        part = slice(300 * k, 300 * (k + 1))
        dump_svmlight_file(X[part], y[part], name, zero_based=False)
    return names


def wide_file(folder: Path, count: int = 400) -> str:
    """Write one file of rows with many features, for which shards visit rows."""
    path = str(folder / "wide.svm")
    dump_svmlight_file(*rows(count, 4000, 0.005), path, zero_based=False)
    return path


def in_threads(
    files: Any, loss: Any, shards: int, workers: int = 1, **options: Any
) -> ClusterSolution:
    """Solve with threads in place of processes."""
    hosts = Threads([None] * shards, workers, host=batch.BatchHost)
    rule: Any = {"class": "classes"}.get(loss.labels, "binary")
    found = gather(hosts, files, labels=rule)
    name = batch.plain("loss", batch.one_score(loss))
    spec = {"loss": name, "seed": 0, "width": found.width}
    every = options.pop("every", 10)
    run = batch.Session(hosts, loss, spec, found, str(options.pop("folder")), every)
    return run.solve(*batch.form(options.pop("l2")), **options)


def same(one: Any, other: Any) -> None:
    """Require the same bits of two solutions."""
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (one.primal, one.dual, one.passes) == (other.primal, other.dual, other.passes)
