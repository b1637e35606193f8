"""The leader of blocks with several scores: it minimises what its definition says."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.learners import matrix_block_leader
from noregret.passes.leading import LITTLE
from noregret.rates.block_leader import FIRST, GROWTH
from tests.multi.test_second_order_scores import K, bits, stream

Vector = npt.NDArray[np.float64]

SOFTMAX = losses.Softmax()


def fresh(rate: Any = None, **options: Any) -> nr.MatrixDescent:
    rate = rates.BlockLeader(0.5, 32) if rate is None else rate
    return nr.MatrixDescent(SOFTMAX, rate=rate, **options)


def total(X: Vector, y: Vector, weight: Vector, W: Vector) -> float:
    return -float(weight @ log_softmax(X @ W, axis=1)[np.arange(len(y)), y.astype(int)])


def test_each_leader_minimises_the_block_and_the_expansions_before() -> None:
    rate = rates.BlockLeader(0.5, 32)
    learner, (X, y, weight) = fresh(rate, outputs=K), stream()
    d = X.shape[1]
    slopes, matrices = np.zeros((d, K)), np.zeros((K, d, d))
    begin, seen, due, before, leaders = 0, 0, FIRST, np.zeros((d, K)), 0
    for t in range(len(y)):
        made = learner.learn(X[t : t + 1], y[t : t + 1], weight[t : t + 1])
        np.testing.assert_allclose(made[0], X[t] @ before, rtol=1e-12, atol=1e-12)
        before = learner.weights
        seen += weight[t] > 0.0
        held = int((weight[begin : t + 1] > 0.0).sum())
        if weight[t] == 0.0 or (held < rate.block and seen < due):
            continue
        leaders += 1
        part, m = slice(begin, t + 1), np.abs(X[: t + 1][weight[: t + 1] > 0.0]).max(axis=0)
        m = np.where(m > 0.0, m, 1.0)
        rows = X[part] / m, y[part], weight[part]
        bends = matrices / m / m[:, None] + rate.prior * np.eye(d)
        past = slopes / m[:, None], bends

        def objective(flat: Vector, rows: Any = rows, past: Any = past) -> float:
            V = flat.reshape(d, K)
            bent = 0.5 * float(np.einsum("ik,kij,jk->", V, past[1], V))
            return total(*rows, V) + float((past[0] * V).sum()) + bent

        led = (before * m[:, None]).ravel()
        found = minimize(objective, led, method="BFGS", options={"gtol": 1e-8})
        own = total(*rows, led.reshape(d, K))
        # Conjugate directions may leave more than Newton's steps.
        assert objective(led) <= found.fun + 10.0 * LITTLE * own
        if held == rate.block:
            p = softmax(X[part] @ before, axis=1)
            slopes = slopes + X[part].T @ (
                (p - np.eye(K)[y[part].astype(int)]) * weight[part, None]
            )
            for k in range(K):
                bent = (X[part].T * (weight[part] * p[:, k] * (1.0 - p[:, k]))) @ X[part]
                matrices[k] += bent
                slopes[:, k] -= bent @ before[:, k]
            begin = t + 1
        if seen >= due:
            due = int(GROWTH * seen)
    assert leaders > 4 and begin > 0


def test_the_ledger_has_the_planes_at_the_scores() -> None:
    X, y, weight = stream()
    learner = fresh(outputs=K)
    scores = learner.learn(X, y, weight)
    slopes = (softmax(scores, axis=1) - np.eye(K)[y.astype(int)]) * weight[:, None]
    engine: Any = learner._engine
    np.testing.assert_allclose(engine.matrix(engine.gradient()).T, X.T @ slopes, rtol=1e-9)
    lost = -float(weight @ log_softmax(scores, axis=1)[np.arange(len(y)), y.astype(int)])
    assert learner.certificate().loss == pytest.approx(lost, rel=1e-9)


def test_two_classes_are_those_of_one_score_within_a_block() -> None:
    X, y, weight = stream(60)
    y = (y > 1.0).astype(float)
    # Two scores of opposite sign share the penalty of one.
    two = fresh(rates.BlockLeader(0.5), outputs=2)
    one = nr.MirrorDescent(
        losses.Logistic(), mirrors.Euclidean(), rates.BlockLeader(0.25), averaging=False
    )
    scores = two.learn(X, y, weight)
    margins = one.learn(X, 2.0 * y - 1.0, weight)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], margins, rtol=0.05, atol=0.02)
    for learner in (one, two):
        learner.close_block()
    lost = [
        float(np.logaddexp(0.0, -(2.0 * y - 1.0) * margin) @ weight)
        for margin in (one.predict(X), np.diff(two.predict(X))[:, 0])
    ]
    assert lost[0] == pytest.approx(lost[1], rel=1e-3)


def test_rows_may_come_sparse_in_parts_or_one_by_one() -> None:
    X, y, weight = stream()
    whole, sparse, parts, single = (fresh(outputs=K) for _ in range(4))
    made = whole.learn(X, y, weight)
    assert np.array_equal(sparse.learn(csr_array(X), y, weight), made)
    for start in range(0, len(y), 7):
        part = slice(start, start + 7)
        assert np.array_equal(parts.learn(X[part], y[part], weight[part]), made[part])
    assert bits(sparse) == bits(whole) == bits(parts)
    for t in range(len(y)):
        places = np.arange(X.shape[1], dtype=np.uint32)
        found = single.learn_one(places, X[t], float(y[t]), float(weight[t]))
        assert np.array_equal(found, made[t])
    assert bits(single) == bits(whole)


@pytest.mark.parametrize("cut", [5, 16, 33, 50, 89])
def test_a_run_that_was_saved_goes_on_to_the_bit(cut: int, tmp_path: Path) -> None:
    X, y, weight = stream()
    whole, first = fresh(outputs=K), fresh(outputs=K)
    whole.learn(X, y, weight)
    first.learn(X[:cut], y[:cut], weight[:cut])
    first.save(tmp_path / "model")
    for again in (nr.load(tmp_path / "model"), copy.deepcopy(first)):
        again.learn(X[cut:], y[cut:], weight[cut:])
        assert bits(again) == bits(whole)


def test_classes_and_features_may_join_later() -> None:
    X, y, _ = stream()
    few = np.where(y < 2.0, y, 0.0)
    late, known = fresh(), fresh(outputs=K, dimension=6)
    sparse = csr_array(X[:, :4])
    late.learn(sparse[:40], few[:40])
    late.grow(K)
    made = late.learn(csr_array(X)[40:], y[40:])
    # Weights of classes that have not joined are 0, where all known would have moved away from it.
    assert made.shape == (len(y) - 40, K) and np.all(np.isfinite(late.weights))
    known.learn(X, y)
    lost = [total(X, y, np.ones(len(y)), learner.weights) for learner in (late, known)]
    assert lost[0] < 1.3 * lost[1]


def test_too_many_scores_keep_their_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, y, _ = stream()
    learner = fresh(outputs=K)
    learner.learn(X[:40], y[:40])
    led = learner.weights
    monkeypatch.setattr(matrix_block_leader, "LARGEST", K * X.shape[1] ** 2)
    learner.grow(K + 1)
    learner.learn(X[40:], y[40:])
    assert np.array_equal(learner.weights[:, :K], led) and not learner.weights[:, K].any()
    assert learner._arrays()["matrix"].size == 0 and learner.rounds == len(y)
    learner.save(tmp_path / "model")
    again = nr.load(tmp_path / "model")
    assert np.array_equal(again.learn(X, y), learner.learn(X, y))


def test_losses_without_a_curvature_of_each_score_are_refused() -> None:
    words = "BlockLeader keeps matrices: it needs a loss that defines own_curvature"
    for loss in (losses.MulticlassHinge(), losses.OneAgainstRest(losses.Logistic())):
        with pytest.raises(ValueError, match=words):
            nr.MatrixDescent(loss, rate=rates.BlockLeader())
