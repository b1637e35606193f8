"""Contextual bandits: exploration, crossed features, delays, logs."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.bandits import ContextualBandit, EpsilonGreedy, Exploration, InverseGap
from noregret.bandits.exploration import draw_rows
from noregret.bandits.policy import crossed
from noregret.rows.examples import as_rows
from tests.sizes import sized


def world(rng: np.random.Generator, rounds: int, arms: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts and costs of all arms, linear in the context, with noise."""
    X = rng.random((rounds, 4))
    slopes = rng.random((4, arms)) / 4
    return X, np.clip(X @ slopes + rng.normal(0, 0.05, (rounds, arms)), 0, 1)


@pytest.mark.parametrize("gamma", [0.5, 10.0, 1000.0])
def test_inverse_gaps_pay_for_exploring_by_squared_errors(gamma: float) -> None:
    """The inequality of Foster and Rakhlin's Lemma 3 on 1,000 random rounds, hard ones among them.

    sum_a p_a (f_a - f_best) <= 2 K / gamma + (gamma/4) sum_a p_a (q_a - f_a)^2.
    """
    rng = np.random.default_rng(int(gamma))
    for _ in range(1000):
        K = int(rng.integers(2, 8))
        q = rng.random((1, K))
        p = InverseGap(gamma, 0.0).probabilities(q, np.ones(1))[0]
        f = rng.random(K)
        if rng.random() < 0.5:
            # The worst costs given the arm that is best: where the derivative by f_a vanishes.
            f = np.clip(q[0] + 2.0 / gamma, 0.0, 1.0)
            best = int(rng.integers(K))
            f[best] = np.clip(q[0, best] - 2.0 / (gamma * p[best]) * (1 - p[best]), 0.0, 1.0)
        gap = p @ (f - f.min())
        assert gap <= 2 * K / gamma + gamma / 4 * p @ (q[0] - f) ** 2 + 1e-12
        assert p.sum() == pytest.approx(1.0, abs=1e-12) and p.argmax() == q[0].argmin()


def test_epsilon_greedy_shares_ties() -> None:
    p = EpsilonGreedy(0.3).probabilities(np.array([[0.5, 0.5, 0.9], [0.1, 0.2, 0.3]]), np.ones(2))
    assert p == pytest.approx(np.array([[0.45, 0.45, 0.1], [0.8, 0.1, 0.1]]))


def test_gamma_grows_with_the_decisions() -> None:
    q = np.array([[0.0, 0.5], [0.0, 0.5]])
    p = InverseGap(10.0, 0.5).probabilities(q, np.array([1.0, 100.0]))
    assert p[:, 1] == pytest.approx([1 / 7.0, 1 / 52.0])


def test_draws_by_rows_follow_the_contract() -> None:
    p = np.tile([0.2, 0.5, 0.3, 0.0], (5, 1))
    assert draw_rows(p, np.array([0.1, 0.2, 0.69, 0.7, 1 - 1e-16])).tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_crossing_sparse_rows_is_crossing_dense_ones(dtype: type) -> None:
    rng = np.random.default_rng(0)
    dense = (rng.random((6, 5)) * (rng.random((6, 5)) < 0.4)).astype(dtype)
    arms = rng.integers(0, 3, (6, 2))
    for rows in (as_rows(dense), as_rows(sp.csr_matrix(dense)).part(0, 6)):
        part = crossed(rows, arms, 3)
        assert part.values.dtype == np.float64
        shape = (12, 18)
        parts = (part.values, part.indices.astype(int), part.indptr.astype(int))
        found = sp.csr_matrix(parts, shape=shape).toarray()
        expected = np.zeros(shape)
        for k, (context, arm) in enumerate(zip(np.repeat(dense, 2, 0), arms.ravel(), strict=True)):
            expected[k, arm::3] = [1.0, *context]
        assert np.array_equal(found, expected)
    later = as_rows(sp.csr_matrix(dense)).part(2, 5)
    alone = as_rows(sp.csr_matrix(dense[2:5]))
    for name in ("indptr", "indices", "values"):
        parts = (getattr(crossed(rows, arms[2:5], 3), name) for rows in (later, alone))
        assert np.array_equal(*parts)


def test_rows_without_features_have_a_constant() -> None:
    policy = ContextualBandit(2, EpsilonGreedy(0.5), seed=1)
    empty = sp.csr_matrix((1, 3))
    for _ in range(60):
        decision = policy.decide(empty)
        policy.learn(decision, 0.9 if decision.arm else 0.1)
    assert policy.predict(empty).argmin() == 0


def test_sparse_contexts_may_grow_and_dense_ones_may_not() -> None:
    policy = ContextualBandit(2, seed=1)
    for width in (2, 5, 3):
        row = sp.csr_matrix(np.ones((1, width)))
        policy.learn(policy.decide(row), 0.5)
    assert policy.predict(np.ones((1, 5))).shape == (1, 2)
    with pytest.raises(ValueError, match="X has 4 columns, the policy knows 5"):
        policy.decide(np.ones(4))


@pytest.mark.parametrize("exploration", [EpsilonGreedy(0.1), InverseGap()])
def test_it_learns_and_stays_above_the_full_information(exploration: Exploration) -> None:
    rng = np.random.default_rng(5)
    rounds = sized(1000, 3000)
    X, costs = world(rng, rounds)
    policy = ContextualBandit(3, exploration, seed=0)
    for start in range(0, rounds, 10):
        part = slice(start, start + 10)
        decisions = policy.decide_many(X[part])
        policy.learn_many(decisions.ids, costs[part][np.arange(10), decisions.arms])
    proof = policy.certificate()
    best = costs.min(axis=1).sum()
    fixed = costs.sum(axis=0).min()
    assert best < proof.cost < fixed
    # The estimate of the best constant arm is unbiased: within a few standard deviations here.
    assert proof.estimates.min() == pytest.approx(fixed, rel=0.25)
    greedy = policy.predict(X[-500:]).argmin(axis=1)
    assert (
        costs[-500:][np.arange(500), greedy].mean() < 1.1 * costs[-500:].min(axis=1).mean() + 0.02
    )
    assert "cost regression" in str(proof) and proof.regression is not None
    assert proof.regression.floor() <= proof.regression.loss


def test_arms_without_a_chance_have_no_estimate() -> None:
    """A greedy policy says nothing about arms that it never tries: no best arm of cost 0."""
    policy = ContextualBandit(2, EpsilonGreedy(0.0), seed=1)
    for t in range(100):
        decision = policy.decide([1.0, t % 2])
        policy.learn(decision, float(decision.arm != t % 2))
    proof = policy.certificate()
    assert np.isnan(proof.estimates).all() and proof.best_arm is None
    assert "none can be estimated" in str(proof)
    assert json.loads(json.dumps(proof.as_dict()))["estimated_regret"] is None
    mixed = ContextualBandit(3, Favoured(), seed=1)
    for _ in range(30):
        mixed.learn(mixed.decide([1.0]), 0.5)
    proof = mixed.certificate()
    assert np.isnan(proof.estimates).tolist() == [False, False, True] and proof.best_arm in (0, 1)
    assert proof.estimated_regret == pytest.approx(proof.cost - np.nanmin(proof.estimates))


@dataclass(frozen=True)
class Favoured(Exploration):
    """One's own exploration, which never draws the last arm."""

    def probabilities(self, predicted: np.ndarray, times: np.ndarray) -> np.ndarray:
        return np.tile([0.5, 0.5, 0.0], (len(predicted), 1))


def test_inverse_gaps_of_any_scale_are_probabilities() -> None:
    decisions = ContextualBandit(3, InverseGap(1.7e308), seed=0).decide_many(np.ones((9, 2)))
    assert decisions.probabilities == pytest.approx(np.full(9, 1 / 3))


def test_delayed_costs_are_learnt_when_they_come() -> None:
    """The regressors see (context, arm, cost) in the order of the costs, whatever the decisions."""
    rng = np.random.default_rng(3)
    X, costs = world(rng, 40)
    policy = ContextualBandit(3, EpsilonGreedy(0.2), importance=True, seed=2)
    decisions = policy.decide_many(X)
    assert len(policy.waiting) == 40 and policy.rounds == 0
    order = rng.permutation(40)
    for k in order[:20]:
        policy.learn(int(decisions.ids[k]), costs[k, decisions.arms[k]])
    policy.learn_many(decisions.ids[order[20:]], costs[order[20:], decisions.arms[order[20:]]])
    twin = ContextualBandit(3, EpsilonGreedy(0.2), importance=True)
    twin.learn_logged(
        X[order], decisions.arms[order], costs[order, decisions.arms[order]],
        decisions.probabilities[order],
    )  # fmt: skip
    assert np.array_equal(policy.learner.weights, twin.learner.weights)
    assert policy.rounds == 40 and twin.rounds == 0 and not policy.waiting


def test_importance_weights_are_those_of_the_learner() -> None:
    X, costs = world(np.random.default_rng(3), 30)
    arms, chances = np.arange(30) % 3, np.linspace(0.1, 1.0, 30)
    taken = costs[np.arange(30), arms]
    weighed = ContextualBandit(3, importance=True)
    weighed.learn_logged(X, arms, taken, chances)
    plain = ContextualBandit(3)
    plain.learn_logged(X, arms, taken, chances)
    rows = crossed(as_rows(X), arms[:, None], 3)
    for policy, weights in ((weighed, 1 / chances), (plain, None)):
        twin = nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
        twin.learn(rows, taken, weights)
        assert np.array_equal(policy.learner.weights, twin.weights)


def test_probabilities_are_those_of_the_coming_decision() -> None:
    X, costs = world(np.random.default_rng(9), 50)
    policy = ContextualBandit(3, seed=4)
    for x, y in zip(X, costs, strict=True):
        chances = policy.probabilities(x)[0]
        decision = policy.decide(x)
        assert decision.probability == chances[decision.arm]
        policy.learn(decision, y[decision.arm])


def test_costs_in_another_range() -> None:
    X, costs = world(np.random.default_rng(9), 60)
    costs = np.round(costs * 64) / 64
    plain, moved = (ContextualBandit(3, seed=4, costs=ends) for ends in ((0, 1), (-2, 2)))
    for x, y in zip(X, costs, strict=True):
        one, other = plain.decide(x), moved.decide(x)
        assert one == other
        plain.learn(one, y[one.arm])
        moved.reward(other, -(4 * y[one.arm] - 2))
    assert moved.predict(X) == pytest.approx(4 * plain.predict(X) - 2)
    assert moved.certificate().cost == pytest.approx(4 * plain.certificate().cost - 120)


def test_any_learner_of_real_targets_will_do() -> None:
    learner = nr.MirrorDescent(
        nr.losses.Absolute(), nr.mirrors.Ball(1.0), nr.rates.InverseSqrt(0.1), dimension=10
    )
    policy = ContextualBandit(2, EpsilonGreedy(0.2), learner, seed=0)
    for t in range(200):
        decision = policy.decide([1.0, t % 2, 0.0, 0.0])
        policy.learn(decision, float(decision.arm != t % 2))
    predicted = policy.predict([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    assert predicted.argmin(axis=1).tolist() == [0, 1]
    assert policy.learner is learner


@dataclass(frozen=True)
class Careless(Exploration):
    """One's own exploration, which forgets to normalise."""

    excess: float = 0.5

    def probabilities(self, predicted: np.ndarray, times: np.ndarray) -> np.ndarray:
        return np.full(predicted.shape, (1.0 + self.excess) / predicted.shape[1])


def test_one_s_own_exploration_is_checked() -> None:
    policy = ContextualBandit(2, Careless())
    with pytest.raises(ValueError, match=r"Careless.*row 0 sum to 1.5, expected 1"):
        policy.decide([1.0])
    assert not policy.waiting
    assert ContextualBandit(2, Careless(0.0)).decide([1.0]).probability == 0.5
