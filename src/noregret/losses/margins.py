"""Losses for labels -1 and +1, decreasing in the margin y p."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from noregret.component import MARGIN, allowed
from noregret.elementary import divide, exp, log, log1p_unit, power
from noregret.losses.base import LAST_CHANGE, LEAST_DIVISOR, Loss, minus_conjugate, one
from noregret.losses.bends import logistic_bend, one_sided_bend, squared_hinge_bend
from noregret.losses.logistic_roots import logistic_proximal_slope
from noregret.losses.minorants import (
    exponential_quotient,
    least_at_ends,
    logistic_curvature,
    logistic_quotient,
    one_sided_quotient,
    power_quotient,
    squared_hinge_quotient,
)

#: Slopes of the exponential loss stay between these in size, so that logarithms of them exist.
_LEAST_SIZE, _LARGEST_SIZE = 1e-300, 1e300


class Margin(Loss):
    """A loss of the margin y p that does not grow with it: slopes point against the label."""

    def lowest_slope(self, y: float) -> float:
        """Return -lipschitz() for the label +1, else 0."""
        return min(-y * self.lipschitz(), 0.0)

    def highest_slope(self, y: float) -> float:
        """Return lipschitz() for the label -1, else 0."""
        return max(-y * self.lipschitz(), 0.0)


@dataclass(frozen=True)
class Hinge(Margin):
    """The hinge loss [margin - y p]+, slope 0 at the kink.

    Conjugate: margin * y * s for -1 <= y s <= 0.
    Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, eq. 1.

    >>> Hinge(1.0).value(1.0, 0.25)
    0.75
    """

    margin: float = field(default=1.0, metadata=MARGIN)

    exact_zero: ClassVar[bool] = True

    def value(self, y: float, p: float) -> float:
        """Return [margin - y p]+."""
        return max(self.margin - y * p, 0.0)

    def slope(self, y: float, p: float) -> float:
        """Return -y where the loss is positive, else 0."""
        return -y if y * p < self.margin else 0.0

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return margin on an active round, else 0: exact, no subtraction."""
        return self.margin * abs(slope)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return self.margin * y * s if -1.0 <= y * s <= 0.0 else math.inf

    lipschitz = one

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y times (margin - y z)/q clipped to [0, 1]."""
        excess = max(self.margin - y * z, 0.0)
        return -y * (excess / max(q, excess, LEAST_DIVISOR))


@dataclass(frozen=True)
class SquaredHinge(Margin):
    """The squared hinge loss e^2/2 with e = [margin - y p]+.

    Conjugate: e^2/2 - margin e at s = -y e, e >= 0.

    >>> SquaredHinge(1.0).value(-1.0, 1.0)
    2.0
    """

    margin: float = field(default=1.0, metadata=MARGIN)

    def value(self, y: float, p: float) -> float:
        """Return [margin - y p]+^2 / 2."""
        excess = max(self.margin - y * p, 0.0)
        return 0.5 * excess * excess

    def slope(self, y: float, p: float) -> float:
        """Return -y [margin - y p]+."""
        return -y * max(self.margin - y * p, 0.0)

    intercept = minus_conjugate

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return -abs(s) * (self.margin - 0.5 * abs(s)) if y * s <= 0.0 else math.inf

    curvature, curvature_below = one, least_at_ends
    quotient, bend = squared_hinge_quotient, squared_hinge_bend

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y [margin - y z]+ / (1 + q)."""
        return -y * max(self.margin - y * z, 0.0) / (1.0 + q)


@dataclass(frozen=True)
class Logistic(Margin):
    """The logistic loss ln(1 + exp(-y p)).

    Conjugate: c ln c + (1 - c) ln(1 - c) at s = -y c, 0 <= c <= 1.

    >>> round(Logistic().value(1.0, 0.0), 6)
    0.693147
    """

    def value(self, y: float, p: float) -> float:
        """Return ln(1 + exp(-y p)) without overflow."""
        margin = y * p
        return log1p_unit(exp(-abs(margin))) + max(-margin, 0.0)

    def slope(self, y: float, p: float) -> float:
        """Return -y / (1 + exp(y p)), accurate in both tails."""
        margin = y * p
        tail = exp(-abs(margin))
        return -y * (tail if margin > 0.0 else 1.0) / (1.0 + tail)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s), minus the binary entropy of -y s."""
        c = -y * s
        if c == 0.0 or c == 1.0:
            return 0.0
        return c * math.log(c) + (1.0 - c) * math.log1p(-c) if 0.0 < c < 1.0 else math.inf

    lipschitz = one

    def curvature(self) -> float:
        """Return 1/4."""
        return 0.25

    quotient, curvature_below = logistic_quotient, logistic_curvature
    bend = logistic_bend

    def bend_of_slope(self, y: float, p: float, slope: float) -> float:
        """Return c (1 - c) for the slope -y c, without an exponential."""
        return abs(slope) * (1.0 - abs(slope))

    def initial_slope(self, y: float) -> float:
        """Return -y/2, the slope at 0."""
        return -0.5 * y

    proximal_slope = logistic_proximal_slope


@dataclass(frozen=True)
class WinnowHinge(Margin):
    """Winnow's surrogate [1 - y (2 p - 1)]+, with the threshold 1/2 built in.

    Conjugate: s (1 + y)/2 for -2 <= y s <= 0.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 3.3.2.

    >>> WinnowHinge().mistake(1.0, 0.25)
    True
    """

    def value(self, y: float, p: float) -> float:
        """Return [1 - y (2 p - 1)]+."""
        # 1 + y is 0 or 2: only the one subtraction is rounded.
        return max((1.0 + y) - 2.0 * y * p, 0.0)

    def slope(self, y: float, p: float) -> float:
        """Return -2 y where the loss is positive, else 0."""
        return -2.0 * y if 2.0 * y * p < 1.0 + y else 0.0

    intercept = minus_conjugate

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return 0.5 * s * (1.0 + y) if -2.0 <= y * s <= 0.0 else math.inf

    def mistake(self, y: float, p: float) -> bool:
        """Tell whether p lies on the wrong side of 1/2, or on it."""
        return y * (2.0 * p - 1.0) <= 0.0

    def lipschitz(self) -> float:
        """Return 2."""
        return 2.0

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y times (1 + y - 2 y z)/(2 q) clipped to [0, 2]."""
        excess = max(0.5 * (1.0 + y) - y * z, 0.0)
        # Half of the least numbers is rounded: the quotient alone could exceed 2.
        return -y * min(excess / max(q, 0.5 * excess, LEAST_DIVISOR), 2.0)


@dataclass(frozen=True)
class PowerHinge(Margin):
    """The r-th power of the hinge, (1/r) [margin - y p]+^r, 1.05 <= r <= 50.

    Conjugate, with 1/r + 1/t = 1: e^t/t - margin e at s = -y e, e >= 0.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, table of pairs.

    >>> PowerHinge(3.0).value(-1.0, 2.0)
    9.0
    """

    # Beyond these limits powers magnify the rounding of their base beyond what a loss promises.
    r: float = field(
        default=3.0,
        metadata=allowed(
            "must be a finite number above 1, from 1.05 to 50", lambda r: 1.05 <= r <= 50.0
        ),
    )
    margin: float = field(default=1.0, metadata=MARGIN)

    def value(self, y: float, p: float) -> float:
        """Return [margin - y p]+^r / r."""
        return power(max(self.margin - y * p, 0.0), self.r) / self.r

    def slope(self, y: float, p: float) -> float:
        """Return -y [margin - y p]+^(r-1)."""
        return -y * power(max(self.margin - y * p, 0.0), self.r - 1.0)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        c = -y * s
        if c <= 0.0:
            return 0.0 if c == 0.0 else math.inf
        m = self.r - 1.0
        # c^t = c c^(1/m). One step of Newton's method undoes the rounding of 1/m.
        root = power(c, 1.0 / m)
        root -= root * (power(root, m) / c - 1.0) / m
        return c * (root * (m / self.r) - self.margin)

    def curvature(self) -> float:
        """Return 1 for r = 2; other powers have none that holds everywhere."""
        return 1.0 if self.r == 2.0 else math.inf

    quotient, curvature_below = power_quotient, least_at_ends

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y e^(r-1), where e > 0 solves e + q e^(r-1) = margin - y z.

        In e for r >= 2, and in e^(r-1) otherwise, the equation reads A x + B x^m = excess with
        m >= 1. It is convex and its root lies between half of the start and the start, from
        where Newton's method comes down without a bracket.
        """
        excess = self.margin - y * z
        if excess <= 0.0:
            return -0.0 * y
        steep = self.r >= 2.0
        m = self.r - 1.0 if steep else 1.0 / (self.r - 1.0)
        a, b = (1.0, q) if steep else (q, 1.0)
        x = math.inf
        # Skip a quotient that would overflow: the other one is smaller.
        if a >= 1.0 or excess < a * 1e300:
            x = excess / a
        if b >= 1.0 or excess < b * 1e300:
            x = min(x, power(excess / b, 1.0 / m))
        x = max(x, LEAST_DIVISOR)
        for _ in range(60):
            bend = b * power(x, m - 1.0)
            change = x * ((a - excess / x) + bend) / (a + m * bend)
            x -= change
            # The error after a step is the square of the one before, times m.
            if not change > 1e-9 / m * x:
                break
        return -y * (power(x, m) if steep else x)


@dataclass(frozen=True)
class OneSidedHuber(Margin):
    """The squared hinge that turns linear: e^2/2 up to e = 2, then 2 e - 2; e = [margin - y p]+.

    Conjugate: c^2/2 - margin c at s = -y c, 0 <= c <= 2.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, table of pairs.

    >>> OneSidedHuber().value(1.0, -3.0)
    6.0
    """

    margin: float = field(default=1.0, metadata=MARGIN)

    def value(self, y: float, p: float) -> float:
        """Return the value at p."""
        excess = max(self.margin - y * p, 0.0)
        clipped = min(excess, 2.0)
        return clipped * (excess - 0.5 * clipped)

    def slope(self, y: float, p: float) -> float:
        """Return -y times margin - y p clipped to [0, 2]."""
        return -y * min(max(self.margin - y * p, 0.0), 2.0)

    intercept = minus_conjugate

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return -abs(s) * (self.margin - 0.5 * abs(s)) if -2.0 <= y * s <= 0.0 else math.inf

    def lipschitz(self) -> float:
        """Return 2."""
        return 2.0

    curvature, curvature_below = one, least_at_ends
    quotient, bend = one_sided_quotient, one_sided_bend

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y times (margin - y z)/(1 + q) clipped to [0, 2]."""
        return -y * min(max(self.margin - y * z, 0.0) / (1.0 + q), 2.0)


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

    quotient, curvature_below = exponential_quotient, least_at_ends

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
