"""Rounds of several scores each: s = A_t u, with u the entries of a matrix or one predictor.

For a matrix U (features x scores, row by row in u) the row of score k of example x has x at the
places of column k; for a ranker A_t holds the rows of a group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp

from tests.printed.data import Data, Member, Vector, _add, exactly
from tests.printed.losses import LOSSES, number


@dataclass
class ScoreData(Data):
    """The data of a matrix learner or a ranker; `X` has the maps A_t, `y` the targets."""

    #: One map (scores x entries) a round.
    maps: list[Vector] = field(default_factory=list)
    #: The loss of one score against the rest.
    inner: str = "Logistic"

    @property
    def dimension(self) -> int:
        return int(self.maps[0].shape[1])

    def own_loss(self) -> Any:
        assert self.predictions is not None
        total: Any = Fraction(0)
        for scores, target, w in zip(self.predictions, self.y, self.weights, strict=True):
            total = _add(total, self._weighed(self._exact(target, exactly(scores)), w))
        return total

    @staticmethod
    def _weighed(value: Any, w: float) -> Any:
        weight = Fraction(float(w))
        return weight * value if isinstance(value, Fraction) else number(weight) * value

    def loss_on(self, chosen: Vector) -> Any:
        total: Any = Fraction(0)
        assert self.predictions is not None
        for t in np.flatnonzero(chosen):
            value = self._exact(self.y[t], exactly(self.predictions[t]))
            total = _add(total, self._weighed(value, self.weights[t]))
        return total

    def mistaken(self) -> Vector:
        assert self.predictions is not None
        return np.array(
            [self._mistake(t, s) for t, s in zip(self.y, self.predictions, strict=True)]
        )

    def _mistake(self, target: Any, s: Vector) -> bool:
        if self.loss.startswith("Pairwise"):
            return any(s[i] <= s[j] for i, j in _pairs(target))
        return any(s[k] >= s[int(target)] for k in range(len(s)) if k != int(target))

    def exact(self, u: Member) -> Any:
        total: Any = Fraction(0)
        for A, target, w in zip(self.maps, self.y, self.weights, strict=True):
            scores = [
                sum((Fraction(x) * v for x, v in zip(row, u, strict=True) if x), Fraction(0))
                for row in A.tolist()
            ]
            total = _add(total, self._weighed(self._exact(target, scores), w))
        return total if self.penalty is None else _add(total, self.penalty.exact(u))

    def _exact(self, target: Any, s: list[Fraction]) -> Any:
        if self.loss == "Softmax":
            y = number(s[int(target)])
            return mp.log(mp.fsum(mp.exp(number(v) - y) for v in s))
        margin = Fraction(self.parameters.get("margin", 1.0))
        if self.loss == "MulticlassHinge":
            y = int(target)
            rivals = [v for k, v in enumerate(s) if k != y]
            return max(Fraction(0), margin + max(rivals) - s[y]) if rivals else Fraction(0)
        if self.loss == "OneAgainstRest":
            rule = LOSSES[self.inner]
            terms = [
                rule.exact(Fraction(1 if k == int(target) else -1), v, self.parameters)
                for k, v in enumerate(s)
            ]
        else:
            pairs = _pairs(target)
            if not pairs:
                return Fraction(0)
            name = "Hinge" if self.loss == "PairwiseHinge" else "Logistic"
            terms = [
                LOSSES[name].exact(Fraction(1), s[i] - s[j], self.parameters) / len(pairs)
                for i, j in pairs
            ]
        total: Any = Fraction(0)
        for term in terms:
            total = _add(total, term)
        return total

    def fast(self, u: Vector) -> tuple[Any, Any]:
        value, _ = self.objective(np.asarray(u, np.float64))
        size = sum(
            float(w) * (1.0 + float(np.abs(A @ np.abs(u)).sum()))
            for A, w in zip(self.maps, self.weights, strict=True)
        )
        return value, abs(value) + 100.0 * size

    def objective(self, u: Vector) -> tuple[float, Vector]:
        value, slope = 0.0, np.zeros(len(u))
        for A, target, w in zip(self.maps, self.y, self.weights, strict=True):
            one, g = self._value(target, A @ u)
            value, slope = value + float(w) * one, slope + float(w) * (A.T @ g)
        if self.penalty is not None:
            value, slope = value + float(self.penalty.value(u)), slope + self.penalty.slope(u)
        return value, slope

    def _value(self, target: Any, s: Vector) -> tuple[float, Vector]:
        g = np.zeros(len(s))
        margin = self.parameters.get("margin", 1.0)
        if self.loss == "Softmax":
            top = float(s.max())
            parts = np.exp(s - top)
            g = parts / parts.sum()
            g[int(target)] -= 1.0
            return float(np.log(parts.sum()) + top - s[int(target)]), g
        if self.loss == "MulticlassHinge":
            y = int(target)
            rivals = np.where(np.arange(len(s)) == y, -np.inf, s)
            best = int(np.argmax(rivals))
            excess = float(margin + rivals[best] - s[y])
            if len(s) > 1 and excess > 0.0:
                g[best], g[y] = 1.0, -1.0
                return excess, g
            return 0.0, g
        if self.loss == "OneAgainstRest":
            signs = np.where(np.arange(len(s)) == int(target), 1.0, -1.0)
            rule = LOSSES[self.inner]
            g = rule.slope(signs, s, self.parameters)
            return float(rule.value(signs, s, self.parameters).sum()), g
        pairs = _pairs(target)
        rule = LOSSES["Hinge" if self.loss == "PairwiseHinge" else "Logistic"]
        total = 0.0
        for i, j in pairs:
            apart = np.array([s[i] - s[j]])
            total += float(rule.value(np.ones(1), apart, self.parameters)[0]) / len(pairs)
            slope = float(rule.slope(np.ones(1), apart, self.parameters)[0]) / len(pairs)
            g[i] += slope
            g[j] -= slope
        return total, g


def _pairs(target: Any) -> list[tuple[int, int]]:
    """Return the pairs of which the first is more relevant."""
    n = range(len(target))
    return [(i, j) for i in n for j in n if target[i] > target[j]]


def matrix_maps(X: Vector, outputs: int) -> list[Vector]:
    """Return A_t for a matrix with so many columns."""
    return [_map(x, outputs) for x in X]


def _map(x: Vector, outputs: int) -> Vector:
    A = np.zeros((outputs, len(x) * outputs))
    for k in range(outputs):
        A[k, k::outputs] = x
    return A


def matrix_units(X: Vector, outputs: int) -> tuple[float, ...]:
    """Return m_ik: the largest |x_i| that score k has seen, for every entry of the matrix."""
    return tuple(np.repeat(np.abs(X).max(axis=0, initial=0.0), outputs).tolist())
