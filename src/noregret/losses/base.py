"""The base of losses: convex in one real prediction, with a value and a slope."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from noregret.component import Component

#: The smallest double above 0, a divisor in place of 0: quotients by it are infinite or exact.
LEAST_DIVISOR = 5e-324
#: Relative change in a Newton step after which the next would be lost in rounding.
LAST_CHANGE = 1e-9
#: Relative rounding that a computed slope is allowed before a search for it ends.
_RESOLUTION = 4.5e-16
#: A second derivative is a difference of slopes over this distance, relative to 1 + |p|.
NEARBY = 1e-6
#: Where a search begins when the slope overflows.
_STEEPEST = 1e150


class Promised(Component):
    """A convex loss; every round checks the promises of one that is not built in."""

    #: Whether the loss is never negative; floors are then never below zero.
    nonnegative: ClassVar[bool] = True
    #: Whether a computed loss of 0 is a true 0: a difference is 0 only if both numbers are equal.
    exact_zero: ClassVar[bool] = False
    #: Whether the class is defined outside this package; set by `__init_subclass__`.
    foreign: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Direct subclasses are the bases of losses, which have no value to check.
        # A subclass of one of ours may change its value: it does not inherit the exemption.
        # Examples in docstrings of this module count as a user's own.
        ours = cls.__module__.startswith("noregret.") and cls.__module__ != __name__
        cls.foreign = Promised not in cls.__bases__ and not ours

    def checked(self) -> bool:
        """Tell whether every round checks the loss, see `noregret.proof.wording`."""
        return self.foreign

    def promising(self) -> Promised:
        """Return the loss whose promises count."""
        return self

    def has_conjugate(self) -> bool:
        """Tell whether the loss has the optional `conjugate`."""
        return hasattr(self, "conjugate")


class Loss(Promised):
    """A loss f(p) = value(y, p), convex in the prediction p; base for your own.

    Write a frozen dataclass with `value` and `slope` (a subgradient in p) in scalar Python;
    both must be right to about 16 units in the last place, because certificates rely on
    them. `conjugate` is optional for the online learners; dual ascent needs it. A user's loss
    is taken at its word to be convex, not negative and no steeper than `lipschitz()`; every round
    checks these promises with one more value, and a broken one withdraws the certificate's claims.

    >>> import math
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Smooth(Loss):
    ...     def value(self, y, p):
    ...         return math.sqrt(1.0 + (p - y) ** 2)
    ...     def slope(self, y, p):
    ...         return (p - y) / math.sqrt(1.0 + (p - y) ** 2)
    >>> Smooth().slope(1.0, 1.0)
    0.0
    """

    #: "sign" for labels -1 and +1, "real" for any finite target.
    labels: ClassVar[str] = "sign"

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

    def bend(self, y: float, p: float) -> float:
        """Return the second derivative at p, here as a difference of slopes.

        At a corner of the slope it is any number between the derivatives of both sides.
        """
        near = NEARBY * (1.0 + abs(p))
        rise = self.slope(y, p + near) - self.slope(y, p - near)
        return max(rise, 0.0) / (2.0 * near)

    def curvature_below(self, y: float, p: float, low: float, high: float) -> float:
        """Return a c that is right for the parabola that touches the loss at p.

        f(z) >= f(p) + f'(p) (z - p) + (c/2) (z - p)^2 for all low <= z <= high, wherever p lies.
        """
        return 0.0

    def bend_of_slope(self, y: float, p: float, slope: float) -> float:
        """Return the second derivative at p, where the slope is known.

        It may be a little too small, but not too large by more than rounding: that of
        `curvature_below`, or a quicker formula in the slope.
        """
        return self.curvature_below(y, p, p, p)

    def has_curvature(self) -> bool:
        """Tell whether the loss declares `curvature_below` itself.

        A subclass that changes the value does not inherit it.
        """
        for cls in type(self).__mro__:
            if "curvature_below" in vars(cls):
                return cls is not Loss
            if "value" in vars(cls):
                break
        return False

    def lowest_slope(self, y: float) -> float:
        """Return the lower end of the slopes at which the conjugate is finite."""
        return -self.lipschitz()

    def highest_slope(self, y: float) -> float:
        """Return the upper end of the slopes at which the conjugate is finite."""
        return self.lipschitz()

    def initial_slope(self, y: float) -> float:
        """Return the slope that dual ascent starts from: 0, or the allowed one nearest to it."""
        return min(max(0.0, self.lowest_slope(y)), self.highest_slope(y))

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return the slope s = (z - u)/q at u = argmin f(u) + (u - z)^2 / (2 q).

        It is the maximiser of -f*(s) + z s - q s^2/2, the exact step of dual ascent in one
        variable when z = p + q s_old. For q = 0 it is a slope at z. `guess` is where a search
        may start. Here s solves s = slope(z - q s): the right-hand side falls as s grows, so
        that the answer lies between any s and the slope that s leads to.
        """
        lowest, highest = self.lowest_slope(y), self.highest_slope(y)
        if q <= 0.0:
            return min(max(self.slope(y, z), lowest), highest)
        start = min(max(guess, lowest), highest)
        found = min(max(self.slope(y, z - q * start), lowest), highest)
        if abs(found) == math.inf:
            found = math.copysign(_STEEPEST, found)
        low, high = min(start, found), max(start, found)
        below = low - self.slope(y, z - q * low)
        above = high - self.slope(y, z - q * high)
        if not below < 0.0:
            return low
        if not above > 0.0:
            return high
        s, side = low, 0
        # A bracket of doubles is halved at most 2100 times; every third step is such a halving.
        for step in range(6300):
            s = 0.5 * low + 0.5 * high
            if step % 3 != 2 and above - below < math.inf:
                s = low - below * ((high - low) / (above - below))
            if not low < s < high:
                s = 0.5 * low + 0.5 * high
                if not low < s < high:
                    return s
            error = s - self.slope(y, z - q * s)
            # The error grows by at least one for each unit of s: it bounds the distance.
            if abs(error) <= _RESOLUTION * abs(s):
                return s
            if error < 0.0:
                low, below = s, error
                high = min(high, s - error)
                above = 0.5 * above if side < 0 else above
                side = -1
            else:
                high, above = s, error
                low = max(low, s - error)
                below = 0.5 * below if side > 0 else below
                side = 1
        return s


def one(self: Any) -> float:
    """Return 1: a largest slope or second derivative."""
    return 1.0


def minus_conjugate(self: Any, y: float, p: float, value: float, slope: float) -> float:
    """Return -f*(slope): the intercept of a loss whose conjugate has no cancelling terms."""
    return float(-self.conjugate(y, slope))
