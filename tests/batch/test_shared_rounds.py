"""A free bias and a ball without a regulariser, over shards: closed gaps, bits, states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch import Problem, newton
from noregret.batch.shard import Shard
from noregret.batch.shared import LostStep, SharedSolver
from noregret.batch.shared_bias import BiasRounds
from noregret.batch.shared_radius import RadiusRounds
from tests.batch.on_shards import proved, shards_of, slopes_of, solver_of
from tests.batch.test_shared import PASSES, draw
from tests.truth.hindsight_problems import LOSSES, MAPS

#: -ln p falls forever along a bias.
WITH_BIAS = [loss for loss in LOSSES if not isinstance(loss, nr.losses.NegativeLog)]
RADIUS, BIAS = "radius", "bias"
CASES = [(RADIUS, loss) for loss in LOSSES] + [(BIAS, loss) for loss in WITH_BIAS]
SOME = [
    (mode, loss)
    for mode in (RADIUS, BIAS)
    for loss in (nr.losses.Hinge(), nr.losses.Logistic(), nr.losses.Absolute())
]


def drawn(mode: str, loss: Any, radius: float = 0.8, **more: Any) -> Problem:
    """Return a problem of `draw`, in a ball or to be solved with a free bias."""
    problem = draw(loss, **more)
    if mode == BIAS:
        return problem
    return replace(problem, strength=0.0, radius=radius)


def solving(mode: str, problem: Problem, shards: list[Shard], **options: Any) -> SharedSolver:
    """Return the solver that the problem needs."""
    solver = solver_of(problem, shards, free=mode == BIAS, **({"max_passes": PASSES} | options))
    assert type(solver) is {RADIUS: RadiusRounds, BIAS: BiasRounds}[mode]
    return solver


def require_agreement(mode: str, problem: Problem, found: Any, tol: float) -> None:
    """Check the gap, and that the solution in memory does not disprove it, nor it that one."""
    assert found.converged and found.gap <= tol * max(1.0, abs(found.primal))
    rows = problem.rows
    X = rows.values if rows.dense else sp.csr_array((rows.values, rows.indices, rows.indptr))
    form: dict[str, Any] = {"radius": problem.radius}
    if mode == BIAS:
        form = {"mirror": problem.mirror, "strength": problem.strength, "bias": True}
    other = nr.hindsight(
        X, problem.y, problem.loss, weight=problem.weight, offset=problem.offset, tol=tol,
        max_passes=PASSES, **form,
    )  # fmt: skip
    assert other.converged
    assert max(found.dual, other.dual) <= min(found.primal, other.primal)
    # Each predictor is judged by the evaluation of the other solver.
    primal = problem.primal_upper(found.weights, found.bias)
    assert primal >= other.dual and primal == pytest.approx(found.primal, rel=1e-12)
    if not isinstance(problem.mirror, nr.mirrors.SoftThreshold):
        # In memory that is solved as the elastic net, which it is.
        assert found.objective == other.objective


@pytest.mark.each_value
@pytest.mark.parametrize(("mode", "loss"), CASES, ids=str)
@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("narrow", [True, False], ids=["matrix", "applied"])
def test_the_gap_is_closed_for_every_loss(
    mode: str, loss: Any, count: int, layout: Any, narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not narrow:
        monkeypatch.setattr(newton, "LARGEST_MATRIX", 0)
    for tol in (1e-3, 1e-6):
        problem = drawn(mode, loss, layout=layout)
        shards = shards_of(problem, count)
        solver = solving(mode, problem, shards, workers=2, tol=tol)
        found = solver.run()
        require_agreement(mode, problem, found, tol)
        solver.check()
        bias = found.bias if mode == BIAS else None
        primal, dual = proved(problem, slopes_of(shards), found.weights, count, bias)
        assert primal == pytest.approx(found.primal, rel=1e-9)
        assert dual == pytest.approx(found.dual, rel=1e-9, abs=1e-9)


@pytest.mark.each_value
@pytest.mark.parametrize("loss", [nr.losses.Logistic(), nr.losses.Absolute()], ids=str)
@pytest.mark.parametrize("mirror", [*MAPS, nr.mirrors.Ball(0.4)], ids=str)
def test_a_bias_goes_with_every_map(loss: Any, mirror: Any) -> None:
    problem = drawn(BIAS, loss, mirror=mirror, seed=1)
    solver = solving(BIAS, problem, shards_of(problem, 3), tol=1e-6)
    require_agreement(BIAS, problem, solver.run(), 1e-6)
    solver.check()


def test_a_bias_far_from_the_first_one_is_found() -> None:
    """For a fixed bias the gap is closed at once; only the balance of the slopes tells."""
    X = np.array([[1e-3], [-1e-3], [0.0], [1e-3]])
    problem = Problem.of(X, [100.0, 101.0, 99.0, 104.0], nr.losses.Squared(), strength=10.0)
    found = solving(BIAS, problem, shards_of(problem, 2), tol=1e-9).run()
    require_agreement(BIAS, problem, found, 1e-9)
    assert found.bias == pytest.approx(101.0, abs=1e-2)


def test_losses_that_are_nearly_flat_move_a_bias_far() -> None:
    """With one class the losses fall to 0, and the bias moves on until they are small enough."""
    problem = Problem.of(np.zeros((3, 1)), np.ones(3), nr.losses.Logistic(), strength=1.0)
    found = solving(BIAS, problem, shards_of(problem, 3), tol=1e-6, max_passes=60).run()
    assert found.converged and found.bias > 10.0


@pytest.mark.parametrize("radius", [10.0, 100.0, 1000.0])
def test_a_large_ball_is_no_harder(radius: float) -> None:
    """The gap is the radius times the gradient, which each round has to make small."""
    for loss in (nr.losses.Squared(), nr.losses.Logistic(), nr.losses.SquaredHinge()):
        problem = drawn(RADIUS, loss, radius, seed=83, rows=40)
        found = solving(RADIUS, problem, shards_of(problem, 3), tol=1e-6, max_passes=100).run()
        require_agreement(RADIUS, problem, found, 1e-6)


@pytest.mark.parametrize("l2", [0.01, 0.02])
def test_a_round_that_was_not_solved_is_not_played_again(l2: float) -> None:
    """With the same width of its smoothing it would fail in the same way, forever."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 5)) * (random.random((60, 5)) < 0.7)
    scores = X @ random.normal(size=(5, 3)) + 0.3 * random.normal(size=(60, 3))
    y = np.where(scores.argmax(axis=1) == 2, 1.0, -1.0)
    for loss in (nr.losses.Hinge(), nr.losses.Absolute()):
        problem = Problem.of(X, y, loss, None, l2)
        found = solver_of(problem, shards_of(problem, 4), True, tol=1e-8, max_passes=100).run()
        assert found.converged


def test_theta_far_beyond_a_ball_comes_back() -> None:
    """There weights do not react to theta, so that a Newton step alone would not move them."""
    problem = drawn(RADIUS, nr.losses.WinnowHinge(), 3.387, seed=111, width=1)
    for count in (1, 2):
        found = solving(RADIUS, problem, shards_of(problem, count), tol=1e-6, max_passes=100).run()
        require_agreement(RADIUS, problem, found, 1e-6)


@pytest.mark.each_value
@pytest.mark.parametrize(("mode", "loss"), SOME, ids=str)
@pytest.mark.parametrize("count", [1, 3, 16])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_number_of_workers_changes_no_bit(
    mode: str, loss: Any, count: int, layout: Any
) -> None:
    problem = drawn(mode, loss, seed=3, layout=layout)
    found = []
    for workers in (1, 2, 5):
        shards = shards_of(problem, count)
        solution = solving(mode, problem, shards, workers=workers, tol=1e-6).run()
        numbers = solution.primal, solution.dual, solution.passes, solution.bias
        found.append((numbers, solution.weights.tobytes(), slopes_of(shards).tobytes()))
    assert found[0] == found[1] == found[2]
    assert solution.converged


@pytest.mark.each_value
@pytest.mark.parametrize(("mode", "loss"), SOME, ids=str)
@pytest.mark.parametrize("count", [1, 3])
def test_a_state_that_was_kept_continues_to_the_same_bits(mode: str, loss: Any, count: int) -> None:
    """On the same shards, and on new ones of the same rows."""
    problem = drawn(mode, loss, seed=5, strength=0.02)
    options: dict[str, Any] = {"tol": 1e-7, "max_passes": 40}

    def bits(solver: SharedSolver, shards: list[Shard]) -> Any:
        end = solver.run()
        numbers = end.primal, end.dual, end.passes, end.converged, end.bias
        return numbers, end.weights.tobytes(), slopes_of(shards).tobytes()

    shards = shards_of(problem, count)
    expected = bits(solving(mode, problem, shards, **options), shards)
    stop, left = 0, False
    while not left:
        shards = shards_of(problem, count)
        solver = solving(mode, problem, shards, **options)
        for _ in range(stop):
            left = solver.step()
        if left:
            break
        solver.check()
        kept = solver.state(), [shard.kept() for shard in shards]
        # Looking at a state changes nothing.
        assert bits(solver, shards) == expected
        for one, state in zip(shards, kept[1], strict=True):
            one.restore(state)
        solver.go_back(*kept[0])
        solver.check()
        assert bits(solver, shards) == expected, f"back to step {stop}"
        fresh = shards_of(problem, count, seed=77)
        for one, state in zip(fresh, kept[1], strict=True):
            one.restore(state)
        again = solving(mode, problem, fresh, **options)
        again.go_back(*kept[0])
        assert bits(again, fresh) == expected, f"afresh from step {stop}"
        stop += 1
    assert stop >= 2


@pytest.mark.parametrize("mode", [RADIUS, BIAS])
def test_slopes_changed_behind_the_solver_are_noticed(mode: str) -> None:
    problem = drawn(mode, nr.losses.Hinge(), seed=7)
    shards = shards_of(problem, 4)
    solver = solving(mode, problem, shards, tol=1e-6)
    solver.run()
    solver.check()
    before = shards[2].slopes.copy()
    shards[2].slopes *= 0.99
    with pytest.raises(LostStep):
        solver.check()
    shards[2].slopes[:] = before
    solver.check()


@pytest.mark.parametrize("mode", [RADIUS, BIAS])
def test_an_interrupted_round_is_taken_back(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slopes of half a round prove little; those before it still do."""
    problem = drawn(mode, nr.losses.Hinge(), strength=1e-3, radius=50.0)
    shards = shards_of(problem, 3)
    solver = solving(mode, problem, shards, tol=1e-12)
    solver.step()
    solver.step()
    before = solver.best
    assert before is not None
    original, calls = newton.Joint.step, []

    def interrupted(self: Any, *given: Any) -> Any:
        calls.append(original(self, *given))
        raise KeyboardInterrupt

    monkeypatch.setattr(newton.Joint, "step", interrupted)
    found = solver.run()
    assert calls and not found.converged
    assert found.dual == pytest.approx(before.dual, rel=1e-12)
    assert found.primal <= before.primal
    solver.check()


@pytest.mark.parametrize("count", [1, 3])
def test_a_bias_along_which_losses_fall_forever_is_refused(count: int) -> None:
    below_all = nr.losses.NegativeLog()
    problem = drawn(BIAS, below_all)
    with pytest.raises(ValueError, match="NegativeLog falls forever along a bias") as caught:
        solving(BIAS, problem, shards_of(problem, count))
    assert "\n" not in str(caught.value)


def test_files_with_one_class_have_a_best_bias_where_the_losses_reach_it() -> None:
    """A hinge is 0 from some bias on; weights are not needed."""
    problem = Problem.of([[1.0], [2.0]], [1.0, 1.0], nr.losses.Hinge(), strength=1.0)
    found = solving(BIAS, problem, shards_of(problem, 2), tol=1e-9).run()
    assert found.converged and found.primal <= 1e-9


@pytest.mark.compiled
@pytest.mark.parametrize("mode", [RADIUS, BIAS])
def test_machine_code_solves_both(mode: str) -> None:
    for layout in (np.asarray, sp.csr_array):
        problem = drawn(mode, nr.losses.Hinge(), layout=layout)
        solver = solving(mode, problem, shards_of(problem, 3), workers=2, tol=1e-6)
        require_agreement(mode, problem, solver.run(), 1e-6)
        solver.check()
