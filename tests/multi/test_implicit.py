"""Exact steps for several scores: the dual never falls, and two classes are Passive-Aggressive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import catalogue, losses, mirrors, rates
from noregret.passes.frame import play
from noregret.passes.matrices.matrix_lazy import ImplicitScoresRule
from tests.sizes import sized

Vector = npt.NDArray[np.float64]
LOSSES: list[Any] = [
    losses.MulticlassHinge(),
    losses.MulticlassHinge(0.25),
    losses.Softmax(),
    losses.OneAgainstRest(),
    losses.OneAgainstRest(losses.Hinge(2.0)),
    losses.OneAgainstRest(losses.SquaredHinge()),
]
each = pytest.mark.parametrize("loss", LOSSES, ids=str)
K = 4


def stream(seed: int = 0, n: int = 120, d: int = 5) -> tuple[Vector, Vector, Vector]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    X[random.random(X.shape) < 0.3] = 0.0
    y = (X @ random.normal(size=(d, K)) + 0.5 * random.normal(size=(n, K))).argmax(axis=1)
    y[0] = K - 1
    return X, y.astype(float), random.choice([0.0, 0.5, 1.0, 2.0], size=n)


def exact(loss: Any, eta: float) -> nr.MatrixDescent:
    return nr.MatrixDescent(loss, mirrors.Euclidean(), rates.Constant(eta), K, implicit=True)


@each
@pytest.mark.parametrize("eta", [1e-3, 0.3, pytest.param(100.0, marks=pytest.mark.soak)])
def test_the_dual_never_falls_and_ends_below_the_best_in_hindsight(loss: Any, eta: float) -> None:
    X, y, weight = stream(n=sized(25, 120))
    learner, before = exact(loss, eta), 0.0
    for x, c, mass in zip(X, y, weight, strict=True):
        learner.learn(x[None], [c], [mass])
        proof = learner.certificate()
        dual = proof.intercept - 0.5 * eta * float(proof.gradient @ proof.gradient)
        assert dual >= before - 1e-12 * (1.0 + abs(before))
        before = dual
    best = nr.hindsight(X, y, loss, l2=1.0 / eta, weight=weight, tol=1e-9)
    assert 0.0 < proof.regularized_floor() <= best.primal
    assert proof.regularized_floor() == pytest.approx(before, rel=1e-9)
    radius = float(np.linalg.norm(best.weights)) * (1.0 + 1e-12)
    suffered = best.primal - float(np.sum(best.weights**2)) / (2.0 * eta)
    assert proof.floor(radius) <= suffered * (1.0 + 1e-9)
    assert not proof.bounds


@each
def test_each_step_is_at_the_minimum_of_its_round(loss: Any) -> None:
    X, y, weight = stream(1, n=30)
    eta, learner, slopes = 0.7, exact(loss, 0.7), np.empty(K)
    random = np.random.default_rng(0)
    learner.learn(X[:1], y[:1], weight[:1])
    for x, c, mass in zip(X[1:], y[1:], weight[1:], strict=True):
        old = learner.weights
        learner.learn(x[None], [c], [mass])
        new = learner.weights

        def goal(W: Vector, x: Any = x, c: Any = c, mass: Any = mass, old: Any = old) -> float:
            value = loss.value_and_slopes(float(c), x @ W, slopes)
            return float(np.sum((W - old) ** 2)) / (2.0 * eta) + mass * value

        least = goal(new)
        for size in (1e-3, 0.1, 1.0):
            for _ in range(10):
                assert least <= goal(new + size * random.normal(size=new.shape)) + 1e-12


@pytest.mark.parametrize("C", [0.05, 0.5, 10.0])
def test_two_classes_are_the_passive_aggressive_learner(C: float) -> None:
    X, y, _ = stream(2)
    y %= 2
    several = catalogue.multiclass_passive_aggressive(C, outputs=2)
    binary = catalogue.passive_aggressive(2.0 * C)
    scores, margins = several.learn(X, y), binary.learn(X, 2.0 * y - 1.0)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], margins, rtol=1e-12, atol=1e-13)
    apart = several.weights[:, 1] - several.weights[:, 0]
    np.testing.assert_allclose(apart, binary.weights, rtol=1e-12, atol=1e-13)
    assert several.certificate().mistakes == binary.certificate().mistakes


@pytest.mark.compiled
@each
def test_sparse_saved_grown_and_interpreted_are_the_same(
    loss: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, weight = stream(3)
    whole, first = exact(loss, 0.5), exact(loss, 0.5)
    scores = whole.learn(X, y, weight)
    thin = exact(loss, 0.5).learn(csr_array(X), y, weight)
    np.testing.assert_allclose(thin, scores, rtol=1e-9, atol=1e-12)
    first.learn(X[:50], y[:50], weight[:50])
    first.save(tmp_path / "model.nr")
    second = nr.load(tmp_path / "model.nr")
    assert second.implicit
    np.testing.assert_array_equal(second.learn(X[50:], y[50:], weight[50:]), scores[50:])
    assert second.certificate().as_dict(1.0) == whole.certificate().as_dict(1.0)
    second.grow(K + 1)
    assert second.learn(X[:3], [K, 0, 1]).shape == (3, K + 1)
    engine: Any = first._engine
    call = engine.call

    def interpreted(*given: Any) -> Any:
        run, arguments = call(*given)
        assert run is play and isinstance(arguments[0], ImplicitScoresRule)
        return run.py_func, arguments

    monkeypatch.setattr(engine, "call", interpreted)
    plain = first.learn(X[50:70], y[50:70], weight[50:70])
    np.testing.assert_allclose(plain, scores[50:70], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e60])
@pytest.mark.parametrize("loss", [losses.MulticlassHinge(), losses.Softmax()], ids=str)
def test_the_floor_holds_at_every_scale(loss: Any, scale: float) -> None:
    X, y, weight = stream(4, n=40)
    learner = exact(loss, min(1.0 / scale**2, 1e200))
    learner.learn(X * scale, y, weight)
    proof, slopes = learner.certificate(), np.empty(K)
    random = np.random.default_rng(5)
    for size in (0.0, 1e-6, 0.3, 3.0):
        U = size / scale * random.normal(size=(5, K))
        terms = [
            c * loss.value_and_slopes(t, s, slopes)
            for c, t, s in zip(weight, y, X * scale @ U, strict=True)
        ]
        radius = float(np.linalg.norm(U / U.max() if size else U)) * (U.max() if size else 0.0)
        assert proof.floor(radius * (1.0 + 1e-12)) <= sum(terms) * (1.0 + 1e-13)
        assert proof.loss - sum(terms) <= proof.regret(U)


def test_what_is_refused_in_one_line() -> None:
    softmax, plain = losses.Softmax(), mirrors.Euclidean()
    for arguments, message in (
        ((softmax, mirrors.Ball(1.0), rates.Constant(1.0)), "implicit=True belongs to Euclidean"),
        ((softmax, plain, rates.Adaptive()), "implicit=True belongs to Euclidean"),
        ((softmax,), "implicit=True belongs to Euclidean"),
        ((losses.PairwiseHinge(), plain, rates.Constant(1.0)), "PairwiseHinge has no exact steps"),
    ):
        with pytest.raises(ValueError, match=message):
            nr.MatrixDescent(*arguments, implicit=True)
    with pytest.raises(ValueError, match="not conservative"):
        nr.MatrixDescent(softmax, plain, rates.Constant(1.0), conservative=True, implicit=True)
    learner = exact(softmax, 1e300)
    with pytest.raises(OverflowError, match="round 1 overflows"):
        learner.learn([[1e80]], [0])
    assert learner.rounds == 0 and not learner.weights.any()


def test_exact_steps_are_probabilities_however_long_the_row() -> None:
    """Where q is large, differences of numbers of its size say nothing about ln p."""
    random = np.random.default_rng(3)
    loss, slopes = losses.Softmax(), np.empty(4)
    for _ in range(300):
        size, q = 10.0 ** random.uniform(-3.0, 20.0), 10.0 ** random.uniform(8.0, 40.0)
        loss.proximal_slopes(1.0, size * random.normal(size=4), q, slopes)
        p = slopes + np.eye(4)[1]
        assert np.all(np.isfinite(slopes)) and np.all(p >= 0.0)
        assert p.sum() == pytest.approx(1.0, abs=1e-14)
