"""Rows on shards: closed gaps by both paths, the same bits for any workers, states that go back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch import Problem, newton, shared
from noregret.batch.dual_newton import FIRST_DAMPING
from noregret.batch.shard import Shard
from noregret.batch.shared import LostStep, SharedSolver
from tests.batch.on_shards import shards_of, slopes_of, solver_of
from tests.sizes import sized
from tests.truth.hindsight_problems import LOSSES, MAPS

NORMS = [nr.mirrors.Euclidean(), nr.mirrors.Ball(0.4)]
ASCENT, NEWTON = False, True
#: More passes than any of these problems needs.
PASSES = 2000
#: Passes of runs that need not converge.
MOST = 40


def draw(
    loss: nr.losses.Loss,
    mirror: nr.mirrors.Mirror | None = None,
    seed: int = 0,
    rows: int = 16,
    width: int = 3,
    strength: float = 0.3,
    layout: Any = np.asarray,
) -> Problem:
    """Return a problem with rows of weight 0, an empty row, twins and offsets."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, width)) * random.choice([0.0, 1.0, 1.0], (rows, width))
    y = np.sign(X @ random.normal(size=width) + 0.5 * random.normal(size=rows) + 1e-9)
    weight = random.choice([0.5, 1.0, 2.0], rows)
    offset = 0.2 * random.normal(size=rows)
    if isinstance(loss, nr.losses.NegativeLog):
        # No prediction may fall to 0.
        X, offset = np.abs(X), 0.1 + np.abs(offset)
    elif loss.labels == "real":
        y += random.normal(size=rows)
    X[1], X[-1] = 0.0, X[0]
    weight[2], weight[rows // 2] = 0.0, 0.0
    return Problem.of(layout(X), y, loss, mirror, strength, weight, offset)


def alone(problem: Problem, tol: float) -> Any:
    """Solve the same problem without shards."""
    mirror, b = problem.mirror, problem.strength
    form: dict[str, Any] = {"mirror": mirror, "strength": b}
    if mirror.half_square():
        form = {"l2": b} | ({} if mirror.euclidean() else {"radius": mirror.radius})  # type: ignore[attr-defined]
    return nr.hindsight(
        problem.rows.values, problem.y, problem.loss, weight=problem.weight,
        offset=problem.offset, tol=tol, max_passes=PASSES, **form,
    )  # fmt: skip


def require_agreement(problem: Problem, found: Any, tol: float) -> None:
    """Check the gap, and that neither solution disproves the other."""
    assert found.converged and found.gap <= tol * max(1.0, abs(found.primal))
    other = alone(problem, tol)
    assert max(found.dual, other.dual) <= min(found.primal, other.primal)


def climb(solver: SharedSolver) -> list[float]:
    """Step until the end; return the dual after each step."""
    duals = []
    while solver.passes < solver.max_passes:
        done = solver.step()
        duals.append(solver.problem.dual_lower())
        if done:
            break
    return duals


@pytest.mark.each_value
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("path", [NEWTON, ASCENT], ids=["newton", "ascent"])
@pytest.mark.parametrize("mirror", NORMS, ids=str)
def test_the_gap_is_closed_for_every_loss(loss: Any, count: int, path: bool, mirror: Any) -> None:
    for tol in (1e-3, 1e-6):
        problem = draw(loss, mirror)
        solver = solver_of(problem, shards_of(problem, count), path, 2, tol=tol, max_passes=PASSES)
        require_agreement(problem, solver.run(), tol)
        solver.check()


@pytest.mark.each_value
@pytest.mark.parametrize("loss", [*LOSSES[:4], nr.losses.Squared()], ids=str)
@pytest.mark.parametrize("mirror", MAPS, ids=str)
@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("narrow", [True, False])
def test_the_gap_is_closed_for_every_map(
    loss: Any, mirror: Any, count: int, narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a matrix that is formed, and with one that is only applied."""
    if not narrow:
        monkeypatch.setattr(newton, "LARGEST_MATRIX", 0)
    problem = draw(loss, mirror)
    solver = solver_of(problem, shards_of(problem, count), tol=1e-6, max_passes=PASSES)
    assert solver.newton
    require_agreement(problem, solver.run(), 1e-6)
    solver.check()


@pytest.mark.each_value
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("path", [NEWTON, ASCENT], ids=["newton", "ascent"])
@pytest.mark.parametrize("mirror", NORMS, ids=str)
@pytest.mark.parametrize("spread", [1.0, None])
def test_the_dual_never_falls_and_theta_belongs_to_the_slopes(
    loss: Any, path: bool, mirror: Any, spread: float | None
) -> None:
    """Also where every shard steps as if it were alone."""
    problem = draw(loss, mirror, seed=2, strength=0.05)
    X, c = problem.rows.values, problem.weight
    shards = shards_of(problem, 5)
    solver = solver_of(problem, shards, path, tol=1e-9, max_passes=1)
    lower = solver.problem.dual_lower()
    first = lower
    for _ in range(25):
        solver.max_passes = solver.passes + 1
        if spread is not None:
            solver.spread = spread
        done = solver.step()
        higher = solver.problem.dual_lower()
        assert higher >= lower - 1e-11 * (1.0 + abs(lower))
        lower = higher
        if not path:
            theta = -(X.T @ (c * slopes_of(shards))) / problem.strength
            np.testing.assert_allclose(
                solver.theta, theta, rtol=1e-9, atol=1e-10 * (1.0 + abs(theta).max())
            )
        if done:
            break
    assert lower > first


@pytest.mark.each_value
@pytest.mark.parametrize("loss", [nr.losses.Hinge(), nr.losses.Logistic(), nr.losses.Squared()])
@pytest.mark.parametrize("path", [NEWTON, ASCENT], ids=["newton", "ascent"])
@pytest.mark.parametrize("mirror", NORMS, ids=str)
@pytest.mark.parametrize("count", [1, 3, 8, 16])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_the_number_of_workers_changes_no_bit(
    loss: Any, path: bool, mirror: Any, count: int, layout: Any
) -> None:
    """16 shards have one row each."""
    problem = draw(loss, mirror, seed=3, layout=layout)
    found = []
    for workers in (1, 2, 5):
        shards = shards_of(problem, count)
        solver = solver_of(problem, shards, path, workers, tol=1e-6, max_passes=PASSES)
        solution = solver.run()
        numbers = solution.primal, solution.dual, solution.passes
        found.append((numbers, solution.weights.tobytes(), slopes_of(shards).tobytes()))
    assert found[0] == found[1] == found[2]
    assert solution.converged


@pytest.mark.parametrize("path", [NEWTON, ASCENT], ids=["newton", "ascent"])
@pytest.mark.parametrize("mirror", NORMS, ids=str)
def test_sparse_rows_are_solved_as_dense_ones(path: bool, mirror: Any) -> None:
    for loss in (nr.losses.Hinge(), nr.losses.Logistic()):
        weights = []
        for layout in (np.asarray, sp.csr_array):
            problem = draw(loss, mirror, seed=4, layout=layout)
            shards = shards_of(problem, 3)
            solver = solver_of(problem, shards, path, tol=1e-6, max_passes=PASSES)
            weights.append(solver.run().weights)
        np.testing.assert_allclose(*weights, rtol=1e-9, atol=1e-9)


@pytest.mark.each_value
@pytest.mark.parametrize("loss", [nr.losses.Hinge(), nr.losses.Logistic(), nr.losses.Absolute()])
@pytest.mark.parametrize("path", [NEWTON, ASCENT], ids=["newton", "ascent"])
@pytest.mark.parametrize("mirror", NORMS, ids=str)
@pytest.mark.parametrize("least", [1, 1 << 19])
def test_a_state_that_was_kept_continues_to_the_same_bits(
    loss: Any, path: bool, mirror: Any, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the same shards, and on new ones of the same rows."""
    monkeypatch.setattr(shared, "LEAST_TURN", least)
    monkeypatch.setattr(shared, "WORTH_JOINING", 0.0)
    problem = draw(loss, mirror, seed=5, strength=0.02)

    def bits(solver: SharedSolver, shards: list[Shard]) -> Any:
        end = solver.run()
        numbers = end.primal, end.dual, end.passes, end.converged
        return numbers, end.weights.tobytes(), slopes_of(shards).tobytes()

    shards = shards_of(problem, 3)
    steps = 0
    counting = solver_of(problem, shards, path, tol=1e-7, max_passes=MOST)
    while counting.passes < MOST and not counting.step():
        steps += 1
    expected = None
    stops = {0, 1, steps} | set(np.random.default_rng(6).integers(0, steps + 1, 2).tolist())
    for stop in sorted(stops):
        shards = shards_of(problem, 3)
        solver = solver_of(problem, shards, path, tol=1e-7, max_passes=MOST)
        for _ in range(stop):
            solver.step()
        kept = solver.state(), [shard.kept() for shard in shards]
        through = bits(solver, shards)
        expected = through if expected is None else expected
        # Looking at a state changes nothing.
        assert through == expected
        for one, state in zip(shards, kept[1], strict=True):
            one.restore(state)
        solver.go_back(*kept[0])
        assert bits(solver, shards) == expected, f"back to step {stop}"
        fresh = shards_of(problem, 3, seed=77)
        for one, state in zip(fresh, kept[1], strict=True):
            one.restore(state)
        again = solver_of(problem, fresh, path, tol=1e-7, max_passes=MOST)
        again.go_back(*kept[0])
        assert bits(again, fresh) == expected, f"afresh from step {stop}"


@pytest.mark.parametrize("loss", [nr.losses.Hinge(), nr.losses.Squared()], ids=str)
@pytest.mark.parametrize("path", [NEWTON, ASCENT], ids=["newton", "ascent"])
@pytest.mark.parametrize("mirror", NORMS, ids=str)
def test_slopes_changed_behind_the_solver_are_noticed(loss: Any, path: bool, mirror: Any) -> None:
    problem = draw(loss, mirror, seed=7)
    shards = shards_of(problem, 4)
    solver = solver_of(problem, shards, path, tol=1e-6, max_passes=PASSES)
    solver.run()
    solver.check()
    before = shards[2].slopes.copy()
    shards[2].slopes *= 0.99
    with pytest.raises(LostStep):
        solver.check()
    shards[2].slopes[:] = before
    solver.check()


def test_a_lost_step_is_noticed_at_the_next_evaluation() -> None:
    problem = draw(nr.losses.Squared(), seed=8, strength=0.01)
    shards = shards_of(problem, 4)
    solver = solver_of(problem, shards, ASCENT, tol=1e-9, max_passes=PASSES)
    for _ in range(5):
        solver.step()
    kept = shards[1].kept()
    for _ in range(5):
        solver.step()
    # The worker of a shard was lost, and came back without its last steps.
    shards[1].restore(kept)
    with pytest.raises(LostStep, match="lost or made twice"):
        solver.look()


@pytest.mark.parametrize("loss", [nr.losses.Squared(), nr.losses.Huber(1e9)], ids=str)
def test_rows_that_cancel_are_not_taken_for_a_lost_step(loss: Any) -> None:
    """Little of theta is left of large slopes: what rounding leaves can be most of it."""
    for seed in range(sized(4, 40)):
        random = np.random.default_rng(seed)
        X = np.ones((2, 1)) * 10.0 ** random.uniform(-2, 2)
        y = 10.0 ** random.uniform(5, 9) * np.array([1.0, -1.0]) + np.array([0.0, 1.0])
        problem = Problem.of(X, y, loss, None, 1e-3)
        for count in (1, 2):
            solver = solver_of(problem, shards_of(problem, count), ASCENT, tol=1e-8)
            solver.run()
            solver.check()


def test_weights_that_shrink_are_not_taken_for_a_lost_step() -> None:
    """Early steps of 1e27 leave a rounding of 1e11."""
    X = np.random.default_rng(0).normal(size=(6, 3)) ** 2 * 1e3
    problem = Problem.of(X, np.ones(6), nr.losses.NegativeLog(), None, 2e-24)
    solver = solver_of(problem, shards_of(problem, 6), ASCENT, tol=1e-9, max_passes=200)
    solver.run()
    solver.check()


def test_rows_that_come_back_to_an_idle_shard_are_visited() -> None:
    """A shard whose rows were all put aside has a turn of no rows."""
    problem = draw(nr.losses.Hinge(), seed=5, strength=0.1)
    solver = solver_of(problem, shards_of(problem, 3), ASCENT, tol=1e-4, max_passes=PASSES)
    assert solver.run().converged


@pytest.mark.parametrize("p", [2.5, 3.0, 7.0])
def test_p_norms_leave_zero(p: float) -> None:
    """At theta = 0 the second derivative of the squared p-norm does not exist."""
    problem = draw(nr.losses.Hinge(), nr.mirrors.PNorm(p))
    solver = solver_of(problem, shards_of(problem, 3), tol=1e-6, max_passes=100)
    require_agreement(problem, solver.run(), 1e-6)


def test_a_turn_through_a_part_of_the_rows_does_not_end_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first turns visit rows without a loss, and nothing moves."""
    monkeypatch.setattr(shared, "LEAST_TURN", 1)
    monkeypatch.setattr(shared, "WORTH_JOINING", 0.0)
    X, offset = np.ones((64, 2)), np.full(64, 100.0)
    X[:-2, 1] = offset[-2:] = 0.0
    problem = Problem.of(X, np.ones(64), nr.losses.Hinge(), None, 1.0, None, offset)
    for seed in range(5):
        solver = solver_of(problem, shards_of(problem, 1, seed), ASCENT, tol=1e-8)
        assert solver.turns == 16
        assert solver.run().converged


def test_slopes_that_overflow_are_left() -> None:
    """A Newton step may lead to infinite slopes; nothing of such a step is taken."""
    problem = draw(nr.losses.Squared())
    (shard,) = shards_of(problem, 1)
    given = shard.given.copy()
    shard.slopes[3], shard.slopes[4] = math.inf, math.nan
    shard.take(0.0)
    np.testing.assert_array_equal(shard.slopes, given)


@pytest.mark.parametrize("mirror", NORMS, ids=str)
def test_newton_steps_of_the_dual_over_shards_raise_it(mirror: Any) -> None:
    """And theta moves with the slopes, for any number of shards and workers."""
    taken = 0
    for loss in (nr.losses.Logistic(), nr.losses.Squared(), nr.losses.SquaredHinge()):
        for count in (1, 4):
            problem = draw(loss, mirror, seed=9, strength=1e-3)
            shards = shards_of(problem, count)
            solver = solver_of(problem, shards, ASCENT, 2, tol=1e-9)
            for _ in range(4):
                solver.visit()
            before = solver.problem.dual_lower()
            old = solver.theta.copy()
            solver.leap(30)
            if np.array_equal(old, solver.theta):
                continue
            taken += 1
            assert solver.problem.dual_lower() > before
            theta = -solver.problem.gradient()[0] / problem.strength
            np.testing.assert_allclose(solver.theta, theta, rtol=1e-8, atol=1e-8)
            # The damping of the next step is a part of the state.
            damping = solver.leaps.damping
            assert damping != FIRST_DAMPING
            again = solver_of(problem, shards_of(problem, count), ASCENT)
            again.go_back(*solver.state())
            assert again.leaps.damping == damping
    assert taken >= 3


def test_an_interrupted_run_returns_what_its_slopes_prove() -> None:
    problem = draw(nr.losses.Hinge(), strength=1e-3)
    for path in (NEWTON, ASCENT):

        def interrupt(progress: Any) -> None:
            if progress.passes >= 3:
                raise KeyboardInterrupt

        shards = shards_of(problem, 3)
        solver = solver_of(problem, shards, path, tol=1e-12, progress=interrupt)
        found = solver.run()
        assert not found.converged
        assert found.dual == problem.dual_lower(slopes_of(shards)) or found.dual == pytest.approx(
            problem.dual_lower(slopes_of(shards)), rel=1e-13
        )
        solver.check()


def test_both_paths_are_chosen_by_the_width() -> None:
    wide = np.eye(4, 3500)
    problem = Problem.of(sp.csr_array(wide), np.ones(4), nr.losses.Squared(), None, 1.0)
    solver = solver_of(problem, shards_of(problem, 2), tol=1e-8)
    assert not solver.newton
    assert solver.run().converged
    narrow = draw(nr.losses.Squared(), rows=400)
    assert solver_of(narrow, shards_of(narrow, 2)).newton


@pytest.mark.compiled
def test_machine_code_solves_shards() -> None:
    for layout in (np.asarray, sp.csr_array):
        problem = draw(nr.losses.Hinge(), layout=layout)
        for path in (NEWTON, ASCENT):
            solver = solver_of(problem, shards_of(problem, 3), path, 2, tol=1e-6, max_passes=PASSES)
            found = solver.run()
            solver.check()
            other = solver_of(problem, shards_of(problem, 1), path, 1, tol=1e-6, max_passes=PASSES)
            alone = other.run()
            assert found.converged and alone.converged
            assert max(found.dual, alone.dual) <= min(found.primal, alone.primal)
