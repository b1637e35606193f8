"""Conjugates and regularisers of the maps are rounded upwards, delta included."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from noregret import mirrors
from noregret.mirrors.predictors import Predictors, Simplex, SubSimplex

getcontext().prec = 60

START, BETA, RADIUS = 0.4, 0.3, 1.5

MAPS = [
    mirrors.Euclidean(),
    mirrors.Ball(1.5),
    mirrors.Box(-1.0, 2.0),
    mirrors.Box(0.5, 2.0),
    mirrors.PNorm(3.0),
    mirrors.SoftThreshold(0.1),
    mirrors.ElasticNet(0.2),
    mirrors.Power(1.5),
    mirrors.Hypentropy(0.3),
    mirrors.Entropy(2.0),
    mirrors.UnnormalizedEntropy(0.4),
    mirrors.SignedEntropy(1.5),
]


def maximum(mirror: mirrors.Mirror, theta: np.ndarray, eta: float, rounds: float) -> float:
    """Return the largest <u, theta> - R(u) / eta, at the weights of theta."""
    u = mirror.link(eta * theta)
    if isinstance(mirror, mirrors.SoftThreshold):
        u = eta * np.sign(theta) * np.maximum(np.abs(theta) - mirror.threshold(rounds), 0.0)
    elif isinstance(mirror, mirrors.Ball):
        u *= min(1.0, mirror.radius / float(np.linalg.norm(u)))
    elif isinstance(mirror, mirrors.Box):
        u = np.clip(u, mirror.low, mirror.high)
    return float(u @ theta) - mirror.regularizer(u, eta, rounds)


@pytest.mark.parametrize("mirror", MAPS, ids=str)
@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_the_conjugate_covers_every_theta_that_is_near(mirror: mirrors.Mirror, eta: float) -> None:
    delta, rounds = 0.25, 4.0
    for seed in range(5):
        theta = 3.0 * np.random.default_rng(seed).normal(size=4)
        tight = mirror.conjugate_upper(theta, eta, 0.0, rounds)
        assert tight == pytest.approx(maximum(mirror, theta, eta, rounds), rel=1e-9, abs=1e-9)
        wide = mirror.conjugate_upper(theta, eta, delta, rounds)
        for shift in (*delta * np.eye(4), *-delta * np.eye(4)):
            assert maximum(mirror, theta + shift, eta, rounds) <= wide * (1.0 + 1e-12) + 1e-12


def dec(values: np.ndarray) -> list[Decimal]:
    return [Decimal(x) for x in values.tolist()]


def exact_unnormalised(theta: np.ndarray, eta: float) -> Decimal:
    rate = Decimal(eta)
    return sum(Decimal(START) * ((rate * t).exp() - 1) for t in dec(theta)) / rate


def exact_hypentropy(theta: np.ndarray, eta: float) -> Decimal:
    rate = Decimal(eta)
    powers = [(rate * t).exp() for t in dec(theta)]
    return sum(Decimal(BETA) * (p + 1 / p - 2) for p in powers) / rate


def exact_entropy(theta: np.ndarray, eta: float) -> Decimal:
    rate = Decimal(eta)
    mean = sum((rate * t).exp() for t in dec(theta)) / len(theta)
    return 2 * mean.ln() / rate


def exact_signed(theta: np.ndarray, eta: float) -> Decimal:
    rate = Decimal(eta) * Decimal(RADIUS)
    powers = [(rate * t).exp() for t in dec(theta)]
    return (sum((p + 1 / p) / 2 for p in powers) / len(theta)).ln() / Decimal(eta)


def exact_power(theta: np.ndarray, eta: float) -> Decimal:
    return sum((Decimal(eta) * abs(t)) ** 3 / 3 for t in dec(theta)) / Decimal(eta)


def exact_euclidean(theta: np.ndarray, eta: float) -> Decimal:
    return Decimal(eta) * sum(t * t for t in dec(theta)) / 2


@pytest.mark.parametrize(
    ("mirror", "exact"),
    [
        (mirrors.UnnormalizedEntropy(0.4), exact_unnormalised),
        (mirrors.Hypentropy(0.3), exact_hypentropy),
        (mirrors.Entropy(2.0), exact_entropy),
        (mirrors.SignedEntropy(1.5), exact_signed),
        (mirrors.Power(1.5), exact_power),
        (mirrors.Euclidean(), exact_euclidean),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_the_conjugate_is_not_below_the_exact_one(
    mirror: mirrors.Mirror, exact: Callable[[np.ndarray, float], Decimal]
) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        # Large exponents magnify the rounding of eta theta.
        theta, eta = 40.0 * rng.normal(size=5), float(rng.choice([0.07, 0.3, 0.9]))
        assert Decimal(mirror.conjugate_upper(theta, eta)) >= exact(theta, eta)


def exact_regularizer(mirror: mirrors.Mirror, u: np.ndarray) -> Decimal:
    total = Decimal(0)
    for w in dec(u):
        if isinstance(mirror, mirrors.Entropy):
            total += w * (w * len(u) / 2).ln()
        elif isinstance(mirror, mirrors.UnnormalizedEntropy):
            start = Decimal(START)
            total += w * (w / start).ln() - w + start
        else:
            scale = 2 * Decimal(BETA)
            root = (w * w + scale * scale).sqrt()
            total += w * ((w + root) / scale).ln() - root + scale
    return total


@pytest.mark.parametrize(
    "mirror",
    [mirrors.Entropy(2.0), mirrors.UnnormalizedEntropy(0.4), mirrors.Hypentropy(0.3)],
    ids=str,
)
def test_the_regulariser_is_not_below_the_exact_one(mirror: mirrors.Mirror) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        # Near the start logarithms of both signs cancel.
        u = np.round((0.4 + 1e-3 * rng.normal(size=6)) * 2.0**20) / 2.0**20
        if isinstance(mirror, mirrors.Entropy):
            u = u[:5]
            u[-1] = 2.0 - float(u[:-1].sum())
        strength = float(rng.choice([0.3, 7.0]))
        found = Decimal(mirror.regularizer_upper(u, strength))
        assert found >= Decimal(strength) * exact_regularizer(mirror, u)


def test_near_the_rim_the_signed_entropy_has_room_for_its_search() -> None:
    mirror = mirrors.SignedEntropy(1.0)
    u = np.array([0.5, -0.25, 0.25])
    # On the sphere R is sum |u| ln|u| + ln(2 n).
    rim = 0.5 * math.log(0.5) + 0.5 * math.log(0.25) + math.log(6.0)
    assert mirror.regularizer_upper(u, 1.0) >= rim + 1e-11


def test_links_keep_their_digits_near_zero() -> None:
    signed = mirrors.SignedEntropy(1.0)
    for a in (1e-9, 1e-5, 1e-3, 0.1, 0.4):
        wanted = (Decimal(a).exp() - (-Decimal(a)).exp()) * Decimal(-2).exp()
        assert signed.phi_prime(a, 2.0) == pytest.approx(float(wanted), rel=4e-16)


@pytest.mark.parametrize("mirror", [mirrors.Entropy(), mirrors.UnnormalizedEntropy(0.5)], ids=str)
def test_divergences_and_stabilities_keep_their_digits(mirror: mirrors.Mirror) -> None:
    w = np.array([0.5, 0.25, 0.25])
    for size in (1e-3, 1e-6):
        u = w + size * np.array([1.0, -0.5, -0.5])
        # Second order: sum (u - w)^2 / (2 w), but for a part of the size.
        second = float(((u - w) ** 2 / (2.0 * w)).sum())
        assert mirror.divergence(u, w) == pytest.approx(second, rel=2.0 * size)
        step = np.array([size, -2.0 * size, 0.5 * size])
        exact = sum(
            Decimal(a) * ((-Decimal(s)).exp() - 1 + Decimal(s))
            for a, s in zip(w.tolist(), step.tolist(), strict=True)
        )
        if isinstance(mirror, mirrors.UnnormalizedEntropy):
            found = mirror.stability(mirror.inverse_link(w), w, step)
            assert found == pytest.approx(float(exact), rel=1e-12)
    large = np.array([0.2, -0.24, 0.1])
    found = mirrors.UnnormalizedEntropy(0.5).stability(np.zeros(3), w, large)
    wanted = sum(
        Decimal(a) * ((-Decimal(s)).exp() - 1 + Decimal(s))
        for a, s in zip(w.tolist(), large.tolist(), strict=True)
    )
    assert found == pytest.approx(float(wanted), rel=1e-13)


def test_classes_of_predictors_have_their_support() -> None:
    z = np.array([3.0, -1.0, 2.0])
    assert Predictors.of_norm(1.5).support_upper(z, 2.0) == pytest.approx(
        2.0 * float((np.abs(z) ** 3).sum()) ** (1.0 / 3.0)
    )
    assert SubSimplex().support_upper(z, 2.0) == pytest.approx(2.0)
    assert SubSimplex().support_upper(np.abs(z), 2.0) == 0.0
    assert Simplex().support_upper(np.abs(z), 2.0) == pytest.approx(-2.0)
    assert SubSimplex().describe(1.0) != Simplex().describe(1.0)
    # Printed digits must not make the class larger than the one that is certified.
    assert Predictors(2.0).describe(0.99999999) == "every u with ||u||_2 <= 0.999999"
    assert SubSimplex().describe(1.0) == "every u >= 0 with sum <= 1"


@pytest.mark.parametrize(
    ("mirror", "radius", "most"),
    [
        (mirrors.Ball(1.0), 1.5, math.inf),
        (mirrors.Box(-0.5, 2.0), 1.0, math.inf),
        (mirrors.Box(-0.5, 2.0), 0.5, 0.125),
        (mirrors.SignedEntropy(1.0), 0.5, math.log(8.0)),
        (mirrors.Entropy(2.0), 2.0, 2.0 * math.log(4.0)),
        (mirrors.Entropy(2.0), 1.0, math.inf),
        # At 0 every weight is below its start: sum of `start`, which is more than at a vertex.
        (mirrors.UnnormalizedEntropy(0.5), 0.1, 2.0),
        (mirrors.UnnormalizedEntropy(0.25), 2.0, 1.0 + 2.0 * (math.log(8.0) - 1.0)),
        (
            mirrors.Hypentropy(0.5),
            2.0,
            2.0 * math.asinh(2.0) - math.sqrt(5.0) + 1.0,
        ),
    ],
    ids=str,
)
def test_the_largest_regulariser_of_four_weights(
    mirror: mirrors.Mirror, radius: float, most: float
) -> None:
    assert mirror.largest_regularizer(radius, 4) == pytest.approx(most, rel=1e-12)


@pytest.mark.parametrize("size", [20.0, 3000.0, 6200.0])
def test_the_conjugate_of_hypentropy_has_room_for_the_rounding_of_its_argument(size: float) -> None:
    """An argument that is wrong by EPSILON/2 a changes sinh(a/2)^2 by a EPSILON/2 of itself."""
    theta, eta = np.array([size * 1.1, size]), 0.1
    exact = exact_hypentropy(theta, eta)
    a = Decimal(eta) * Decimal(size)
    bound = mirrors.Hypentropy(BETA).conjugate_upper(theta, eta)
    assert Decimal(bound) >= exact * (1 + a * Decimal(2) ** -53)


@pytest.mark.parametrize("a", [1e-9, 1e-4, 0.03, 0.3, 0.4, 1.0, 20.0])
def test_the_slope_of_signed_entropy_keeps_its_digits_near_0(a: float) -> None:
    t = Decimal(RADIUS) * Decimal(a)
    exact = Decimal(RADIUS) * (t.exp() - (-t).exp())
    slope = mirrors.SignedEntropy(RADIUS).phi_prime(a, 0.0)
    assert abs(Decimal(slope) / exact - 1) <= (4 + t) * Decimal(2) ** -52


def test_relative_entropy_keeps_its_digits_where_weights_are_close() -> None:
    w = np.array([0.3, 0.7])
    u = w * np.array([1.0 + 1e-7, 1.0 - 1e-7])
    exact = sum(a * (a / b).ln() - a + b for a, b in zip(dec(u), dec(w), strict=True))
    found = mirrors.UnnormalizedEntropy(START).divergence(u, w)
    # u - w is exact; of u ln(u/w) - (u - w), 1e-7 smaller, nine digits are left.
    assert found == pytest.approx(float(exact), rel=1e-8, abs=0.0)


def test_a_soft_threshold_near_the_sum_is_rounded_upwards() -> None:
    random = np.random.default_rng(0)
    for _ in range(300):
        l1, rounds = random.random(), float(random.integers(10**6, 10**9))
        theta = l1 * rounds + 1e-3 * random.random()
        upper = mirrors.SoftThreshold(l1).conjugate_upper(np.array([theta]), 1.0, 0.0, rounds)
        excess = max(Fraction(theta) - Fraction(l1) * Fraction(rounds), Fraction(0))
        assert Fraction(upper) >= excess * excess / 2


def test_no_divergence_of_a_p_norm_is_negative() -> None:
    random = np.random.default_rng(0)
    for w in random.normal(size=(200, 4)):
        assert mirrors.PNorm(3.0).divergence(w * (1.0 + 1e-9 * random.normal(size=4)), w) >= 0.0


def test_a_ball_beyond_the_root_of_the_range_has_a_regularizer() -> None:
    assert mirrors.Ball(1e200).regularizer(np.ones(2)) == 1.0
