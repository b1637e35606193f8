"""The convex game as a machine: theorems as oracles, other implementations, bad input."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noregret as nr
from noregret import domains, losses, mirrors, oco, rates
from tests.sizes import sized

SET_A = [
    ([-0.6, 0.5, -0.6], -1),
    ([0.5, -0.6, 0.6], 1),
    ([-0.5, -0.6, -0.6], -1),
    ([-0.8, 0, 0.4], -1),
    ([-0.5, -0.5, 0.4], -1),
    ([-0.4, -0.6, 0.5], 1),
]
half = rates.Constant(0.5)
seeds = st.integers(0, 2**32 - 1)
FREE = [
    mirrors.Euclidean(),
    mirrors.PNorm(3),
    mirrors.PNorm(5.5),
    mirrors.Entropy(2.0),
    mirrors.UnnormalizedEntropy(0.2),
    mirrors.SignedEntropy(1.5),
    mirrors.ElasticNet(0.1),
    mirrors.Power(1.5),
    mirrors.Power(2.5),
    mirrors.Hypentropy(0.4),
]
SETS = [
    domains.Ball(1.5),
    domains.Box(-0.5, 2.0),
    domains.Orthant(),
    domains.Simplex(2.0),
    domains.ClippedSimplex(0.3, 2.0),
]
ENTROPIC = [
    (mirrors.Entropy(2.0), domains.ClippedSimplex(0.3, 2.0)),
    (mirrors.UnnormalizedEntropy(), domains.Box(0.1, 3.0)),
    (mirrors.UnnormalizedEntropy(), domains.Simplex(2.0)),
]
PAIRS = [
    *((mirror, None) for mirror in FREE),
    *((mirrors.Euclidean(), domain) for domain in SETS),
    *ENTROPIC,
]
RATES = [half, rates.InverseSqrt(0.7), rates.Adaptive(), rates.Doubling(1.0)]


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-10, abs=1e-12)


def bound(bounds: list[Any], name: str) -> Any:
    return next(b for b in bounds if b.name == name)


@dataclass(frozen=True)
class Predict:
    """A loss of one real prediction as a loss of the weights."""

    loss: Any
    x: Any
    y: float

    def value(self, w: Any) -> float:
        return self.loss.value(self.y, float(w @ np.array(self.x)))

    def subgradient(self, w: Any) -> Any:
        return self.loss.slope(self.y, float(w @ np.array(self.x))) * np.array(self.x, float)


def some_losses(rng: Any, d: int, count: int) -> list[Any]:
    """Draw linear, quadratic and kinked losses of mixed sizes and signs."""
    made: list[Any] = []
    for kind in rng.integers(0, 3, count):
        z = rng.normal(size=d) * rng.choice([0.0, 0.1, 1.0], p=[0.1, 0.3, 0.6])
        if kind == 0:
            made.append(oco.Linear(z))
        elif kind == 1:
            made.append(oco.Quadratic(z, float(rng.uniform(0.1, 2))))
        else:
            made.append(Predict(losses.Absolute(), z, float(rng.normal())))
    return made


def comparator(rng: Any, proof: Any, d: int) -> tuple[Any, float | None]:
    """Draw a point of the game's own class, and the radius of a class that holds it."""
    setting = proof.setting
    u = rng.normal(size=d) * rng.choice([0.3, 1.0, 3.0])
    if setting.domain is not None:
        u = setting.domain.project(u)
        if isinstance(setting.domain, domains.Orthant):
            return u, float(np.linalg.norm(u)) * (1 + 1e-12)
        return u, None
    geometry = setting.mirror.geometry
    if geometry == "simplex":
        return setting.mirror.scale * rng.dirichlet(np.ones(d)), setting.mirror.scale
    if geometry == "subsimplex":
        return np.abs(u), float(np.abs(u).sum()) * (1 + 1e-12)
    if setting.mirror.own_radius() is not None:
        return setting.mirror.radius * rng.uniform() * u / np.abs(u).sum(), setting.mirror.radius
    q = setting.mirror.predictors().exponent
    return u, float(np.sum(np.abs(u) ** q) ** (1 / q)) * (1 + 1e-12)


@pytest.mark.each_value
@pytest.mark.parametrize("rate", RATES, ids=lambda rate: type(rate).__name__)
@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize(("mirror", "domain"), PAIRS)
@settings(max_examples=6)
@given(seeds)
def test_floors_and_bounds_are_true(
    mirror: Any, domain: Any, lazy: bool, rate: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    d, count = int(rng.integers(1, 5)), int(rng.integers(1, 20))
    game = oco.Game(d, mirror, rate, domain, lazy, gradient_limit=float(rng.uniform(1, 9)))
    functions = some_losses(rng, d, count)
    total = 0.0
    for function in functions:
        w = game.play()
        assert domain is None or domain.contains(w)
        total += game.face(function)
    proof = game.certificate()
    assert proof.loss == near(total) and proof.rounds == count
    for _ in range(4):
        u, radius = comparator(rng, proof, d)
        suffered = sum(f.value(u) for f in functions)
        tolerance = 1e-12 * (1 + abs(suffered) + abs(total))
        assert proof.floor(radius) <= suffered + tolerance
        assert total - suffered <= proof.regret(u) + tolerance
        assert total - suffered <= proof.regret_bound(radius) + tolerance
        for found in (proof.bounds_at(u), proof.bounds_for(radius)):
            assert all(total - suffered <= b.value + tolerance for b in found if b.applies)
            names = ("after the fact", "observed gradients", "in advance")
            values = [b.value for n in names for b in found if b.name.endswith(n) and b.applies]
            assert all(a <= b * (1 + 1e-9) + 1e-9 for a, b in pairwise(values))
        at_u = proof.bounds_at(u)
        kept = [b for b in at_u if not b.applies and "falling rate" not in b.reason]
        assert all("since round" in b.reason for b in kept)
        if mirror.geometry != "2" or domain is None:
            eta = float(rng.uniform(0.1, 2))
            penalty = proof.mirror.regularizer(u, eta)
            assert proof.regularized_floor(eta) <= suffered + penalty + tolerance


@settings(max_examples=40)
@given(seeds)
def test_rates_of_ones_own_a_coordinate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    game = oco.Game(d, mirrors.Euclidean(), rates.PerCoordinate(0.7))
    functions = some_losses(rng, d, int(rng.integers(1, 20)))
    squares = largest = theta = np.zeros(d)
    for function in functions:
        w = game.play()
        z = np.asarray(function.subgradient(w))
        game.face(function)
        squares, largest, theta = squares + z * z, np.maximum(largest, abs(z)), theta - z
        moved = squares > 0
        wanted = 0.7 * theta[moved] / np.sqrt(squares + largest**2)[moved]
        assert game.play()[moved] == near(wanted) and not game.play()[~moved].any()
    proof = game.certificate()
    u = rng.normal(size=d)
    suffered = sum(f.value(u) for f in functions)
    radius = float(np.linalg.norm(u)) * (1 + 1e-12)
    assert proof.floor(radius) <= suffered + 1e-9
    for found in (*proof.bounds_at(u), *proof.bounds_for(radius)):
        assert found.applies and proof.loss - suffered <= found.value + 1e-9


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("domain", [None, *SETS])
@settings(max_examples=sized(5, 15))
@given(seeds)
def test_strongly_convex_games(lazy: bool, domain: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, sigma = int(rng.integers(1, 4)), float(rng.uniform(0.2, 2))
    game = oco.Game(d, mirrors.Euclidean(), rates.StronglyConvex(sigma), domain, lazy)
    functions = []
    for z in rng.normal(size=(int(rng.integers(1, 15)), d)):
        functions.append(oco.Quadratic(z, sigma * float(rng.choice([1.0, 1.5]))))
        game.face(functions[-1])
    proof = game.certificate()
    for _ in range(4):
        u = rng.normal(size=d)
        u = u if domain is None else domain.project(u)
        suffered = sum(f.value(u) for f in functions)
        assert proof.floor() <= suffered + 1e-9
        for found in proof.bounds_at(u):
            assert found.applies and proof.loss - suffered <= found.value + 1e-9
    # The parabolas are the losses: over all points the floor is the minimum itself.
    if domain is None:
        weights = [f.curvature for f in functions]
        best = np.average([f.center for f in functions], axis=0, weights=weights)
        assert proof.floor() == pytest.approx(sum(f.value(best) for f in functions), abs=1e-9)


@pytest.mark.parametrize("lazy", [True, False])
def test_strongly_convex_losses(lazy: bool) -> None:  # OGD-11, OGD-12, GC-9
    sigma = 0.5
    game = oco.Game(3, mirrors.Euclidean(), rates.StronglyConvex(sigma), lazy=lazy)
    total = 0.0
    for x, y in SET_A:
        w, row = game.play(), np.array(x)
        active = float(y * (w @ row) < 1)
        value = sigma / 2 * float(w @ w) + max(1 - y * float(w @ row), 0.0)
        game.suffer(value, sigma * w - active * y * row)
        total += value
    assert game.play() == near([0.666666666667, 0, 0.3])
    proof = game.certificate()
    assert proof.loss / 6 == near(1.08447314815) and total == near(proof.loss)
    best = np.array([0.833333333333333, -0.2, 0.5])
    # GC-9: the floor and the closed form -(sigma T/2)||w_(T+1)||^2 agree with OGD-12's number.
    assert proof.regularized_floor() / 6 == near(0.699722222222)
    assert proof.floor() == near(proof.regularized_floor())
    found = proof.bounds_at(best)
    assert found[0].value / 6 == near(0.384750925926)
    assert found[1].value / 6 == near(0.683608835365)
    assert 0.330584259259 * 6 <= proof.regret(best) <= found[0].value
    assert proof.floor(0.1) >= proof.floor(2.0) >= proof.floor(norm=1, radius=2.0) - 1e-9


def test_projected_gradient_descent() -> None:  # OGD-7, OGD-8, GC-3, GC-4
    G = math.sqrt(0.97)
    rate = rates.InverseSqrt(math.sqrt(2) / G)
    game = oco.Game(3, mirrors.Euclidean(), rate, domains.Ball(1), lazy=False, gradient_limit=G)
    proof = oco.run(game, [Predict(losses.Hinge(), x, y) for x, y in SET_A])
    assert game.play() == near([0.737486313242, -0.128222243439, 0.366039282641])
    assert proof.average_loss == near(0.777030154412)
    assert proof.floor() == near(3.02342478677)
    assert proof.regret_bound() == near(1.6387561397)
    u = [2 / 3, -2 / 3, 1 / 3]
    assert bound(proof.bounds_at(u), "agile mirror descent, observed gradients").value / 6 == near(
        0.780473838364
    )
    assert bound(proof.bounds, "agile mirror descent, in advance").value / 6 <= 1.13724814062


@pytest.mark.parametrize("mirror", FREE)
@given(seeds)
@settings(max_examples=sized(5, 20))
def test_lazy_is_agile_at_a_constant_rate(mirror: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    pair = [oco.Game(d, mirror, half, lazy=lazy) for lazy in (True, False)]
    for z in rng.normal(size=(12, d)):
        for game in pair:
            game.face(oco.Linear(z))
        assert pair[0].play() == pytest.approx(pair[1].play(), rel=1e-9, abs=1e-12)
    divergences = [game.certificate().monitors.divergence for game in pair]
    assert divergences[0] == pytest.approx(divergences[1], rel=1e-8)


STREAMS = [  # few, because every combination is compiled
    (mirrors.Euclidean(), half, None, True),
    (mirrors.Entropy(2.0), half, None, True),
    (mirrors.SignedEntropy(1.5), half, None, True),
    (mirrors.Ball(0.5), rates.InverseSqrt(0.7), None, True),
    (mirrors.PNorm(3), rates.Doubling(0.7), None, True),
    (mirrors.SoftThreshold(0.05), rates.InverseSqrt(0.7), None, True),
    (mirrors.Euclidean(), half, domains.Box(-0.5, 2.0), True),
    (mirrors.Euclidean(), half, domains.Ball(1.5), False),
    (mirrors.Euclidean(), half, domains.Simplex(2.0), False),
    (mirrors.UnnormalizedEntropy(), half, domains.Box(0.1, 3.0), False),
]


@pytest.mark.parametrize(("mirror", "rate", "domain", "lazy"), STREAMS)
def test_the_game_is_the_stream_learner_on_dense_rows(
    mirror: Any, rate: Any, domain: Any, lazy: bool
) -> None:
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(60, 4)), rng.choice([-1.0, 1.0], 60)
    learner = nr.MirrorDescent(losses.Logistic(), mirror, rate, domain, lazy, dimension=4)
    learner.learn(X, y)
    game = oco.Game(4, mirror, rate, domain, lazy, nonnegative=True)
    proof = oco.run(game, [Predict(losses.Logistic(), *row) for row in zip(X, y, strict=True)])
    assert game.play() == pytest.approx(learner.weights, rel=1e-12, abs=1e-12)
    theirs = learner.certificate()
    assert proof.loss == near(theirs.loss)
    radius = 2.0 if isinstance(mirror, mirrors.Entropy) else 0.8
    assert proof.floor(radius) == near(theirs.floor(radius))
    if not isinstance(mirror, mirrors.SoftThreshold):
        assert game.average == pytest.approx(learner.average, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("mirror", [*FREE, mirrors.SoftThreshold(0.1)])
@given(seeds)
@settings(max_examples=20)
def test_dense_links_are_the_scalar_functions(mirror: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=int(rng.integers(1, 6))) * 10.0 ** rng.integers(-6, 3)
    s, reference = mirror._sum_of_phi(a)
    wanted = [mirror.kappa(s, reference, 1.0) * mirror.phi_prime(float(x), reference) for x in a]
    assert mirror.link(a) == pytest.approx(wanted, rel=1e-11, abs=1e-300)
    zero = mirror._sum_of_phi(np.zeros_like(a))
    value = mirror.psi(s, reference) - mirror.psi(*zero)
    size = max(abs(value), abs(mirror.psi(*zero)))
    assert mirror.potential(a) == pytest.approx(value, abs=1e-11 * size)
    step = 0.1 * rng.normal(size=len(a))
    by_difference = mirror.potential(a - step) - mirror.potential(a)
    by_difference += float(mirror.link(a) @ step)
    exact = mirror.stability(a, mirror.link(a), step)
    assert exact == pytest.approx(by_difference, rel=1e-6, abs=1e-10 * (1 + size))


@settings(max_examples=sized(6, 25))
@given(seeds)
def test_floors_are_true_in_exact_arithmetic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    costs = rng.normal(size=(60, d)) * 10.0 ** rng.integers(-9, 9, (60, 1))
    costs = np.concatenate([costs, -costs[::-1] * (1 + 1e-15)])  # sums that nearly cancel
    for game in (
        oco.Game(d, mirrors.Entropy(), rates.Adaptive()),
        oco.Game(d, mirrors.Euclidean(), rates.Adaptive(), domains.Simplex(), lazy=False),
    ):
        proof = oco.run(game, map(oco.Linear, costs))
        exact = min(sum(map(Fraction, column.tolist())) for column in costs.T)
        assert Fraction(proof.floor()) <= exact
        assert float(exact) - proof.floor() <= 1e-9 * np.abs(costs).sum()


@settings(max_examples=25)
@given(seeds)
def test_rounding_of_values_is_paid_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = oco.Game(3, mirrors.Euclidean(), rates.Constant(30.0))
    exact = Fraction(0)
    for z, c in zip(rng.normal(size=(9, 3)), rng.normal(size=9) * 1e-9, strict=True):
        # The digits of c beyond those of <z, w> are lost in the value, not in the truth.
        game.suffer(float(game.play() @ z) + c, z)
        exact += Fraction(float(c))
    proof = game.certificate()
    assert Fraction(proof.floor(0.0)) <= exact
    assert float(exact) - proof.floor(0.0) <= 1e-9
