"""The elastic net as a mirror map: the 1-norm through its smooth dual."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.mirrors.base import Vector
from noregret.mirrors.separable import WholeLine
from noregret.rounding.slack import EPSILON


@dataclass(frozen=True)
class ElasticNet(WholeLine):
    """Half the squared 2-norm plus l1 times the 1-norm: sparse weights at any moment.

    F(w) = ||w||^2/2 + l1 ||w||_1 and G(theta) = sum_i [|theta_i| - l1]+^2 / 2, so that
    w_i = sign(a_i) [|a_i| - l1]+. With strength b it stands for the penalty
    (b/2) ||w||^2 + b l1 ||w||_1: for the 1-norm of weight t alone let b be small and l1 = t / b.
    Unlike `SoftThreshold` its threshold does not grow with the rounds.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, the smooth
    replacement of 1-norm regularisation.

    >>> ElasticNet(1.0).phi_prime(-3.0, 0.0)
    -2.0
    """

    l1: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.l1 < math.inf:
            raise ValueError(f"ElasticNet(l1) must be a finite number >= 0, got {self.l1}")

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
        # Divided before it is multiplied, as for the ball.
        reach = np.maximum(eta * (np.abs(theta) + delta) * growth - self.l1, 0.0)
        return 0.5 * float(np.sum(reach / eta * reach)) * growth

    def quadratic_minimizer(self, c: float, b: Vector, eta: float) -> Vector:
        """Return -soft(b, l1 / eta) / (c + 1 / eta)."""
        drawn = np.maximum(np.abs(b) - self.l1 / eta, 0.0)
        return -np.copysign(drawn, b) / (c + 1.0 / eta)
