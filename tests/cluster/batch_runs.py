"""Batch runs with threads in place of processes, which may be lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from noregret.cluster import batch
from noregret.cluster.errors import WorkerLost
from noregret.cluster.gathering import gather
from noregret.cluster.ray_workers import SETTING_UP
from noregret.workers import shares
from tests.cluster.joint import Posted


class Losing(Posted):
    """Threads of which one loses its host at certain calls, as a process that is killed does.

    Args:
        shards: number of shards.
        count: number of hosts.
        losses: numbers of the calls after reading at which a host ends.
    """

    def __init__(self, shards: int, count: int, losses: tuple[int, ...] = ()) -> None:
        super().__init__([None] * shards, count, host=batch.BatchHost)
        self.losses, self.asked = set(losses), 0
        self.history: list[Any] = []

    def hosts(self, method: str, *arguments: Any) -> list[Any]:
        self.asked += 1
        if method in SETTING_UP:
            self.history.append((method, arguments))
        elif self.asked in self.losses:
            begin, end = shares(self.count, len(self._hosts))[0]
            self._hosts[0] = batch.BatchHost([None] * (end - begin), begin, self.count)
            raise WorkerLost("1 worker ended")
        return super().hosts(method, *arguments)

    def renew(self) -> int:
        """Set up the first host again."""
        for method, arguments in self.history:
            getattr(self._hosts[0], method)(*arguments)
        return 1


@contextlib.contextmanager
def session(
    files: Any,
    loss: Any,
    folder: Path,
    shards: int = 4,
    workers: int = 1,
    every: int = 2,
    losses: tuple[int, ...] = (),
    labels: Any = None,
) -> Iterator[batch.Session]:
    """Read files and give out a session over threads."""
    hosts = Losing(shards, workers, losses)
    rule: Any = {"sign": "binary", "class": "classes"}.get(loss.labels, "real")
    found = gather(hosts, files, labels=labels or rule)
    batch.require_one_score(loss)
    name = batch.plain("loss", batch.one_score(loss))
    spec = {"loss": name, "seed": 0, "width": found.width}
    hosts.asked = 0
    yield batch.Session(hosts, loss, spec, found, str(folder), every)


def rows_of(classes: int, count: int = 36, width: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Return sparse rows, and labels -1 and 1 or indices of classes in the order of the rows."""
    random = np.random.default_rng(seed)
    X = sp.csr_array(random.normal(size=(count, width)) * (random.random((count, width)) < 0.7))
    scores = X @ random.normal(size=(width, classes)) + 0.3 * random.normal(size=(count, classes))
    y = scores.argmax(axis=1)
    # Numbered as they turn up, as files of classes are read.
    order = {label: float(k) for k, label in enumerate(dict.fromkeys(y.tolist()))}
    y = np.array([order[label] for label in y.tolist()])
    return X, 2.0 * y - 1.0 if classes == 2 else y


def written(folder: Path, X: Any, y: Any, files: int = 2) -> list[str]:
    """Write rows to svmlight files; return their paths."""
    paths = []
    for k, part in enumerate(np.array_split(np.arange(len(y)), files)):
        paths.append(str(folder / f"{k}.svm"))
        dump_svmlight_file(X[part], y[part], paths[-1], zero_based=False)
    return paths
