"""What a loss is: convex in one real prediction, with a value and a slope."""

from __future__ import annotations

import math
from typing import ClassVar

from noregret.component import Component


class Loss(Component):
    """A loss f(p) = value(y, p), convex in the prediction p; base for your own.

    Write a frozen dataclass with `value` and `slope` (a subgradient in p) in scalar Python;
    both must be right to about 16 units in the last place, because the certificate leans on
    them. `conjugate` is optional. A user's loss is taken at its word to be convex.

    >>> import math
    >>> from dataclasses import dataclass
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
