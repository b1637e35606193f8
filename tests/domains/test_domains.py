"""Convex sets: the numbers of the papers, Pythagoras, nearest points, support functions."""

from __future__ import annotations

import math
from collections import namedtuple
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noregret.domains import Ball, Box, ClippedSimplex, Domain, Orthant, Simplex
from noregret.files.store import component_from_header, component_to_header

scales = st.sampled_from([0.25, 1.0, 7.0])
alphas = st.floats(1e-6, 1.0) | st.just(1.0)
boxes = st.tuples(st.floats(-9, 9), st.floats(0.01, 9)).map(lambda b: Box(b[0], b[0] + b[1]))
half_boxes = st.sampled_from([Box(-math.inf, 1.5), Box(-2, math.inf), Box(-math.inf, math.inf)])
simplices = st.builds(Simplex, scales) | st.builds(ClippedSimplex, alphas, scales)
euclidean = (
    boxes | half_boxes | simplices | st.builds(Ball, st.floats(0.01, 9)) | st.just(Orthant())
)
positive_boxes = st.tuples(st.floats(0.01, 9), st.floats(0.01, 9)).map(
    lambda b: Box(b[0], b[0] + b[1])
)
entropic = positive_boxes | simplices | st.just(Orthant())
seeds = st.integers(0, 2**32 - 1)
# Few distinct values make ties frequent.
reals = st.floats(-9, 9) | st.sampled_from([-1.0, 0.0, 0.5, 1.0])
positives = st.floats(1e-6, 9) | st.sampled_from([0.1, 0.25, 1.0])


def vectors(elements: st.SearchStrategy[float]) -> st.SearchStrategy[np.ndarray]:
    return st.integers(1, 6).flatmap(lambda n: hnp.arrays(np.float64, n, elements=elements))


def member(domain: Domain, n: int, seed: int) -> np.ndarray:
    """Draw a point of the set by its definition, inside or on the boundary."""
    rng = np.random.default_rng(seed)
    if isinstance(domain, Ball):
        direction = rng.normal(size=n)
        return domain.radius * rng.choice([1.0, rng.random()]) * direction / math.hypot(*direction)
    if isinstance(domain, Box):
        low = domain.low if math.isfinite(domain.low) else min(domain.high, 0) - 9
        high = domain.high if math.isfinite(domain.high) else max(domain.low, 0) + 9
        return np.clip(rng.uniform(low - 1, high + 1, n), low, high)
    if isinstance(domain, Orthant):
        return np.maximum(rng.normal(size=n), 0) * 5
    share = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0, 10.0])))
    alpha = domain.alpha if isinstance(domain, ClippedSimplex) else 0.0
    return domain.scale * (alpha / n + (1 - alpha) * share)


def square(u: np.ndarray, w: np.ndarray) -> float:
    return 0.5 * float(np.sum((u - w) ** 2))


def entropy(u: np.ndarray, w: np.ndarray) -> float:
    """D(u, w); log1p keeps the digits where u is close to w."""
    if np.any((w == 0) & (u > 0)):
        return math.inf
    some = u > 0
    a, b = u[some], w[some]
    near = np.abs(a - b) < 0.5 * b
    log = np.where(near, np.log1p(np.where(near, (a - b) / b, 0)), np.log(a / b))
    return float(np.sum(a * log + (b - a)) + np.sum(w[~some]))


def pythagoras(divergence: Any, u: np.ndarray, w: np.ndarray, p: np.ndarray) -> float:
    """Slack of the inequality, relative to its largest term."""
    whole, parts = divergence(u, w), (divergence(u, p), divergence(p, w))
    return (whole - sum(parts)) / max(1.0, whole, *parts)


# The numbers of the papers


def test_ball_oracle() -> None:
    w, u = np.array([3.0, 4.0]), np.array([1.0, -1.0])
    p = Ball(2).project(w)
    assert p == pytest.approx([1.2, 1.6], abs=1e-15)
    assert (square(u, w), square(u, p), square(p, w)) == pytest.approx((14.5, 3.4, 4.5), rel=1e-12)


def test_box_oracle() -> None:
    w, u = np.array([0.05, 0.1, 3, 20]), np.array([0.2, 0.3, 0.4, 5])
    box = Box(0.4 / 4, 4 / 0.4)
    p = box.project_entropic(w)
    assert p.tolist() == [0.1, 0.1, 3, 10] == box.project(w).tolist()
    assert (entropy(u, w), entropy(u, p), entropy(p, w)) == pytest.approx(
        (10.119409545, 3.4965160117, 3.08784291246), rel=1e-10
    )
    assert entropy(u, w) == pytest.approx(float(np.sum(u * np.log(u / w) + w - u)), rel=1e-13)


@pytest.mark.parametrize(
    ("w", "alpha", "expected"),
    [
        ((0.7, 0.2, 0.06, 0.04), 0.4, (0.622222222222, 0.177777777778, 0.1, 0.1)),
        ((0.25, 0.25, 0.25, 0.15, 0.1), 0.9, (0.213333333333,) * 3 + (0.18, 0.18)),
        ((0.9, 0.05, 0.05), 0.3, (0.8, 0.1, 0.1)),
        ((0.96, 0.01, 0.01, 0.01, 0.01), 0.5, (0.6, 0.1, 0.1, 0.1, 0.1)),
        ((0.5, 0.3, 0.2), 1, (0.333333333333,) * 3),
        ((0.3,), 0.5, (1.0,)),
        ((0.0, 0.0, 3.0, 1.0), 0.4, (0.1, 0.1, 0.6, 0.2)),
    ],
)
def test_clipped_simplex_oracles(w: Any, alpha: float, expected: Any) -> None:
    for factor in (1.0, 1e300, 1e-300):
        got = ClippedSimplex(alpha).project_entropic(factor * np.array(w))
        assert got == pytest.approx(expected, abs=1e-12)
    scaled = ClippedSimplex(alpha, 8).project_entropic(w)
    assert scaled == pytest.approx(8 * np.array(expected), abs=8e-12)


def test_floored_simplex_divergences() -> None:
    w, u = np.array([0.7, 0.2, 0.06, 0.04]), np.array([0.4, 0.3, 0.2, 0.1])
    p = ClippedSimplex(0.4).project_entropic(w)
    assert (p / w)[0] == pytest.approx(0.888888888889, rel=1e-12)
    assert (entropy(u, w), entropy(u, p), entropy(p, w)) == pytest.approx(
        (0.230216851311, 0.11887077833, 0.0484852070389), rel=1e-10
    )


def test_simplex_by_hand() -> None:
    # k = 2 of (0.9, 0.6, -1): tau = (1.5 - 1) / 2.
    assert Simplex().project([0.6, 0.9, -1]) == pytest.approx([0.35, 0.65, 0], abs=1e-15)
    assert Simplex(3).project([3, 3, 3]) == pytest.approx([1, 1, 1], abs=1e-15)
    assert Simplex(2).project_entropic([1, 3]).tolist() == [0.5, 1.5]


# Second references: bisection on the one unknown


@given(vectors(positives), alphas)
def test_floored_simplex_against_bisection(w: np.ndarray, alpha: float) -> None:
    floor = alpha / w.size
    low, high = 0.0, 2 / w.max()
    for _ in range(200):
        m = (low + high) / 2
        low, high = (m, high) if np.maximum(floor, m * w).sum() < 1 else (low, m)
    got = ClippedSimplex(alpha).project_entropic(w)
    assert got == pytest.approx(np.maximum(floor, low * w), abs=1e-12)


@given(vectors(reals), scales)
def test_simplex_against_bisection(w: np.ndarray, scale: float) -> None:
    low, high = w.min() - scale, w.max()
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if np.maximum(w - tau, 0).sum() > scale else (low, tau)
    assert Simplex(scale).project(w) == pytest.approx(np.maximum(w - low, 0), abs=1e-12)


# What a projection is


@given(euclidean, vectors(reals), seeds)
def test_euclidean_projection(domain: Domain, w: np.ndarray, seed: int) -> None:
    kept = w.copy()
    p = domain.project(w)
    u = member(domain, w.size, seed)
    assert domain.contains(p, 1e-14) and domain.contains(u, 1e-14)
    assert domain.project(p) == pytest.approx(p, rel=1e-14, abs=1e-14)
    assert domain.project(u) == pytest.approx(u, rel=1e-14, abs=1e-13)
    assert square(p, w) <= square(u, w) + 1e-12 * max(1, square(u, w))
    assert pythagoras(square, u, w, p) >= -1e-12
    p += 1.0
    assert np.array_equal(w, kept)


@given(entropic, vectors(positives), seeds)
def test_entropic_projection(domain: Domain, w: np.ndarray, seed: int) -> None:
    kept = w.copy()
    p = domain.project_entropic(w)
    u = member(domain, w.size, seed)
    assert domain.contains(p, 1e-14)
    assert domain.project_entropic(p) == pytest.approx(p, rel=1e-14)
    assert entropy(p, w) <= entropy(u, w) + 1e-12 * max(1, entropy(u, w))
    slack = pythagoras(entropy, u, w, p)
    assert slack >= -1e-12
    if isinstance(domain, Simplex):  # an affine set: equality
        assert abs(slack) <= 1e-12
    p += 1.0
    assert np.array_equal(w, kept)


@given(vectors(positives), seeds)
def test_entropic_projection_is_not_the_euclidean(w: np.ndarray, seed: int) -> None:
    assume(w.size > 1 and w.max() > 1.01 * w.min() and abs(w.sum() - 1) > 0.1)
    assert np.abs(Simplex().project(w) - Simplex().project_entropic(w)).max() > 1e-9


@given(st.floats(1e-3, 1), vectors(st.sampled_from([0.0, 1e-300, 0.1, 0.2, 1.0, 1e300])))
def test_floored_simplex_treats_ties_alike_and_keeps_order(alpha: float, w: np.ndarray) -> None:
    assume(w.any())
    domain = ClippedSimplex(alpha)
    p = domain.project_entropic(w)
    assert p.min() >= domain.floor(w.size) and p.sum() == pytest.approx(1, abs=1e-14)
    order = np.argsort(w, kind="stable")
    for i, j in pairwise(order):
        assert p[i] == p[j] if w[i] == w[j] else p[i] <= p[j]
    assert np.array_equal(domain.project_entropic(w[::-1]), p[::-1])


# Support functions


def maximiser(domain: Domain, theta: np.ndarray) -> np.ndarray:
    """A point of the set where the support function is attained."""
    if isinstance(domain, Ball):
        unit = theta / (np.abs(theta).max() or 1.0)  # so that subnormal numbers keep their ratios
        return domain.radius * (unit / (math.hypot(*unit) or 1.0))
    if isinstance(domain, Box):
        return np.where(theta > 0, domain.high, domain.low)
    vertex = (np.arange(theta.size) == np.argmax(theta)) * domain.scale
    alpha = domain.alpha if isinstance(domain, ClippedSimplex) else 0.0
    return (1 - alpha) * vertex + alpha * domain.scale / theta.size


@given(boxes | simplices | st.builds(Ball, st.floats(0.01, 9)), vectors(reals), seeds)
def test_support_is_an_attained_bound(domain: Domain, theta: np.ndarray, seed: int) -> None:
    value, best = domain.support(theta), maximiser(domain, theta)
    assert domain.contains(best, 1e-14)
    assert float(best @ theta) == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert float(member(domain, theta.size, seed) @ theta) <= value + 1e-12 * max(1, abs(value))
    assert domain.support(3 * theta) == pytest.approx(3 * value, rel=1e-12, abs=1e-12)


def test_support_of_unbounded_sets() -> None:
    assert Orthant().support([0.0, -1.0]) == 0.0
    assert Orthant().support([-5.0, 1e-300]) == math.inf
    assert Box(-math.inf, 2).support([3.0, 0.0]) == 6.0
    assert Box(-math.inf, 2).support([3.0, -1e-300]) == math.inf
    assert Box(1e300, math.inf).support([1.0, -1e300]) == math.inf
    assert Box(-math.inf, math.inf).support([0.0, 0.0]) == 0.0


# Extremes


def test_huge_and_tiny_numbers() -> None:
    with np.errstate(all="raise", under="ignore"):
        assert Ball(1).project([1e300, -1e300]) == pytest.approx([0.5**0.5, -(0.5**0.5)])
        assert Ball(1e-300).project([3.0, 4.0]) == pytest.approx(
            [0.6e-300, 0.8e-300], rel=1e-15, abs=0
        )
        assert Ball(1).project([1e-300, 0.0]).tolist() == [1e-300, 0.0]
        assert Ball(1e300).project([1.7e308, 0, 0]).tolist() == [1e300, 0, 0]
        assert Ball(1).support([3e-300, 4e-300]) == pytest.approx(5e-300, rel=1e-15, abs=0)
        assert Ball(1).support([3e300, 4e300]) == pytest.approx(5e300)
        assert not Ball(1).contains([1e300, 1e300]) and Ball(1).contains([1e-300])
        for spread in ([1e300, 1.0, -1e300], [1.7e308, 0.0, -1.7e308]):
            assert Simplex().project(spread).tolist() == [1, 0, 0]
            assert ClippedSimplex(0.3).project(spread) == pytest.approx([0.8, 0.1, 0.1])
            assert not Simplex().contains(spread)
        assert Simplex(1e300).project([1e300, 1e300]).tolist() == [5e299, 5e299]
        assert Simplex(1e-300).project([1.0, 1.0, 0.5]).tolist() == [5e-301, 5e-301, 0]
        assert not Simplex().contains([1.7e308, 1.7e308])
        assert Simplex().project_entropic([1.7e308, 1.7e308]).tolist() == [0.5, 0.5]
        assert Simplex().project_entropic([5e-324, 0.0]).tolist() == [1, 0]
        assert ClippedSimplex(0.5).project_entropic([1e300, 1e-300]).tolist() == [0.75, 0.25]
        assert ClippedSimplex(0.5).project_entropic([1.7e308] * 4).tolist() == [0.25] * 4
        assert ClippedSimplex(0.5).support([1.7e308, 1.7e308]) == pytest.approx(1.7e308)
        # Terms of both signs out of range, their sum well inside.
        assert Box(1e200, 2e200).support([1e150, -2e150, 1e-9]) == pytest.approx(2e191)
        assert Box(-1e300, 1e300).support([1e300, 1.0]) == math.inf
        assert Box(1e300, 2e300).support([-1e300]) == -math.inf


@pytest.mark.parametrize("alpha", [1e-300, 1e-9, 0.5, 1 - 1e-16, 1.0])
def test_long_vectors_keep_their_sum(alpha: float) -> None:
    w = np.random.default_rng(5).pareto(0.5, 100_000)
    for p in (ClippedSimplex(alpha).project_entropic(w), ClippedSimplex(alpha).project(w)):
        assert math.fsum(p) == pytest.approx(1, abs=1e-13)
        assert p.min() >= alpha / w.size


def test_long_vectors_with_many_active_components() -> None:
    w = np.random.default_rng(1).random(100_000) * 1e-4
    p = Simplex().project(w)
    assert np.count_nonzero(p) > 40_000
    # A running sum would be off by 7e-15 here.
    assert math.fsum(p) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_one_dimension(scale: float) -> None:
    for w in (-5.0, 0.0, 0.1, 1e300):
        assert Simplex(scale).project([w]).tolist() == [scale]
        assert ClippedSimplex(0.4, scale).project([w]) == pytest.approx([scale], rel=1e-15)
    assert Simplex(scale).project_entropic([1e-300]).tolist() == [scale]
    assert ClippedSimplex(0.4, scale).project_entropic([7]) == pytest.approx([scale], rel=1e-15)
    assert Ball(scale).project([-4.0]).tolist() == [-scale]


def test_negative_zero_and_edges() -> None:
    assert str(Orthant().project([-0.0, -3.0])) == "[0. 0.]"
    assert Ball(1).project([0.0, 0.0]).tolist() == [0, 0]
    assert Ball(5).project([3.0, 4.0]).tolist() == [3, 4]
    assert Ball(5).project([3.003, 4.004]) == pytest.approx([3, 4], rel=1e-15)
    assert Box(0.5, 2).project_entropic([0.0]).tolist() == [0.5]
    assert not Simplex().contains([math.nan]) and not Box(0, math.inf).contains([math.inf])
    assert not Orthant().contains([-1e-8]) and Orthant().contains([-1e-10])
    assert not Box(0, 1).contains([1 + 1e-8]) and Box(0, 1).contains([1 + 1e-10])
    assert not ClippedSimplex(0.5).contains([0.9, 0.1]) and Simplex().contains([0.9, 0.1])


# Scalar methods, and what is refused


@given(boxes | half_boxes | st.just(Orthant()), st.floats(-20, 20))
def test_clamp_is_the_projection_of_a_coordinate(domain: Domain, value: float) -> None:
    assert domain.separable() and domain.clamp(value) == domain.project([value])[0]


def test_kinds_are_exclusive() -> None:
    kinds = {
        domain: (domain.separable(), domain.is_ball(), domain.is_simplex())
        for domain in (Ball(1), Box(0, 1), Orthant(), Simplex(), ClippedSimplex(0.5))
    }
    assert [sum(kind) for kind in kinds.values()] == [1, 1, 1, 1, 0]
    for domain, (separable, _, _) in kinds.items():
        if not separable:
            with pytest.raises(ValueError, match="not a product of intervals"):
                domain.clamp(0.5)


def test_scalar_methods_compile() -> None:
    fields = namedtuple("fields", "low high")(-1.0, 2.0)  # stands in for a Box by its fields
    clamp = numba.njit(Box.clamp)
    assert [clamp(fields, value) for value in (-3.0, 0.5, 9.0)] == [-1.0, 0.5, 2.0]
    assert numba.njit(Orthant.clamp)(0.0, -3.0) == 0.0
    assert numba.njit(Ball.is_ball)(0.0) is True and numba.njit(Domain.is_simplex)(0.0) is False


@pytest.mark.parametrize("domain", [Ball(2), Box(-1, 2), Orthant(), Simplex(3), ClippedSimplex(1)])
def test_domains_can_be_stored(domain: Domain) -> None:
    assert component_from_header(component_to_header(domain), Domain) == domain


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", None])
def test_sizes_must_be_positive(bad: Any) -> None:
    for make, name in ((Ball, "radius"), (Simplex, "scale"), (ClippedSimplex, "alpha")):
        with pytest.raises(ValueError, match=name):
            make(bad)
    with pytest.raises(ValueError, match="scale"):
        ClippedSimplex(0.5, bad)


def test_other_parameters_that_are_refused() -> None:
    for low, high in ((1, 1), (2, 1), (math.nan, 1), (0, math.nan), (math.inf, math.inf)):
        with pytest.raises(ValueError, match="low must be below high"):
            Box(low, high)
    with pytest.raises(ValueError, match="alpha must be in"):
        ClippedSimplex(1.0000001)
    with pytest.raises(ValueError, match="Ball has no entropic projection"):
        Ball(1).project_entropic([1.0])
    for low in (0, -1):
        with pytest.raises(ValueError, match="low must be above 0"):
            Box(low, 1).project_entropic([1.0])


@pytest.mark.parametrize("domain", [Ball(2), Box(1, 2), Orthant(), Simplex(), ClippedSimplex(0.5)])
def test_vectors_that_are_refused(domain: Domain) -> None:
    name = type(domain).__name__
    for bad in ([], [[1.0]], 3.0, ["a"], [1j], None, [1.0, math.nan], [math.inf]):
        with pytest.raises(ValueError, match=rf"{name}.project: w must be"):
            domain.project(bad)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=rf"{name}.support: theta must be"):
            domain.support(bad)  # type: ignore[arg-type]
    if not isinstance(domain, Ball):
        with pytest.raises(ValueError, match=r"w must not be negative, got -2.0 at index 1"):
            domain.project_entropic([1.0, -2.0])
    if isinstance(domain, Simplex | ClippedSimplex):
        with pytest.raises(ValueError, match="zeros only"):
            domain.project_entropic([0.0, 0.0])
