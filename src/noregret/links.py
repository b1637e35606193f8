"""Probabilities from the scores of the logistic losses, safe at any score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

Vector = npt.NDArray[np.float64]


def logistic(scores: Vector) -> Vector:
    """Return 1 / (1 + exp(-s)), of two classes or of each class against the rest, in sum 1.

    >>> logistic(np.zeros((1, 4))).tolist(), logistic(np.zeros(1)).tolist()
    ([[0.25, 0.25, 0.25, 0.25]], [[0.5, 0.5]])
    """
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    return np.asarray(softmax(-np.logaddexp(0.0, -scores), axis=1))


def multinomial(scores: Vector) -> Vector:
    """Return exp(s_k) / sum_j exp(s_j); two classes share the difference of their scores.

    >>> multinomial(np.zeros(1)).tolist()
    [[0.5, 0.5]]
    """
    return logistic(scores) if scores.ndim == 1 else np.asarray(softmax(scores, axis=1))
