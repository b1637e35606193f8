"""The parts of Newton's method on the objective: matrix, guess, forecast, samples, passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch import primal_newton, primal_start
from noregret.batch.cost import Cost, forming
from noregret.batch.primal_newton import Model, Newton
from noregret.batch.primal_start import Forecast, allowed, sampled, taken
from noregret.batch.problem import Problem
from noregret.passes.dual import primal
from noregret.passes.dual.gap import Terms
from noregret.shards import Shards
from tests.batch.test_primal import every_loss, newton_of, problem_of


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


def test_samples_are_those_of_the_seed_and_stand_for_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = problem_of(nr.losses.Logistic(), seed=16, rows=2000, width=3)
    # A step on so few rows costs little more than its overhead: no samples.
    assert not sampled(problem, False, 1)[0].any()
    monkeypatch.setattr(primal_start, "OVERHEAD", 1.0)
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
