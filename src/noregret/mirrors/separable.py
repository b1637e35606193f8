"""Maps with Psi(s) = s, of which each weight depends on its own theta alone."""

from __future__ import annotations

import numpy as np

from noregret.mirrors.base import Mirror, Vector
from noregret.rounding.slack import EPSILON


class Separable(Mirror):
    """What the maps with G(theta) = sum_i phi(theta_i) share; `inverse` is that of phi'."""

    def psi(self, s: float, reference: float) -> float:
        """Return s."""
        return s

    def psi_prime(self, s: float, reference: float) -> float:
        """Return 1."""
        return 1.0

    def separable(self) -> bool:
        """Return True."""
        return True


class WholeLine(Separable):
    """What separable maps share whose weights may be any numbers, 0 at theta = 0."""

    def everywhere(self) -> bool:
        """Return True."""
        return True

    def inverse_link(self, w: Vector) -> Vector:
        """Return the theta_i of each weight."""
        return np.array([self.inverse(float(x)) for x in w])

    def divergence(self, u: Vector, w: Vector) -> float:
        """Return R(u) - R(w) - <grad R(w), u - w>."""
        difference = self.regularizer(u) - self.regularizer(w)
        return max(difference - float(self.inverse_link(w) @ (u - w)), 0.0)

    def quadratic_minimizer(self, c: float, b: Vector, eta: float) -> Vector:
        """Return the root of c w_i + b_i + R'(w_i) / eta by bisection between 0 and -b_i / c."""
        low, high = np.zeros(len(b)), np.abs(b) / c
        while True:
            middle = low + 0.5 * (high - low)
            inside = (low < middle) & (middle < high)
            if not inside.any():
                return np.copysign(low, -b)
            above = c * middle + self.inverse_link(middle) / eta > np.abs(b)
            high = np.where(inside & above, middle, high)
            low = np.where(inside & ~above, middle, low)


def sum_upper(terms: Vector, errors: Vector) -> float:
    """Return the sum of terms >= 0, rounded up; each is known to that many roundings."""
    d = len(terms)
    size = float(np.sum((errors + d + 64.0) * terms))
    # What underflows loses less than one smallest number a term.
    return float(terms.sum()) + 2.0 * EPSILON * size + d * 5e-324
