"""Fewer visits at slow workers: counts, their log, its replay, and a dual that never falls."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.batch import Problem, shared
from noregret.batch.shard import Shard
from noregret.batch.shared import SharedSolver
from noregret.batch.work_shares import FULL, LEAST, Turn, WorkShares, read_log, visits_of, written
from noregret.shards import Shards
from tests.batch.on_shards import shards_of, slopes_of, solver_of

#: Shards, and the worker of each: one of them is slow.
COUNT, WORKERS = 4, 2
PIECES = [(0, 2), (2, 4)]
HINGE = nr.losses.Hinge()


class SlowShard(Shard):
    """A shard that takes two milliseconds for each row that it visits."""

    def visit(self, *arguments: Any) -> Any:
        step, rest = super().visit(*arguments)
        time.sleep(0.002 * rest[1])
        return step, rest


def problem(rows: int = 120, width: int = 40, seed: int = 0, loss: Any = HINGE) -> Problem:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, width))
    y = np.sign(X @ random.normal(size=width) + random.normal(size=rows))
    return Problem.of(X, y, loss, None, 0.5)


def slow_shards(posed: Problem, slow: tuple[int, ...] = (2, 3)) -> list[Shard]:
    kinds = [SlowShard if k in slow else Shard for k in range(COUNT)]
    pieces = Shards(COUNT).pieces(len(posed.rows))
    return [
        kind(posed.cut(*piece), number=k)
        for k, (kind, piece) in enumerate(zip(kinds, pieces, strict=True))
    ]


def run(posed: Problem, shards: list[Shard], work: WorkShares | None, passes: int) -> Any:
    """Make passes; return the solver and the dual after each of them."""
    solver = solver_of(posed, shards, False, WORKERS, tol=1e-9, max_passes=passes)
    solver.work = work
    duals = [solver.problem.dual_lower()]
    while solver.passes < passes and not solver.step():
        duals.append(solver.problem.dual_lower())
    return solver, duals


def bits(solver: SharedSolver, shards: list[Shard]) -> tuple[bytes, bytes, int]:
    return solver.theta.tobytes(), slopes_of(shards).tobytes(), solver.passes


def test_a_slow_shard_visits_fewer_rows_and_the_log_replays_to_the_same_bits(
    tmp_path: Path,
) -> None:
    posed, log, again = problem(), tmp_path / "work.jsonl", tmp_path / "again.jsonl"
    shards = slow_shards(posed)
    work = WorkShares(PIECES, log)
    solver, duals = run(posed, shards, work, 12)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["pass"] for line in lines] == [*range(1, solver.passes + 1)]
    assert lines[0]["shares"] == [FULL] * COUNT
    last = lines[-1]
    assert last["shares"][:2] == [FULL, FULL] and max(last["shares"][2:]) < FULL
    assert min(last["shares"]) >= LEAST
    assert max(last["visits"][2:]) < min(lines[0]["visits"])
    assert all(b >= a - 1e-11 * (1.0 + abs(a)) for a, b in pairwise(duals))
    solver.check()

    # No shard is slow now, and the clock is not asked.
    replayed = shards_of(posed, COUNT)
    other, _ = run(posed, replayed, WorkShares(PIECES, again, replay=log), 12)
    assert bits(other, replayed) == bits(solver, shards)
    assert again.read_bytes() == log.read_bytes()
    plain = shards_of(posed, COUNT)
    assert bits(run(posed, plain, None, 12)[0], plain) != bits(solver, shards)


def test_full_shares_are_the_bits_of_a_run_without_shares() -> None:
    posed = problem(seed=1)
    found = []
    for work in (None, WorkShares(PIECES)):
        shards = shards_of(posed, COUNT)
        if work is not None:
            work.rates = [1.0, 1.0]
            work._measure = lambda *_: None  # type: ignore[method-assign]
        found.append(bits(run(posed, shards, work, 20)[0], shards))
    assert found[0] == found[1]


@pytest.mark.parametrize("least", [1, 1 << 19])
def test_a_shard_with_a_quarter_of_the_visits_leaves_no_row_out(
    least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "LEAST_TURN", least)
    monkeypatch.setattr(shared, "WORTH_JOINING", 0.0)
    posed = problem(seed=2, loss=nr.losses.Squared())
    work = WorkShares(PIECES)
    work.shares = [FULL, FULL, LEAST, LEAST]
    work._measure = lambda *_: None  # type: ignore[method-assign]
    shards = shards_of(posed, COUNT)
    solver = solver_of(posed, shards, False, WORKERS, tol=1e-3, max_passes=3000)
    solver.work = work
    # Slopes begin at 0, and the first visit of a row moves its slope.
    assert solver.run().converged and np.all(slopes_of(shards))
    assert work.turns[1].visits[3] == visits_of(LEAST, work.turns[1].visits[0])
    solver.check()


def test_a_log_goes_on_after_a_restart(tmp_path: Path) -> None:
    posed, log = problem(seed=3), tmp_path / "work.jsonl"
    shards = slow_shards(posed)
    solver, _ = run(posed, shards, WorkShares(PIECES, log), 5)
    kept = solver.state(), [shard.kept() for shard in shards]
    # Made after the state was kept: the same turns are made again.
    solver.max_passes = 7
    while solver.passes < 7:
        solver.step()
    seven = log.read_text()
    # The driver was killed while it wrote a line.
    log.write_text(seven + '{"pass": 8, "sha')
    fresh = slow_shards(posed)
    for shard, state in zip(fresh, kept[1], strict=True):
        shard.restore(state)
    again = solver_of(posed, fresh, False, WORKERS, tol=1e-9, max_passes=12)
    again.go_back(*kept[0])
    again.work = WorkShares(PIECES, log, resume=True)
    assert again.work.shares == again.work.turns[7].shares
    while again.passes < 12:
        again.step()
    assert log.read_text().startswith(seven)
    assert [*read_log(log, "log", COUNT)] == [*range(1, 13)]
    replayed = shards_of(posed, COUNT)
    whole, _ = run(posed, replayed, WorkShares(PIECES, replay=log), 12)
    assert bits(whole, replayed) == bits(again, fresh)


def test_shares_follow_the_seconds_of_workers() -> None:
    work = WorkShares([(0, 2), (2, 3), (3, 4)])
    visits, active = [10, 10, 20, 20], [100, 100, 200, 200]
    work.made(1, visits, active, [9.0, 1.0, 1.0])
    # Kernels are compiled in the first turn.
    assert work.of(2) == [FULL] * 4
    work.made(2, visits, active, [1.0, 1.2, 2.0])
    assert work.of(3) == [FULL, FULL, FULL, int(FULL * 1.2 / 2.0)]
    for number in range(3, 30):
        work.made(number, visits, active, [1.0, 100.0, 1.0])
    assert work.of(30) == [FULL, FULL, LEAST, FULL]
    for number in range(30, 60):
        work.made(number, visits, active, [1.0, 1.0, 1.0])
    assert work.of(60) == [FULL] * 4
    # Nothing was visited, nothing is active.
    work.made(60, [0] * 4, [0] * 4, [1.0, 1.0, 1.0])
    assert work.of(61) == [FULL] * 4


@pytest.mark.parametrize("full", [0, 1, 2, 7, 64, 1000])
def test_a_share_has_a_row_unless_there_are_none(full: int) -> None:
    assert visits_of(FULL, full) == full
    for share in range(LEAST, FULL + 1):
        assert min(full, 1) <= visits_of(share, full) <= full
        assert visits_of(share, full) >= full * share / FULL


def test_logs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "log"
    good = written(Turn(1, [FULL, LEAST], [9, 2]))
    wrong = {
        "": "",
        good + "x\n": r"line 2: expected",
        good * 2: r"line 2: expected",
        good.replace("16", "15"): r"line 1: expected",
        good.replace(", 2]", "]"): r"line 1 is about 2 shards, the run has 2",
        "[1]\n": r"line 1: expected",
        written(Turn(1, [FULL], [9])): r"is about 1 shards, the run has 2",
    }
    for text, message in wrong.items():
        log.write_text(text)
        if not message:
            assert read_log(log, "replay_work", 2) == {}
            continue
        with pytest.raises(ArgumentError, match=message) as caught:
            read_log(log, "replay_work", 2)
        assert caught.value.argument == "replay_work" and "\n" not in str(caught.value)
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_log(tmp_path / "none", "replay_work", 2)
    log.write_text(good)
    work = WorkShares([(0, 2)], replay=log)
    with pytest.raises(ArgumentError, match="the log of another run"):
        work.made(1, [8, 2], [9, 9], [1.0])
    own = tmp_path / "own"
    own.write_text(written(Turn(1, [FULL, FULL], [9, 9])))
    with pytest.raises(ArgumentError, match="differs from the log of the run that is resumed"):
        WorkShares([(0, 2)], own, replay=log, resume=True)
    # Turns after the last one of a log have full shares.
    assert WorkShares([(0, 2)], replay=log).of(2) == [FULL, FULL]
