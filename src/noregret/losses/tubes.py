"""Losses that are zero in a tube around the target and smooth at its rim."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.losses.regression import EpsilonInsensitive


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

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        """Return -s^2/2 - s y - epsilon |s|."""
        return -self.conjugate(y, slope)

    def conjugate(self, y: float, s: float) -> float:
        """Return f*(s)."""
        return s * (0.5 * s + y) + self.epsilon * abs(s)

    def proximal_slope(self, y: float, z: float, q: float, guess: float) -> float:
        """Return z - y drawn towards 0 by epsilon, divided by 1 + q."""
        return math.copysign(max(self.excess(y, z), 0.0), z - y) / (1.0 + q)

    def lipschitz(self) -> float:
        """Return infinity."""
        return math.inf

    def curvature(self) -> float:
        """Return 1."""
        return 1.0
