"""The data as a reader has them, and the losses of predictors on them.

A loss is first summed in extended precision with a wide margin; where a statement is closer than
that to being false it is summed exactly, in fractions, or in 60 digits where a loss is not
rational. Matrices of several scores are handled alike, with their entries in one vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mpf

from tests.printed.losses import LOSSES, LossRule, Parameters, number

Vector = Any
#: A predictor: exact entries, so that it is a member of its class exactly.
Member = Sequence[Fraction]

#: Relative distance from falsehood at which a statement is judged exactly.
CLOSE = 1e-10
#: What 60 digits may be off by.
DIGITS = Fraction(1, 10**45)


def exactly(values: Any) -> list[Fraction]:
    """Return the exact values of doubles."""
    return [Fraction(float(value)) for value in values]


def compare(high: Any, low: Any) -> bool:
    """Tell whether high >= low for fractions or numbers of 60 digits."""
    if isinstance(high, mpf) or isinstance(low, mpf):
        a, b = number(high), number(low)
        return bool(a >= b - number(DIGITS) * (abs(a) + abs(b)))
    return bool(high >= low)


@dataclass(frozen=True)
class Penalty:
    """What an objective adds to the losses: exact, fast, and its gradient."""

    exact: Callable[[Member], Any]
    value: Callable[[Vector], float]
    slope: Callable[[Vector], Vector]


def half_square(strength: float) -> Penalty:
    """Return (strength/2) ||u||_2^2."""
    return Penalty(
        lambda u: Fraction(strength) / 2 * sum((v * v for v in u), Fraction(0)),
        lambda u: float(strength) / 2 * (u @ u),
        lambda u: strength * u,
    )


@dataclass
class Data:
    """Rows, labels and what is said about them; the predictions are the learner's own."""

    X: Vector
    y: Vector
    loss: str
    parameters: Parameters = field(default_factory=dict)
    weight: Vector | None = None
    predictions: Vector | None = None
    offset: Vector | None = None
    penalty: Penalty | None = None
    #: What the learner's own loss has beside its predictions' loss, exactly.
    own_penalty: Any = Fraction(0)
    bias: bool = False
    #: How often an example is among the rows, at least and at most.
    passes: tuple[int, int] = (1, 1)

    @property
    def rule(self) -> LossRule:
        return LOSSES[self.loss]

    @property
    def weights(self) -> Vector:
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def offsets(self) -> Vector:
        return np.zeros(len(self.y)) if self.offset is None else self.offset

    @property
    def dimension(self) -> int:
        return int(self.X.shape[1])

    def unweighted(self) -> Data:
        """Return the same rows without weights: what a text that names none is about."""
        return replace(self, weight=None)

    def plain(self) -> Data:
        """Return the same rows without a penalty."""
        return replace(self, penalty=None, own_penalty=Fraction(0))

    def own_loss(self) -> Any:
        """Return the learner's loss, exactly."""
        assert self.predictions is not None
        return self._sum(exactly(self.predictions)) + self.own_penalty

    def loss_on(self, chosen: Vector) -> Any:
        """Return the learner's loss on some of the rounds."""
        assert self.predictions is not None
        part = replace(
            self,
            X=self.X[chosen],
            y=self.y[chosen],
            weight=self.weights[chosen],
            predictions=self.predictions[chosen],
            offset=self.offsets[chosen],
        )
        return part._sum(exactly(part.predictions))

    def mistaken(self) -> Vector:
        """Return which rounds the learner got wrong."""
        assert self.predictions is not None
        pairs = zip(self.y.tolist(), self.predictions.tolist(), strict=True)
        return np.array([self.rule.mistake(y, p) for y, p in pairs], bool)

    def _sum(self, predictions: list[Fraction]) -> Any:
        total: Any = Fraction(0)
        for p, y, w in zip(predictions, exactly(self.y), exactly(self.weights), strict=True):
            value = self.rule.exact(y, p, self.parameters)
            total = _add(total, _times(w, value))
        return total

    def exact(self, u: Member) -> Any:
        """Return the objective at u, exactly or in 60 digits."""
        predictions = [
            sum((Fraction(float(x)) * v for x, v in zip(row, u, strict=True) if x), Fraction(o))
            for row, o in zip(self.X.tolist(), self.offsets.tolist(), strict=True)
        ]
        total = self._sum(predictions)
        return total if self.penalty is None else _add(total, self.penalty.exact(u))

    def fast(self, u: Vector) -> tuple[Any, Any]:
        """Return the objective at u in extended precision, and the sizes that were summed."""
        long = np.asarray(u, np.longdouble)
        p = self.X.astype(np.longdouble) @ long + self.offsets
        y = self.y.astype(np.longdouble)
        value = self.rule.value(y, p, self.parameters)
        steep = np.abs(self.rule.slope(y, p, self.parameters))
        size = np.abs(value) + (1.0 + steep) * (1.0 + np.abs(y) + np.abs(self.X) @ np.abs(long))
        total, magnitude = self.weights @ value, self.weights @ size
        if self.penalty is not None:
            extra = self.penalty.value(long)
            total, magnitude = total + extra, magnitude + abs(extra)
        return total, magnitude

    def holds(self, u: Member, claim: Any, factor: Any = 1) -> bool:
        """Tell whether factor * objective(u) >= claim."""
        value, size = self.fast(np.array([float(v) for v in u]))
        claimed = float(claim)
        room = CLOSE * (float(factor) * float(size) + abs(claimed))
        distance = float(factor) * float(value) - claimed
        if distance > room:
            return True
        if distance < -room:
            return False
        return compare(_times(Fraction(factor), self.exact(u)), claim)

    def objective(self, u: Vector) -> tuple[float, Vector]:
        """Return the objective and a subgradient in doubles, for solvers."""
        p = self.X @ u + self.offsets
        value = float(self.weights @ self.rule.value(self.y, p, self.parameters))
        slope = self.X.T @ (self.weights * self.rule.slope(self.y, p, self.parameters))
        if self.penalty is not None:
            value, slope = value + float(self.penalty.value(u)), slope + self.penalty.slope(u)
        return value, slope


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b
    return number(a) + number(b)


def _times(factor: Fraction, value: Any) -> Any:
    return factor * value if isinstance(value, Fraction) else number(factor) * value


def difference(a: Any, b: Any) -> Any:
    """Return a - b for fractions or numbers of 60 digits."""
    return _add(a, -b if isinstance(b, mpf) else -Fraction(b))


def sequences_penalty(weights: Vector, sigma: float) -> Fraction:
    """Return sum_t (sigma/2) ||w_t||^2 of the weights that were played, exactly."""
    total = Fraction(0)
    for row in np.asarray(weights).tolist():
        total += sum((Fraction(v) ** 2 for v in row), Fraction(0))
    return Fraction(sigma) / 2 * total
