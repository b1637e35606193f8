"""Arms with features of their own: one learner for all of them, sets that change, late costs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.bandits import ArmFeatureBandit, ContextualBandit, EpsilonGreedy, InverseGap

SLOPES = np.array([0.5, -0.3, 0.2])


def offered(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of two to six arms, and what each of them costs."""
    X = rng.random((int(rng.integers(2, 7)), 3))
    return X, np.clip(0.3 + X @ SLOPES + rng.normal(0.0, 0.02, len(X)), 0.0, 1.0)


def test_predictions_are_those_of_one_linear_learner() -> None:
    """By hand: a constant in column 0, the features behind it, the arm drawn and no other."""
    rng = np.random.default_rng(1)
    policy = ArmFeatureBandit(EpsilonGreedy(0.3), seed=2)
    twin = nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    for _ in range(60):
        X, costs = offered(rng)
        rows = np.column_stack([np.ones(len(X)), X])
        if twin.rounds:
            assert policy.predict(X) == pytest.approx(np.clip(twin.predict(rows), 0.0, 1.0))
        chances = policy.probabilities(X)
        decision = policy.decide(X)
        assert decision.probability == chances[decision.arm] and len(chances) == len(X)
        policy.learn(decision, costs[decision.arm])
        twin.learn(rows[[decision.arm]], costs[[decision.arm]])
    assert policy.learner.weights == pytest.approx(twin.weights, rel=1e-12)


@pytest.mark.parametrize("exploration", [EpsilonGreedy(0.1), InverseGap()])
def test_it_learns_about_arms_never_seen(exploration: EpsilonGreedy | InverseGap) -> None:
    rng = np.random.default_rng(4)
    policy = ArmFeatureBandit(exploration, seed=0)
    paid, best, even = [], [], []
    for _ in range(1500):
        X, costs = offered(rng)
        decision = policy.decide(X)
        policy.learn(decision, costs[decision.arm])
        paid.append(costs[decision.arm])
        best.append(costs.min())
        even.append(costs.mean())
    assert np.mean(paid[-500:]) < np.mean(best[-500:]) + 0.1 * np.mean(even[-500:])
    proof = policy.certificate()
    assert proof.cost == pytest.approx(np.sum(paid)) and proof.rounds == 1500
    # Without bias: within a few deviations of what drawing evenly would have cost.
    assert proof.even == pytest.approx(np.sum(even), rel=0.1)
    assert proof.cost < 0.8 * proof.even
    assert proof.regression.floor() <= proof.regression.loss
    assert "any arm, estimated" in str(proof) and "cost regression" in str(proof)
    assert json.loads(json.dumps(proof.as_dict()))["rounds"] == 1500


def test_the_estimate_of_drawing_evenly_is_unbiased() -> None:
    """One round, all arms: sum of p (cost / (K p)) is the mean cost; NaN without a chance."""
    X, costs = np.eye(3), np.array([0.2, 0.5, 0.8])
    total = 0.0
    for u in (0.1, 0.5, 0.9):
        policy = ArmFeatureBandit(EpsilonGreedy(1.0), seed=0)
        policy._rng = type("Fixed", (), {"random": lambda self, n, u=u: np.full(n, u)})()  # type: ignore[assignment]
        decision = policy.decide(X)
        policy.learn(decision, costs[decision.arm])
        total += decision.probability * policy.certificate().even
    assert total == pytest.approx(0.5)
    greedy = ArmFeatureBandit(EpsilonGreedy(0.0), seed=0)
    for _ in range(20):
        decision = greedy.decide(X)
        greedy.learn(decision, costs[decision.arm])
    assert np.isnan(greedy.certificate().even)
    assert greedy.certificate().as_dict()["even"] is None


def test_late_costs_logs_and_rewards() -> None:
    """Costs in any order are learnt in that order, and a log of the drawn rows is the same."""
    rng = np.random.default_rng(3)
    policy, drawn = ArmFeatureBandit(EpsilonGreedy(0.5), importance=True, seed=1), []
    for _ in range(30):
        X, costs = offered(rng)
        decision = policy.decide(X)
        drawn.append((decision, X[decision.arm], costs[decision.arm]))
    order = rng.permutation(30)
    for k in order[:15]:
        policy.learn(drawn[k][0].id, drawn[k][2])
    policy.learn_many([drawn[k][0] for k in order[15:]], [drawn[k][2] for k in order[15:]])
    twin = ArmFeatureBandit(importance=True, costs=(0.0, 1.0))
    rows, costs = (np.array([drawn[k][j] for k in order]) for j in (1, 2))
    twin.learn_logged(rows, costs, [drawn[k][0].probability for k in order])
    assert np.array_equal(policy.learner.weights, twin.learner.weights)
    assert policy.rounds == 30 and twin.rounds == 0 and not policy.waiting
    one, other = (ArmFeatureBandit(costs=(-2.0, 2.0), seed=5) for _ in range(2))
    one.learn(one.decide(np.eye(2)), 1.5)
    other.reward(other.decide(np.eye(2)), -1.5)
    assert np.array_equal(one.learner.weights, other.learner.weights)


def test_sparse_rows_may_grow_and_are_dense_ones() -> None:
    rng = np.random.default_rng(2)
    dense, sparse = ArmFeatureBandit(seed=3), ArmFeatureBandit(seed=3)
    for _ in range(40):
        X, costs = offered(rng)
        one, other = dense.decide(X), sparse.decide(sp.csr_matrix(X))
        assert one.arm == other.arm and one.probability == pytest.approx(other.probability)
        dense.learn(one, costs[one.arm])
        sparse.learn(other, costs[one.arm])
    sparse.learn(sparse.decide(sp.csr_matrix(np.ones((2, 9)))), 0.5)
    assert sparse.predict(np.ones((4, 9))).shape == (4,)


def test_cut_anywhere(tmp_path: Path) -> None:
    def run(cut: bool) -> tuple[ArmFeatureBandit, list[int]]:
        rng, arms = np.random.default_rng(8), []
        policy = ArmFeatureBandit(InverseGap(5.0), costs=(0.0, 2.0), seed=7)
        for t in range(40):
            X, costs = offered(rng)
            arms.append(policy.decide(X).arm)
            if t % 3:
                policy.learn(policy.waiting[0], costs[arms[-1]])
            if cut:
                policy.save(tmp_path / "policy")
                policy = nr.load(tmp_path / "policy")
                assert isinstance(policy, ArmFeatureBandit)
        return policy, arms

    (one, first), (other, second) = run(False), run(True)
    assert first == second and one.waiting == other.waiting
    one.save(tmp_path / "a")
    other.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert str(one.certificate()) == str(other.certificate())


def test_input_that_cannot_be_used(tmp_path: Path) -> None:
    policy, path = ArmFeatureBandit(seed=0), tmp_path / "policy"
    policy.decide(np.ones((3, 2)))
    policy.save(path)
    before = path.read_bytes()
    for act, message in (
        (lambda: policy.decide(np.ones((0, 2))), "at least one arm"),
        (lambda: policy.decide(np.ones((2, 3))), "X has 3 columns, the policy knows 2"),
        (lambda: policy.decide([[1.0, np.nan]]), "not finite"),
        (lambda: policy.learn(0, 1.5), "within the promised"),
        (lambda: policy.learn_logged(np.ones((2, 2)), [0.5], [1.0]), "2 contexts and 1 arms"),
        (lambda: policy.learn_logged(np.ones((1, 2)), [0.5], [0.0]), "row 0 is 0.0"),
    ):
        with pytest.raises(ValueError, match=message):
            act()
        policy.save(path)
        assert path.read_bytes() == before


def test_an_arm_s_indicator_makes_it_a_bandit_with_weights_for_each_arm() -> None:
    """Rows that hold the context in the place of their arm: the contextual bandit's decisions.

    Its constants are features here, and the shared constant has no counterpart there; with costs
    that are told in the same order both predict alike what they have seen.
    """
    rng = np.random.default_rng(5)
    general, special = ArmFeatureBandit(seed=1), ContextualBandit(2, seed=1)
    errors = np.zeros(2)
    for _ in range(400):
        x = np.array([1.0, float(rng.integers(2))])
        rows = np.kron(np.eye(2), x)
        for k, decision in enumerate((general.decide(rows), special.decide(x))):
            cost = float(decision.arm != x[1])
            (general, special)[k].learn(decision, cost)
            errors[k] += cost
    assert errors.max() < 80 and abs(errors[0] - errors[1]) < 40
