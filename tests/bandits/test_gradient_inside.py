"""Bandit gradient descent inside its domain: no play leaves the set, and its bound holds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noregret as nr
from noregret.bandits import GradientBandit, theorems
from noregret.bandits.gradient import Shrunken
from noregret.domains import Ball, Box, Domain, Simplex
from tests.bandits.measuring import violates
from tests.sizes import sized

sizes = st.floats(1e-3, 1e3)


@st.composite
def games(draw: st.DrawFn) -> tuple[int, Domain, float]:
    """Return a dimension, a domain and a delta as close to its inner radius as may be."""
    d = draw(st.integers(1, 6))
    if draw(st.booleans()):
        domain: Domain = Ball(draw(sizes))
        inner = domain.radius
    else:
        low = draw(st.floats(-1e3, 1e3))
        domain = Box(low, low + draw(sizes))
        inner = 0.5 * (domain.high - domain.low)
    return d, domain, inner * draw(st.sampled_from([1e-6, 0.1, 0.5, 0.9, 0.999999]))


def exactly_inside(domain: Domain, point: np.ndarray) -> bool:
    """Tell whether a point lies in the set, in rational arithmetic and without a tolerance."""
    x = [Fraction(float(each)) for each in point]
    if isinstance(domain, Ball):
        return sum(each * each for each in x) <= Fraction(domain.radius) ** 2
    assert isinstance(domain, Box)
    return all(Fraction(domain.low) <= each <= Fraction(domain.high) for each in x)


@given(game=games(), points=st.sampled_from([1, 2]), seed=st.integers(0, 10**6))
def test_no_play_leaves_the_domain(game: tuple[int, Domain, float], points: int, seed: int) -> None:
    """Costs drive w_t into the boundary of its set; every point is still in the domain itself."""
    d, domain, delta = game
    bandit = GradientBandit(d, domain, 1.0, delta, points, seed=seed, inside=True)
    rng = np.random.default_rng(seed)
    push = rng.normal(size=d)
    for _ in range(12):
        plays = np.atleast_2d(bandit.play())
        assert all(exactly_inside(domain, point) for point in plays)
        costs = 1e3 * plays @ push
        bandit.suffer(costs if points == 2 else float(costs[0]))


def test_without_it_plays_leave_the_domain() -> None:
    bandit = GradientBandit(2, Ball(1.0), 1.0, 0.5, seed=0)
    outside = 0
    for _ in range(50):
        point = bandit.play()
        outside += not exactly_inside(Ball(1.0), point)
        bandit.suffer(10.0 * float(point[0]))
    assert outside > 10


@given(game=games(), seed=st.integers(0, 10**6))
def test_what_shrinking_costs(game: tuple[int, Domain, float], seed: int) -> None:
    """f(u') - f(u) <= excess for convex f, u in the set and u' the point that belongs to it."""
    d, domain, delta = game
    small = Shrunken.of(domain, delta, d)
    rng = np.random.default_rng(seed)
    center = np.zeros(d) if isinstance(domain, Ball) else np.full(d, (domain.low + domain.high) / 2)
    a = small.margin / small.inner
    for _ in range(10):
        u = domain.project(center + 2.0 * small.outer * rng.normal(size=d))
        moved = (1.0 - a) * u + a * center
        assert small.domain.contains(moved, tolerance=1e-9)
        target, slope = center + small.outer * rng.normal(size=d), float(rng.random())
        value = slope * (np.linalg.norm(moved - target) - np.linalg.norm(u - target))
        assert value <= small.excess(slope) * (1 + 1e-9) + 1e-12 * (1 + abs(center[0]))


def test_the_exact_expectation_on_the_line() -> None:
    """K = [-1, 1], f_t = |w - a_t|: all 2^6 sequences of directions, against every u."""
    targets = (0.5, -0.5, 1.0, 0.25, -1.0, -1.0)
    for eta, delta in [(0.1, 0.5), (0.3, 0.25), (0.02, 0.05), (1.0, 0.9)]:
        total, bound = 0.0, math.inf
        for signs in itertools.product((-1.0, 1.0), repeat=len(targets)):
            bandit = GradientBandit(
                1, Box(-1.0, 1.0), eta, delta, lipschitz=1.0, size=2.0, inside=True
            )
            for a, sign in zip(targets, signs, strict=True):
                bandit._v = np.array([sign])
                point = bandit.play()
                assert abs(point[0]) <= 1.0
                bandit.suffer(abs(float(point[0]) - a))
            proof = bandit.certificate()
            total += proof.cost / 2 ** len(targets)
            bound = min(bound, proof.statements[-1].value)
        best = min(sum(abs(u - a) for a in targets) for u in np.linspace(-1, 1, 401))
        assert total - best <= bound
        # d = 1, r = 1 and the distance from the centre 1: (2 + 1) L delta T and what descent costs.
        T, B = len(targets), 1.0 - delta
        closed = 3.0 * delta * T + B * B / (2 * eta) + eta / 2 * T * (2.0 / delta) ** 2
        assert bound == pytest.approx(closed, rel=1e-9)
        assert bound >= closed


Stream = Callable[[int, np.random.Generator], np.ndarray]

STREAMS: dict[str, Stream] = {
    "one corner": lambda T, rng: np.tile([1.0, 0.0], (T, 1)),
    "turning": lambda T, rng: np.where(np.arange(T)[:, None] < T // 2, 1.0, -1.0) * [1.0, 0.0],
    "alternating": lambda T, rng: np.where(np.arange(T)[:, None] % 2 == 0, 1.0, -1.0) * [0.0, 1.0],
    "on a circle": lambda T, rng: np.column_stack(
        [np.cos(angles := rng.random(T) * 2 * np.pi), np.sin(angles)]
    ),
}


@pytest.mark.each_value
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize("domain", [Ball(1.0), Box(-0.5, 1.0)], ids=str)
def test_the_mean_regret_is_below_the_bound(name: str, points: int, domain: Domain) -> None:
    """f_t(w) = ||w - a_t|| / 2, |f_t| <= 1 on the domain; the a_t are fixed before any draw."""
    T = 30
    targets = STREAMS[name](T, np.random.default_rng(3))
    line = np.linspace(-1.0, 1.0, 41)
    grid = np.array([u for u in itertools.product(line, line) if domain.contains(np.array(u))])
    best = min(0.5 * np.linalg.norm(targets - u, axis=1).sum() for u in grid)
    ratio = 1.0 if isinstance(domain, Ball) else math.sqrt(2.0)
    tuned = theorems.inside_one_point_tuned(1.5, 2, 1.5, 0.5, 40 * T, ratio)
    regrets = []
    for seed in range(sized(100, 300)):
        bandit = GradientBandit(
            2, domain, tuned.eta, tuned.delta, points, lipschitz=0.5,
            size=None if points == 2 else 1.5, seed=seed, inside=True,
        )  # fmt: skip
        for a in targets:
            plays = np.atleast_2d(bandit.play())
            values = 0.5 * np.linalg.norm(plays - a, axis=1)
            bandit.suffer(values if points == 2 else float(values[0]))
        proof = bandit.certificate()
        regrets.append(proof.cost - best)
        assert proof.estimated_regret <= proof.statements[0].value
    bound = proof.statements[-1]
    assert (bound.holds, len(proof.statements)) == ("in expectation", 3)
    assert bound.claim == f"cost - cost of a u fixed in advance in {domain}"
    assert not violates(np.array(regrets), bound.value, 3.0 * T)
    assert np.mean(regrets) <= bound.value


def test_the_tuned_constants() -> None:
    """No other eta and delta give less, and the bound is 2 sqrt((2 + ratio) B d F L) T^(3/4)."""
    for B, d, F, L, T, ratio in [(1.0, 3, 2.0, 1.0, 10_000, 1.0), (0.5, 2, 1.0, 3.0, 777, 1.4)]:
        tuned = theorems.inside_one_point_tuned(B, d, F, L, T, ratio)
        closed = 2.0 * math.sqrt((2.0 + ratio) * B * d * F * L) * T**0.75
        assert tuned.bound == pytest.approx(closed, rel=1e-12)
        for left, right in itertools.product((0.9, 1.0, 1.1), repeat=2):
            eta, delta = left * tuned.eta, right * tuned.delta
            other = theorems.inside_regret(
                B * B / (2 * eta), d * F / delta, L, delta, ratio * L * delta, eta, T
            )
            assert other >= tuned.bound * (1 - 1e-12)


def test_what_is_refused_and_what_is_said() -> None:
    with pytest.raises(ValueError, match=r"needs a set with an inner ball"):
        GradientBandit(2, Simplex(1.0), 0.1, 0.1, inside=True)
    with pytest.raises(ValueError, match=r"delta must be below 0\.5, the radius of the ball"):
        GradientBandit(2, Box(0.0, 1.0), 0.1, 0.5, inside=True)
    bandit = GradientBandit(2, Ball(1.0), 0.1, 0.25, lipschitz=1.0, size=2.0, seed=1, inside=True)
    bandit.play()
    with pytest.raises(ValueError, match=r"promised \+-2 \(size\)"):
        bandit.suffer(2.1)
    bandit.suffer(1.0)
    assert bandit.domain == Ball(1.0)
    assert 0.74 < bandit.target.radius < 0.75
    text = str(bandit.certificate())
    assert "cost - cost of a u fixed in advance in Ball(radius=1.0) <=" in text
    assert f"against u in {bandit.target}" in text


def test_it_survives_a_file(tmp_path: Path) -> None:
    bandit = GradientBandit(2, Ball(1.0), 0.1, 0.25, seed=1, inside=True)
    for _ in range(5):
        bandit.suffer(float(bandit.play()[0]))
    bandit.save(tmp_path / "b.nr")
    again = nr.load(tmp_path / "b.nr")
    assert (again.inside, again.domain, again.target) == (True, Ball(1.0), bandit.target)
    assert np.array_equal(again.play(), bandit.play())


def test_promises_whose_squares_overflow_leave_the_theorem_out() -> None:
    bandit = GradientBandit(
        2, Ball(1.0), eta=1.0, delta=0.5, lipschitz=1e200, size=1e200, inside=True, seed=0
    )
    bandit.play()
    bandit.suffer(0.0)
    found = bandit.certificate().statements[-1]
    assert not found.applies and found.reason == "the sums overflow"
