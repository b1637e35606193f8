"""The rounding module against exact arithmetic, interpreted and compiled."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from noregret import rounding
from noregret.jit import add_compensated, kernel
from noregret.rounding import EPSILON, SMALLEST, UNDERFLOW, down, up

EXTREME = (
    0.0,
    SMALLEST,
    2.0**-1022,
    1e-200,
    EPSILON,
    0.1,
    1.0,
    1.0 + EPSILON,
    3.0,
    1e16,
    1.0 / 3.0,
    2.0**53 + 2.0,
    1e200,
    8e307,
)


@kernel
def compiled_two_sum(a, b):  # type: ignore[no-untyped-def]
    return rounding.two_sum(a, b)


def pairs() -> list[tuple[float, float]]:
    signed = [sign * x for x in EXTREME for sign in (1.0, -1.0)]
    draw = random.Random(0)
    some = [(draw.gauss(0, 1) * 2.0 ** draw.randint(-60, 60), draw.gauss(0, 1)) for _ in range(500)]
    return [*itertools.product(signed, signed), *some]


@pytest.mark.parametrize("function", [rounding.two_sum, compiled_two_sum])
def test_two_sum_loses_nothing(function):
    for a, b in pairs():
        total, lost = function(a, b)
        assert total == a + b
        assert Fraction(total) + Fraction(lost) == Fraction(a) + Fraction(b)


@pytest.mark.parametrize("function", [rounding.add_compensated, add_compensated])
def test_a_compensated_sum_is_exact_where_its_low_part_is(function):
    draw = random.Random(1)
    terms = [draw.choice((-1.0, 1.0)) * 2.0 ** draw.randint(-40, 60) for _ in range(300)]
    sums = np.zeros(4)
    for term in terms:
        function(sums, 1, term)
    exact = sum(map(Fraction, terms))
    assert Fraction(float(sums[1])) + Fraction(float(sums[2])) == exact
    assert float(sums[1]) != exact
    assert sums[0] == sums[3] == 0.0


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_the_error_of_a_sum_is_covered(count):
    draw = random.Random(count)
    terms = [draw.uniform(0.0, 1.0) for _ in range(count)]
    total = size = 0.0
    for term in terms:
        total += -term if term < 0.5 else term
        size += term
    exact = sum((Fraction(-t if t < 0.5 else t) for t in terms), Fraction())
    size = rounding.grown(size, count)
    assert Fraction(size) >= sum(map(Fraction, terms))
    assert abs(Fraction(total) - exact) <= Fraction(rounding.rounding_error(count, size))


def test_one_rounding_is_at_most_half_a_unit_in_the_last_place():
    for size in (1.0, 1.0 + EPSILON, 1.5, 2.0 - EPSILON):
        lost = rounding.two_sum(size, 0.49 * EPSILON)[1]
        assert 0.0 < abs(lost) <= rounding.rounding_error(1.0, size)


@pytest.mark.parametrize("value", [x for x in EXTREME if x > 1e-290 and x < 1e300])
@pytest.mark.parametrize("roundings", [1.0, 8.0, 1e6])
def test_a_grown_value_is_above_what_was_rounded(value, roundings):
    high = Fraction(value) * (1 + Fraction(EPSILON) / 2) ** min(int(roundings), 64)
    assert Fraction(rounding.grown(value, roundings)) >= high


def test_the_rounding_error_of_a_vector_is_that_of_its_entries():
    sizes = np.array([0.0, 1.0, 1e10])
    assert rounding.rounding_error(3.0, sizes).tolist() == [
        rounding.rounding_error(3.0, float(size)) for size in sizes
    ]


def test_a_floor_is_below_the_exact_difference():
    for total, length in pairs():
        floor = rounding.certified_floor(total, abs(length), 0.0, False)
        assert Fraction(floor) <= Fraction(total) - Fraction(abs(length))
        lower = rounding.certified_floor(total, abs(length), abs(total), False)
        exact = Fraction(total) - Fraction(abs(length)) - abs(Fraction(total))
        assert lower == -math.inf or Fraction(lower) <= exact


@pytest.mark.parametrize(
    ("total", "length", "lost"),
    [
        (math.nan, 1.0, 0.0),
        (1.0, math.nan, 0.0),
        (1.0, 1.0, math.nan),
        (1.0, math.inf, 0.0),
        (math.inf, math.inf, 0.0),
        (math.inf, 1.0, 0.0),
        (1.0, 1.0, math.inf),
    ],
)
def test_a_floor_of_what_overflowed_says_nothing(total, length, lost):
    assert rounding.certified_floor(total, length, lost, False) == -math.inf
    assert rounding.certified_floor(total, length, lost, True) == 0.0


def test_only_losses_of_one_sign_lift_a_floor_to_zero():
    assert rounding.certified_floor(1.0, 3.0, 0.0, True) == 0.0
    assert -2.1 < rounding.certified_floor(1.0, 3.0, 0.0, False) < -2.0


def test_a_ceiling_of_what_overflowed_says_nothing():
    assert rounding.certified_ceiling(math.nan) == rounding.certified_ceiling(math.inf) == math.inf
    assert rounding.certified_ceiling(-2.0) == -2.0


def test_the_constants_are_what_they_are_said_to_be():
    assert 1.0 + EPSILON == math.nextafter(1.0, 2.0)
    assert math.nextafter(0.0, 1.0) == SMALLEST and SMALLEST / 2.0 == 0.0
    assert SMALLEST * 1e123 < UNDERFLOW


@pytest.mark.parametrize("value", [5e-324, -5e-324, 3e-310, 2.2250738585072014e-308, -1e-320])
def test_decimals_of_denormal_numbers_are_rounded_outwards(value: float) -> None:
    assert Fraction(down(value)) <= Fraction(value) <= Fraction(up(value))
