"""Balanced work of a cluster run: its log beside the checkpoints, replay and resumption."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.batch.work_shares import FULL, WORK_LOG, read_log
from noregret.cluster import batch, batch_host
from tests.cluster.solving import in_threads, same, wide_file

SHARDS = 4


class SlowShard(batch_host.FileShard):
    """A shard that takes a millisecond for each row that it visits, if it is one of the last."""

    def visit(self, *arguments: Any) -> Any:
        step, rest = super().visit(*arguments)
        time.sleep(0.001 * rest[1] * (self.number >= SHARDS // 2))
        return step, rest


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> str:
    return wide_file(tmp_path_factory.mktemp("few"), 120)


def solved(files: str, folder: Path, **options: Any) -> tuple[batch.ClusterSolution, Path]:
    """Solve with two workers; return the log, too."""
    solution = in_threads(
        files, nr.losses.Hinge(), SHARDS, 2, l2=0.01, tol=1e-6, every=5, folder=folder, **options
    )
    return solution, folder / "call-0" / WORK_LOG


def test_a_run_with_a_slow_worker_is_logged_resumed_and_replayed(
    few: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, none = solved(few, tmp_path / "plain", max_passes=14)
    assert not none.exists() and {one.visits for one in plain.rounds} == {()}
    with monkeypatch.context() as slow:
        slow.setattr(batch_host, "FileShard", SlowShard)
        part, log = solved(few, tmp_path / "slow", balance_work=True, max_passes=8)
        assert not part.converged
        found, log = solved(few, tmp_path / "slow", balance_work=True, resume=True, max_passes=14)
    turns = read_log(log, "log", SHARDS)
    # The last ones are after the checkpoint, which was that of pass 5.
    assert [*turns] == [*range(1, found.passes + 1)]
    assert turns[1].shares == [FULL] * SHARDS and max(turns[8].shares[2:]) < FULL
    rounds = {one.passes: one.visits for one in found.rounds}
    assert all(list(rounds[number]) == turns[number].visits for number in rounds)
    assert found.passes == 14 and min(rounds) == 6
    again, copy = solved(few, tmp_path / "again", replay_work=str(log), max_passes=14)
    same(again, found)
    assert copy.read_bytes() == log.read_bytes()
    assert again.weights.tobytes() != plain.weights.tobytes()


def test_logs_of_other_runs_are_refused(few: str, tmp_path: Path) -> None:
    _, log = solved(few, tmp_path / "one", balance_work=True, max_passes=6)
    with pytest.raises(ArgumentError, match=r"balance_work: expected, as in the run that is res"):
        solved(few, tmp_path / "one", resume=True)
    other = tmp_path / "other.jsonl"
    other.write_text(log.read_text().replace('"visits": [', '"visits": [1'))
    with pytest.raises(ArgumentError, match=r"replay_work=.*: pass 1 visited .* of another run"):
        solved(few, tmp_path / "two", replay_work=str(other))
    with pytest.raises(ArgumentError, match="cannot be read"):
        solved(few, tmp_path / "three", replay_work=str(tmp_path / "none"))
