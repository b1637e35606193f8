"""Losses for labels -1 and +1, decreasing in the margin y p."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.component import require_positive
from noregret.elementary import exp, log, log1p_unit
from noregret.losses.base import LAST_CHANGE, LEAST_DIVISOR, Loss

#: Logistic slopes stay between these, so that logarithms of them and of their complements exist.
_LEAST_CHANCE, _LARGEST_CHANCE = 1e-300, 1.0 - 2.0**-53
#: The logit of the least chance.
_LEAST_LOGIT = -690.0


@dataclass(frozen=True)
class Hinge(Loss):
    """The hinge loss [margin - y p]+, slope 0 at the kink.

    Conjugate: margin * y * s for -1 <= y s <= 0.
    Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, eq. 1.

    >>> Hinge(1.0).value(1.0, 0.25)
    0.75
    """

    margin: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("Hinge(margin)", self.margin)

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

    def lipschitz(self) -> float:
        """Return 1."""
        return 1.0

    def lowest_slope(self, y: float) -> float:
        """Return -1 for the label +1, else 0."""
        return min(-y, 0.0)

    def highest_slope(self, y: float) -> float:
        """Return 1 for the label -1, else 0."""
        return max(-y, 0.0)

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y times (margin - y z)/q clipped to [0, 1]."""
        excess = max(self.margin - y * z, 0.0)
        return -y * (excess / max(q, excess, LEAST_DIVISOR))


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """The squared hinge loss e^2/2 with e = [margin - y p]+.

    Conjugate: e^2/2 - margin e at s = -y e, e >= 0.

    >>> SquaredHinge(1.0).value(-1.0, 1.0)
    2.0
    """

    margin: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("SquaredHinge(margin)", self.margin)

    def value(self, y: float, p: float) -> float:
        """Return [margin - y p]+^2 / 2."""
        excess = max(self.margin - y * p, 0.0)
        return 0.5 * excess * excess

    def slope(self, y: float, p: float) -> float:
        """Return -y [margin - y p]+."""
        return -y * max(self.margin - y * p, 0.0)

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return margin e - e^2/2."""
        return -self.conjugate(y, slope)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return -abs(s) * (self.margin - 0.5 * abs(s)) if y * s <= 0.0 else math.inf

    def curvature(self) -> float:
        """Return 1."""
        return 1.0

    def lowest_slope(self, y: float) -> float:
        """Return minus infinity for the label +1, else 0."""
        return -math.inf if y > 0.0 else 0.0

    def highest_slope(self, y: float) -> float:
        """Return infinity for the label -1, else 0."""
        return 0.0 if y > 0.0 else math.inf

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y [margin - y z]+ / (1 + q)."""
        return -y * max(self.margin - y * z, 0.0) / (1.0 + q)


@dataclass(frozen=True)
class Logistic(Loss):
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

    def lipschitz(self) -> float:
        """Return 1."""
        return 1.0

    def curvature(self) -> float:
        """Return 1/4."""
        return 0.25

    def lowest_slope(self, y: float) -> float:
        """Return -1 for the label +1, else 0."""
        return min(-y, 0.0)

    def highest_slope(self, y: float) -> float:
        """Return 1 for the label -1, else 0."""
        return max(-y, 0.0)

    def initial_slope(self, y: float) -> float:
        """Return -y/2, the slope at 0."""
        return -0.5 * y

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y c with ln(c/(1 - c)) + q c + y z = 0, strictly between the ends.

        The reflection c -> 1 - c brings the root below 1/2, where the left-hand side is concave
        and increasing: Newton's method then climbs to it from any start that is not above
        `high`, so that it needs no bracket.
        """
        a = -y * z
        reflected = a > 0.5 * q
        c = -y * guess
        if reflected:
            a, c = q - a, 1.0 - c
        tail = exp(min(a, 0.0))
        high = max(tail / (1.0 + tail), _LEAST_CHANCE)
        # Where the step from `high` lands, which is below the root.
        low = high * (1.0 + (1.0 - high) * max(a, 0.0)) / (1.0 + q * high * (1.0 - high))
        c = min(max(c, low), high)
        if a > _LEAST_LOGIT:
            for _ in range(60):
                odds = 1.0 / (1.0 - c)
                new = c * (odds + a - log(c * odds)) / (odds + q * c)
                change, c = abs(new - c), min(new, high)
                # The error after a step is the square of the one before.
                if change <= LAST_CHANGE * c:
                    break
        c = max(c, _LEAST_CHANCE)
        return -y * min(1.0 - c if reflected else c, _LARGEST_CHANCE)


@dataclass(frozen=True)
class WinnowHinge(Loss):
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

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return 2 on an active positive round, else 0."""
        return -self.conjugate(y, slope)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return 0.5 * s * (1.0 + y) if -2.0 <= y * s <= 0.0 else math.inf

    def mistake(self, y: float, p: float) -> bool:
        """Tell whether p lies on the wrong side of 1/2, or on it."""
        return y * (2.0 * p - 1.0) <= 0.0

    def lipschitz(self) -> float:
        """Return 2."""
        return 2.0

    def lowest_slope(self, y: float) -> float:
        """Return -2 for the label +1, else 0."""
        return 2.0 * min(-y, 0.0)

    def highest_slope(self, y: float) -> float:
        """Return 2 for the label -1, else 0."""
        return 2.0 * max(-y, 0.0)

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return -y times (1 + y - 2 y z)/(2 q) clipped to [0, 2]."""
        excess = max(0.5 * (1.0 + y) - y * z, 0.0)
        return -y * (excess / max(q, 0.5 * excess, LEAST_DIVISOR))
