"""Slopes that balance for a free bias: what they prove, also where they balance up to rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest

import noregret as nr
from noregret.batch import Problem, verifying
from noregret.batch.shard import Shard
from noregret.batch.shard_balance import Balance, BalanceStep
from noregret.workers import Threads
from tests.batch.on_shards import proved, shards_of, shared, slopes_of
from tests.batch.test_verifying import MAPS, RATIONAL, draw, draw_point
from tests.sizes import sized
from tests.truth.exact_objectives import ExactObjective, fractions


def with_slopes(problem: Problem, slopes: Any, count: int = 1) -> list[Shard]:
    """Return the problem on shards, with these slopes."""
    shards, begin = shards_of(problem, count), 0
    for shard in shards:
        shard.slopes[:] = slopes[begin : begin + len(shard.slopes)]
        begin += len(shard.slopes)
    return shards


def lower_bounds(problem: Problem, slopes: Any, count: int = 1) -> tuple[float, float]:
    """Return the lower bounds of the solver and of the verification, with a free bias."""
    shards = with_slopes(problem, slopes, count)
    lower = shared(problem, shards, free=True).dual_lower()
    return lower, proved(problem, slopes, np.zeros(problem.width), count, 0.0)[1]


def false_duals(problem: Problem, slopes: Any, count: int = 1) -> list[str]:
    """Return which lower bounds are above what the slopes prove, judged in fractions."""
    floor = ExactObjective(problem).balanced_dual(slopes)
    if problem.loss.nonnegative:
        floor = max(Fraction(0) if floor is None else floor, Fraction(0))
    found = []
    bounds = lower_bounds(problem, slopes, count)
    for name, value in zip(("solver", "verified"), bounds, strict=True):
        if value > -math.inf and (floor is None or value > floor):
            found.append(name)
    return found


def common(seed: int, loss: Any, mirror: Any) -> Problem:
    """Return a problem of which most slopes prove something."""
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(6, 2)), np.tile([1.0, -1.0], 3)
    c = random.choice([0.0, 0.1, 1.0], 6)
    c[:2] = 1.0
    return Problem.of(X, y, loss, mirror, 1e3, c, random.normal(size=6))


def excess(problem: Problem, slopes: Any) -> Fraction:
    """Return sum c_i s_i."""
    pairs = zip(fractions(problem.weight), fractions(slopes), strict=True)
    return sum((c * s for c, s in pairs), Fraction(0))


@pytest.mark.parametrize("loss", RATIONAL, ids=str)
@pytest.mark.parametrize("mirror", MAPS[:3], ids=str)
def test_lower_bounds_are_true_at_any_slopes(loss: Any, mirror: Any) -> None:
    """At random ones, and at such as balance up to rounding, of any scale and of a common one."""
    known = 0
    for seed in range(sized(12, 200)):
        problem = common(seed, loss, mirror) if seed % 3 == 0 else draw(seed, loss, mirror)
        slopes, weights = draw_point(seed, problem)
        with np.errstate(all="ignore"):
            count = 1 + seed % len(problem.y)
            assert not false_duals(problem, slopes, count), f"seed {seed}"
            shards = with_slopes(problem, slopes, count)
            Balance(problem, Threads(shards)).balance()
            balanced = slopes_of(shards)
            assert not false_duals(problem, balanced, count), f"balanced, seed {seed}"
            known += min(lower_bounds(problem, balanced, count)) > 0.0
            bias = float(np.random.default_rng([seed, 2]).normal())
            primal, _ = proved(problem, slopes, weights, count, bias)
            assert primal == math.inf or primal >= ExactObjective(problem).primal(weights, bias)
    assert known >= 1


def all_on_one_row() -> tuple[Problem, Any]:
    """The only row has to give up its slope, and with it all that it proves."""
    return Problem.of([[0.0]], [-1.0], nr.losses.Absolute(), None, 1.0), np.array([0.2])


def gradients_that_no_longer_cancel() -> tuple[Problem, Any]:
    """Balanced by either row, g is not 0 and the weak regulariser costs much."""
    X, y, c = [[1.0], [2.0]], [-1000.0, 0.0], [1.0, 2.0]
    problem = Problem.of(X, y, nr.losses.Absolute(), None, 1e-3, c)
    return problem, np.array([0.6, -0.15])


def a_row_with_an_offset() -> tuple[Problem, Any]:
    """The conjugate is 0 at any slope, and the offset is not."""
    problem = Problem.of([[0.0]], [0.0], nr.losses.Absolute(), None, 1.0, offset=[100.0])
    return problem, np.array([0.2])


#: What a remainder costs the row that takes it: place in `remainder_witness`, and a case for it.
COSTS = [(0, all_on_one_row), (2, gradients_that_no_longer_cancel), (3, a_row_with_an_offset)]


@pytest.mark.parametrize(("place", "case"), COSTS, ids=["rise", "length", "offset"])
def test_every_cost_of_a_remainder_is_needed(place: int, case: Any) -> None:
    """The size of the terms, place 1, and the rounding of the balance are safeties."""
    problem, slopes = case()
    assert not false_duals(problem, slopes)
    original = verifying.Witness.remainder_witness

    def without(self: Any, *given: float) -> Any:
        found = list(original(self, *given))
        found[place] = 0.0
        return tuple(found)

    with mock.patch.object(verifying.Witness, "remainder_witness", without):
        assert false_duals(problem, slopes) == ["verified"]


#: The same for the solver: the error of the sum of conjugates, offsets included, and that of g.
ERRORS = [(1, all_on_one_row), (1, a_row_with_an_offset), (2, gradients_that_no_longer_cancel)]


@pytest.mark.parametrize(("place", "case"), ERRORS, ids=["rise", "offset", "length"])
def test_every_error_of_a_remainder_is_needed_by_the_solver(place: int, case: Any) -> None:
    problem, slopes = case()
    assert not false_duals(problem, slopes)
    original = BalanceStep.remainder

    def without(self: Any, *given: Any) -> Any:
        found = list(original(self, *given))
        found[place] = 0.0
        return tuple(found)

    with mock.patch.object(BalanceStep, "remainder", without):
        assert false_duals(problem, slopes) == ["solver"]


def test_a_remainder_counts_however_small() -> None:
    """A plain sum would lose it beside the other slopes."""
    slopes = np.array([-1.0, -1e-30, 1.0])
    problem = Problem.of(np.ones((3, 1)), [1.0, 1.0, -1.0], nr.losses.Hinge(), None, 1.0)
    assert slopes.sum() == 0.0 != excess(problem, slopes)
    for count in (1, 2, 3):
        workers = Threads(with_slopes(problem, slopes, count))
        assert verifying.imbalance(workers)[1] >= 1e-30
        exactly = np.zeros(1), 0.0, 0.0, 0.0
        assert Balance(problem, workers).lowered(exactly)[1] >= 1e-30
    workers = Threads(with_slopes(problem, np.array([-1.0, 0.0, 1.0])))
    assert verifying.imbalance(workers) == (0.0, 0.0)


def test_products_that_round_leave_a_remainder() -> None:
    """The product of 0.1 and 0.3 is not a double, so that one which cancels it does not."""
    c, slopes = np.array([0.1, 1.0]), np.array([0.3, -(0.1 * 0.3)])
    problem = Problem.of(np.ones((2, 1)), [1.0, 1.0], nr.losses.Absolute(), None, 1.0, c)
    true = abs(excess(problem, slopes))
    assert true > 0 == float(c[0] * slopes[0] + slopes[1])
    workers = Threads(with_slopes(problem, slopes))
    assert verifying.imbalance(workers)[1] >= true
    assert Balance(problem, workers).lowered((np.zeros(1), 0.0, 0.0, 0.0))[1] >= true


def test_nothing_is_proved_where_no_row_has_room() -> None:
    """Both rows are at their ends, and their sum is not 0."""
    problem = Problem.of([[1.0], [1.0]], [1.0, -1.0], nr.losses.Hinge(), None, 1.0, [2.0, 1.0])
    assert lower_bounds(problem, np.array([-1.0, 1.0])) == (0.0, 0.0)
    own = Problem.of([[1.0]], [1.0], nr.losses.NegativeLog(), None, 1.0)
    assert lower_bounds(own, np.array([-1.0])) == (-math.inf, -math.inf)


@pytest.mark.parametrize("wild", [(math.inf, -math.inf), (math.nan, 0.0), (1.7e308, 1.7e308)])
def test_slopes_that_overflow_prove_nothing_and_raise_nothing(wild: Any) -> None:
    """A Newton step with a steep loss may lead to them."""
    problem = Problem.of(np.ones((3, 1)), [1.0, 1.0, -1.0], nr.losses.Squared(), None, 1.0)
    for count in (1, 3):
        shards = with_slopes(problem, np.array([*wild, 0.0]), count)
        with np.errstate(all="ignore"):
            Balance(problem, Threads(shards)).balance()
            assert shared(problem, shards, free=True).dual_lower() == 0.0


@pytest.mark.parametrize("loss", RATIONAL, ids=str)
@pytest.mark.parametrize("count", [1, 4])
def test_slopes_are_balanced_within_their_intervals(loss: Any, count: int) -> None:
    for seed in range(sized(6, 60)):
        random = np.random.default_rng(seed)
        y = random.choice([-1.0, 1.0], 9)
        y[:2] = 1.0, -1.0
        c = random.choice([0.0, 0.1, 1.0, 3.0], 9)
        c[:2] = 1.0
        problem = Problem.of(np.ones((9, 1)), y, loss, None, 1.0, c)
        slopes = problem.clipped(random.normal(size=9) * 10.0 ** random.integers(-3, 4))
        shards = with_slopes(problem, slopes, count)
        Balance(problem, Threads(shards, 2)).balance()
        found = slopes_of(shards)
        np.testing.assert_array_equal(found, problem.clipped(found))
        size = float(c @ np.abs(found)) + 1e-300
        assert abs(excess(problem, found)) <= 1e-14 * max(size, float(c @ np.abs(slopes)))


def test_labels_without_a_best_bias_are_refused() -> None:
    """-ln p falls forever; of the others none does, be the labels of one class."""
    for loss in [*RATIONAL, nr.losses.Logistic(), nr.losses.Exponential(), nr.losses.NegativeLog()]:
        problem = Problem.of([[1.0], [2.0]], [1.0, 1.0], loss, None, 1.0)
        balance = Balance(problem, Threads(shards_of(problem, 2)))
        if loss.nonnegative:
            balance.require_best()
        else:
            with pytest.raises(ValueError, match="falls forever along a bias on these labels"):
                balance.require_best()
