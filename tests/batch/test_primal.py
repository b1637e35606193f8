"""Newton's method on the objective: the optimum of the visits, proofs that hold, sound choices."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch import hindsight, primal_newton, primal_solver
from noregret.batch.bias import BiasSolver
from noregret.batch.euclidean import EuclideanSolver
from noregret.batch.primal_solver import PrimalSolver
from noregret.batch.problem import Problem, Solution
from tests.truth.objectives import Objective

SMOOTH = (
    nr.losses.Logistic(),
    nr.losses.SquaredHinge(0.5),
    nr.losses.OneSidedHuber(),
    nr.losses.PowerHinge(2.0),
    nr.losses.Squared(),
    nr.losses.Huber(0.5),
    nr.losses.SquaredEpsilonInsensitive(0.2),
)
KINKED = (
    nr.losses.Hinge(),
    nr.losses.WinnowHinge(),
    nr.losses.Absolute(),
    nr.losses.EpsilonInsensitive(0.3),
    nr.losses.Quantile(0.8),
)
every_loss = pytest.mark.parametrize("loss", SMOOTH + KINKED, ids=repr)


class Odd(nr.losses.Logistic):
    """A loss of one's own that has no second derivative of its own."""

    bend = nr.losses.Loss.bend


def problem_of(
    loss: nr.losses.Loss, seed: int = 0, rows: int = 60, width: int = 5, strength: float = 0.3
) -> Problem:
    """Return rows with noise, offsets and example weights, some of them 0."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, width)) * random.choice([0.0, 1.0], (rows, width))
    y = X @ random.normal(size=width) + random.normal(size=rows)
    y = np.where(y > 0.0, 1.0, -1.0) if loss.labels == "sign" else y
    weight = random.choice([0.0, 0.5, 1.0, 2.0], rows)
    offset = random.normal(size=rows)
    return Problem.of(X, y, loss, None, strength, weight, offset)


def newton_of(problem: Problem, tol: float = 1e-10, **options: Any) -> Solution:
    """Return the solution of Newton's method alone, without visits before or after."""
    solver = PrimalSolver(problem, tol, max_passes=400, **options)
    solver.visits = None
    found = super(PrimalSolver, solver).run()
    assert solver.visits is None
    return found


@every_loss
def test_it_finds_the_optimum_of_the_visits(loss: nr.losses.Loss) -> None:
    problem = problem_of(loss)
    found = newton_of(problem)
    visited = EuclideanSolver(problem, 1e-10, max_passes=20_000).run()
    assert found.converged and visited.converged
    size = max(1.0, found.primal)
    assert found.dual <= visited.primal and visited.dual <= found.primal
    assert found.primal == pytest.approx(visited.primal, abs=3e-10 * size)
    # The objective is strongly convex: (b/2) ||w - w*||^2 is at most the gap.
    apart = np.linalg.norm(found.weights - visited.weights)
    assert apart <= 2.0 * math.sqrt(2.0 * 1e-10 * size / problem.strength)


@every_loss
def test_the_gap_holds_in_a_hundred_digits(loss: nr.losses.Loss) -> None:
    problem = problem_of(loss, seed=1, rows=12, width=3)
    judge = Objective(problem)
    for passes in (1, 2, 4, 400):
        solver = PrimalSolver(problem, 1e-9, max_passes=passes)
        solver.visits = None
        found = super(PrimalSolver, solver).run()
        assert judge.primal(found.weights) <= found.primal
        # No sum of losses is below 0.
        assert max(judge.dual(found.alpha), 0) >= found.dual
        assert found.dual <= found.primal
    assert found.converged


@every_loss
def test_a_bias_is_free(loss: nr.losses.Loss) -> None:
    problem = problem_of(loss, seed=2)
    found = newton_of(problem, 1e-8, free=True, rest=BiasSolver)
    other = BiasSolver(problem, 1e-8, max_passes=5000).run()
    assert found.converged and other.converged
    assert found.dual <= other.primal and other.dual <= found.primal
    assert abs(problem.weight @ found.alpha) <= 1e-12 * (problem.weight @ np.abs(found.alpha) + 1.0)
    assert found.objective.endswith("bias free")
    moved = replace(problem, offset=problem.offset + found.bias)
    assert moved.primal_upper(found.weights) == pytest.approx(found.primal, rel=1e-12)


@pytest.mark.parametrize("loss", [SMOOTH[0], SMOOTH[1], KINKED[0]], ids=repr)
def test_sparse_rows_float32_and_shards_agree(loss: nr.losses.Loss) -> None:
    problem = problem_of(loss, seed=3)
    X, y = problem.rows.values, problem.y
    dense = hindsight(X, y, loss, l2=0.3, tol=1e-11)
    for other in (sp.csr_array(X), X.astype(np.float32)):
        again = hindsight(other, y, loss, l2=0.3, tol=1e-11)
        size = 1e-6 if other.dtype == np.float32 else 1e-10
        assert again.primal == pytest.approx(dense.primal, rel=size)
    one, two = (
        hindsight(X, y, loss, l2=0.3, tol=1e-11, shards=3, workers=workers) for workers in (1, 2)
    )
    assert np.array_equal(one.weights, two.weights) and np.array_equal(one.alpha, two.alpha)
    assert one.primal == pytest.approx(dense.primal, rel=1e-10)


SCALES = ((1e-8, 1.0), (1.0, 1e6), (1e-6, 1e6), (1e4, 1e4))


@pytest.mark.parametrize("scales", SCALES, ids=str)
@pytest.mark.parametrize("l2", [1e-6, 1.0, 1e8])
@pytest.mark.parametrize("loss", [SMOOTH[0], SMOOTH[1], SMOOTH[4], KINKED[0]], ids=repr)
def test_features_of_any_unit(loss: nr.losses.Loss, l2: float, scales: tuple[float, float]) -> None:
    problem = problem_of(loss, seed=9)
    units = np.geomspace(*scales, problem.width)
    best = hindsight(problem.rows.values * units, problem.y, loss, l2=l2, tol=1e-6, max_passes=300)
    assert best.dual <= best.primal
    if not isinstance(loss, nr.losses.Hinge):
        assert best.converged


@pytest.mark.parametrize("loss", [SMOOTH[0], SMOOTH[1], KINKED[0]], ids=repr)
def test_separable_rows_with_duplicates_and_empty_columns(loss: nr.losses.Loss) -> None:
    random = np.random.default_rng(10)
    X = random.normal(size=(80, 4))
    y = np.where(X @ np.ones(4) > 0.0, 1.0, -1.0)
    X = np.hstack([X, X, np.zeros((80, 2))])
    best = hindsight(np.vstack([X, X]), np.append(y, y), loss, l2=1e-4, tol=1e-7)
    assert best.converged
    assert np.allclose(best.weights[:4], best.weights[4:8], rtol=1e-2, atol=1e-2)
    assert np.array_equal(best.weights[8:], np.zeros(2))


@pytest.mark.parametrize("loss", [SMOOTH[0], SMOOTH[1], SMOOTH[4]], ids=repr)
def test_rows_too_large_for_visits(loss: nr.losses.Loss) -> None:
    """A step of one row needs c ||x||^2 / b, which overflows; the matrix of all rows does not."""
    X = np.array([[1e99, 1.0], [-1e99, 2.0], [3.0, 1e99]])
    best = hindsight(X, [1.0, -1.0, 1.0], loss, l2=1e-120, max_passes=300)
    assert best.converged and best.dual <= best.primal
    with pytest.raises(ValueError, match="overflows: scale the rows or the weights"):
        hindsight(X, [1.0, -1.0, 1.0], nr.losses.Hinge(), l2=1e-120)


@pytest.mark.parametrize("loss", [SMOOTH[0], SMOOTH[1], SMOOTH[4]], ids=repr)
@pytest.mark.parametrize("slope", [1e100, -1e308])
@pytest.mark.parametrize("bias", [False, True])
def test_a_warm_start_far_away_does_no_harm(loss: nr.losses.Loss, slope: float, bias: bool) -> None:
    problem = problem_of(loss, seed=20)
    X, y, slopes = problem.rows.values, problem.y, np.full(len(problem.y), slope)
    best = hindsight(X, y, loss, l2=1e-3, warm_start=slopes, bias=bias)
    assert best.converged and best.passes < 20


@every_loss
def test_a_warm_start_goes_on(loss: nr.losses.Loss) -> None:
    problem = problem_of(loss, seed=11)
    cold = PrimalSolver(problem, 1e-6, 1000).run()
    again = PrimalSolver(problem, 1e-6, 1000, warm_start=cold.alpha).run()
    assert again.converged and again.passes <= 2
    better = PrimalSolver(problem, 1e-10, 1000, warm_start=cold.alpha).run()
    assert better.converged and better.primal <= cold.primal + 1e-9 * abs(cold.primal)
    assert again.dual >= cold.dual - 1e-6 * abs(cold.dual)


@pytest.mark.parametrize("loss", [SMOOTH[0], KINKED[0]], ids=repr)
@pytest.mark.parametrize("free", [False, True])
def test_where_newton_ends_visits_go_on(
    loss: nr.losses.Loss, free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(primal_solver, "PATIENCE", 1)
    problem = problem_of(loss, seed=12)
    rest = BiasSolver if free else EuclideanSolver
    solver = PrimalSolver(problem, 1e-8, 2000, rest=rest, free=free)
    solver.visits = None
    solver.least = 1e-300
    found = solver.run()
    assert found.converged
    assert found.passes > 2
    bare = PrimalSolver(problem, 1e-8, 2000, rest=rest, free=free)
    assert found.primal == pytest.approx(bare.run().primal, rel=1e-7)


@pytest.mark.parametrize("loss", [SMOOTH[0], KINKED[0]], ids=repr)
def test_an_interrupted_run_keeps_its_state(loss: nr.losses.Loss) -> None:
    problem = problem_of(loss, seed=13, strength=1e-4)
    seen: list[float] = []

    def interrupt(progress: Any) -> None:
        seen.append(progress.gap)
        if len(seen) == 4:
            raise KeyboardInterrupt

    found = PrimalSolver(problem, 1e-12, 1000, progress=interrupt).run()
    assert not found.converged and len(seen) == 4 and found.passes <= 4
    assert found.dual <= found.primal < math.inf
    few = PrimalSolver(problem, 1e-12, 3).run()
    assert few.passes == 3 and few.dual <= few.primal


def test_rounds_that_take_long_keep_their_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primal_newton, "MOST_STEPS", 1)
    found = newton_of(problem_of(nr.losses.Hinge(), seed=14), 1e-7)
    assert found.converged


def test_visits_are_left_when_they_crawl() -> None:
    """Columns in very different units: visits correct one another for ever."""
    problem = problem_of(nr.losses.Hinge(), seed=15, rows=300)
    scaled = problem.rows.values * np.geomspace(1.0, 300.0, problem.width)
    crawling = Problem.of(scaled, problem.y, problem.loss, strength=1e-2)
    solver = PrimalSolver(crawling, 1e-6, 2000)
    found = solver.run()
    assert found.converged and solver.newton is not None
    alone = EuclideanSolver(crawling, 1e-6, max_passes=found.passes).run()
    assert alone.gap > found.gap
    # A strong regulariser: a few epochs are enough.
    easy = PrimalSolver(replace(crawling, strength=1e8), 1e-3, 2000)
    assert easy.run().converged and easy.newton is None


def test_a_loss_without_a_second_derivative_of_its_own() -> None:
    problem = problem_of(nr.losses.Logistic(), seed=17)
    X, y = problem.rows.values, problem.y
    own, ours = (hindsight(X, y, loss, l2=0.3, tol=1e-10) for loss in (Odd(), nr.losses.Logistic()))
    assert own.converged and own.primal == pytest.approx(ours.primal, rel=1e-9)
