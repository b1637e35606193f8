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

import noregret as nr
from noregret.cluster import batch
from noregret.cluster.errors import ClusterError
from noregret.cluster.gathering import gather
from noregret.cluster.ray_workers import RayWorkers
from noregret.cluster.solution import Round
from tests.cluster.solving import in_threads, same

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("ray_cluster")]


@pytest.mark.parametrize(
    ("name", "loss", "tol", "workers"),
    [
        ("narrow", nr.losses.Logistic(), 1e-6, 1),
        ("narrow", nr.losses.OneAgainstRest(), 1e-6, 2),
        ("wide", nr.losses.Hinge(), 1e-3, 1),
    ],
)
def test_processes_find_the_bits_of_threads(
    name: str,
    loss: Any,
    tol: float,
    workers: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Two workers of wide rows: below, with a slow one."""
    files = request.getfixturevalue(name)
    alone = in_threads(files, loss, 4, l2=0.05, tol=tol, folder=str(tmp_path))
    assert alone.converged
    found = batch.hindsight(files, loss, l2=0.05, shards=4, workers=workers, tol=tol)
    same(found, alone)
    assert found.rounds[-1].sent > 0 and found.rounds[-1].calls == alone.rounds[-1].calls


def test_a_slow_worker_is_waited_for_until_the_timeout(wide: str, tmp_path: Path) -> None:
    """One that stands still for a moment changes no bit; one that does not go on is an error."""
    loss = nr.losses.Hinge()
    alone = in_threads(wide, loss, 4, l2=0.05, tol=1e-3, folder=str(tmp_path))
    with batch.session(wide, loss, shards=4, workers=2, timeout=60.0) as run:
        first, second = run.workers.processes()
        stopped = []

        def stop(now: Round) -> None:
            if now.passes == 3:
                os.kill(second, signal.SIGSTOP)
                stopped.append(threading.Timer(1.0, os.kill, (second, signal.SIGCONT)))
                stopped[0].start()

        found = run.solve(*batch.form(0.05), tol=1e-3, progress=stop)
        stopped[0].join()
        same(found, alone)
        assert found.lost == 0 and found.rounds[-1].calls == alone.rounds[-1].calls
        assert found.rounds[-1].sent > 0 and found.rounds[-1].wait > 0.5
        run.workers.timeout = 0.5
        os.kill(first, signal.SIGSTOP)
        try:
            with pytest.raises(ClusterError, match=r"worker 1 of 2 has not answered for 0\.5 s"):
                run.solve(*batch.form(1.0))
        finally:
            os.kill(first, signal.SIGCONT)


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
    """With another number of workers."""
    loss, folder = nr.losses.Hinge(), str(tmp_path / "kept")
    options: dict[str, Any] = {"l2": 0.05, "shards": 4, "tol": 1e-4, "checkpoint": folder}
    whole = in_threads(wide, loss, 4, l2=0.05, tol=1e-4, folder=str(tmp_path / "whole"))
    part = batch.hindsight(wide, loss, **options, workers=1, max_passes=12, every=5)
    assert not part.converged and part.dual <= whole.primal
    found = batch.hindsight(wide, loss, **options, workers=2, every=5, resume=True)
    same(found, whole)
    with pytest.raises(ClusterError, match="of another run"):
        in_threads(wide, loss, 4, l2=0.06, tol=1e-4, folder=folder, resume=True)


def test_what_is_wrong_is_one_line_on_the_driver(narrow: list[str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:0.5\n-1 2:abc\n")
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (str(tmp_path / "none.svm"), {}, "no such file"),
        (narrow, {"workers": 9}, "9 workers for 8 shards"),
        (narrow, {"l2": None}, "give radius=, l2= or strength="),
        (narrow, {"timeout": 0.0}, "timeout must be above 0"),
    ]
    for files, options, message in wrong:
        with pytest.raises((ValueError, OSError), match=message) as caught:
            batch.hindsight(files, nr.losses.Hinge(), **({"l2": 1.0} | options))
        assert "\n" not in str(caught.value)
    hosts = RayWorkers("noregret.cluster.batch_host:BatchHost", 2000, 1)
    for files, message in (([*narrow, str(bad)], r"bad.svm, line 2"), (narrow, "2000")):
        with pytest.raises(ValueError, match=message) as caught:
            gather(hosts, files, labels="binary")
        assert "\n" not in str(caught.value)
    hosts.close()


def test_workers_with_another_version_are_refused(
    narrow: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from noregret.cluster import ray_workers

    monkeypatch.setattr(ray_workers, "about", lambda: {"numpy": "0.1"})
    with pytest.raises(ClusterError, match=r"numpy .* and the driver 0.1"):
        batch.hindsight(narrow, nr.losses.Hinge(), l2=1.0, workers=1)


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
