"""Newton's method on the objective: the optimum of the visits, proofs that hold, sound choices."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch import hindsight, primal_newton, primal_solver, primal_start
from noregret.batch.bias import BiasSolver
from noregret.batch.cost import Cost, forming
from noregret.batch.euclidean import EuclideanSolver
from noregret.batch.primal_newton import Model, Newton
from noregret.batch.primal_solver import PrimalSolver
from noregret.batch.primal_start import Forecast, allowed, sampled, taken
from noregret.batch.problem import Problem, Solution
from noregret.passes.dual import primal
from noregret.passes.dual.gap import Terms
from noregret.shards import Shards
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


def test_the_slopes_of_the_model_belong_to_the_weights_of_the_step() -> None:
    """Without any brought into its interval, sum c_i s_i x_i = -b w up to rounding."""
    problem = problem_of(nr.losses.Squared(), seed=4)
    newton = Newton(problem, False, np.ones(problem.width))
    assert newton.step()
    newton.gap()
    g = problem.gradient(newton.slopes)[0]
    assert np.allclose(g, -problem.strength * newton.here.weights, rtol=1e-12, atol=1e-12)
    # Of a part of the step they lack the same part of the gradient.
    before = newton.before
    assert before is not None
    newton.part = 0.25
    wanted = 0.75 * before.gradient[:-1]
    found, off = np.empty(len(problem.y)), wanted.copy()
    primal.tangent_slopes(
        problem.loss, problem.block, problem.terms, before.answers, newton.model.bends,
        newton.here.answers, found, off,
    )  # fmt: skip
    assert np.array_equal(off, wanted)


@pytest.mark.parametrize("loss", [nr.losses.Logistic(), nr.losses.SquaredHinge()], ids=repr)
def test_the_guess_of_the_gap_is_that_of_the_slopes(loss: nr.losses.Loss) -> None:
    """Slopes brought into their intervals, and what their sum lacks then, are counted."""
    problem = problem_of(loss, seed=5, rows=200, strength=1.0)
    newton = Newton(problem, False, np.full(problem.width, 0.3))
    checked = 0
    for _ in range(12):
        guess = newton.gap()
        lower = problem.dual_lower(newton.slopes)
        true = problem.primal_upper(newton.here.weights) - lower
        # A dual value below 0 is given as 0.
        if lower > 0.0 and true > 1e-8:
            assert 0.25 * true <= guess <= 2.0 * true
            checked += 1
        if not newton.step():
            break
    assert checked >= 2


@pytest.mark.parametrize("free", [False, True])
def test_the_matrix_follows_and_is_formed_anew(free: bool) -> None:
    problem = replace(problem_of(nr.losses.Logistic(), seed=6, rows=90), shards=Shards(2))
    model = Model(problem, free)
    random = np.random.default_rng(7)
    bends = random.uniform(0.5, 1.0, 90)
    X = np.hstack([problem.rows.values, np.ones((90, 1))])[:, : problem.width + free]
    gradient = random.normal(size=problem.width + 1)
    for share, fresh in ((1.0, True), (0.3, False), (0.2, False), (0.9, True)):
        # Moved by more than is left out, some of them to 0 and back.
        bends = np.where(random.uniform(size=90) < share, random.uniform(1.0, 9.0, 90), bends)
        if not fresh:
            bends[random.integers(0, 90, 5)] = 0.0
        model.follow(bends)
        assert model.fresh is (share == 1.0) or not fresh or share < 1.0
        assert np.all(
            np.abs(model.bends - bends) <= primal_newton.NEAR * np.maximum(bends, model.bends)
        )
        base = np.append(np.full(problem.width, problem.strength), [0.0] * free)
        matrix = X.T @ ((problem.weight * model.bends)[:, None] * X) + np.diag(base)
        wanted = -np.linalg.solve(matrix, gradient[: len(base)])
        assert np.allclose(model.step(gradient)[: len(base)], wanted, rtol=1e-8, atol=1e-10)
    model.forget()
    model.follow(bends)
    assert model.fresh and np.array_equal(model.bends, bends)


def test_rounding_in_the_matrix_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that leads nowhere is tried once more with a matrix that was formed anew."""
    problem = problem_of(nr.losses.Logistic(), seed=8)
    newton = Newton(problem, False, np.ones(problem.width))
    assert newton.step()
    honest = Model.step
    spoilt = {"calls": 0}

    def step(self: Model, gradient: np.ndarray) -> np.ndarray:
        spoilt["calls"] += 1
        found = honest(self, gradient)
        return -found if spoilt["calls"] == 1 else found

    monkeypatch.setattr(Model, "step", step)
    newton.model.fresh = False
    monkeypatch.setattr(primal, "changes", keep_stale(primal.changes))
    value = newton.here.value
    assert newton.step()
    assert spoilt["calls"] == 2
    assert newton.here.value < value


def keep_stale(changes: Any) -> Any:
    """Return `changes` that says, the first time, that the matrix was not formed anew."""
    calls = []

    def found(*arguments: Any) -> bool:
        calls.append(changes(*arguments))
        return bool(calls[-1]) and len(calls) > 1

    return found


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


def test_a_forecast_decides_by_counts() -> None:
    narrow = problem_of(nr.losses.Logistic(), rows=400, width=4)
    assert allowed(narrow) and Forecast.of(narrow).at_once()
    assert not Forecast.of(problem_of(nr.losses.Hinge(), rows=400, width=4)).at_once()
    wide = problem_of(nr.losses.Logistic(), rows=5, width=300)
    assert allowed(wide) and not Forecast.of(wide).at_once()
    widest = problem_of(nr.losses.Logistic(), rows=3, width=primal_start.LARGEST_MATRIX + 1)
    assert not allowed(widest)
    ball = replace(narrow, mirror=nr.mirrors.Ball(1.0))
    assert not allowed(ball)
    for loss in (nr.losses.Exponential(), nr.losses.NegativeLog(), nr.losses.PowerHinge(3.0)):
        assert not allowed(problem_of(loss))
    # Sparse rows count what is stored, dense ones all of their columns.
    sparse = Problem.of(sp.csr_array(narrow.rows.values), narrow.y, narrow.loss, strength=1.0)
    lengths = np.count_nonzero(narrow.rows.values, axis=1)
    assert forming(sparse) == pytest.approx(0.5 * float(lengths @ lengths) + 4**3 / 6.0)
    assert Cost.of(sparse).step < Cost.of(narrow).step
    forecast = Forecast(Cost(1.0, 3.0, 1.0), 10.0, True)
    assert not forecast.changes([1.0], 1e-3, 1.0)
    assert not forecast.changes([1.0, 1e-4], 1e-3, 1.0)
    assert forecast.changes([1.0, 1.1], 1e-3, 1.0)
    assert not forecast.changes([1.0, 0.3, 0.1, 0.03], 1e-3, 0.1)


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


def test_samples_are_those_of_the_seed_and_stand_for_all_rows() -> None:
    problem = problem_of(nr.losses.Logistic(), seed=16, rows=2000, width=3)
    one, two, other = (sampled(problem, False, seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(one, two) and not np.array_equal(one, other)
    best = newton_of(problem, 1e-9)
    assert np.linalg.norm(one - best.weights) < 0.5 * np.linalg.norm(best.weights)
    chosen = np.array([1, 5, 1999])
    part = taken(problem, chosen)
    as_sparse = replace(
        problem,
        rows=Problem.of(
            sp.csr_array(problem.rows.values), problem.y, problem.loss, strength=1.0
        ).rows,
    )
    again = taken(as_sparse, chosen)
    for found in (part, again):
        assert np.array_equal(found.y, problem.y[chosen])
        assert np.allclose(found.weight, problem.weight[chosen] * 2000 / 3)
        v = np.arange(1.0, 4.0)
        wanted = problem.rows.values[chosen] @ v
        assert np.allclose(Newton(found, False, v).here.answers.predictions, wanted + found.offset)


def test_a_loss_without_a_second_derivative_of_its_own() -> None:
    problem = problem_of(nr.losses.Logistic(), seed=17)
    X, y = problem.rows.values, problem.y
    own, ours = (hindsight(X, y, loss, l2=0.3, tol=1e-10) for loss in (Odd(), nr.losses.Logistic()))
    assert own.converged and own.primal == pytest.approx(ours.primal, rel=1e-9)


@pytest.mark.compiled
@every_loss
@pytest.mark.parametrize("sparse", [False, True])
def test_compiled_passes_are_the_interpreted_ones(loss: nr.losses.Loss, sparse: bool) -> None:
    problem = problem_of(loss, seed=18)
    if sparse:
        problem = Problem.of(
            sp.csr_array(problem.rows.values), problem.y, loss, None, 0.3, problem.weight,
            problem.offset,
        )  # fmt: skip
    random = np.random.default_rng(19)
    count, width = len(problem.y), problem.width
    line = random.normal(size=count), random.normal(size=count)
    given = problem.start()

    def played(compiled: bool) -> list[Any]:
        def of(kernel: Any) -> Any:
            return kernel if compiled else kernel.py_func

        answers = primal.Answers(*np.empty((4, count)))
        around = primal.Answers(*np.empty((4, count)))
        of(primal.answer)(loss, problem.y, line, 0.5, answers)
        of(primal.answer_smoothed)(loss, problem.y, line, 1.0, (given, 0.3), around)
        found, off, before = np.empty(count), np.zeros(width), np.full(count, 0.1)
        factors, matrix = np.empty(count), np.zeros((width + 1, width + 1))
        terms = Terms(problem.y, problem.weight, problem.offset)
        results = [
            of(primal.sums)(problem.weight, line[1], answers),
            of(primal.apart)(loss, terms, around.predictions, around.slopes),
            of(primal.tangent_slopes)(
                loss, problem.block, terms, answers, around.bends, around, found, off
            ),
            of(primal.changes)(problem.weight, before, around.bends, 0.2, factors),
        ]
        of(primal.squares)(problem.block, factors, True, matrix)
        return [*answers, *around, found, off, before, factors, matrix, *results]

    for one, other in zip(played(True), played(False), strict=True):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-12)
