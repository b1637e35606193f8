"""Is a verified gap true? Exact arithmetic judges both of its ends, at any slopes and weights.

Each term for rounding has a case that is false without it; where none is known the term is named
as a safety.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest import mock

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch import Problem, verifying
from noregret.batch.problem import link
from noregret.batch.verifying import UNIT, gamma
from tests.batch.on_shards import proved
from tests.sizes import sized
from tests.truth.exact_objectives import LOSSES, ExactObjective, rational, root_bounds
from tests.truth.objectives import DIGITS, Objective

RATIONAL = [one() for one in LOSSES]
TRANSCENDENTAL: list[nr.losses.Loss] = [
    nr.losses.Logistic(),
    nr.losses.Exponential(),
    nr.losses.NegativeLog(),
    nr.losses.PowerHinge(50.0),
    nr.losses.PowerHinge(1.05),
]
MAPS = [
    nr.mirrors.Euclidean(),
    nr.mirrors.Ball(0.7),
    nr.mirrors.ElasticNet(0.4),
    nr.mirrors.SoftThreshold(0.4),
    nr.mirrors.Box(-0.5, 1.0),
]
OTHER_MAPS = [
    nr.mirrors.PNorm(3.0),
    nr.mirrors.Entropy(2.0),
    nr.mirrors.UnnormalizedEntropy(0.3),
    nr.mirrors.SignedEntropy(1.5),
    nr.mirrors.Power(1.5),
    nr.mirrors.Hypentropy(0.1),
]
#: Powers of ten of features, labels and offsets: small differences, and the ends of what is taken.
POWERS = (-150, -20, -3, 0, 0, 0, 3, 20, 100)


def draw(seed: int, loss: nr.losses.Loss, mirror: nr.mirrors.Mirror | None) -> Problem:
    """Return a random problem of any scale, often with rows that cancel one another."""
    random = np.random.default_rng(seed)
    rows, width = int(random.integers(1, 7)), int(random.integers(1, 4))
    X = random.standard_normal((rows, width)) * 10.0 ** float(random.choice(POWERS))
    X *= random.choice([0.0, 1.0, 1.0], (rows, width))
    y = random.choice([-1.0, 1.0], rows)
    if loss.labels == "real":
        y = random.standard_normal(rows) * 10.0 ** float(random.choice(POWERS))
    if random.random() < 0.5:
        # Twins of opposite signs, but for a few of their last digits.
        X[-1] = -X[0] * (1.0 + float(random.choice([0.0, 2.0**-52, 1e-9])))
        y[-1] = y[0]
    X = np.clip(X, -1e100, 1e100)
    form = random.integers(4)
    if form >= 2:
        X = np.clip(X, -1e38, 1e38).astype(np.float32)
    weight = random.choice([0.0, 0.1, 1.0, 3.0], rows) * 10.0 ** float(random.choice(POWERS) // 2)
    spread = 0.0 if random.random() < 0.5 else 10.0 ** float(random.choice(POWERS[:-1]))
    strength = 10.0 ** float(random.choice([-60, -3, 0, 3, 60]))
    data = sp.csr_array(X) if form % 2 else X
    offset = spread * random.standard_normal(rows)
    if mirror is None:
        return Problem.of(data, y, loss, None, 0.0, weight, offset, 10.0 ** random.integers(-3, 90))
    return Problem.of(data, y, loss, mirror, strength, weight, offset)


def draw_point(seed: int, problem: Problem) -> tuple[Any, Any]:
    """Return slopes that the loss allows, and weights in the set of the map."""
    random = np.random.default_rng([seed, 1])
    size = 10.0 ** float(random.choice([-150, -8, -1, 0, 1, 8]))
    slopes = problem.clipped(size * random.standard_normal(len(problem.y)))
    if random.random() < 0.3:
        slopes[-1] = slopes[0]
    theta = random.standard_normal(problem.width) * 10.0 ** float(random.choice(POWERS[1:-1]))
    weights = link(problem.mirror, theta)
    return slopes, problem.inside(weights)


def false_ends(problem: Problem, slopes: Any, weights: Any, count: int = 1) -> list[str]:
    """Return which ends of a verified gap are false, judged in fractions."""
    primal, dual = proved(problem, slopes, weights, count)
    judge = ExactObjective(problem)
    found = []
    if primal < math.inf and primal < judge.primal(weights):
        found.append("primal")
    floor = judge.dual(slopes)
    if floor is not None and dual > -math.inf:
        if dual > (max(floor, Fraction(0)) if problem.loss.nonnegative else floor):
            found.append("dual")
    return found


@pytest.mark.parametrize("loss", RATIONAL, ids=str)
@pytest.mark.parametrize("mirror", [*MAPS, None], ids=str)
def test_both_ends_are_true_at_any_slopes_and_weights(loss: Any, mirror: Any) -> None:
    known = 0
    for seed in range(sized(12, 200)):
        problem = draw(seed, loss, mirror)
        assert rational(problem)
        slopes, weights = draw_point(seed, problem)
        with np.errstate(all="ignore"):
            primal, dual = proved(problem, slopes, weights)
            known += primal < math.inf and dual > -math.inf
            count = 1 + seed % len(problem.y)
            assert not false_ends(problem, slopes, weights, count), f"seed {seed}"
    assert known >= 6


@pytest.mark.parametrize("loss", [*TRANSCENDENTAL, nr.losses.Hinge()], ids=str)
@pytest.mark.parametrize("mirror", [*MAPS, *OTHER_MAPS], ids=str)
def test_both_ends_are_true_in_a_hundred_digits(loss: Any, mirror: Any) -> None:
    for seed in range(sized(4, 100)):
        problem = draw(seed, loss, mirror)
        slopes, weights = draw_point(seed, problem)
        if not np.all(np.isfinite(weights)):
            continue
        with np.errstate(all="ignore"), mpmath.workdps(DIGITS):
            primal, dual = proved(problem, slopes, weights, 1 + seed % len(problem.y))
            judge = Objective(problem)
            assert primal >= judge.primal(weights), f"seed {seed}"
            floor = judge.dual(slopes)
            if mpmath.isfinite(floor):
                assert dual <= (max(floor, 0) if loss.nonnegative else floor), f"seed {seed}"


@pytest.mark.parametrize("loss", [*RATIONAL, *TRANSCENDENTAL[:3]], ids=str)
def test_both_ends_are_near_the_numbers_that_they_bound(loss: Any) -> None:
    """Also of a loss that is infinite at 0, whose verified gap was infinite."""
    random = np.random.default_rng(3)
    X, y = np.abs(random.normal(size=(40, 3))), random.choice([-1.0, 1.0], 40)
    problem = Problem.of(X, y, loss, None, 0.7)
    slopes = problem.clipped(random.normal(size=40))
    weights = np.abs(random.normal(size=3))
    with mpmath.workdps(DIGITS):
        judge = Objective(problem)
        p, d = float(judge.primal(weights)), float(judge.dual(slopes))
    d = max(d, 0.0) if loss.nonnegative else d
    for count in (1, 3, 40):
        primal, dual = proved(problem, slopes, weights, count)
        assert p <= primal <= p + 1e-12 * (1.0 + abs(p))
        assert d - 1e-12 * (1.0 + abs(d)) <= dual <= d


#: A problem with its slopes and weights.
Point = tuple[Problem, Any, Any]


def gradients_that_cancel() -> Point:
    """The rounding of g, in a ball that magnifies it."""
    random = np.random.default_rng(0)
    x = 2.0**40 * np.append(random.normal(size=300), 0.0)
    x[-1] = -float(x.sum())
    y = np.zeros(301)
    y[0] = -(2.0**30)
    problem = Problem.of(x[:, None], y, nr.losses.Absolute(), radius=100.0, weight=[0.1] * 301)
    return problem, np.ones(301), np.zeros(1)


def conjugates_that_cancel() -> Point:
    """0.1 y and 0.3 (y / 3) cancel but for their rounding."""
    ends = np.random.default_rng(2).normal(size=200)
    y, c = np.append(ends, ends / 3.0), np.repeat([0.1, 0.3], 200)
    problem = Problem.of(np.zeros((400, 1)), y, nr.losses.Absolute(), strength=1.0, weight=c)
    return problem, np.repeat([1.0, -1.0], 200), np.zeros(1)


def losses_lost_to_a_large_one() -> Point:
    """Each small loss is half a unit in the last place of the large one."""
    y = np.append(1.5 * 2.0**60, np.full(2000, 2.0**7))
    problem = Problem.of(np.zeros((2001, 1)), y, nr.losses.Absolute(), strength=1.0)
    return problem, np.zeros(2001), np.zeros(1)


def predictions_that_cancel() -> Point:
    """The last term cancels all others in floating point, and not in truth."""
    random = np.random.default_rng(4)
    x, w = random.normal(size=(1, 40)), 1e-3 * random.normal(size=40)
    x[0, -1], w[-1] = 1.0, 0.0
    w[-1] = -float(x[0] @ w)
    return Problem.of(x, [0.0], nr.losses.Absolute(), strength=2.0**-200), np.zeros(1), w


def losses_that_underflow() -> Point:
    problem = Problem.of(np.zeros((3, 1)), [1e-200] * 3, nr.losses.Squared(), strength=1.0)
    return problem, np.zeros(3), np.zeros(1)


def predictions_that_underflow() -> Point:
    problem = Problem.of([[1e-200]], [0.0], nr.losses.Absolute(), strength=1e-290, weight=[1e100])
    return problem, np.zeros(1), np.array([1e-125])


def conjugates_that_underflow() -> Point:
    """A weight of 1e100 times s (s/4 + y), which is 0 in floating point."""
    y, c = [1e-170, 1.0], [1e100, 1e-240]
    problem = Problem.of(np.zeros((2, 1)), y, nr.losses.Squared(), strength=1.0, weight=c)
    return problem, np.array([1e-170, -0.5]), np.zeros(1)


def gradients_that_underflow() -> Point:
    """c s is 0 in floating point, and c s x is not."""
    X, y, c = [[1e100], [0.0]], [0.0, 1.0], [1e-162, 1e-124]
    problem = Problem.of(X, y, nr.losses.Absolute(), radius=1e100, weight=c)
    return problem, np.array([1e-162, -0.5]), np.zeros(1)


NEEDED: list[tuple[Callable[[], Point], str, dict[str, Any]]] = [
    (gradients_that_cancel, "dual", {"gamma": lambda terms: 0.0}),
    (conjugates_that_cancel, "dual", {"gamma": lambda terms: 0.0}),
    (losses_lost_to_a_large_one, "primal", {"gamma": lambda terms: 0.0}),
    (predictions_that_cancel, "primal", {"gamma": lambda terms: 0.0}),
    # gamma counts terms: that of one rounding is not enough for many.
    (losses_lost_to_a_large_one, "primal", {"gamma": lambda terms: UNIT}),
    (losses_that_underflow, "primal", {"TINY": 0.0}),
    (predictions_that_underflow, "primal", {"TINY": 0.0}),
    (conjugates_that_underflow, "dual", {"TINY": 0.0}),
    (gradients_that_underflow, "dual", {"UNDERFLOW": 0.0}),
    (gradients_that_underflow, "dual", {"UNDERFLOW": 1e-300}),
]


@pytest.mark.parametrize(
    ("point", "end", "mutant"), NEEDED, ids=[f"{p.__name__}-{next(iter(m))}" for p, _, m in NEEDED]
)
def test_every_term_for_rounding_is_needed(
    point: Callable[[], Point], end: str, mutant: dict[str, Any]
) -> None:
    assert not false_ends(*point())
    with mock.patch.multiple(verifying, **mutant):
        assert end in false_ends(*point())


def test_weights_just_outside_the_set_of_a_map_are_covered() -> None:
    """LINK_ERRORS: P at the nearest weights of the simplex, from which these differ by rounding."""
    # The prediction is 12 units above 0, and computed from these weights 8 units below.
    problem = Problem.of(
        [[1.0, 1.0]], [0.0], nr.losses.Quantile(0.1), nr.mirrors.Entropy(1.0), 1e-30,
        offset=[12.0 * UNIT - 1.0],
    )  # fmt: skip
    weights = np.array([0.5, 0.5 - 20.0 * UNIT])
    with mpmath.workdps(DIGITS):
        true = Objective(problem).primal(weights)
        assert proved(problem, np.zeros(1), weights)[0] >= true
        with mock.patch.object(verifying, "LINK_ERRORS", 0.0):
            assert proved(problem, np.zeros(1), weights)[0] < true


def test_the_roundings_within_a_loss_are_needed_for_high_powers() -> None:
    """WITHIN: x^50 magnifies the rounding of x by 50; for other losses it is a safety."""
    random = np.random.default_rng(0)
    false = {0: 0, verifying.WITHIN: 0}
    for offset, within in itertools.product(random.uniform(0.0, 0.01, 50), false):
        problem = Problem.of(
            [[0.0]], [1.0], nr.losses.PowerHinge(50.0), None, 1e-200, offset=[offset]
        )
        with mock.patch.object(verifying, "WITHIN", within), mpmath.workdps(DIGITS):
            true = Objective(problem).primal(np.zeros(1))
            # Predictions of two roundings, so that only those of the loss are left.
            with mock.patch.object(verifying, "LINK_ERRORS", 1.0):
                false[within] += proved(problem, np.zeros(1), np.zeros(1))[0] < true
    assert false[0] > 0 == false[verifying.WITHIN]


def test_a_bound_on_many_roundings_is_one() -> None:
    for terms in (1, 7, 1e6, 1e12):
        exact = Fraction(terms) / 2**53
        assert Fraction(gamma(terms)) >= exact / (1 - exact)
    assert gamma(2.0**53) == math.inf


@pytest.mark.parametrize("count", [1, 2])
def test_numbers_that_overflow_prove_nothing_and_raise_nothing(count: int) -> None:
    X, y, c = [[1e100], [1e100]], [1e100, 1e100], [1e100, 1e100]
    problem = Problem.of(X, y, nr.losses.Squared(), None, 1.0, c)
    for size in (1e4, 1e8, 1e150, 1e300):
        slopes, weights = np.array([size * 1e100] * 2), np.array([size])
        with np.errstate(all="ignore"):
            primal, dual = proved(problem, np.minimum(slopes, 1e308), weights, count)
        assert primal == math.inf and dual == 0.0
        assert not math.isnan(primal)
    hinge = Problem.of([[1e100, 1e100]], [1.0], nr.losses.Hinge(), radius=1e250)
    with np.errstate(all="ignore"):
        # inf - inf: the prediction is not a number.
        assert proved(hinge, np.zeros(1), np.array([1e249, -1e249]))[0] == math.inf


def test_roots_of_the_judge_are_bounds() -> None:
    for square in (Fraction(2), Fraction(1e-300), Fraction(1e200) / 3, Fraction(49)):
        low, high = root_bounds(square)
        assert low * low <= square <= high * high
        assert high - low <= high / 10**59


@pytest.mark.compiled
def test_machine_code_finds_the_same_ends() -> None:
    for loss in (nr.losses.Squared(), nr.losses.NegativeLog()):
        for X in (np.full((4, 2), 0.3), sp.csr_array(np.full((4, 2), 0.3, np.float32))):
            problem = Problem.of(X, [1.0, 2.0, 3.0, 4.0], loss, None, 0.1)
            slopes = problem.clipped(np.full(4, -0.4))
            weights = np.array([0.2, 0.4])
            with mpmath.workdps(DIGITS):
                judge = Objective(problem)
                ends = float(judge.primal(weights)), float(judge.dual(slopes))
            assert proved(problem, slopes, weights, 2) == pytest.approx(ends, rel=1e-12)
