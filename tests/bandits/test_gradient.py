"""Bandit gradient descent: the survey's numbers, exact expectations, and plays by the thousand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.random import Generator

import noregret as nr
from noregret.bandits import EstimatedGame, GradientBandit, theorems
from noregret.bandits.gradient import one_point, sphere, two_points
from noregret.domains import Ball, Box, Simplex
from tests.bandits.measuring import violates
from tests.sizes import sized


def forced(bandit: GradientBandit, v: list[float]) -> np.ndarray:
    """Play in a given direction."""
    bandit._v = np.array(v)
    return bandit.play()


def test_the_survey_s_example_in_the_plane() -> None:
    bandit = GradientBandit(2, Ball(1.0), eta=0.1, delta=0.5)
    centers = []
    for a, v in zip([(1, 0), (0, 1), (1, 1)], [(1, 0), (0, -1), (0.6, 0.8)], strict=True):
        point = forced(bandit, list(v))
        bandit.suffer(float(np.linalg.norm(point - a)))
        centers.append(bandit.center)
    assert centers[0] == pytest.approx([-0.2, 0.0], abs=1e-12)
    assert centers[1] == pytest.approx([-0.2, 0.605309838017], rel=1e-10)
    assert bandit.certificate().cost == pytest.approx(2.91329025845, rel=1e-10)
    assert bandit._theta == pytest.approx([-4.16003759218, 3.17304825726], rel=1e-10)


def test_the_exact_expectation_on_the_line() -> None:
    """S = [-1, 1], f_t = |w - a_t|: all 16 sequences of directions."""
    targets, total = (0.5, -0.5, 1.0, 0.25), 0.0
    for signs in itertools.product((-1.0, 1.0), repeat=4):
        bandit = GradientBandit(1, Box(-1.0, 1.0), 0.1, 0.5, lipschitz=1.0, size=2.0)
        for a, sign in zip(targets, signs, strict=True):
            point = forced(bandit, [sign])
            bandit.suffer(abs(float(point[0]) - a))
        total += bandit.certificate().cost / 16
    assert total == pytest.approx(2.61125, rel=1e-10)
    best = min(sum(abs(u - a) for a in targets) for u in np.linspace(-1, 1, 401))
    assert best == pytest.approx(1.75, rel=1e-10)
    proof = bandit.certificate()
    named = {each.name: each.value for each in proof.statements}
    assert named["bandit gradient descent"] == pytest.approx(21.0, rel=1e-10)
    assert total - best <= named["bandit gradient descent, sharper"] < 21.0


def test_a_size_that_is_not_of_absolute_values_proves_nothing() -> None:
    """f = 50 (w - 1) on [-1, 1] has the maximum 0: a bound with that in place of |f| is false."""
    T, delta = 10, 0.01
    eta, total = 1.0 / (50.0 * np.sqrt(20.0)), 0.0
    for signs in itertools.product((-1.0, 1.0), repeat=T):
        bandit = GradientBandit(1, Box(-1.0, 1.0), eta, delta)
        for sign in signs:
            bandit.suffer(50.0 * (float(forced(bandit, [sign])[0]) - 1.0))
        total += bandit.certificate().cost / 2**T
    regret = total + 1000.0
    assert regret == pytest.approx(753.90625, rel=1e-9)
    assert theorems.one_point_regret(1.0, 1, 0.0, 50.0, delta, eta, T) < 239 < regret
    assert theorems.one_point_regret(1.0, 1, 100.0, 50.0, delta, eta, T) > regret


def test_the_estimate_is_the_gradient_of_the_smoothed_loss() -> None:
    """On the line f = |w| around 0.1, width 0.5; in the plane w1^2 + 3 w1 w2 around (1, -1)."""
    line = [one_point(abs(0.1 + 0.5 * s), np.array([s]), 0.5)[0] for s in (1.0, -1.0)]
    assert np.mean(line) == pytest.approx(0.2, rel=1e-12)
    smoothed = np.mean(np.abs(0.1 + 0.5 * (2 * (np.arange(10**5) + 0.5) / 10**5 - 1)))
    assert smoothed == pytest.approx(0.26, rel=1e-6)
    angles = 2 * np.pi * np.arange(64) / 64
    one, two = np.zeros(2), np.zeros(2)
    for v in np.column_stack([np.cos(angles), np.sin(angles)]):
        ahead, behind = (
            float(w[0] ** 2 + 3 * w[0] * w[1])
            for w in (np.array([1.0, -1.0]) + 0.25 * v, np.array([1.0, -1.0]) - 0.25 * v)
        )
        one += one_point(ahead, v, 0.25) / 64
        two += two_points(ahead, behind, v, 0.25) / 64
    assert one == pytest.approx([-1.0, 3.0], rel=1e-10)
    assert two == pytest.approx([-1.0, 3.0], rel=1e-10)


def test_the_tuned_constants() -> None:
    tuned = theorems.one_point_tuned(1.0, 3, 2.0, 1.0, 10_000)
    assert tuned.delta == pytest.approx(0.141421356237, rel=1e-10)
    assert tuned.eta == pytest.approx(0.000155659852911, rel=1e-10)
    assert tuned.bound == pytest.approx(10666.9047558, rel=1e-10)
    # (1 + sqrt 2) sqrt(3 B d F L) T^(3/4) + B d L sqrt(2 T)
    closed = (1 + np.sqrt(2)) * np.sqrt(18.0) * 1000.0 + 3.0 * np.sqrt(20_000)
    assert tuned.bound == pytest.approx(closed, rel=1e-12)
    two = theorems.two_point_tuned(2.0, 3, 0.5, 400)
    assert two.bound == pytest.approx(4 * 3 * 2.0 * 0.5 * 20, rel=1e-12)


def test_directions_are_uniform() -> None:
    rng = np.random.default_rng(1)
    v = np.array([sphere(rng, 3) for _ in range(4000)])
    assert np.linalg.norm(v, axis=1) == pytest.approx(np.ones(4000))
    assert np.abs(v.mean(axis=0)).max() < 0.05
    assert v.T @ v / 4000 == pytest.approx(np.eye(3) / 3, abs=0.03)


def run(points: int, seed: int, T: int, targets: np.ndarray) -> tuple[GradientBandit, float]:
    """Play against f_t(w) = ||w - a_t|| / 2 on the unit ball."""
    size = None if points == 2 else 1.0
    if points == 1:
        tuned = theorems.one_point_tuned(1.0, 2, 1.0, 0.5, T)
    else:
        tuned = theorems.two_point_tuned(1.0, 2, 0.5, T)
    bandit = GradientBandit(
        2, Ball(1.0), tuned.eta, tuned.delta, points, lipschitz=0.5, size=size, seed=seed
    )
    for a in targets:
        point = bandit.play()
        values = 0.5 * np.linalg.norm(np.atleast_2d(point) - a, axis=1)
        bandit.suffer(values if points == 2 else float(values[0]))
    return bandit, tuned.bound


def check(points: int, T: int, count: int) -> None:
    rng = np.random.default_rng(T)
    targets = np.array([sphere(rng, 2) for _ in range(T)])
    targets[: T // 2] = [0.8, 0.0]
    grid = [r * np.array([np.cos(a), np.sin(a)]) for r in np.linspace(0, 1, 11)
            for a in np.linspace(0, 2 * np.pi, 24)]  # fmt: skip
    best = min(0.5 * np.linalg.norm(u - targets, axis=1).sum() for u in grid)
    regrets = []
    for seed in range(count):
        bandit, bound = run(points, seed, T, targets)
        proof = bandit.certificate()
        exact, simpler = (each.value for each in proof.statements[:2])
        assert proof.estimated_regret <= exact <= simpler * (1 + 1e-12)
        regrets.append(proof.cost - best)
        assert max(each.value for each in proof.statements[2:]) <= bound * (1 + 1e-9)
    for each in proof.statements[2:]:
        assert each.holds == "in expectation"
        assert not violates(np.array(regrets), each.value, 2.0 * T)
    assert proof.statements[2:]


@pytest.mark.parametrize("points", [1, 2])
def test_no_theorem_is_violated(points: int) -> None:
    check(points, 20, sized(250, 1000))


@pytest.mark.soak
@pytest.mark.parametrize("points", [1, 2])
def test_no_theorem_is_violated_in_long_plays(points: int) -> None:
    check(points, 300, 1000)


@pytest.mark.parametrize("domain", [Ball(0.4), Box(-0.3, 0.5), Simplex(1.0)])
def test_it_is_mirror_descent_on_estimated_gradients(domain: Ball | Box | Simplex) -> None:
    """Theorem 4.1 with the Euclidean map: the general game has the same points and stability."""
    bandit = GradientBandit(3, domain, 0.05, 0.2, seed=1)
    game = EstimatedGame(
        nr.oco.Game(3, nr.mirrors.Euclidean(), nr.rates.Constant(0.05), domain=domain)
    )
    rng = np.random.default_rng(2)
    for _ in range(80):
        assert game.play() == pytest.approx(bandit.center, abs=1e-12)
        point = bandit.play()
        cost = float(np.linalg.norm(point - rng.random(3)))
        game.suffer(cost, one_point(cost, (point - bandit.center) / 0.2, 0.2))
        bandit.suffer(cost)
    mine, theirs = bandit.certificate(), game.certificate()
    assert mine.cost == pytest.approx(theirs.cost)
    divergence = theirs.estimates.monitors.divergence
    assert divergence > 1.0
    assert bandit._sums["divergence"] == pytest.approx(divergence, rel=1e-9)
    complexity = mine.statements[0].value - divergence
    assert complexity == pytest.approx(bandit._setting.complexity(None, 0.05), rel=1e-6)
    assert mine.estimated_regret <= divergence + complexity


def test_two_points_learn_much_faster() -> None:
    targets = np.tile([0.8, 0.0], (2000, 1))
    one, two = (run(points, 3, 2000, targets)[0] for points in (1, 2))
    assert np.linalg.norm(two.center - [0.8, 0.0]) < 0.1
    assert two.certificate().cost < 0.6 * one.certificate().cost


@pytest.mark.parametrize("domain", [Ball(2.0), Box(-1.0, 3.0), Simplex(1.5)])
def test_other_sets(domain: Ball | Box | Simplex) -> None:
    bandit = GradientBandit(3, domain, 0.05, 0.1, points=2, lipschitz=2.0, seed=0)
    for _ in range(100):
        points = bandit.play()
        bandit.suffer(np.abs(points).sum(axis=1))
        assert domain.contains(bandit.center)
    proof = bandit.certificate()
    assert proof.estimated_regret <= proof.statements[0].value
    # ||u|| is at most 2, sqrt(27) and 1.5.
    radius = {Ball: 2.0, Box: np.sqrt(27.0), Simplex: 1.5}[type(domain)]
    expected = theorems.two_point_regret(radius, 3, 2.0, 0.1, 0.05, 100)
    assert proof.statements[-1].value == pytest.approx(expected, rel=1e-9)
    assert "two-point gradient descent" in str(proof)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eta": 0.0}, "eta must be a finite number above 0"),
        ({"eta": "x"}, "eta must be a finite number above 0, got 'x'"),
        ({"lipschitz": "x"}, "lipschitz must be a finite number above 0, got 'x'"),
        ({"delta": np.nan}, "delta must be a finite number above 0"),
        ({"points": 3}, "points must be 1 or 2"),
        ({"size": 1.0}, "needs lipschitz beside it"),
        ({"domain": Box(0.0, np.inf)}, "no known corners"),
    ],
)
def test_settings_that_mean_nothing(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GradientBandit(
            **({"dimension": 2, "domain": Ball(1), "eta": 0.1, "delta": 0.1} | arguments)
        )


def test_seeds_and_generators(seed: int = 4) -> None:
    one = GradientBandit(2, Ball(1), 0.1, 0.1, seed=seed)
    other = GradientBandit(2, Ball(1), 0.1, 0.1, seed=Generator(np.random.PCG64(seed)))
    assert np.array_equal(one.play(), other.play())
    assert np.array_equal(one.play(), one.play())
