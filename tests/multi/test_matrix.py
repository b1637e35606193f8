"""The learner of several scores against plain descriptions of it, dense and eager."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from noregret import losses, mirrors, rates
from noregret.learners import MatrixDescent, MirrorDescent, load
from noregret.passes.frame import play

Random = np.random.Generator
N, D, K = 120, 9, 4

LEARNERS: dict[str, Any] = {
    "plain": lambda: MatrixDescent(losses.Softmax(), mirrors.Euclidean(), rates.Constant(0.1)),
    "ball": lambda: MatrixDescent(losses.MulticlassHinge(), mirrors.Ball(1.5), rates.Adaptive()),
    "falling": lambda: MatrixDescent(
        losses.OneAgainstRest(), mirrors.Euclidean(), rates.InverseSqrt(0.5)
    ),
    "p-norm": lambda: MatrixDescent(losses.Softmax(), mirrors.PNorm(4.0), rates.Constant(0.1)),
    "signed": lambda: MatrixDescent(
        losses.MulticlassHinge(), mirrors.SignedEntropy(2.0), rates.Adaptive()
    ),
    "tuned": lambda: MatrixDescent(losses.Softmax()),
    "newton": lambda: MatrixDescent(losses.Softmax(), rate=rates.Newton(0.1)),
    "steep": lambda: MatrixDescent(losses.OneAgainstRest(losses.SquaredHinge())),
    "cautious": lambda: MatrixDescent(
        losses.MulticlassHinge(), rate=rates.Constant(1.0), conservative=True
    ),
}
every = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())


def stream(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, D)) * (random.random((N, D)) < 0.5)
    y = np.argmax(X[:, :K] + 0.5 * random.normal(size=(N, K)), axis=1)
    return X, y, random.choice([0.0, 0.5, 1.0, 3.0], size=N)


def link(mirror: mirrors.Mirror, theta: np.ndarray, eta: float) -> np.ndarray:
    if isinstance(mirror, mirrors.Ball):
        length = eta * np.linalg.norm(theta)
        return eta * theta * (mirror.radius / max(length, mirror.radius))
    if isinstance(mirror, mirrors.PNorm):
        length = np.sum(np.abs(theta) ** mirror.p) ** (1.0 / mirror.p)
        if length == 0.0:
            return theta
        return eta * np.sign(theta) * np.abs(theta) ** (mirror.p - 1) / length ** (mirror.p - 2)
    if isinstance(mirror, mirrors.SignedEntropy):
        a = mirror.radius * eta * theta
        return mirror.radius * np.sinh(a) / np.cosh(a).sum()
    return eta * theta


@pytest.mark.parametrize(
    "mirror",
    [mirrors.Euclidean(), mirrors.Ball(0.7), mirrors.PNorm(3.0), mirrors.SignedEntropy(2.0)],
    ids=str,
)
@pytest.mark.parametrize("loss", [losses.Softmax(), losses.MulticlassHinge()], ids=str)
def test_scores_are_those_of_eager_dual_averaging(
    loss: losses.ScoreLoss, mirror: mirrors.Mirror
) -> None:
    X, y, weight = stream()
    learner = MatrixDescent(loss, mirror, rates.Constant(0.2))
    scores = learner.learn(X, y, weight)
    theta, slopes, total = np.zeros((D, K)), np.empty(K), 0.0
    for t in range(N):
        s = X[t] @ link(mirror, theta, 0.2)
        np.testing.assert_allclose(scores[t], s, rtol=1e-11, atol=1e-12)
        total += weight[t] * loss.value_and_slopes(float(y[t]), s, slopes)
        theta -= weight[t] * np.outer(X[t], slopes)
    np.testing.assert_allclose(learner.weights, link(mirror, theta, 0.2), rtol=1e-11, atol=1e-12)
    certificate = learner.certificate()
    assert certificate.loss == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(certificate.gradient.reshape(K, D), -theta.T, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "loss", [losses.Logistic(), losses.Hinge(0.5), losses.SquaredHinge()], ids=str
)
def test_one_against_rest_is_as_many_binary_learners_to_the_bit(
    loss: losses.Loss, form: Any
) -> None:
    X, y, weight = stream(1)
    X[:, 0] *= 1e-120
    X[:, 1] *= 1e40
    learner = MatrixDescent(losses.OneAgainstRest(loss))
    scores = learner.learn(form(X), y, weight)
    parts = []
    for k in range(K):
        binary = MirrorDescent(loss, mirrors.Euclidean(), rates.ScaleFree())
        np.testing.assert_array_equal(
            binary.learn(form(X), np.where(y == k, 1, -1), weight), scores[:, k]
        )
        np.testing.assert_array_equal(binary.weights, learner.weights[:, k])
        parts.append(binary.certificate())
    whole = learner.certificate()
    assert whole.loss == pytest.approx(sum(part.loss for part in parts), rel=1e-13)
    assert whole.intercept == pytest.approx(sum(part.intercept for part in parts), rel=1e-13)


def test_sets_are_binary_relevance() -> None:
    X, _, weight = stream(2)
    sets = (np.random.default_rng(5).random((N, K)) < 0.4).astype(float)
    learner = MatrixDescent(losses.OneAgainstRest())
    scores = learner.learn(X, sets, weight)
    binary = MirrorDescent(losses.Logistic(), mirrors.Euclidean(), rates.ScaleFree())
    signs = np.where(sets[:, 2] == 1.0, 1, -1)
    np.testing.assert_array_equal(binary.learn(X, signs, weight), scores[:, 2])
    ranked = MatrixDescent(losses.PairwiseHinge(), mirrors.Euclidean(), rates.Constant(0.1))
    assert ranked.learn(X, sets).shape == (N, K)
    assert ranked.certificate().loss > 0.0


@every
def test_sparse_rows_are_dense_rows(make: Any) -> None:
    X, y, weight = stream(3)
    dense, sparse = make(), make()
    np.testing.assert_allclose(
        dense.learn(X, y, weight), sparse.learn(csr_array(X), y, weight), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(dense.predict(X), csr_array(X) @ sparse.weights, atol=1e-9)
    np.testing.assert_allclose(sparse.predict(csr_array(X)), X @ dense.weights, atol=1e-9)


@pytest.mark.compiled
@every
def test_interpreted_passes_do_the_same(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weight = (part[:25] for part in stream(4))
    y[0] = K - 1
    compiled, plain = make(), make()
    for learner in (compiled, plain):
        learner.learn(X[:1], y[:1], weight[:1])
    engine = plain._engine
    call = engine.call

    def interpreted(*given: Any) -> Any:
        run, arguments = call(*given)
        assert run is play
        return run.py_func, arguments

    monkeypatch.setattr(engine, "call", interpreted)
    monkeypatch.setattr("noregret.learners.engines.entry", lambda call: call[0])
    np.testing.assert_allclose(
        plain.learn(X[1:], y[1:], weight[1:]),
        compiled.learn(X[1:], y[1:], weight[1:]),
        rtol=1e-10,
        atol=1e-12,
    )
    np.testing.assert_allclose(plain._ledger, compiled._ledger, rtol=1e-10, atol=1e-12)


@pytest.mark.each_value
@every
@pytest.mark.parametrize("cut", [1, 50, N - 1])
def test_a_saved_learner_goes_on_to_the_bit(make: Any, cut: int, tmp_path: Path) -> None:
    X, y, weight = stream(6)
    y[0] = K - 1
    unbroken, first = make(), make()
    scores = unbroken.learn(X, y, weight)
    begun = first.learn(X[:cut], y[:cut], weight[:cut])
    first.save(tmp_path / "model.nr")
    second = load(tmp_path / "model.nr")
    rest = second.learn(X[cut:], y[cut:], weight[cut:])
    np.testing.assert_array_equal(np.vstack([begun, rest]), scores)
    np.testing.assert_array_equal(second.weights, unbroken.weights)
    np.testing.assert_array_equal(second._ledger, unbroken._ledger)
    assert second.certificate().floor(1.0) == unbroken.certificate().floor(1.0)


def test_a_learner_that_has_seen_nothing_is_saved_too(tmp_path: Path) -> None:
    MatrixDescent(losses.Softmax(), outputs=3, dimension=2).save(tmp_path / "model.nr")
    learner = load(tmp_path / "model.nr")
    assert (learner.outputs, learner.dimension, learner.rounds) == (3, 2, 0)
    np.testing.assert_array_equal(learner.weights, np.zeros((2, 3)))
    assert learner.certificate().floor(1.0) == 0.0


@pytest.mark.parametrize("name", ["plain", "ball", "p-norm", "tuned"])
def test_features_and_scores_that_turn_up_later(name: str) -> None:
    X, y, weight = stream(7)
    X[:60, 5:] = 0.0
    y[:60] %= 2
    y[0] = 1
    wide, narrow = LEARNERS[name](), LEARNERS[name]()
    for learner, columns in ((wide, D), (narrow, 5)):
        early = learner.learn(csr_array(X[:60, :columns]), y[:60], weight[:60])
        assert early.shape == (60, 2)
        learner.grow(K)
        assert learner.weights.shape == (columns, K) and not learner.weights[:, 2:].any()
        learner.learn(csr_array(X[60:]), y[60:], weight[60:])
    np.testing.assert_allclose(wide.weights, narrow.weights, rtol=1e-12, atol=1e-15)
    assert narrow.certificate().loss == pytest.approx(wide.certificate().loss, rel=1e-12)


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Hinge()], ids=str)
@pytest.mark.parametrize("rate", [rates.ScaleFree(), rates.Constant(0.3)], ids=str)
def test_a_binary_learner_becomes_one_of_two_classes(loss: losses.Loss, rate: rates.Rate) -> None:
    X, y, weight = stream(8)
    y %= 2
    binary = MirrorDescent(loss, mirrors.Euclidean(), rate)
    binary.learn(csr_array(X[:70]), 2 * y[:70] - 1, weight[:70])
    turned = MatrixDescent.from_binary(binary)
    whole = MatrixDescent(losses.OneAgainstRest(loss), mirrors.Euclidean(), rate, outputs=2)
    whole.learn(csr_array(X[:70]), y[:70], weight[:70])
    np.testing.assert_array_equal(turned.weights, whole.weights)
    np.testing.assert_array_equal(turned.weights[:, 1], binary.weights)
    np.testing.assert_allclose(turned._ledger, whole._ledger, rtol=1e-13)
    for learner in (turned, whole):
        learner.grow(4)
    z = np.arange(50) % 4
    np.testing.assert_array_equal(
        turned.learn(csr_array(X[70:]), z, weight[70:]),
        whole.learn(csr_array(X[70:]), z, weight[70:]),
    )
    promised = MirrorDescent(loss, mirrors.Euclidean(), rate, row_limit=1.0)
    promised.learn(X, 2 * y - 1, weight)
    # What is promised of rows bounds the gradients of one score, and those of two are longer.
    assert not any(
        "in advance" in bound.name
        for bound in MatrixDescent.from_binary(promised).certificate().bounds_for(1.0)
    )
    with pytest.raises(ValueError, match="from_binary takes a MirrorDescent"):
        MatrixDescent.from_binary(MirrorDescent(losses.WinnowHinge(), mirrors.Euclidean(), rate))
