"""Probabilities from the scores of margin losses: streaming Platt scaling.

Platt's sigmoid is fitted to the scores made before each update, row by row, so that chunks do
not matter. It has no intercept: the minimiser of a margin loss changes its sign where both
classes are as likely, so probabilities are 1/2 at score 0 and the class predicted is the
likeliest one. For two classes each side of 0 has a slope of its own instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from noregret.elementary import exp
from noregret.jit import kernel
from noregret.scoring.labels import Codes

Vector = npt.NDArray[np.float64]

#: Slope and curvature before any row; slopes stay positive, so that larger scores are likelier,
#: and finite, whatever a row weighs.
START, PRIOR, LEAST, MOST = 1.0, 1.0, 1e-3, 1e100


@kernel
def _fit(scores, codes, weight, state):  # type: ignore[no-untyped-def]
    """Take a Newton step a row on the log loss of the probabilities exp(a s_k) / sum."""
    for t in range(scores.shape[0]):
        s = scores[t]
        side = 0
        if state.shape[0] == 2 and s[1] < s[0]:
            side = 1
        a = state[side, 0]
        top = s.max()
        total = 0.0
        first = 0.0
        second = 0.0
        for k in range(s.shape[0]):
            # Away from the largest score nothing cancels.
            below = s[k] - top
            p = exp(a * below)
            total += p
            first += p * below
            second += p * below * below
        mean = first / total
        slope = mean - (s[codes[t]] - top)
        state[side, 1] += weight[t] * max(second / total - mean * mean, 0.0)
        state[side, 0] = min(max(a - weight[t] * slope / state[side, 1], LEAST), MOST)


class Platt:
    """Streaming Platt scaling: exp(a s_k) / sum_j exp(a s_j), one slope a or one a side.

    a moves by Newton steps, a - c g / H, with g the slope of a row's log loss in a, H the sum of
    the curvatures so far and c the row's weight.
    Reference: Platt, Probabilistic Outputs for Support Vector Machines, 1999.

    >>> platt = Platt(2)
    >>> platt.learn(np.array([2.0, -2.0, 2.0]), np.array([1, 0, 1]), np.ones(3))
    >>> platt.probabilities(np.array([2.0])).round(3).tolist()
    [[0.073, 0.927]]
    """

    def __init__(self, outputs: int) -> None:
        self.state = np.tile([START, PRIOR], (2 if outputs == 2 else 1, 1))

    def learn(self, scores: Vector, codes: Codes, weight: Vector) -> None:
        """Move the slopes by the scores that were made before each update."""
        _fit(_paired(scores), codes, weight, self.state)

    def learn_one(self, score: Any, code: int, weight: float) -> None:
        """Move the slopes by one score, or by the scores of all classes, of one row."""
        scores = np.array([score]) if isinstance(score, float) else score[np.newaxis]
        self.learn(scores, np.array([code]), np.array([weight], np.float64))

    def grow(self, factor: float) -> None:
        """Go over from two classes to more; scores are `factor` times as large from now on."""
        if len(self.state) == 2:
            slopes, curvatures = self.state.T
            mean = slopes @ curvatures / curvatures.sum()
            self.state = np.array([[mean / factor, curvatures.sum() * factor * factor]])

    def probabilities(self, scores: Vector) -> Vector:
        """Return a row of probabilities a row."""
        pairs = _paired(scores)
        slopes = self.state[0, 0]
        if len(self.state) == 2:
            slopes = self.state[(pairs[:, 1] < pairs[:, 0]).astype(np.intp), :1]
        # Away from the largest score a product may overflow, but to 0 in the end.
        with np.errstate(over="ignore"):
            below = slopes * (pairs - pairs.max(axis=1, keepdims=True))
        return np.asarray(softmax(below, axis=1))


def _paired(scores: Vector) -> Vector:
    """Return scores of all classes: of two that share one score, 0 and it."""
    if scores.ndim == 2:
        return scores
    return np.column_stack([np.zeros(len(scores)), scores])
