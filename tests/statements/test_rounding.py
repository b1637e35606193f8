"""A printed number is rounded so that its statement stays true, or has all its digits."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noregret as nr
from noregret import losses
from noregret.bandits import Log, ips
from noregret.batch.problem import Solution
from noregret.rounding import down_each, exact, up_each
from noregret.tracking import hindsight_path
from noregret.tracking.hilbert import KernelDescent
from noregret.tracking.kernels import Gaussian
from tests.cli.program import Call


def test_the_penalty_of_a_path_has_all_its_digits() -> None:
    """With six digits of the penalty the bound is that of a dearer path, and false."""
    penalty = 0.12345649999
    y = np.repeat([1.0, -1.0], 20)
    path = hindsight_path(np.ones((40, 1)), y, penalty=penalty, radius=2.0)
    text = str(path)
    named = re.search(r"([\d.e-]+) for each shift", text)
    bound = re.search(r"no schedule has less \(norms <= [\d.e-]+\) +(\S+)", text)
    assert named is not None and bound is not None
    assert float(named[1]) == penalty
    # One shift and no loss at all: a schedule of the class that is named.
    price = Fraction(float(named[1])) * 1
    assert Fraction(bound[1]) <= price


@pytest.mark.parametrize("level", [0.95, 0.9996, 0.99967, 0.9999999])
def test_a_level_is_never_printed_as_more_than_it_is(level: float) -> None:
    rng = np.random.default_rng(0)
    log = Log(rng.integers(0, 2, 50), rng.random(50), np.full(50, 0.5), arms=2)
    text = str(ips(log, [0.5, 0.5], level=level))
    printed = re.search(r"\] (\S+) finite-sample", text)
    assert printed is not None
    assert float(printed[1]) <= level < 1.0 and float(printed[1]) == level


def test_the_ball_of_a_kernel_learner_has_all_its_digits() -> None:
    # The floor of a smaller ball says nothing about the ball of radius 1.
    radius = 0.99999951
    learner = KernelDescent(Gaussian(1.0), radius, 0.25)
    learner.learn([[1.0], [2.0]], [1.0, -1.0])
    named = re.search(r"\|\|u\|\| <= (\S+)", str(learner))
    assert named is not None and float(named[1]) <= radius


def test_parameters_of_games_have_all_their_digits() -> None:
    from noregret.experts import Hedge

    eta = 0.12345649999
    game = Hedge(2, eta=eta)
    game.suffer([0.0, 1.0])
    assert f"eta {eta!r}" in str(game.certificate())


@pytest.mark.parametrize("count", [3, 7, 10, 49])
@given(total=st.floats(-1e12, 1e12))
def test_a_quotient_is_rounded_outwards(count: int, total: float) -> None:
    low, high = down_each(total, count), up_each(total, count)
    assert Fraction(low) * count <= Fraction(total) <= Fraction(high) * count
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_digits_are_those_of_the_number(number: float) -> None:
    assert float(exact(number)) == number


def test_averages_of_hindsight_are_not_below_the_objective(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,2.25\n1,-1.25\n1,0.125\n" * 3)
    arguments = ("hindsight", path, "--loss", "squared", "--class-radius", "1", "--intercept", "0")
    found = json.loads(call(*arguments, "--json").stdout)
    shown = re.search(r"a round +(\S+)", call(*arguments).stdout)
    assert shown is not None
    assert Fraction(shown[1]) * 9 >= Fraction(found["primal"])


class Third(losses.Loss):
    """A user's loss whose slopes are at most 1/3."""

    labels: ClassVar[str] = "real"
    nonnegative: ClassVar[bool] = True

    def value(self, y: float, p: float) -> float:
        return abs(p - y) / 3.0

    def slope(self, y: float, p: float) -> float:
        return 1.0 / 3.0 if p > y else -1.0 / 3.0

    def mistake(self, y: float, p: float) -> bool:
        return False

    def lipschitz(self) -> float:
        return 1.0 / 3.0


def test_a_promised_slope_is_printed_in_full() -> None:
    """0.333333 would be a promise that the loss itself breaks."""
    learner = nr.MirrorDescent(Third(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
    learner.learn([[1.0]], [1.0])
    assert f"slopes of at most {1.0 / 3.0!r}" in str(learner.certificate())


def test_costs_just_outside_are_not_printed_as_inside() -> None:
    with pytest.raises(ValueError, match=r"expert 1: 1.000000001; expected a number in \[0, 1\]"):
        nr.experts.Hedge(2, eta=0.5).suffer([0.0, 1.0 + 1e-9])
    learner = nr.experts.Hedge(2, eta=0.5, low=0.0, high=2.0)
    learner.suffer([0.0, 1.0 + 1e-9])
    (reason,) = {b.reason for b in learner.certificate().bounds if "needed [0, 1]" in b.reason}
    assert "[0, 1] were seen" not in reason
    assert "[0, 1.000000001] were seen" in reason


def test_the_gap_is_not_below_the_difference() -> None:
    """1 - (-1e-17) is 1 in doubles, and more."""
    solution = Solution(np.zeros(1), 1.0, -1e-17, np.zeros(1), 1, False)
    assert Fraction(solution.gap) >= Fraction(1.0) + Fraction(1e-17)
    gap = next(line for line in str(solution).splitlines() if line.startswith("  gap"))
    assert Fraction(gap.split()[1]) > 1
