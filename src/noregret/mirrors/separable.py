"""Maps with Psi(s) = s, of which each weight depends on its own theta alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from noregret.arrays import Vector
from noregret.component import NONNEGATIVE, allowed, reassociable, yes
from noregret.elementary import power
from noregret.mirrors.base import Mirror
from noregret.mirrors.predictors import Predictors
from noregret.rounding import EPSILON


class Separable(Mirror):
    """A map with G(theta) = sum_i phi(theta_i); `inverse` is the inverse of phi'."""

    def psi(self, s: float, reference: float) -> float:
        """Return s."""
        return s

    def psi_prime(self, s: float, reference: float) -> float:
        """Return 1."""
        return 1.0

    separable = yes


class WholeLine(Separable):
    """A separable map whose weights may be any real numbers, 0 at theta = 0."""

    everywhere = yes

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
    """Return the sum of terms >= 0, rounded up; `errors` counts the roundings of each."""
    d = len(terms)
    size = float(np.sum((errors + d + 64.0) * terms))
    # An underflow loses less than the smallest double a term.
    return float(terms.sum()) + 2.0 * EPSILON * size + d * 5e-324


@dataclass(frozen=True)
class ElasticNet(WholeLine):
    """Half the squared 2-norm plus l1 times the 1-norm: sparse weights at any moment.

    F(w) = ||w||^2/2 + l1 ||w||_1 and G(theta) = sum_i [|theta_i| - l1]+^2 / 2, so that
    w_i = sign(a_i) [|a_i| - l1]+. With strength b it stands for the penalty
    (b/2) ||w||^2 + b l1 ||w||_1: for the 1-norm of weight t alone let b be small and l1 = t / b.
    Unlike `SoftThreshold` its threshold does not grow with the rounds. l1 is >= 0 [default: 0].
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, the smooth
    replacement of 1-norm regularisation.

    >>> ElasticNet(1.0).phi_prime(-3.0, 0.0)
    -2.0
    """

    l1: float = field(default=0.0, metadata=NONNEGATIVE)

    def phi(self, a: float, reference: float) -> float:
        """Return [|a| - l1]+^2 / 2."""
        size = max(abs(a) - self.l1, 0.0)
        return 0.5 * size * size

    def phi_prime(self, a: float, reference: float) -> float:
        """Return a drawn towards zero by l1."""
        return math.copysign(max(abs(a) - self.l1, 0.0), a)

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return v^2 / 2."""
        return 0.5 * v * v

    def smoothness(self) -> float:
        """Return 1."""
        return 1.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2 + l1 radius sqrt(d)."""
        return radius * (0.5 * radius + self.l1 * math.sqrt(dimension))

    def inverse(self, w: float) -> float:
        """Return w moved away from zero by l1, and 0 for a weight of 0."""
        return w + math.copysign(self.l1, w) if w != 0.0 else 0.0

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return (||u||^2 / 2 + l1 ||u||_1) / eta."""
        return (0.5 * float(u @ u) + self.l1 * float(np.abs(u).sum())) / eta

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return sum [eta |theta_i| - l1]+^2 / (2 eta), rounded up."""
        growth = 1.0 + (len(theta) + 64.0) * EPSILON
        # Divide before multiplying: squares of small numbers underflow.
        excess = np.maximum(eta * (np.abs(theta) + delta) * growth - self.l1, 0.0)
        return 0.5 * float(np.sum(excess / eta * excess)) * growth

    def quadratic_minimizer(self, c: float, b: Vector, eta: float) -> Vector:
        """Return -soft(b, l1 / eta) / (c + 1 / eta)."""
        drawn = np.maximum(np.abs(b) - self.l1 / eta, 0.0)
        return -np.copysign(drawn, b) / (c + 1.0 / eta)


@dataclass(frozen=True)
class Power(WholeLine):
    """The p-th powers of the weights, F(w) = (1/p) sum_i |w_i|^p, for p > 1 [default: 1.5].

    With 1/p + 1/q = 1, G(theta) = (1/q) sum_i |theta_i|^q and w_i = sign(a_i) |a_i|^(q-1).
    Unlike the squared norm of `PNorm` it is a sum over the weights, each of which depends on
    its own theta alone; it is strongly convex in no norm, so no theorem's bound is printed.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, eq. 17.

    >>> Power(1.5).phi_prime(-0.5, 0.0)
    -0.25
    """

    p: float = field(
        default=1.5,
        metadata=allowed("must be a finite number above 1", lambda p: 1.0 < p < math.inf),
    )

    geometry: ClassVar[str] = "p"

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
