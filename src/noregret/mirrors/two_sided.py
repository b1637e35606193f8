"""Two-sided entropies: multiplicative weights of either sign, on a 1-norm ball or unbounded."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from noregret.arrays import Vector
from noregret.component import POSITIVE
from noregret.elementary import divide, exp, log, sqrt
from noregret.mirrors.entropies import LARGEST_EXPONENT, Exponential, logarithms, xlogx
from noregret.mirrors.separable import WholeLine, sum_upper
from noregret.rounding import EPSILON

#: Divisor in place of an exponential that underflowed to 0.
SMALLEST_EXPONENTIAL = 1e-300
#: Absolute error of R near the boundary of its set.
RIM_ERROR = 1e-10


@dataclass(frozen=True)
class SignedEntropy(Exponential):
    """Two-sided entropy on the ball ||w||_1 <= radius: EG with signed weights.

    w_i = U sinh(U a_i) / sum_j cosh(U a_j) with U = radius, which is EG on the doubled
    features U (x, -x). phi(a) = 2 cosh(U a), Psi(s) = ln s. radius is above 0 [default: 1].
    Reference: Shalev-Shwartz and Singer, Example 2, with the +- trick.

    >>> SignedEntropy(1.0).phi_prime(0.0, 0.0)
    0.0
    """

    radius: float = field(default=1.0, metadata=POSITIVE)

    geometry: ClassVar[str] = "1"

    def phi(self, a: float, reference: float) -> float:
        """Return 2 cosh(U a) exp(-r)."""
        t = self.radius * a
        return exp(t - reference) + exp(-t - reference)

    def phi_prime(self, a: float, reference: float) -> float:
        """Return 2 U sinh(U a) exp(-r), exact to the last places near a = 0 too."""
        t = self.radius * abs(a)
        # Near 0 the difference would cancel. Both are computed, so that no branch is needed.
        z = t * t
        series = 1.0 + z * (1.0 / 110.0) * (1.0 + z * (1.0 / 156.0))
        series = 1.0 + z * (1.0 / 20.0) * (
            1.0 + z * (1.0 / 42.0) * (1.0 + z * (1.0 / 72.0) * series)
        )
        least = exp(-reference)
        near = 2.0 * least * t * (1.0 + z * (1.0 / 6.0) * series)
        grown = exp(t - reference)
        far = grown - least / max(grown, SMALLEST_EXPONENTIAL) * least
        size = near if t < 0.5 else far
        return math.copysign(self.radius * size, a)

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return phi by cosh^2 = 1 + sinh^2."""
        odd = v * (1.0 / self.radius)
        least = 2.0 * exp(-reference)
        return sqrt(odd * odd + least * least)

    def psi(self, s: float, reference: float) -> float:
        """Return ln s + r."""
        return log(s) + reference

    def psi_prime(self, s: float, reference: float) -> float:
        """Return 1 / s."""
        return divide(1.0, s)

    def out_of_range(self, s: float, a: float, size: float, reference: float) -> bool:
        """Tell whether an exponent has outgrown the reference by 30."""
        return self.radius * size > reference + 30.0

    def reference(self, largest: float, largest_size: float) -> float:
        """Return the largest exponent of either sign."""
        return self.radius * largest_size

    def smoothness(self) -> float:
        """Return radius^2."""
        return self.radius * self.radius

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return ln(2 d) at a vertex, infinity beyond the ball."""
        return math.log(2.0 * dimension) if radius <= self.radius else math.inf

    def own_radius(self) -> float:
        """Return the radius."""
        return self.radius

    def natural_scale(self, dimension: int) -> float:
        """Return sqrt(ln(2 d)) / radius."""
        return math.sqrt(math.log(2.0) + math.log(max(dimension, 2))) / self.radius

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return the two-sided entropy of u / radius, over eta, in the ball."""
        return _complexity(u / self.radius) / eta

    def regularizer_upper(self, u: Vector, strength: float) -> float:
        """Return strength R(u), rounded up."""
        return super().regularizer_upper(u, strength) + RIM_ERROR * strength

    def cancellation(self, u: Vector, strength: float) -> float:
        """Return the size of the logarithms."""
        return logarithms(u, strength, self.radius, 0.0)

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return ln mean_i cosh(radius eta theta_i) / eta, rounded up."""
        d, t = len(theta), self.radius * eta * np.abs(theta)
        top = float(t.max(initial=0.0))
        error = 8.0 * EPSILON * (top + math.log(d) + d)
        return _log_mean_cosh(t, top) / eta + self.radius * delta + error / eta

    def link(self, a: Vector) -> Vector:
        """Return radius sinh(radius a_i) / sum_j cosh(radius a_j)."""
        t = self.radius * np.abs(a)
        top = t.max()
        odd = np.exp(t - top) * -np.expm1(-2.0 * t)
        even = np.exp(t - top) + np.exp(-t - top)
        return np.asarray(self.radius * np.copysign(odd, a) / even.sum())

    def potential(self, a: Vector) -> float:
        """Return ln mean_i cosh(radius a_i)."""
        t = self.radius * np.abs(a)
        return _log_mean_cosh(t, float(t.max()))


def _log_mean_cosh(t: Vector, top: float) -> float:
    """Return ln mean_i cosh(t_i), t >= 0 with maximum `top`, which is taken out of the powers."""
    return math.log(float((0.5 * (np.exp(t - top) + np.exp(-t - top))).mean())) + top


def _complexity(a: Vector) -> float:
    """Return the two-sided entropy of a, ||a||_1 <= 1, by its monotone equation.

    With Z >= n the root of Z = sum sqrt(1 + Z^2 a_i^2), the value is
    sum a_i asinh(Z a_i) - ln(Z / n); on the sphere it is sum |a_i| ln|a_i| + ln(2 n).
    """
    size = np.abs(a)
    total = float(size.sum())
    if total > 1.0 + 1e-12:
        return math.inf
    n = len(a)
    if total >= 1.0 - 1e-12:
        return float(xlogx(size, 1.0).sum()) + math.log(2.0 * n)
    low, high = float(n), n / (1.0 - total)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if float(np.hypot(1.0, middle * size).sum()) > middle:
            low = middle
        else:
            high = middle
    return float(np.sum(a * np.arcsinh(high * a))) - math.log(high / n)


@dataclass(frozen=True)
class Hypentropy(Exponential, WholeLine):
    """The two-sided entropy without a bound on the mass: w_i = 2 beta sinh(a_i).

    F(w) = sum_i w_i asinh(w_i / (2 beta)) - sqrt(w_i^2 + 4 beta^2) + 2 beta and
    G(theta) = 2 beta sum_i (cosh(theta_i) - 1), shifted so that F(0) = G(0) = 0. It is the
    unnormalised entropy of `start` beta on the doubled features (x, -x); weights are linear in
    theta while they are below beta and grow by factors beyond. beta is above 0 [default: 1].
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, eq. 21.

    >>> round(Hypentropy(0.5).phi_prime(1.0, 0.0), 6)
    1.175201
    """

    beta: float = field(default=1.0, metadata=POSITIVE)

    geometry: ClassVar[str] = "1"

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
        """Return the size of the logarithms, and of the constants that cancel at 0."""
        return logarithms(u, strength, self.beta, self.beta)

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return 2 beta sum (cosh(eta theta_i) - 1) / eta, rounded up."""
        a = eta * (np.abs(theta) + delta)
        with np.errstate(over="ignore"):
            half = np.sinh(0.5 * a)
            return sum_upper(4.0 * self.beta * half * half, 8.0 * (1.0 + a)) / eta
