"""The squared p-norm as a mirror map."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from noregret.arrays import Vector
from noregret.component import allowed, reassociable, yes
from noregret.elementary import divide, power
from noregret.mirrors.base import Mirror
from noregret.mirrors.predictors import Predictors
from noregret.mirrors.separable import WholeLine
from noregret.norms import norm_upper
from noregret.rounding import EPSILON


@dataclass(frozen=True)
class PNorm(Mirror):
    """Half the squared p-norm of theta, p >= 2 [default: 4]; weights live in the conjugate norm q.

    G(theta) = ||theta||_p^2 / 2 = Psi(sum |theta_i|^p) with Psi(s) = s^(2/p) / 2.
    Reference: Shalev-Shwartz and Singer, Example 3; Shalev-Shwartz, Corollary 2.18.

    >>> round(PNorm(4.0).psi(16.0, 1.0), 12)
    2.0
    """

    p: float = field(
        default=4.0,
        metadata=allowed("must be a finite number >= 2", lambda p: 2.0 <= p < math.inf),
    )

    geometry: ClassVar[str] = "q"

    def power(self, b: float) -> float:
        """Return |b|^(p-1); p = 3 and p = 4 without a call to pow."""
        size = abs(b)
        if self.p == 4.0:
            return size * size * size
        if self.p == 3.0:
            return size * size
        return power(size, self.p - 1.0)

    def phi(self, a: float, reference: float) -> float:
        """Return |a r|^p."""
        return abs(a * reference) * self.power(a * reference)

    def phi_prime(self, a: float, reference: float) -> float:
        """Return p sign(a) |a r|^(p-1)."""
        return math.copysign(self.p * self.power(a * reference), a)

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return |a r| |v| / p, with a division that the compiler takes out of the loop."""
        return abs(a * reference) * abs(v) * (1.0 / self.p)

    def psi(self, s: float, reference: float) -> float:
        """Return s^(2/p) / (2 r^2)."""
        return divide(0.5 * power(s, 2.0 / self.p), reference * reference)

    def psi_prime(self, s: float, reference: float) -> float:
        """Return s^(2/p - 1) / (p r), and 0 at s = 0 where every run starts."""
        if s <= 0.0:
            return 0.0
        if self.p == 4.0:
            return divide(0.25, reference * math.sqrt(s))
        return divide(power(s, 2.0 / self.p - 1.0), self.p * reference)

    def kappa(self, s: float, reference: float, eta: float) -> float:
        """Return eta Psi'(s)."""
        return eta * self.psi_prime(s, reference)

    homogeneous = yes

    def out_of_range(self, s: float, a: float, size: float, reference: float) -> bool:
        """Tell whether the power sum nears overflow or underflow."""
        return not 1e-200 < s < 1e200

    def reference(self, largest: float, largest_size: float) -> float:
        """Return a power of two that brings the largest |theta_i| between 1/2 and 1."""
        if not largest_size > 0.0:
            return 1.0
        _, exponent = math.frexp(largest_size)
        return math.ldexp(1.0, min(-exponent, 1000))

    @reassociable
    def norm_term(self, total: float, x: float) -> float:
        """Add |x|^p."""
        return total + abs(x) * self.power(x)

    def norm(self, total: float) -> float:
        """Return the p-norm."""
        return power(total, 1.0 / self.p)

    def smoothness(self) -> float:
        """Return p - 1."""
        return self.p - 1.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2."""
        return 0.5 * radius * radius

    def predictors(self) -> Predictors:
        """Return the balls of the q-norm."""
        return Predictors(self.p) if self.geometry == "q" else super().predictors()

    squared_norm = everywhere = yes

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return ||u||_q^2 / (2 eta)."""
        length = norm_upper(u, self.p / (self.p - 1.0))
        return length * length / (2.0 * eta)

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return eta ||theta||_p^2 / 2, rounded up."""
        length = norm_upper(theta, self.p) + delta
        return 0.5 * eta * length * length * (1.0 + (len(theta) + 64.0) * EPSILON)

    def link(self, a: Vector) -> Vector:
        """Return sign(a_i) |a_i|^(p-1) / ||a||_p^(p-2), 0 at 0."""
        return _power_link(a, self.p)

    def inverse_link(self, w: Vector) -> Vector:
        """Return sign(w_i) |w_i|^(q-1) / ||w||_q^(q-2), 0 at 0."""
        return _power_link(w, self.p / (self.p - 1.0))

    def potential(self, a: Vector) -> float:
        """Return ||a||_p^2 / 2."""
        return 0.5 * float(self.link(a) @ a)

    divergence = WholeLine.divergence


def _power_link(a: Vector, p: float) -> Vector:
    """Return sign(a_i) |a_i|^(p-1) / ||a||_p^(p-2), scaled against overflow; 0 at 0."""
    largest = float(np.abs(a).max())
    if largest == 0.0:
        return np.zeros_like(a)
    ratio = np.abs(a) / largest
    length = float(np.sum(ratio**p)) ** ((p - 2.0) / p)
    return np.asarray(np.copysign(largest * ratio ** (p - 1.0) / length, a))
