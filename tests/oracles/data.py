"""The small data sets on which the numbers of the papers were computed, and how to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from noregret.learners import MirrorDescent
from noregret.losses import Loss
from noregret.proof.certificate import Certificate
from noregret.proof.statement import Statement

#: Six points in three dimensions, ||x|| <= 1, not separable by U0; Y_A are real targets.
X_A = np.array(
    [
        [-0.6, 0.5, -0.6],
        [0.5, -0.6, 0.6],
        [-0.5, -0.6, -0.6],
        [-0.8, 0.0, 0.4],
        [-0.5, -0.5, 0.4],
        [-0.4, -0.6, 0.5],
    ]
)
S_A = np.array([-1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
Y_A = np.array([0.5, -0.25, 1.0, 0.75, -0.5, 0.0])
ROW_A = 0.98488578018
U0 = np.array([1.0, -1.0, 0.5])

#: Six points of 0/1 features.
X_B = np.array(
    [[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], float
)
S_B = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])

#: Six points with max |x_j| = 1.
X_W = np.array(
    [
        [1.0, -0.5, 0.0, 0.0],
        [0.5, 1.0, 0.0, -1.0],
        [0.0, 1.0, -1.0, 0.5],
        [1.0, 0.0, 1.0, 0.0],
        [-1.0, 0.0, 0.5, 1.0],
        [0.0, -1.0, 0.0, 0.5],
    ]
)
S_W = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])

#: Eight unit vectors, separable by U_N.
X_N = np.array(
    [
        [1.0, 0.0],
        [0.6, 0.8],
        [0.96, 0.28],
        [0.28, 0.96],
        [0.8, -0.6],
        [0.96, 0.28],
        [-0.8, 0.6],
        [0.6, 0.8],
    ]
)
S_N = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
U_N = np.array([0.6, -0.8])

#: The regression data of the tracking paper.
X_T = np.array([[1, 0, 0.5], [0.2, 1, 0], [0, 0.5, 1], [1, 1, 0], [0.5, 0, 1]], float)
Y_T = np.array([0.8, 0.1, 0.9, 0.3, 1.0])

#: Costs in [0, 1], and signed gradients.
Z = np.array([[0.5, 0, 1], [1, 0.25, 0], [0, 1, 0.5], [0.75, 0.5, 0]])
ZS = np.array([[0.5, -0.25, 1], [-1, 0.25, 0], [0, 1, -0.5], [0.75, -0.5, 0]])


@dataclass(frozen=True)
class Linear(Loss):
    """The linear loss f(p) = p, whose rows are the gradients themselves."""

    labels: ClassVar[str] = "real"
    nonnegative: ClassVar[bool] = False

    def value(self, y, p):  # type: ignore[no-untyped-def]
        return p

    def slope(self, y, p):  # type: ignore[no-untyped-def]
        return 1.0

    def mistake(self, y, p):  # type: ignore[no-untyped-def]
        return False

    def lipschitz(self):  # type: ignore[no-untyped-def]
        return 1.0


def near(expected: Any) -> Any:
    """Compare as the numbers were printed: 1e-10 relative, 1e-12 near zero."""
    return pytest.approx(expected, rel=1e-10, abs=1e-12)


def played(learner: MirrorDescent, X: Any, y: Any) -> np.ndarray:
    """Learn row by row and return the weights before each round and after the last."""
    weights = []
    for t in range(len(y)):
        learner.learn(X[t : t + 1], y[t : t + 1])
        if t == 0:
            weights.append(learner.average)
        weights.append(learner.weights)
    return np.array(weights)


def total(loss: Loss, X: np.ndarray, y: np.ndarray, u: Any) -> float:
    """Return the loss of a fixed predictor."""
    pairs = zip(y, X @ np.asarray(u, float), strict=True)
    return float(sum(loss.value(float(label), float(p)) for label, p in pairs))


def bound(certificate: Certificate, name: str, radius: float) -> Statement:
    """Return the one theorem of that name."""
    (found,) = [one for one in certificate.bounds_for(radius) if one.name == name]
    return found
