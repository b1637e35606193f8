"""What the dual estimators hold: an optimum with its gap, or dual ascent one row at a time."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.batch import Solution
from noregret.examples import as_rows
from noregret.learners import DualAscent
from noregret.losses import Loss
from noregret.mirrors import Euclidean
from noregret.passes.checks import sound_rows
from noregret.passes.sync import predict_rows
from noregret.sklearn.calibration import logistic, multinomial
from noregret.sklearn.columns import EVEN, joined

Vector = npt.NDArray[np.float64]


class Optimum:
    """Solutions of the batch problem: one a score, or one that is a matrix with a column a class.

    The last weight of a score is that of the constant. Two classes share one score.
    """

    def __init__(self, solutions: Sequence[Solution], free_bias: bool) -> None:
        self.solutions = tuple(solutions)
        self.joint = solutions[0].weights.ndim == 2
        rows = [np.append(one.weights, one.bias) if free_bias else one.weights for one in solutions]
        if self.joint:
            rows = list(rows[0].T)
            rows = [rows[1] - rows[0]] if len(rows) == 2 else rows
        self._weights = np.vstack(rows)

    def weights(self) -> Vector:
        """Return a row of weights a score."""
        return self._weights

    def predict(self, rows: Any) -> Vector:
        """Return the scores: one a row for one solution, else one a row and solution."""
        return joined([_products(weights, rows) for weights in self._weights])

    def probabilities(self, scores: Vector) -> Vector:
        """Return the probabilities of the logistic losses, a row a row."""
        return multinomial(scores) if self.joint else logistic(scores)

    def certificate(self) -> Any:
        """Return the solution, or a tuple of them: each has `dual <= minimum <= primal`."""
        return self.solutions[0] if len(self.solutions) == 1 else self.solutions


class Ascent:
    """Online dual ascent by exact steps, from an anchor on: the optimum of `fit`, or 0.

    Each step is w <- argmin ||v - w||^2/2 + C f(y, <v, x>); all of them together raise a dual
    that lies below ||u - anchor||^2/2 + C sum_t f(y_t, <u, x_t>) for every u.
    Reference: Crammer et al., Online Passive-Aggressive Algorithms, 2006, section 3.
    """

    def __init__(self, loss: Loss, C: float, anchor: Vector, sign: float = 1.0) -> None:
        self.anchor = anchor
        #: -1 for a learner of the opposite labels.
        self.sign = sign
        self.learner = DualAscent(loss, Euclidean(), C, dimension=len(anchor))

    def _offset(self, rows: Any) -> Vector | None:
        return self.sign * _products(self.anchor, rows) if self.anchor.any() else None

    def learn(self, rows: Any, y: Vector, weight: Vector | None) -> Vector:
        """Learn the rows one after the other; return the predictions made before each."""
        return self.sign * self.learner.learn(rows, self.sign * y, weight, self._offset(rows))

    def predict(self, rows: Any) -> Vector:
        """Return <w, x> for each row."""
        return self.sign * self.learner.predict(rows, self._offset(rows))

    def weights(self) -> Vector:
        """Return w."""
        return self.anchor + self.sign * self.learner.weights

    def certificate(self) -> Any:
        """Return what the rounds so far prove."""
        return self.learner.certificate()

    def may_turn(self) -> bool:
        """Tell whether the loss is the same with the sign turned, or nothing was seen."""
        return type(self.learner.loss) in EVEN or (
            self.learner.rounds == 0 and not self.anchor.any()
        )

    def turned(self) -> Ascent:
        """Return the learner of the opposite labels that has seen the same rows."""
        other = copy.deepcopy(self)
        other.anchor, other.sign = -self.anchor, -self.sign
        return other


def _products(weights: Vector, X: Any) -> Vector:
    rows = sound_rows(as_rows(X), 0)
    result = np.empty(len(rows))
    predict_rows(weights, rows.indptr, rows.indices, rows.values, result)
    return result
