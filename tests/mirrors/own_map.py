"""A user's map that declares nothing beside its four functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret import mirrors


@dataclass(frozen=True)
class Cosh(mirrors.Mirror):
    """G(a) = sum_i cosh(a_i) - 1, so w_i = sinh(a_i): smooth nowhere near infinity."""

    def phi(self, a: float, reference: float) -> float:
        return math.cosh(a) - 1.0

    def phi_prime(self, a: float, reference: float) -> float:
        return math.sinh(a)

    def psi(self, s: float, reference: float) -> float:
        return s

    def psi_prime(self, s: float, reference: float) -> float:
        return 1.0
