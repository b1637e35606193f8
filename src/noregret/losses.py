"""Convex losses of one real prediction: value, slope, conjugate and what is known of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from noregret.component import Component, require_positive


class Loss(Component):
    """A loss f(p) = value(y, p), convex in the prediction p; base for your own.

    Write a frozen dataclass with `value` and `slope` (a subgradient in p) in scalar Python;
    both must be right to about 16 units in the last place, because the certificate leans on
    them. `conjugate` is optional. A user's loss is taken at its word to be convex.

    >>> import math
    >>> @dataclass(frozen=True)
    ... class Exponential(Loss):
    ...     def value(self, y, p):
    ...         return math.exp(-y * p)
    ...     def slope(self, y, p):
    ...         return -y * math.exp(-y * p)
    >>> Exponential().slope(1.0, 0.0)
    -1.0
    """

    #: "sign" for labels -1 and +1, "real" for any finite target.
    labels: ClassVar[str] = "sign"
    #: Whether value(y, p) >= 0 always; floors are then never below zero.
    nonnegative: ClassVar[bool] = True

    def value(self, y: float, p: float) -> float:
        """Return f(p)."""
        raise NotImplementedError

    def slope(self, y: float, p: float) -> float:
        """Return an element of the subdifferential of f at p."""
        raise NotImplementedError

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return -f*(slope), the height at 0 of the supporting line with that slope."""
        return value - slope * p

    def mistake(self, y: float, p: float) -> bool:
        """Tell whether p counts as a wrong label; a margin of exactly zero does."""
        return y * p <= 0.0

    def lipschitz(self) -> float:
        """Return the largest |slope|, infinity when there is none."""
        return math.inf

    def curvature(self) -> float:
        """Return the largest second derivative, infinity at a kink."""
        return math.inf


class Regression(Loss):
    """A loss for real targets, where no prediction is a mistake."""

    labels: ClassVar[str] = "real"

    def mistake(self, y: float, p: float) -> bool:
        """Return False: distance to a target is a matter of degree."""
        return False


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
        return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)

    def slope(self, y: float, p: float) -> float:
        """Return -y / (1 + exp(y p)), accurate in both tails."""
        margin = y * p
        tail = math.exp(-abs(margin))
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

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return y^2 - p^2 through the slope."""
        return -self.conjugate(y, slope)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * (0.25 * s + y)

    def curvature(self) -> float:
        """Return 2."""
        return 2.0


@dataclass(frozen=True)
class Absolute(Regression):
    """The absolute loss |p - y|, slope 0 at the kink.

    Conjugate: s y for |s| <= 1.

    >>> Absolute().value(1.0, -1.0)
    2.0
    """

    def value(self, y: float, p: float) -> float:
        """Return |p - y|."""
        return abs(p - y)

    def slope(self, y: float, p: float) -> float:
        """Return sign(p - y)."""
        return (1.0 if p > y else 0.0) - (1.0 if p < y else 0.0)

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return -sign(p - y) y."""
        return -slope * y

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * y if abs(s) <= 1.0 else math.inf

    def lipschitz(self) -> float:
        """Return 1."""
        return 1.0


@dataclass(frozen=True)
class EpsilonInsensitive(Regression):
    """The loss [|p - y| - epsilon]+ of support vector regression.

    Conjugate: s y + epsilon |s| for |s| <= 1.

    >>> EpsilonInsensitive(0.5).value(1.0, 3.0)
    1.5
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.epsilon < math.inf:
            raise ValueError(
                f"EpsilonInsensitive(epsilon) must be a finite number >= 0, got {self.epsilon}"
            )

    def excess(self, y: float, p: float) -> float:
        """Return |p - y| - epsilon, with what rounding took from p - y given back.

        Without it, a loss at the rim of the tube could be taken for none at all.
        """
        gap = p - y
        shadow = p - gap
        lost = (p - (gap + shadow)) + (shadow - y)
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

    def lipschitz(self) -> float:
        """Return 1."""
        return 1.0


@dataclass(frozen=True)
class Huber(Regression):
    """Huber's loss: r^2/2 for |r| = |p - y| <= delta, delta (|r| - delta/2) beyond.

    Conjugate: s^2/2 + s y for |s| <= delta.

    >>> Huber(1.0).value(0.0, 3.0)
    2.5
    """

    delta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("Huber(delta)", self.delta)

    def value(self, y: float, p: float) -> float:
        """Return the value at p."""
        reach = min(abs(p - y), self.delta)
        return reach * (abs(p - y) - 0.5 * reach)

    def slope(self, y: float, p: float) -> float:
        """Return p - y clipped to [-delta, delta]."""
        return min(max(p - y, -self.delta), self.delta)

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return -s^2/2 - s y."""
        return -self.conjugate(y, slope)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * (0.5 * s + y) if abs(s) <= self.delta else math.inf

    def lipschitz(self) -> float:
        """Return delta."""
        return self.delta

    def curvature(self) -> float:
        """Return 1."""
        return 1.0


@dataclass(frozen=True)
class Quantile(Regression):
    """The pinball loss: level (y - p) below the target, (1 - level)(p - y) above it.

    Conjugate: s y for -level <= s <= 1 - level.

    >>> Quantile(0.9).value(1.0, 0.0)
    0.9
    """

    level: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"Quantile(level) must lie strictly between 0 and 1, got {self.level}")

    def value(self, y: float, p: float) -> float:
        """Return the pinball loss."""
        return max(self.level * (y - p), (1.0 - self.level) * (p - y))

    def slope(self, y: float, p: float) -> float:
        """Return -level below the target, 1 - level above it, 0 on it."""
        above = 1.0 - self.level if p > y else 0.0
        return -self.level if p < y else above

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return -s y."""
        return -slope * y

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * y if -self.level <= s <= 1.0 - self.level else math.inf

    def lipschitz(self) -> float:
        """Return max(level, 1 - level)."""
        return max(self.level, 1.0 - self.level)


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
