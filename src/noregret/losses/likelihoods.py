"""Losses that are logarithms or exponentials of the prediction itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from noregret.elementary import divide, exp, log
from noregret.losses.base import LAST_CHANGE, LEAST_DIVISOR, minus_conjugate
from noregret.losses.margins import Margin
from noregret.losses.regression import Regression

#: Slopes stay above this in size, so that logarithms of them exist.
_LEAST_SIZE, _LARGEST_SIZE = 1e-300, 1e300
#: Predictions below this have a slope too steep to be multiplied with anything.
_LEAST_PREDICTION = 1e-150


@dataclass(frozen=True)
class Exponential(Margin):
    """The exponential loss exp(-y p) of boosting.

    Conjugate: c ln c - c at s = -y c, c >= 0.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, table of pairs.

    >>> Exponential().value(1.0, 0.0), Exponential().slope(-1.0, 0.0)
    (1.0, 1.0)
    """

    def value(self, y: float, p: float) -> float:
        """Return exp(-y p)."""
        return exp(-y * p) if -y * p < 709.0 else math.inf

    def slope(self, y: float, p: float) -> float:
        """Return -y exp(-y p)."""
        return -y * self.value(y, p)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        c = -y * s
        if c <= 0.0:
            return 0.0 if c == 0.0 else math.inf
        return c * (log(c) - 1.0)

    def initial_slope(self, y: float) -> float:
        """Return -y/2."""
        return -0.5 * y

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y c with ln c + q c + y z = 0, strictly inside the range.

        The left-hand side is concave and increasing in c: Newton's method climbs to the root
        from any start that is not above `high`.
        """
        a = -y * z
        # c is at most exp(a), and at most a/q where it is above 1.
        positive = max(a, 0.0)
        ratio = positive / max(q, positive / _LARGEST_SIZE, LEAST_DIVISOR)
        logarithm = min(a, log(max(ratio, 1.0)))
        if logarithm < -690.0:
            return -y * _LEAST_SIZE
        high = exp(logarithm)
        # Where the step from `high` lands, which is below the root.
        low = high * (1.0 + (a - logarithm)) / (1.0 + q * high)
        c = min(max(-y * guess, low), high)
        for _ in range(60):
            new = divide(c * (1.0 + (a - log(c))), 1.0 + q * c)
            change, c = abs(new - c), min(new, high)
            if change <= LAST_CHANGE * c:
                break
        return -y * min(max(c, _LEAST_SIZE), _LARGEST_SIZE)


@dataclass(frozen=True)
class NegativeLog(Regression):
    """The negative logarithm -ln p for p > 0, infinite elsewhere; the target is not looked at.

    With rows of densities it is the likelihood of a mixture, with rows of price relatives the
    growth of a portfolio. Learners that play every prediction refuse it, since no floor can
    stand beside an infinite loss; the batch solvers take it.
    Conjugate: -1 - ln(-s) for s < 0.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, eq. 25.

    >>> NegativeLog().value(0.0, 1.0), NegativeLog().slope(0.0, 0.5)
    (-0.0, -2.0)
    """

    nonnegative: ClassVar[bool] = False

    def value(self, y: float, p: float) -> float:
        """Return -ln p."""
        return -log(p) if p > 0.0 else math.inf

    def slope(self, y: float, p: float) -> float:
        """Return -1/p."""
        return -1.0 / p if p > 0.0 else -math.inf

    intercept = minus_conjugate

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return -1.0 - log(-s) if s < 0.0 else math.inf

    def highest_slope(self, y: float) -> float:
        """Return 0."""
        return 0.0

    def initial_slope(self, y: float) -> float:
        """Return -1."""
        return -1.0

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -1/u with u the positive root of u^2 = z u + q, at least 1e-150."""
        root = math.hypot(z, 2.0 * math.sqrt(q))
        # The two roots have the product -q: the one of larger size is free of cancellation.
        u = 0.5 * (z + root) if z >= 0.0 else 2.0 * (q / (root - z))
        return -1.0 / max(u, _LEAST_PREDICTION)
