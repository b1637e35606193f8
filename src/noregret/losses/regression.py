"""Losses for real targets: of the distance to the target, and the negative logarithm."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from noregret.component import NONNEGATIVE, POSITIVE, allowed
from noregret.elementary import log
from noregret.losses.base import LEAST_DIVISOR, Loss, minus_conjugate, one
from noregret.losses.minorants import (
    least_at_ends,
    logarithm_quotient,
    stretch_quotient,
)
from noregret.rounding import EPSILON, two_sum

#: Smallest prediction of a proximal step: products with a steeper slope could overflow.
_LEAST_PREDICTION = 1e-150


class Regression(Loss):
    """A loss for real targets, where no prediction is a mistake."""

    labels: ClassVar[str] = "real"

    def mistake(self, y: float, p: float) -> bool:
        """Return False: distance to a target is a matter of degree."""
        return False


@dataclass(frozen=True)
class Squared(Regression):
    """The square loss (p - y)^2, without a half.

    Conjugate: s^2/4 + s y.

    >>> Squared().slope(1.0, 3.0)
    4.0
    """

    def value(self, y: float, p: float) -> float:
        """Return (p - y)^2."""
        return (p - y) * (p - y)

    def slope(self, y: float, p: float) -> float:
        """Return 2 (p - y)."""
        return 2.0 * (p - y)

    intercept = minus_conjugate

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * (0.25 * s + y)

    def curvature(self) -> float:
        """Return 2."""
        return 2.0

    def bend(self, y: float, p: float) -> float:
        """Return 2."""
        return 2.0

    def curvature_below(self, y: float, p: float, low: float, high: float) -> float:
        """Return 2: the loss is its own parabola, on any range."""
        return 2.0

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return (z - y)/(1/2 + q)."""
        return (z - y) / (0.5 + q)


@dataclass(frozen=True)
class Absolute(Regression):
    """The absolute loss |p - y|, slope 0 at the kink.

    Conjugate: s y for |s| <= 1.

    >>> Absolute().value(1.0, -1.0)
    2.0
    """

    exact_zero: ClassVar[bool] = True

    def value(self, y: float, p: float) -> float:
        """Return |p - y|."""
        return abs(p - y)

    def slope(self, y: float, p: float) -> float:
        """Return sign(p - y)."""
        return (1.0 if p > y else 0.0) - (1.0 if p < y else 0.0)

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return -s y."""
        return -slope * y

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * y if abs(s) <= 1.0 else math.inf

    lipschitz = one

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return (z - y)/q clipped to [-1, 1]."""
        gap = z - y
        return gap / max(q, abs(gap), LEAST_DIVISOR)


@dataclass(frozen=True)
class EpsilonInsensitive(Regression):
    """The loss [|p - y| - epsilon]+ of support vector regression.

    Conjugate: s y + epsilon |s| for |s| <= 1.

    >>> EpsilonInsensitive(0.5).value(1.0, 3.0)
    1.5
    """

    epsilon: float = field(default=0.1, metadata=NONNEGATIVE)

    def excess(self, y: float, p: float) -> float:
        """Return |p - y| - epsilon, with what rounding took from p - y given back.

        Without it, a loss at the rim of the tube could be taken for none at all.
        """
        gap, lost = two_sum(p, -y)
        return (abs(gap) - self.epsilon) + math.copysign(1.0, gap) * lost

    def value(self, y: float, p: float) -> float:
        """Return [|p - y| - epsilon]+."""
        return max(self.excess(y, p), 0.0)

    def slope(self, y: float, p: float) -> float:
        """Return sign(p - y) outside the tube, else 0."""
        return math.copysign(1.0, p - y) if self.excess(y, p) > 0.0 else 0.0

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return -s y - epsilon |s|."""
        return -slope * y - self.epsilon * abs(slope)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * y + self.epsilon * abs(s) if abs(s) <= 1.0 else math.inf

    lipschitz = one

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return sign(z - y) times [|z - y| - epsilon]+ / q, at most 1."""
        excess = max(self.excess(y, z), 0.0)
        return math.copysign(excess / max(q, excess, LEAST_DIVISOR), z - y)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """The loss e^2/2 with e = [|p - y| - epsilon]+, the square of support vector regression.

    Conjugate: s^2/2 + s y + epsilon |s|.

    >>> SquaredEpsilonInsensitive(0.5).value(1.0, 3.5)
    2.0
    """

    def value(self, y: float, p: float) -> float:
        """Return [|p - y| - epsilon]+^2 / 2."""
        excess = max(self.excess(y, p), 0.0)
        return 0.5 * excess * excess

    def slope(self, y: float, p: float) -> float:
        """Return sign(p - y) [|p - y| - epsilon]+."""
        return math.copysign(max(self.excess(y, p), 0.0), p - y)

    intercept = minus_conjugate

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * (0.5 * s + y) + self.epsilon * abs(s)

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return z - y drawn towards 0 by epsilon, divided by 1 + q."""
        return math.copysign(max(self.excess(y, z), 0.0), z - y) / (1.0 + q)

    lipschitz = Loss.lipschitz
    curvature = one

    def bend(self, y: float, p: float) -> float:
        """Return 1 outside the tube, else 0."""
        return 1.0 if self.excess(y, p) > 0.0 else 0.0

    def quotient(self, y: float, p: float, z: float) -> float:
        """Return 2 D(z, p) / (z - p)^2, rounded down, see `noregret.losses.minorants`."""
        # The edges are rounded: move them outwards.
        far = self.epsilon + 2.0 * EPSILON * (self.epsilon + abs(y))
        below = stretch_quotient(p, z, -math.inf, y - far)
        return below + stretch_quotient(p, z, y + far, math.inf)

    def curvature_below(self, y: float, p: float, low: float, high: float) -> float:
        """Return the least quotient: at an end, or at the mirror image of p beyond the tube."""
        size = abs(y) + abs(p) + self.epsilon
        excess = self.excess(y, p) - 4.0 * EPSILON * size
        if not excess > 0.0:
            return 0.0
        c = least_at_ends(self, y, p, low, high)
        mirror, near = 2.0 * y - p, 8.0 * EPSILON * size
        if low - near <= mirror <= high + near:
            c = min(c, (1.0 - 8.0 * EPSILON) * (excess / (self.epsilon + excess)))
        return c


@dataclass(frozen=True)
class Huber(Regression):
    """Huber's loss: r^2/2 for |r| = |p - y| <= delta, delta (|r| - delta/2) beyond.

    Conjugate: s^2/2 + s y for |s| <= delta.

    >>> Huber(1.0).value(0.0, 3.0)
    2.5
    """

    delta: float = field(default=1.0, metadata=POSITIVE)

    def value(self, y: float, p: float) -> float:
        """Return the value at p."""
        clipped = min(abs(p - y), self.delta)
        return clipped * (abs(p - y) - 0.5 * clipped)

    def slope(self, y: float, p: float) -> float:
        """Return p - y clipped to [-delta, delta]."""
        return min(max(p - y, -self.delta), self.delta)

    intercept = minus_conjugate

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * (0.5 * s + y) if abs(s) <= self.delta else math.inf

    def lipschitz(self) -> float:
        """Return delta."""
        return self.delta

    curvature, curvature_below = one, least_at_ends

    def bend(self, y: float, p: float) -> float:
        """Return 1 where the loss is quadratic, else 0."""
        return 1.0 if abs(p - y) < self.delta else 0.0

    def quotient(self, y: float, p: float, z: float) -> float:
        """Return 2 D(z, p) / (z - p)^2, rounded down, see `noregret.losses.minorants`."""
        # The edges are rounded: move them inwards.
        near = self.delta - 2.0 * EPSILON * (self.delta + abs(y))
        return stretch_quotient(p, z, y - near, y + near)

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return (z - y)/(1 + q) clipped to [-delta, delta]."""
        return min(max((z - y) / (1.0 + q), -self.delta), self.delta)


@dataclass(frozen=True)
class Quantile(Regression):
    """The pinball loss: level (y - p) below the target, (1 - level)(p - y) above it.

    Conjugate: s y for -level <= s <= 1 - level.

    >>> Quantile(0.9).value(1.0, 0.0)
    0.9
    """

    level: float = field(
        default=0.5,
        metadata=allowed("must lie strictly between 0 and 1", lambda level: 0.0 < level < 1.0),
    )

    def value(self, y: float, p: float) -> float:
        """Return the pinball loss."""
        return max(self.level * (y - p), (1.0 - self.level) * (p - y))

    def slope(self, y: float, p: float) -> float:
        """Return -level below the target, 1 - level above it, 0 on it."""
        above = 1.0 - self.level if p > y else 0.0
        return -self.level if p < y else above

    # -s y: faster in a pass than the conjugate, which checks the range of s.
    intercept = Absolute.intercept

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * y if -self.level <= s <= 1.0 - self.level else math.inf

    def lipschitz(self) -> float:
        """Return max(level, 1 - level)."""
        return max(self.level, 1.0 - self.level)

    def lowest_slope(self, y: float) -> float:
        """Return -level."""
        return -self.level

    def highest_slope(self, y: float) -> float:
        """Return 1 - level."""
        return 1.0 - self.level

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return (z - y)/q clipped to [-level, 1 - level]."""
        gap = z - y
        return min(max(gap / max(q, abs(gap), LEAST_DIVISOR), -self.level), 1.0 - self.level)


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

    quotient, curvature_below = logarithm_quotient, least_at_ends

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
