"""The two-sided entropy as a mirror map: multiplicative weights of either sign."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noregret.component import require_positive
from noregret.mirrors.base import Vector
from noregret.mirrors.entropies import LARGEST_EXPONENT, Exponential, logarithms
from noregret.mirrors.separable import WholeLine, sum_upper


@dataclass(frozen=True)
class Hypentropy(Exponential, WholeLine):
    """The two-sided entropy without a bound on the mass: w_i = 2 beta sinh(a_i).

    F(w) = sum_i w_i asinh(w_i / (2 beta)) - sqrt(w_i^2 + 4 beta^2) + 2 beta and
    G(theta) = 2 beta sum_i (cosh(theta_i) - 1), shifted so that F(0) = G(0) = 0. It is the
    unnormalised entropy of `start` beta on the doubled features (x, -x); weights are linear in
    theta while they are below beta and grow by factors beyond.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, eq. 21.

    >>> round(Hypentropy(0.5).phi_prime(1.0, 0.0), 6)
    1.175201
    """

    beta: float = 1.0

    geometry: ClassVar[str] = "1"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("Hypentropy(beta)", self.beta)

    def phi(self, a: float, reference: float) -> float:
        """Return 2 beta (cosh a - 1) = 4 beta sinh(a/2)^2, exact near 0 too."""
        half = math.sinh(0.5 * min(abs(a), LARGEST_EXPONENT))
        return 4.0 * self.beta * half * half

    def phi_prime(self, a: float, reference: float) -> float:
        """Return 2 beta sinh(a)."""
        return 2.0 * self.beta * math.sinh(min(max(a, -LARGEST_EXPONENT), LARGEST_EXPONENT))

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return phi by cosh - 1 = sinh^2 / (1 + cosh)."""
        scale = 2.0 * self.beta
        return abs(v) * (abs(v) / (scale + math.hypot(v, scale)))

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return F at a corner of the 1-ball, where a convex function is largest."""
        scale = 2.0 * self.beta
        # Without cancellation near 0: sqrt(r^2 + s^2) - s = r^2 / (sqrt(r^2 + s^2) + s).
        excess = radius / (math.hypot(radius, scale) + scale) * radius
        return radius * math.asinh(radius / scale) - excess

    def inverse(self, w: float) -> float:
        """Return asinh(w / (2 beta))."""
        return math.asinh(w / (2.0 * self.beta))

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return sum u_i asinh(u_i / (2 beta)) - sqrt(u_i^2 + 4 beta^2) + 2 beta, over eta."""
        size, scale = np.abs(u), 2.0 * self.beta
        # Without cancellation near 0, as above.
        excess = size / (np.hypot(size, scale) + scale) * size
        return float((size * np.arcsinh(size / scale) - excess).sum()) / eta

    def cancellation(self, u: Vector, strength: float) -> float:
        """Return the size of the logarithms, and of what R subtracts at 0."""
        return logarithms(u, strength, self.beta, self.beta)

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return 2 beta sum (cosh(eta theta_i) - 1) / eta, rounded up."""
        a = eta * (np.abs(theta) + delta)
        with np.errstate(over="ignore"):
            half = np.sinh(0.5 * a)
            return sum_upper(4.0 * self.beta * half * half, 8.0 * (1.0 + a)) / eta
