"""What the dual estimators hold: an optimum with its gap, or dual ascent one row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from noregret.batch import Solution
from noregret.learners import DualAscent
from noregret.learners.dual_certificate import DualCertificate
from noregret.losses import Loss
from noregret.losses.links import logistic, multinomial
from noregret.mirrors import Euclidean
from noregret.passes.checks import sound_rows
from noregret.passes.sync import predict_rows
from noregret.rows.examples import as_rows
from noregret.sklearn.columns import Signed, joined
from noregret.sklearn.several import ClassSolutions

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
        """Return a row of weights a score, of the caller's own."""
        return self._weights.copy()

    def predict(self, rows: Any) -> Vector:
        """Return the scores: one a row for one solution, else one a row and solution."""
        return joined([_products(weights, rows) for weights in self._weights])

    def probabilities(self, scores: Vector) -> Vector:
        """Return the probabilities of the logistic losses, a row a row."""
        return multinomial(scores) if self.joint else logistic(scores)

    def certificate(self) -> Any:
        """Return the solution, or all of them as one: each has `dual <= minimum <= primal`."""
        count = len(self.solutions)
        if count == 1:
            return self.solutions[0]
        return ClassSolutions(self.solutions, tuple(range(count)))


@dataclass(frozen=True, eq=False)
class AnchoredCertificate(DualCertificate):
    """A statement about the rounds after a `fit`: floors are over balls around its optimum.

    `floor(radius)` is over u with ||u - anchor|| <= radius, `regularized_floor()` and `dual` are
    about ||u - anchor||^2/2, and `regret(u)` is that against u itself, whose predictions are taken
    as those of the optimum, as they were computed, plus <u - anchor, x>.
    """

    #: The weights that the rounds began with, the last that of the constant if there is one.
    anchor: Vector = field(kw_only=True)

    def regret(self, u: Any) -> float:
        """Return an upper bound on the learner's loss minus the loss of the fixed predictor u."""
        vector = np.asarray(u, np.float64)
        if vector.shape != self.anchor.shape:
            raise ValueError(
                f"u has shape {vector.shape}, expected {self.anchor.shape}, a weight a feature"
            )
        return super().regret(vector - self.anchor)

    def describe(self, radius: float | None = None) -> str:
        """Return in words the class that `floor(radius)` speaks about."""
        return f"{super().describe(radius)}, u the distance from the optimum of fit,"

    def _lines(self, radius: float | None = None) -> list[str]:
        return [*super()._lines(radius), "  u is the weights' difference from the optimum of fit"]


class Ascent(Signed):
    """Online dual ascent by exact steps, from an anchor on: the optimum of `fit`, or 0.

    Each step is w <- argmin ||v - w||^2/2 + C f(y, <v, x>); all of them together raise a dual
    that lies below ||u - anchor||^2/2 + C sum_t f(y_t, <u, x_t>) for every u.
    Reference: Crammer et al., Online Passive-Aggressive Algorithms, 2006, section 3.
    """

    learner: DualAscent

    def __init__(self, loss: Loss, C: float, anchor: Vector) -> None:
        mirror = Euclidean()
        super().__init__(DualAscent(loss, mirror, C, dimension=len(anchor)), mirror)
        self.anchor = anchor

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
        """Return what the rounds so far prove about this score."""
        found = super().certificate()
        if not self.anchor.any():
            return found
        known = {one.name: getattr(found, one.name) for one in fields(found)}
        return AnchoredCertificate(**known, anchor=self.anchor.copy())

    def _has_begun(self) -> bool:
        return super()._has_begun() or bool(self.anchor.any())

    def turned(self) -> Self:
        """Return the learner of the opposite labels that has seen the same rows."""
        other = super().turned()
        if other.sign != self.sign:
            other.anchor = -self.anchor
        return other


def _products(weights: Vector, X: Any) -> Vector:
    rows = sound_rows(as_rows(X), 0)
    result = np.empty(len(rows))
    predict_rows(weights, rows.indptr, rows.indices, rows.values, result)
    return result
