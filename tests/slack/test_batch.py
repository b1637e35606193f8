"""Both ends of a duality gap against exact arithmetic, on rows where one rounding matters.

D(s) is rounded down and P(w) up: each term of that rounding has a problem of its own.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from noregret import losses
from noregret.batch.constrained import ConstrainedSolver, Limits
from noregret.batch.problem import Problem, Solution, closed
from noregret.rounding import EPSILON

#: A sum to which these small terms are lost one by one: half a unit in its last place each.
HIGH, SMALL, MANY = 1.5 * 2.0**60, 2.0**7, 8192


def exact(values: np.ndarray) -> list[Fraction]:
    return [Fraction(x) for x in values.tolist()]


def test_small_conjugates_are_not_lost_to_a_large_one() -> None:
    y = np.concatenate([[-HIGH], np.full(MANY, SMALL)])
    problem = Problem.of(np.zeros((len(y), 1)), y, losses.Absolute(), strength=1.0)
    # f*(s) = s y: at s = 1 the rows add -y to D.
    assert Fraction(problem.dual_lower(np.ones(len(y)))) <= -sum(exact(y))


def test_small_losses_are_not_lost_to_a_large_one() -> None:
    y = np.concatenate([[HIGH], np.full(MANY, SMALL)])
    problem = Problem.of(np.zeros((len(y), 1)), y, losses.Absolute(), strength=1.0)
    assert Fraction(problem.primal_upper(np.zeros(1))) >= sum(exact(y))


@pytest.mark.parametrize("seed", range(10))
def test_products_of_weights_and_conjugates_are_rounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = rng.normal(size=200)
    # 0.1 y and 0.3 (y / 3) cancel but for their rounding.
    y, c = np.concatenate([ends, ends / 3.0]), np.repeat([0.1, 0.3], 200)
    slopes = np.repeat([1.0, -1.0], 200)
    problem = Problem.of(np.zeros((400, 1)), y, losses.Absolute(), strength=1.0, weight=c)
    true = -sum(a * b * d for a, b, d in zip(exact(c), exact(slopes), exact(y), strict=True))
    assert Fraction(problem.dual_lower(slopes)) <= max(true, Fraction())


@pytest.mark.parametrize("seed", range(10))
def test_the_gradient_of_slopes_is_known_to_its_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # So long a way that the rounding of Z exceeds that of the heights by far.
    x = 2.0**40 * np.concatenate([rng.normal(size=300), [0.0]])
    x[-1] = -float(x.sum())
    c = np.full(301, 0.1)
    y = np.zeros(301)
    y[0] = -(2.0**30)
    problem = Problem.of(x[:, None], y, losses.Absolute(), radius=100.0, weight=c)
    z = sum(a * b for a, b in zip(exact(c), exact(x), strict=True))
    height = -sum(a * b for a, b in zip(exact(c), exact(y), strict=True))
    true = height - 100 * abs(z)
    assert true > 0
    found = problem.dual_lower(np.ones(301))
    assert Fraction(found) <= true
    assert found > 0.0


def test_losses_are_multiplied_by_weights_that_are_rounded() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y, c = np.abs(rng.normal(size=50)), rng.random(50)
        problem = Problem.of(np.zeros((50, 1)), y, losses.Absolute(), strength=1.0, weight=c)
        true = sum(a * b for a, b in zip(exact(c), exact(y), strict=True))
        assert Fraction(problem.primal_upper(np.zeros(1))) >= true


@pytest.mark.parametrize("loss", [losses.Absolute(), losses.Squared()], ids=str)
def test_predictions_are_known_to_the_rounding_of_all_their_terms(loss: losses.Loss) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, w = rng.normal(size=(1, 40)), 1e-3 * rng.normal(size=40)
        # The last term cancels all others in floating point, and not in truth.
        x[0, -1], w[-1] = 1.0, 0.0
        w[-1] = -float(x[0] @ w)
        p = sum(a * b for a, b in zip(exact(x[0]), exact(w), strict=True))
        penalty = Fraction(1, 2**200) / 2 * sum(a * a for a in exact(w))
        problem = Problem.of(x, [0.0], loss, strength=2.0**-200)
        true = abs(p) if isinstance(loss, losses.Absolute) else p * p
        assert Fraction(problem.primal_upper(w)) >= true + penalty


def test_a_loss_that_underflows_is_above_zero() -> None:
    problem = Problem.of(np.zeros((3, 1)), [1e-200] * 3, losses.Squared(), strength=1.0)
    assert Fraction(problem.primal_upper(np.zeros(1))) >= 3 * Fraction(1e-200) ** 2


def test_a_dual_value_that_underflows_is_not_above_it() -> None:
    y = np.full(3, 1e-170)
    problem = Problem.of(np.zeros((3, 1)), y, losses.Squared(), strength=1.0)
    slopes = np.full(3, -1e-170)
    # s (s/4 + y) vanishes in floating point, and D(s) = -sum of it is above 0 by little.
    true = -sum(s * (s / 4 + t) for s, t in zip(exact(slopes), exact(y), strict=True))
    assert Fraction(problem.dual_lower(slopes)) <= true


@pytest.mark.parametrize("seed", range(20))
def test_the_regulariser_is_rounded_up(seed: int) -> None:
    weights = np.random.default_rng(seed).normal(size=50)
    strength = 0.3 + seed
    # The loss of a row of zeros with the label 0 is 0: only the regulariser is left.
    problem = Problem.of(np.zeros((1, 50)), [0.0], losses.Absolute(), strength=strength)
    true = Fraction(strength) * sum(w * w for w in exact(weights)) / 2
    assert Fraction(problem.primal_upper(weights)) >= true


def test_a_gap_is_rounded_up() -> None:
    ends = (1e-17, -1.0)
    solution = Solution(np.zeros(1), *ends, alpha=np.zeros(1), passes=1, converged=False)
    assert Fraction(solution.gap) >= Fraction(ends[0]) - Fraction(ends[1])


def test_a_tolerance_is_relative_to_the_larger_of_1_and_the_objective() -> None:
    assert closed(2.0, 1.985, 0.01) and not closed(2.0, 1.975, 0.01)
    assert closed(0.5, 0.495, 0.01) and not closed(0.5, 0.487, 0.01)


@pytest.mark.parametrize("seed", range(5))
def test_products_of_multipliers_and_limits_are_rounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = 2.0**30 * rng.random(200)
    # 0.1 r and 0.3 (r / 3) cancel but for their rounding; the last limit lifts D above 0.
    r = np.concatenate([ends, -ends / 3.0, [-1.0]])
    m = np.concatenate([np.full(200, 0.1), np.full(200, 0.3), [1.0]])
    problem = Problem.of(np.zeros((1, 1)), [0.0], losses.Absolute(), strength=1.0)
    limits = Limits(np.zeros((401, 1)), r, np.zeros(401), None)
    solver = ConstrainedSolver(problem, limits=limits)
    solver.multipliers = m
    solver.examine()
    true = -sum(a * b for a, b in zip(exact(m), exact(r), strict=True))
    assert 0.9 < solver.value
    assert Fraction(solver.value) <= true - Fraction(EPSILON) * sum(
        a * abs(b) for a, b in zip(exact(m), exact(r), strict=True)
    )


@pytest.mark.parametrize("seed", range(5))
def test_products_of_multipliers_and_constraints_are_rounded(seed: int) -> None:
    ends = 2.0**30 * np.random.default_rng(seed).random(200)
    # 0.1 a and 0.3 (a / 3) cancel but for their rounding; the last limit lifts D to 1.
    a = np.concatenate([ends, -ends / 3.0, [0.0]])
    m = np.concatenate([np.full(200, 0.1), np.full(200, 0.3), [1.0]])
    r = np.concatenate([np.zeros(400), [-1.0]])
    z = abs(sum(b * c for b, c in zip(exact(m), exact(a), strict=True)))
    error = Fraction(EPSILON) * sum(b * abs(c) for b, c in zip(exact(m), exact(a), strict=True))
    # So small a strength that z^2 / (2 strength) is seen for a z that is off by the error.
    strength = float(1000 * error) ** 2
    problem = Problem.of(np.zeros((1, 1)), [0.0], losses.Absolute(), strength=strength)
    solver = ConstrainedSolver(problem, limits=Limits(a[:, None], r, a * a, None))
    solver.multipliers = m
    solver.examine()
    assert 0.5 < solver.value
    assert Fraction(solver.value) <= 1 - (z + error) ** 2 / (2 * Fraction(strength))
