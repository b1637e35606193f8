"""Batch problems on a local Ray: the same bits for every number of workers and after lost ones."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import noregret as nr
from noregret.cluster import batch
from noregret.cluster.errors import ClusterError
from noregret.cluster.gathering import gather
from noregret.cluster.ray_workers import RayWorkers
from noregret.cluster.solution import ClusterSolution, Round
from noregret.workers import Threads

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("ray_cluster")]


def rows(count: int, width: int, density: float, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    X = sp.random(count, width, density, "csr", random_state=random)
    y = np.sign(X @ random.normal(size=width) + 0.1 * random.normal(size=count))
    return X, np.where(y == 0.0, 1.0, y)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three files of rows with few features."""
    folder = tmp_path_factory.mktemp("narrow")
    X, y = rows(900, 12, 0.5)
    names = [str(folder / f"{k}.svm") for k in range(3)]
    for k, name in enumerate(names):
        part = slice(300 * k, 300 * (k + 1))
        dump_svmlight_file(X[part], y[part], name, zero_based=False)
    return names


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One file of rows with many features, for which shards visit rows."""
    path = str(tmp_path_factory.mktemp("wide") / "wide.svm")
    dump_svmlight_file(*rows(400, 4000, 0.005), path, zero_based=False)
    return path


def in_threads(files: Any, loss: Any, shards: int, **options: Any) -> ClusterSolution:
    """Solve with threads in place of processes."""
    workers = Threads([None] * shards, 1, host=batch.BatchHost)
    rule: Any = {"class": "classes"}.get(loss.labels, "binary")
    found = gather(workers, files, labels=rule)
    name = batch.plain("loss", batch.one_score(loss))
    spec = {"loss": name, "seed": 0, "width": found.width}
    run = batch.Session(workers, loss, spec, found, options.pop("folder"), 10)
    return run.solve(*batch.form(options.pop("l2")), **options)


def same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (one.primal, one.dual, one.passes) == (other.primal, other.dual, other.passes)


@pytest.mark.parametrize("workers", [1, 2])
def test_processes_find_the_bits_of_threads(
    narrow: list[str], wide: str, workers: int, tmp_path: Path
) -> None:
    cases: list[Any] = [
        (narrow, nr.losses.Logistic(), {"l2": 0.05, "tol": 1e-6}),
        (wide, nr.losses.Hinge(), {"l2": 0.05, "tol": 1e-3}),
    ]
    if workers == 2:
        cases.append((narrow, nr.losses.OneAgainstRest(), {"l2": 0.05}))
    for number, (files, loss, options) in enumerate(cases):
        alone = in_threads(files, loss, 4, folder=str(tmp_path / str(number)), **options)
        assert alone.converged
        found = batch.hindsight(files, loss, shards=4, workers=workers, **options)
        same(found, alone)
        assert found.rounds[-1].sent > 0 and found.rounds[-1].calls == alone.rounds[-1].calls


def killing(workers: RayWorkers, kills: int, pause: float, seed: int) -> threading.Thread:
    """Kill workers at random moments, from another thread."""
    random = np.random.default_rng(seed)
    known = workers.processes()

    def kill() -> None:
        for _ in range(kills):
            time.sleep(pause * random.random())
            process = int(random.choice(known))
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_a_killed_worker_changes_no_bit(wide: str, tmp_path: Path) -> None:
    loss, options = nr.losses.Hinge(), {"tol": 1e-4, "max_passes": 5000}
    whole = in_threads(wide, loss, 4, l2=0.05, folder=str(tmp_path / "whole"), **options)
    folder = str(tmp_path / "killed")
    with batch.session(wide, loss, shards=4, workers=2, checkpoint=folder, every=3) as run:
        workers = run.workers
        threads = []

        def kill(now: Round) -> None:
            if now.passes in (4, 11) and len(threads) < 2:
                threads.append(killing(workers, 1, 0.01, now.passes))

        found = run.solve(*batch.form(0.05), tol=1e-4, max_passes=5000, progress=kill)
        for thread in threads:
            thread.join()
    assert found.lost >= 1
    same(found, whole)


def test_a_driver_resumes_from_a_checkpoint(wide: str, tmp_path: Path) -> None:
    loss, folder = nr.losses.Hinge(), str(tmp_path / "kept")
    options: dict[str, Any] = {"l2": 0.05, "shards": 4, "tol": 1e-4, "checkpoint": folder}
    whole = in_threads(wide, loss, 4, l2=0.05, tol=1e-4, folder=str(tmp_path / "whole"))
    part = batch.hindsight(wide, loss, **options, max_passes=12, every=5)
    assert not part.converged and part.dual <= whole.primal
    found = batch.hindsight(wide, loss, **options, every=5, resume=True)
    same(found, whole)
    with pytest.raises(ClusterError, match="of another run"):
        batch.hindsight(wide, loss, **(options | {"l2": 0.06}), resume=True)


def test_a_hung_worker_is_an_error_and_no_hang(wide: str) -> None:
    with batch.session(wide, nr.losses.Hinge(), shards=2, workers=1, timeout=60.0) as run:
        (process,) = run.workers.processes()
        run.workers.timeout = 0.5
        os.kill(process, signal.SIGSTOP)
        try:
            with pytest.raises(ClusterError, match=r"worker 1 of 1 has not answered for 0\.5 s"):
                run.solve(*batch.form(1.0))
        finally:
            os.kill(process, signal.SIGCONT)


def test_what_is_wrong_is_one_line_on_the_driver(narrow: list[str], tmp_path: Path) -> None:
    hinge = nr.losses.Hinge()
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:0.5\n-1 2:abc\n")
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ([*narrow, str(bad)], {}, r"bad.svm, line 2"),
        (str(tmp_path / "none.svm"), {}, "no such file"),
        (narrow, {"workers": 9, "shards": 8}, "9 workers for 8 shards"),
        (narrow, {"l2": None}, "give radius=, l2= or strength="),
        (narrow, {"shards": 2000}, "2000"),
    ]
    for files, options, message in wrong:
        with pytest.raises((ValueError, OSError), match=message) as caught:
            batch.hindsight(files, hinge, **({"l2": 1.0} | options))
        assert "\n" not in str(caught.value)


def test_workers_with_another_version_are_refused(
    narrow: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from noregret.cluster import ray_workers

    monkeypatch.setattr(ray_workers, "about", lambda: {"numpy": "0.1"})
    with pytest.raises(ClusterError, match=r"numpy .* and the driver 0.1"):
        batch.hindsight(narrow, nr.losses.Hinge(), l2=1.0)


@pytest.mark.soak
def test_a_hundred_kills_change_no_bit(wide: str, tmp_path: Path) -> None:
    loss, lost, seed = nr.losses.Hinge(), 0, 0
    whole = in_threads(wide, loss, 4, l2=0.05, tol=1e-4, folder=str(tmp_path / "whole"))
    while lost < 100:
        seed += 1
        folder = str(tmp_path / str(seed))
        with batch.session(wide, loss, shards=4, workers=2, checkpoint=folder, every=3) as run:
            thread = killing(run.workers, 2, 1.0, seed)
            found = run.solve(*batch.form(0.05), tol=1e-4)
            thread.join()
        lost += found.lost
        same(found, whole)
