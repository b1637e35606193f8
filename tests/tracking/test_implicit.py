"""Implicit steps: the paper's numbers, bisection, minimality, rates without bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import noregret as nr
from noregret import catalogue, domains, losses, mirrors, rates
from noregret.losses import Loss
from tests.oracles.data import near, total
from tests.sizes import sized
from tests.tracking.dense import Tracker

SQUARED = losses.Squared()


def test_an_implicit_step_of_the_paper() -> None:
    w, x, y, eta = np.array([0.2, 0.3, 0.5]), np.array([1, 0, 0.5]), 0.8, 0.1
    learner = catalogue.gd(1.0, eta=eta, implicit=True, dimension=3)
    learner._engine.state[:, 0] = learner._engine.state[:, 1] = w  # type: ignore[union-attr]
    learner.learn([x], [y])
    assert learner.weights == near([0.256, 0.3, 0.528])


IMPLICIT: dict[str, tuple[Any, Any]] = {
    "GD": (
        lambda loss: nr.MirrorDescent(
            loss, mirrors.Euclidean(), rates.Constant(0.3), lazy=False, implicit=True
        ),
        ("ball", None, 2.0),
    ),
    "C-GD": (
        lambda loss: catalogue.c_gd(0.4, loss=loss, eta=0.3, implicit=True),
        ("ball", 0.4, 2.0),
    ),
    "EGU": (
        lambda loss: nr.MirrorDescent(
            loss, mirrors.UnnormalizedEntropy(), rates.Constant(0.3), lazy=False, implicit=True
        ),
        ("box", None, 2.0),
    ),
    "C-EGU": (
        lambda loss: catalogue.c_egu(0.5, 5, loss=loss, eta=0.3, implicit=True),
        ("box", 0.5, 2.0),
    ),
    "EG": (lambda loss: catalogue.eg(loss, 0.3, implicit=True), ("simplex", None, 2.0)),
    "C-EG": (
        lambda loss: catalogue.c_eg(0.3, loss=loss, eta=0.3, implicit=True),
        ("simplex", 0.3, 2.0),
    ),
    "p-norm": (
        lambda loss: catalogue.shifting_p_norm(3.0, 0.5, loss=loss, eta=0.3, implicit=True),
        ("norm", 0.5, 3.0),
    ),
}


@pytest.mark.parametrize("name", IMPLICIT)
@pytest.mark.parametrize("loss", [SQUARED, losses.Absolute()], ids=str)
def test_implicit_steps_equal_bisection(name: str, loss: Loss) -> None:
    make, (kind, size, p) = IMPLICIT[name]
    rng = np.random.default_rng(2)
    n = sized(20, 80)
    X, y = rng.normal(size=(n, 5)), rng.normal(size=n)
    reference = Tracker(loss, kind, 0.3, 5, size, p, implicit=True)
    expected = reference.learn(X, y)
    learner = make(loss)
    assert learner.learn(X, y) == pytest.approx(expected, rel=1e-9, abs=1e-10)
    assert learner.weights == pytest.approx(reference.w, rel=1e-9, abs=1e-10)
    if loss == SQUARED:
        sparse = make(loss)
        assert sparse.learn(scipy.sparse.csr_matrix(X), y) == pytest.approx(expected, abs=1e-10)
    certificate = learner.certificate()
    assert certificate.bounds == []
    for u in (reference.w, reference.total / n):
        own = total(loss, X, y, u)
        assert certificate.loss - own <= certificate.regret(u)


def height(kind: str, v: np.ndarray, w: np.ndarray) -> float:
    """Return D(v, w) of the square or of the entropy."""
    if kind == "ball":
        return 0.5 * float((v - w) @ (v - w))
    return float(np.sum(v * np.log(v / w) + w - v))


@pytest.mark.parametrize("name", ["GD", "EGU", "EG"])
def test_an_implicit_step_is_the_minimum(name: str) -> None:
    """No point on either side along the step has a lower D(w, w_t) + eta f(<w, x>)."""
    rng = np.random.default_rng(3)
    make, (kind, _, _) = IMPLICIT[name]
    for loss in (losses.Logistic(), losses.Hinge()):
        X, y = rng.normal(size=(6, 4)), rng.choice([-1.0, 1.0], 6)
        learner = make(loss)
        for t in range(6):
            reference = Tracker(loss, kind, 1.0, 4)
            if t:
                reference.w = learner.weights
            learner.learn(X[t : t + 1], y[t : t + 1])

            def objective(v: np.ndarray, w: np.ndarray = reference.w, t: int = t) -> float:
                return height(kind, v, w) + 0.3 * loss.value(float(y[t]), float(v @ X[t]))  # noqa: B023

            best = objective(learner.weights)
            for s in np.linspace(-3, 3, 121):
                assert best <= objective(reference.moved(s * X[t])) + 1e-12 * max(1.0, abs(best))


def test_implicit_steps_of_any_length() -> None:
    """A rate that makes explicit steps overflow only brings the prediction to the label."""
    for name in ("GD", "EGU", "EG", "C-EG"):
        kind = {"GD": mirrors.Euclidean(), "EGU": mirrors.UnnormalizedEntropy()}
        mirror = kind.get(name, mirrors.Entropy())
        domain = domains.ClippedSimplex(0.1) if name == "C-EG" else None
        learner = nr.MirrorDescent(
            SQUARED, mirror, rates.Constant(1e8), domain, lazy=False, implicit=True, dimension=3
        )
        learner.learn([[1.0, 2.0, 0.0], [0.5, 1.0, 3.0]], [0.7, 1.5])
        assert learner.predict([[0.5, 1.0, 3.0]]) == pytest.approx([1.5], abs=1e-5)


def test_an_offset_that_all_features_share_is_not_seen_by_eg() -> None:
    """Its exponents are beyond the range of floating point, and all of one sign."""
    rng = np.random.default_rng(3)
    X, p = rng.random((40, 5)), rng.dirichlet(np.ones(5), 40)
    y = np.sum(X * p, axis=1)
    near_zero = catalogue.c_eg(0.3, eta=0.3, implicit=True)
    expected = near_zero.learn(X, y)
    for offset in (-1e5, 1e5):
        far = catalogue.c_eg(0.3, eta=0.3, implicit=True)
        made = far.learn(X + offset, y + offset) - offset
        assert made == pytest.approx(expected, abs=1e-7)
        assert far.weights == pytest.approx(near_zero.weights, abs=1e-7)
