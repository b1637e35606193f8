"""Tsallis-INF: the normaliser, the optimality of its weights, its stability, its two worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from noregret.bandits import Exp3, TsallisINF, theorems
from noregret.bandits.arms import ArmSum
from noregret.bandits.tsallis import find_arm, normalise, suffer
from tests.sizes import some


def weights_of(estimates: np.ndarray, eta: float, start: float = 0.0) -> np.ndarray:
    book, weights = np.zeros(len(ArmSum)), np.empty(len(estimates))
    book[ArmSum.ETA], book[ArmSum.SHIFT] = eta, start
    normalise(estimates, weights, book)
    return weights


def exact(estimates: np.ndarray, eta: float) -> np.ndarray:
    """Return the weights by bracketing the normaliser."""

    def excess(x: float) -> float:
        return float(np.sum(4.0 / (eta * (estimates - x)) ** 2)) - 1.0

    least, d = estimates.min(), len(estimates)
    x = brentq(excess, least - 2.0 * math.sqrt(d) / eta - 1.0, least - 2.0 / eta, xtol=1e-14)
    return 4.0 / (eta * (estimates - x)) ** 2


@pytest.mark.parametrize("eta", [1e-3, 0.05, 2.0])
@pytest.mark.parametrize("d", [1, 2, 5, 1000])
def test_newton_finds_the_normaliser(eta: float, d: int) -> None:
    rng = np.random.default_rng(d)
    for spread in (0.0, 1.0, 1e3, 1e6):
        estimates = spread * rng.random(d)
        expected = exact(estimates, eta) if d > 1 else np.ones(1)
        for start in some((0.0, -1e9, -3.0 / eta, 1e9), 2):
            found = weights_of(estimates, eta, start)
            assert found.sum() == pytest.approx(1.0, abs=1e-14 * d)
            assert found == pytest.approx(expected, rel=1e-9)


def test_weights_minimise_the_regularised_cost() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        d, eta = int(rng.integers(2, 9)), float(rng.uniform(0.01, 2.0))
        estimates = rng.exponential(20.0, d)

        def objective(w: np.ndarray, z: np.ndarray = estimates, eta: float = eta) -> float:
            return float(w @ z - 4.0 / eta * np.sqrt(w).sum())

        best = objective(weights_of(estimates, eta))
        others = rng.dirichlet(np.ones(d), 200)
        assert all(best <= objective(u) + 1e-9 * abs(best) for u in others)


def test_the_stability_term_is_an_upper_bound() -> None:
    """D = Phi(Z + z e_i) - Phi(Z) + w_i z, Phi(Z) = max over w of 4 sum sqrt(w)/eta - <w, Z>."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        d, eta = int(rng.integers(2, 7)), float(rng.uniform(0.05, 2.0))
        estimates = rng.exponential(5.0, d)
        w = weights_of(estimates, eta)
        arm = int(rng.integers(d))
        z = float(rng.random() / w[arm])
        moved = estimates.copy()
        moved[arm] += z
        after = weights_of(moved, eta)
        phi = 4.0 / eta * np.sqrt(w).sum() - w @ estimates
        grown = 4.0 / eta * np.sqrt(after).sum() - after @ moved - phi + w[arm] * z
        book = np.zeros(len(ArmSum))
        book[ArmSum.ETA] = eta
        suffer(estimates.copy(), w.copy(), book, arm, 1.0, z)
        assert grown <= book[ArmSum.DIVERGENCE] + 1e-9
        assert book[ArmSum.DIVERGENCE] <= 0.5 * eta * w[arm] ** 1.5 * z * z + 1e-12


def test_the_bound_in_expectation_is_below_four_roots() -> None:
    for d, T in ((2, 10), (10, 1000), (50, 777)):
        etas = float(np.sum(2.0 / np.sqrt(np.arange(1, T + 1))))
        value = theorems.tsallis_regret(d, 2.0 / math.sqrt(T), etas)
        assert value <= 4.0 * math.sqrt(d * T)


@pytest.mark.compiled
def test_chance_is_easier_than_malice() -> None:
    """With a gap of 0.4 its regret grows by as much from 1,000 rounds to 4,000 as to 16,000."""
    rng = np.random.default_rng(6)
    means = np.array([0.3, 0.7, 0.7, 0.7, 0.7])
    totals = {"tsallis": np.zeros(3), "exp3": np.zeros(3)}
    for seed in range(20):
        costs = (rng.random((16_000, 5)) < means).astype(float)
        for name, bandit in (("tsallis", TsallisINF(5, seed=seed)), ("exp3", Exp3(5, seed=seed))):
            gaps = np.cumsum(means[bandit.play(costs)] - 0.3)
            totals[name] += gaps[[999, 3999, 15_999]] / 20
    first, second, third = totals["tsallis"]
    # A regret of the order sqrt(T) would double each time.
    assert third - second < 1.4 * (second - first) and third < 1.4 * second
    assert third < totals["exp3"][2]


def test_a_run_has_the_weights_of_its_estimates_and_rate() -> None:
    bandit = TsallisINF(4, seed=2)
    for t, y in enumerate(np.random.default_rng(3).random((300, 4)), start=1):
        assert bandit.eta == 2.0 / math.sqrt(t)
        assert bandit.probabilities == pytest.approx(exact(bandit._estimates, bandit.eta), rel=1e-8)
        before = bandit._estimates.copy()
        decision = bandit.decide()
        bandit.learn(decision, y[decision.arm])
        before[decision.arm] += y[decision.arm] / decision.probability
        assert np.array_equal(bandit._estimates, before)


def test_draws_follow_the_contract() -> None:
    w = np.array([0.2, 0.5, 0.3])
    assert [find_arm(w, u) for u in (0.1, 0.2, 0.69, 0.7, 0.9999999)] == [0, 1, 1, 2, 2]


def test_one_decision_at_a_time_is_the_same_game() -> None:
    costs = np.random.default_rng(8).random((200, 5))
    whole, stepwise = TsallisINF(5, seed=1), TsallisINF(5, seed=1)
    arms = whole.play(costs)
    for t in range(200):
        decision = stepwise.decide()
        assert decision.arm == arms[t]
        stepwise.learn(decision.id, costs[t, decision.arm])
    assert np.array_equal(whole._book, stepwise._book)
    assert np.array_equal(whole.probabilities, stepwise.probabilities)


@pytest.mark.compiled
def test_compiled_and_interpreted_agree() -> None:
    costs = np.random.default_rng(1).random((40, 4))
    compiled, interpreted = TsallisINF(4, seed=3), TsallisINF(4, seed=3)
    compiled.play(costs)
    for y in costs:
        arm, p = interpreted._draw(interpreted._rng.random())
        parts = interpreted._estimates, interpreted._weights, interpreted._book
        suffer.py_func(*parts, arm, p, y[arm])
    assert interpreted._book == pytest.approx(compiled._book, rel=1e-12)


def test_the_path_bound_is_the_height_of_the_regulariser_and_the_stability() -> None:
    bandit = TsallisINF(3, seed=1)
    bandit.play(np.random.default_rng(5).random((400, 3)))
    # 4 (sum sqrt(w) - 1) / eta is 0 at a corner and 4 (sqrt(d) - 1) / eta at the centre.
    height = (4.0 * math.sqrt(3.0) - 4.0) / bandit.eta
    expected = height + bandit._book[ArmSum.DIVERGENCE] + bandit._book[ArmSum.DRIFT]
    path = bandit.certificate().statements[0]
    assert path.value == pytest.approx(expected, rel=1e-9)
