"""Balanced work of a cluster run: its log beside the checkpoints, replay and resumption."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.batch.work_shares import FULL, WORK_LOG, read_log
from noregret.cluster import batch, batch_host
from noregret.cluster.gathering import gather
from noregret.workers import Threads

SHARDS = 4


class SlowShard(batch_host.FileShard):
    """A shard that takes a millisecond for each row that it visits, if it is one of the last."""

    def visit(self, *arguments: Any) -> Any:
        step, rest = super().visit(*arguments)
        time.sleep(0.001 * rest[1] * (self.number >= SHARDS // 2))
        return step, rest


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Rows with many features, for which shards visit rows."""
    path = str(tmp_path_factory.mktemp("wide") / "wide.svm")
    random = np.random.default_rng(0)
    X = sp.random(120, 4000, 0.005, "csr", random_state=random)
    y = np.sign(X @ random.normal(size=4000) + 0.1 * random.normal(size=120))
    dump_svmlight_file(X, np.where(y == 0.0, 1.0, y), path, zero_based=False)
    return path


def solved(
    files: str, folder: Path, strength: float = 0.01, **options: Any
) -> tuple[batch.ClusterSolution, Path]:
    """Solve with two threads in place of processes; return the log, too."""
    workers = Threads([None] * SHARDS, 2, host=batch.BatchHost)
    loss = nr.losses.Hinge()
    found = gather(workers, files, labels="binary")
    spec = {"loss": batch.plain("loss", loss), "seed": 0, "width": found.width}
    run = batch.Session(workers, loss, spec, found, str(folder), 5)
    solution = run.solve(*batch.form(strength), tol=1e-6, **options)
    return solution, folder / "call-0" / WORK_LOG


def same(one: batch.ClusterSolution, other: batch.ClusterSolution) -> None:
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (one.primal, one.dual, one.passes) == (other.primal, other.dual, other.passes)


def test_a_run_with_a_slow_worker_is_logged_resumed_and_replayed(
    wide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, none = solved(wide, tmp_path / "plain", max_passes=14)
    assert not none.exists() and {one.visits for one in plain.rounds} == {()}
    with monkeypatch.context() as slow:
        slow.setattr(batch_host, "FileShard", SlowShard)
        part, log = solved(wide, tmp_path / "slow", balance_work=True, max_passes=8)
        assert not part.converged
        found, log = solved(wide, tmp_path / "slow", balance_work=True, resume=True, max_passes=14)
    turns = read_log(log, "log", SHARDS)
    # The last ones are after the checkpoint, which was that of pass 5.
    assert [*turns] == [*range(1, found.passes + 1)]
    assert turns[1].shares == [FULL] * SHARDS and max(turns[8].shares[2:]) < FULL
    rounds = {one.passes: one.visits for one in found.rounds}
    assert all(list(rounds[number]) == turns[number].visits for number in rounds)
    assert found.passes == 14 and min(rounds) == 6
    again, copy = solved(wide, tmp_path / "again", replay_work=str(log), max_passes=14)
    same(again, found)
    assert copy.read_bytes() == log.read_bytes()
    assert again.weights.tobytes() != plain.weights.tobytes()


def test_logs_of_other_runs_are_refused(wide: str, tmp_path: Path) -> None:
    _, log = solved(wide, tmp_path / "one", balance_work=True, max_passes=6)
    with pytest.raises(ArgumentError, match=r"balance_work: expected, as in the run that is res"):
        solved(wide, tmp_path / "one", resume=True)
    other = tmp_path / "other.jsonl"
    other.write_text(log.read_text().replace('"visits": [', '"visits": [1'))
    with pytest.raises(ArgumentError, match=r"replay_work=.*: pass 1 visited .* of another run"):
        solved(wide, tmp_path / "two", replay_work=str(other))
    with pytest.raises(ArgumentError, match="cannot be read"):
        solved(wide, tmp_path / "three", replay_work=str(tmp_path / "none"))
