"""A separable power of the weights as a mirror map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noregret.component import reassociable
from noregret.elementary import power
from noregret.mirrors.base import Vector
from noregret.mirrors.predictors import Predictors
from noregret.mirrors.separable import WholeLine, sum_upper


@dataclass(frozen=True)
class Power(WholeLine):
    """The p-th powers of the weights, F(w) = (1/p) sum_i |w_i|^p, for p > 1.

    With 1/p + 1/q = 1, G(theta) = (1/q) sum_i |theta_i|^q and w_i = sign(a_i) |a_i|^(q-1).
    Unlike the squared norm of `PNorm` it is a sum over the weights, each of which depends on
    its own theta alone; it is strongly convex in no norm, so no theorem's bound is printed.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, eq. 17.

    >>> Power(1.5).phi_prime(-0.5, 0.0)
    -0.25
    """

    p: float = 1.5

    geometry: ClassVar[str] = "p"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1.0 < self.p < math.inf:
            raise ValueError(f"Power(p) must be a finite number above 1, got {self.p}")

    def dual(self) -> float:
        """Return q = p / (p - 1), the exponent on theta."""
        return self.p / (self.p - 1.0)

    def phi(self, a: float, reference: float) -> float:
        """Return |a|^q / q."""
        return power(abs(a), self.dual()) / self.dual()

    def phi_prime(self, a: float, reference: float) -> float:
        """Return sign(a) |a|^(q-1)."""
        return math.copysign(power(abs(a), 1.0 / (self.p - 1.0)), a)

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return |a| |v| / q."""
        return abs(a) * abs(v) / self.dual()

    @reassociable
    def norm_term(self, total: float, x: float) -> float:
        """Add |x|^q."""
        return total + power(abs(x), self.dual())

    def norm(self, total: float) -> float:
        """Return the q-norm."""
        return power(total, 1.0 / self.dual())

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^p / p, at a corner of the ball."""
        return power(radius, self.p) / self.p

    def inverse(self, w: float) -> float:
        """Return sign(w) |w|^(p-1)."""
        return math.copysign(power(abs(w), self.p - 1.0), w)

    def predictors(self) -> Predictors:
        """Return the balls of the p-norm."""
        return Predictors(self.dual()) if self.geometry == "p" else super().predictors()

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return sum |u_i|^p / (p eta)."""
        return float(np.sum(np.abs(u) ** self.p)) / self.p / eta

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return sum |eta theta_i|^q / (q eta), rounded up."""
        a, q = eta * (np.abs(theta) + delta), self.dual()
        with np.errstate(over="ignore"):
            # A relative error of a or q grows by this factor in the power.
            logs = np.log(np.maximum(a, 5e-324))
            return sum_upper(a**q / q, 8.0 * q * (1.0 + np.abs(logs))) / eta
