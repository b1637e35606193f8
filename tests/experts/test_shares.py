"""Fixed share and projection share: the worked figures, switches, and the oracle of sequences."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import domains, experts
from noregret.experts import Shares, Specialists, best_expert, best_sequence, expert_theorems
from noregret.experts.hedge_rounds import ExpertSum
from noregret.experts.shares import mix_rounds, share_rounds
from noregret.losses import Squared

Z = np.array([[0.5, 0, 1], [1, 0.25, 0], [0, 1, 0.5], [0.75, 0.5, 0]])


def close(value: Any) -> Any:
    return pytest.approx(value, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(
    ("update", "total", "second", "last", "gaps", "bound"),
    [
        (
            "projection", 2.03223182418, (0.302032535039, 0.497967464961, 0.2),
            (0.250368860444, 0.312107579204, 0.437523560352), 0.281065201848, 5.35937893915,
        ),
        (
            "fixed", 1.90227322755, (0.322878354287, 0.402592156422, 0.27452948929),
            (0.301870072818, 0.301754280929, 0.396375646253), 0.290314068922, 5.36862780622,
        ),
    ],
)  # fmt: skip
def test_the_worked_figures(
    update: str, total: float, second: Any, last: Any, gaps: float, bound: float
) -> None:
    learner = Shares(3, 1.0, 0.6, update)
    paid = [learner.suffer(Z[0])]
    assert learner.weights == close(second)
    paid += learner.learn(Z[1:]).tolist()
    assert sum(paid) == close(total)
    assert learner.weights == close(last)
    assert learner._state.book[ExpertSum.GAP] == close(gaps)
    proof = learner.certificate()
    # The experts 2, 2, 1, 3 cost 0.25 with two switches.
    assert 0.25 + proof.switching_bound(2) == close(bound)
    assert "one expert, after the fact" in str(proof)


def test_the_best_switching_rate() -> None:
    n, T, k = 3, 100, 1
    learner = Shares(n, 1.0, 0.1)
    learner.learn(np.zeros((T, n)))
    alpha = learner.certificate().best_alpha(k)
    assert alpha * (n - 1) / n == close(k / (T - 1))
    assert expert_theorems.switching_price(n, alpha, T, k) == close(7.38181172284)
    for other in (0.5 * alpha, 0.9 * alpha, 1.1 * alpha, 2.0 * alpha):
        assert expert_theorems.switching_price(n, other, T, k) > 7.38181172284


@pytest.mark.parametrize("update", ["fixed", "projection"])
def test_the_formula(update: str) -> None:
    random = np.random.default_rng(0)
    costs, eta, alpha, n = random.uniform(size=(60, 5)), 2.5, 0.2, 5
    learner, w = Shares(n, eta, alpha, update), np.full(n, 0.2)
    for z in costs:
        np.testing.assert_allclose(learner.weights, w, rtol=1e-11)
        assert learner.suffer(z) == pytest.approx(float(w @ z), rel=1e-12)
        w = w * np.exp(-eta * z)
        w /= w.sum()
        if update == "fixed":
            w = (1.0 - alpha) * w + alpha / n
        else:
            w = domains.ClippedSimplex(alpha).project_entropic(w)
            assert w.min() >= alpha / n * (1.0 - 1e-15)


def test_a_share_follows_what_hedge_forgets() -> None:
    costs = np.zeros((400, 2))
    costs[:200, 1] = 1.0
    costs[200:, 0] = 1.0
    share, hedge = Shares(2, 1.0, 0.01), experts.Hedge(2, 1.0)
    share.learn(costs)
    hedge.learn(costs)
    assert share.certificate().loss < 15.0 < 150.0 < hedge.certificate().loss
    assert share.certificate().loss <= share.certificate().switching_bound(1)


@pytest.mark.parametrize("update", ["fixed", "projection"])
def test_cuts_and_files_change_no_bit(update: str, tmp_path: Path) -> None:
    costs = np.random.default_rng(2).uniform(-1.0, 2.0, size=(60, 4))
    unbroken = Shares(4, 0.7, 0.05, update, -1.0, 2.0)
    paid = unbroken.learn(costs)
    broken, pieces = Shares(4, 0.7, 0.05, update, -1.0, 2.0), []
    for part in (slice(0, 1), slice(1, 35), slice(35, 60)):
        pieces.append(broken.learn(costs[part]))
        broken.save(tmp_path / "share.nr")
        loaded = nr.load(tmp_path / "share.nr")
        assert isinstance(loaded, Shares)
        broken = loaded
    assert np.array_equal(np.concatenate(pieces), paid)
    assert np.array_equal(broken.weights, unbroken.weights)
    assert str(broken.certificate()) == str(unbroken.certificate())


@pytest.mark.parametrize("update", ["fixed", "projection"])
def test_the_switching_bound_holds_where_it_is_tight(update: str) -> None:
    """Equal weights in every round and a steep rate: the bound is the regret, but for rounding."""
    random = np.random.default_rng(7)
    for _ in range(30):
        T = int(random.integers(2, 60))
        costs = random.permuted(np.tile([0.0, 1.0], (T, 1)), axis=1) * random.uniform(0.1, 1.0)
        learner = Shares(2, 1e4, 1.0, update)
        paid = learner.learn(costs)
        switches = int(np.count_nonzero(np.diff(costs.argmin(axis=1))))
        bound = learner.certificate().switching_bound(switches)
        regret = sum(map(Fraction, paid.tolist()))
        assert regret <= Fraction(bound) <= regret + Fraction(1, 10**9)


@pytest.mark.compiled
def test_the_kernel_is_what_was_written() -> None:
    costs = np.random.default_rng(3).uniform(size=(20, 4))
    runs = []
    for run in (share_rounds, share_rounds.py_func):
        learner, paid = Shares(4, 0.7, 0.1, "projection"), np.empty(20)
        state = learner._state
        run(state, 0.1, True, costs, costs.min(axis=1), costs.max(axis=1), paid)
        runs.append(np.concatenate([paid, state.parts, state.book]))
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-12)


def test_best_sequences_by_brute_force() -> None:
    assert best_sequence(Z, 3).costs == close([1.5, 0.5, 0.25, 0.0])
    assert best_expert(Z) == (2, 1.5)
    random = np.random.default_rng(4)
    for _ in range(20):
        T, d = int(random.integers(1, 6)), int(random.integers(1, 4))
        costs = random.uniform(size=(T, d)).round(1)
        found = best_sequence(costs, 4)
        for k, value in enumerate(found.costs):
            every = [
                sum(costs[t, i] for t, i in enumerate(path))
                for path in itertools.product(range(d), repeat=T)
                if sum(a != b for a, b in itertools.pairwise(path)) <= k
            ]
            assert value == pytest.approx(min(every), abs=1e-12)
        path = found.path.tolist()
        assert sum(a != b for a, b in itertools.pairwise(path)) <= 4
        assert costs[np.arange(T), found.path].sum() == pytest.approx(found.costs[-1], abs=1e-12)


def test_specialists_are_hedge_where_nobody_sleeps(tmp_path: Path) -> None:
    costs = np.random.default_rng(5).uniform(size=(50, 4))
    learner, hedge = Specialists(4, 0.8), experts.Hedge(4, 0.8)
    paid = learner.learn(costs, np.ones((50, 4), bool))
    np.testing.assert_allclose(paid, hedge.learn(costs), rtol=1e-12)
    np.testing.assert_allclose(learner.weights(), hedge.weights, rtol=1e-10)
    proof = learner.certificate()
    assert proof.regret.max() == pytest.approx(hedge.certificate().regret(), abs=1e-10)
    assert proof.loss == pytest.approx(hedge.certificate().loss)
    assert "against expert" in str(proof)
    learner.save(tmp_path / "s.nr")
    loaded = nr.load(tmp_path / "s.nr")
    assert isinstance(loaded, Specialists)
    assert np.array_equal(loaded.learn(costs, costs > 0.1), learner.learn(costs, costs > 0.1))
    assert np.array_equal(loaded.weights(), learner.weights())


def test_specialists_keep_the_weight_of_those_awake() -> None:
    random = np.random.default_rng(6)
    learner, w = Specialists(5, 1.3), np.full(5, 0.2)
    for _ in range(40):
        z, awake = random.uniform(size=5), random.uniform(size=5) < 0.6
        awake[random.integers(5)] = True
        p = np.where(awake, w, 0.0) / w[awake].sum()
        np.testing.assert_allclose(learner.weights(awake), p, rtol=1e-9)
        assert learner.suffer(z, awake) == pytest.approx(float(p @ z))
        new = np.where(awake, w * np.exp(-1.3 * z), 0.0)
        w = np.where(awake, new * (w[awake].sum() / new.sum()), w)
        np.testing.assert_allclose(learner.weights(), w, rtol=1e-9)
    assert np.all(learner.certificate().regret <= math.log(5) / 1.3 + 1.3 * 40 / 8)


@pytest.mark.parametrize("eta", [1e-9, 50.0, 1000.0, 1e6])
def test_specialists_at_extreme_rates(eta: float) -> None:
    learner = Specialists(3, eta)
    awake = np.tile([True, True, False], (300, 1))
    learner.learn(np.tile([0.0, 1.0, 0.0], (300, 1)), awake)
    # The one that was given up is suddenly the better one.
    learner.learn(np.tile([1.0, 0.0, 0.0], (301, 1)), np.tile([True, True, False], (301, 1)))
    weights = learner.weights()
    assert np.isfinite(weights).all() and weights.sum() == pytest.approx(1.0)
    assert weights[1] > weights[0]
    assert weights[2] == pytest.approx(1.0 / 3.0, rel=1e-6)
    proof = learner.certificate()
    assert np.all(proof.regret <= math.log(3) / eta + eta * 601 / 8)


def test_mixtures_of_hardly_any_loss_stay_finite() -> None:
    members = np.array([[1e-161, 1.0], [3e-161, 1.0], [0.0, 0.0]])
    shares, totals, made = np.full(3, 1.0 / 3.0), np.zeros(2), np.empty(2)
    mix_rounds(Squared(), members, np.zeros(2), np.ones(2), np.ones(2), shares, totals, made)
    assert np.isfinite(shares).all() and shares.sum() == pytest.approx(1.0)
