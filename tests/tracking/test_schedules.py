"""Schedules of comparators: their sizes, losses and what they refuse."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from noregret import losses
from noregret.tracking.schedules import Schedule, segment_loss, summed
from tests.oracles.data import X_T, Y_T, near

UA = Schedule([(0, (0.7, 0.1, 0.2)), (2, (0.1, 0.2, 0.7))])
US = Schedule([(0, (1, 0, 0)), (2, (0, 0, 1))])


def test_t1_loss_and_size() -> None:
    assert UA.loss(X_T, Y_T) == near(0.0921)
    assert [UA.size(p) for p in (1, 2, math.inf)] == near([1.2, 0.787400787401, 0.6])
    assert (US.loss(X_T, Y_T), US.size(1)) == near((0.15, 2))
    assert US.loss(csr_array(X_T), Y_T) == near(0.15)


def test_a_constant_schedule_has_no_size() -> None:
    still = Schedule([(0, (0.7, 0.1, 0.2)), (3, (0.7, 0.1, 0.2))])
    assert still.size(1) == still.size(2) == 0.0
    assert Schedule([(0, [1.0])]).size(1) == 0.0
    assert still.loss(X_T, Y_T) == near(Schedule([(0, (0.7, 0.1, 0.2))]).loss(X_T, Y_T))


def test_rounds_are_counted_from_zero() -> None:
    matrix = np.array([[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 3)
    schedule = Schedule.of_rounds(matrix)
    assert schedule.starts == (0, 2) and schedule.shifts == 1
    assert np.array([schedule.at(t) for t in range(5)]) == near(matrix)
    assert [(a, b) for a, b, _ in schedule.segments(5)] == [(0, 2), (2, 5)]
    assert str(schedule) == "1 shift over 2 features, at rounds 2"
    assert eval(repr(schedule)).starts == (0, 2)


def test_what_a_schedule_holds_cannot_be_changed_from_outside() -> None:
    u = np.array([1.0, 2.0])
    schedule = Schedule([(0, u)])
    u[0] = 9.0
    schedule.comparators[0, 0] = 9.0
    schedule.at(0)[0] = 9.0
    next(schedule.segments(1))[2][0] = 9.0
    assert schedule.at(0) == near([1.0, 2.0])


@pytest.mark.parametrize("loss", [losses.Squared(), losses.Absolute(), losses.Huber(0.5)])
def test_the_loss_lies_between_its_bounds(loss: losses.Loss) -> None:
    """Judged in fractions: neither end is on the wrong side, and they are close together."""
    rng = np.random.default_rng(3)
    for k in range(40):
        n, rounds = int(rng.integers(1, 6)), int(rng.integers(2, 20))
        scale = 10.0 ** rng.integers(-8, 9)
        X = rng.normal(size=(rounds, n)) * scale
        U = rng.normal(size=(2, n)) / scale
        # Labels close to the predictions: what is left of the loss is rounding.
        y = X @ U[0] + (1e-9 * rng.normal(size=rounds) if k % 2 else rng.normal(size=rounds))
        schedule = Schedule([(0, U[0]), (int(rng.integers(1, rounds)), U[1])])
        low, high = schedule.loss_between(X, y, loss)
        exact = Fraction(0)
        for t in range(rounds):
            pairs = zip(schedule.at(t), X[t], strict=True)
            gap = sum((Fraction(a) * Fraction(b) for a, b in pairs), -Fraction(y[t]))
            exact += _exact(loss, gap)
        assert Fraction(low) <= exact <= Fraction(high)
        assert high - low <= 1e-11 * max(1.0, high)


def _exact(loss: losses.Loss, gap: Fraction) -> Fraction:
    size = abs(gap)
    if isinstance(loss, losses.Squared):
        return gap * gap
    if isinstance(loss, losses.Absolute):
        return size
    assert isinstance(loss, losses.Huber)
    delta = Fraction(loss.delta)
    return gap * gap / 2 if size <= delta else delta * (size - delta / 2)


def test_predictions_that_are_off_widen_the_bounds() -> None:
    from noregret.rows.examples import as_rows

    rows, one = as_rows(np.array([[0.3], [0.5]])), np.ones(1)
    low, high = segment_loss(losses.Squared(), rows, np.zeros(2), one, 0.01)
    assert low <= 2 * 0.0 + 0.29**2 + 0.49**2 and high >= 0.31**2 + 0.51**2
    assert summed([(0.0, 1.0), (0.0, 2.0)])[0] == 0.0


def test_sizes_are_rounded_up() -> None:
    rng = np.random.default_rng(5)
    for _ in range(100):
        U = rng.normal(size=(4, 3))
        schedule = Schedule((k, u) for k, u in enumerate(U))
        steps = [[Fraction(a) - Fraction(b) for a, b in zip(*pair, strict=True)]
                 for pair in itertools.pairwise(U)]  # fmt: skip
        assert Fraction(schedule.size(1)) >= sum(abs(e) for step in steps for e in step)
        squares = [sum(e * e for e in step) for step in steps]
        single = Schedule([(0, U[0]), (1, U[1])])
        assert Fraction(single.size(2)) ** 2 >= squares[0]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], "got none"),
        ([(1, [0.0])], "first round must be 0, got 1"),
        ([(0, [0.0]), (0, [1.0])], "must rise, got 0 after 0"),
        ([(0, [0.0]), (1, [1.0, 2.0])], r"comparator 1 has shape \(2,\), expected \(1,\)"),
        ([(0, [math.nan])], "comparator 0 must be"),
    ],
)
def test_refusals(parts: list[tuple[int, list[float]]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Schedule(parts)


def test_refusals_of_data() -> None:
    with pytest.raises(ValueError, match="last segment starts at round 2, but there are 2 rounds"):
        US.loss(X_T[:2], Y_T[:2])
    with pytest.raises(ValueError, match="X has 4 columns, the comparators of the schedule 3"):
        US.loss(np.zeros((5, 4)), Y_T)
    with pytest.raises(ValueError, match=r"p must be at least 1, got 0\.5"):
        US.size(0.5)
    with pytest.raises(ValueError, match="counted from 0, got -1"):
        US.at(-1)
    with pytest.raises(ValueError, match="a row a round"):
        Schedule.of_rounds([1.0])
