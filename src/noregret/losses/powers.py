"""Powers of the hinge, and the squared hinge that turns linear: losses for labels -1 and +1."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.component import require_positive
from noregret.elementary import power
from noregret.losses.base import LEAST_DIVISOR, Loss

#: The powers of a hinge whose value and conjugate are known to a few units in the last place.
_LEAST_POWER, _LARGEST_POWER = 1.05, 50.0


class OneSided(Loss):
    """A loss of labels -1 and +1 that is 0 beyond the margin and has no steepest slope."""

    def lowest_slope(self, y: float) -> float:
        """Return minus infinity for the label +1, else 0."""
        return -math.inf if y > 0.0 else 0.0

    def highest_slope(self, y: float) -> float:
        """Return infinity for the label -1, else 0."""
        return 0.0 if y > 0.0 else math.inf


@dataclass(frozen=True)
class PowerHinge(OneSided):
    """The r-th power of the hinge, (1/r) [margin - y p]+^r, 1.05 <= r <= 50.

    Conjugate, with 1/r + 1/t = 1: e^t/t - margin e at s = -y e, e >= 0.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, table of pairs.

    >>> PowerHinge(3.0).value(-1.0, 2.0)
    9.0
    """

    r: float = 3.0
    margin: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        # Outside, powers magnify the rounding of what is raised beyond what a loss promises.
        if not _LEAST_POWER <= self.r <= _LARGEST_POWER:
            raise ValueError(
                "PowerHinge(r) must be a finite number above 1, from "
                f"{_LEAST_POWER:g} to {_LARGEST_POWER:g}, got {self.r}"
            )
        require_positive("PowerHinge(margin)", self.margin)

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
        # Not divided where the quotient, being above the other, would overflow.
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
class OneSidedHuber(Loss):
    """The squared hinge that turns linear: e^2/2 up to e = 2, then 2 e - 2; e = [margin - y p]+.

    Conjugate: c^2/2 - margin c at s = -y c, 0 <= c <= 2.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, table of pairs.

    >>> OneSidedHuber().value(1.0, -3.0)
    6.0
    """

    margin: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("OneSidedHuber(margin)", self.margin)

    def value(self, y: float, p: float) -> float:
        """Return the value at p."""
        excess = max(self.margin - y * p, 0.0)
        reach = min(excess, 2.0)
        return reach * (excess - 0.5 * reach)

    def slope(self, y: float, p: float) -> float:
        """Return -y times margin - y p clipped to [0, 2]."""
        return -y * min(max(self.margin - y * p, 0.0), 2.0)

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return margin c - c^2/2 with c = |slope|."""
        return -self.conjugate(y, slope)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return -abs(s) * (self.margin - 0.5 * abs(s)) if -2.0 <= y * s <= 0.0 else math.inf

    def lipschitz(self) -> float:
        """Return 2."""
        return 2.0

    def curvature(self) -> float:
        """Return 1."""
        return 1.0

    def lowest_slope(self, y: float) -> float:
        """Return -2 for the label +1, else 0."""
        return 2.0 * min(-y, 0.0)

    def highest_slope(self, y: float) -> float:
        """Return 2 for the label -1, else 0."""
        return 2.0 * max(-y, 0.0)

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y times (margin - y z)/(1 + q) clipped to [0, 2]."""
        return -y * min(max(self.margin - y * z, 0.0) / (1.0 + q), 2.0)
