"""Classes of predictors that floors speak about: balls of a norm, simplices, sub-simplices."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.arrays import Vector
from noregret.norms import norm_upper
from noregret.rounding import EPSILON, down


@dataclass(frozen=True)
class Predictors:
    """The balls ||u||_q <= radius of one norm; `dual` is the p of its dual norm, 1/p + 1/q = 1.

    >>> Predictors.of_norm(1).dual, Predictors(3.0).describe(5.0)
    (inf, 'every u with ||u||_1.5 <= 5')
    """

    dual: float

    @classmethod
    def of_norm(cls, q: float) -> Predictors:
        """Return the balls of the q-norm, q >= 1."""
        if not q >= 1.0:
            raise ValueError(f"norm must be 1, 2, inf or a number >= 1, got {q}")
        if q == 1.0:
            return cls(math.inf)
        return cls(1.0 if q == math.inf else q / (q - 1.0))

    @property
    def exponent(self) -> float:
        """The q of the predictors' norm."""
        if self.dual == math.inf:
            return 1.0
        return math.inf if self.dual == 1.0 else self.dual / (self.dual - 1.0)

    def norm(self, u: Vector) -> float:
        """Return ||u||_q, rounded up."""
        return norm_upper(u, self.exponent)

    def dual_norm(self, z: Vector) -> float:
        """Return ||z||_p, rounded up."""
        return norm_upper(z, self.dual)

    def support_upper(self, z: Vector, radius: float, delta: float = 0.0) -> float:
        """Return the maximum of <u, -z> over the class of that radius, rounded up.

        delta: how far z may be from the true vector, in the 1-norm.
        """
        value = radius * self._best(z)
        return value + radius * delta + 4.0 * EPSILON * abs(value)

    def _best(self, z: Vector) -> float:
        """Return the maximum of <u, -z> over the class of radius 1."""
        return self.dual_norm(z)

    def holds(self, u: Vector, radius: float) -> bool:
        """Tell whether u is surely in the class of that radius."""
        return self.norm(u) <= radius

    def negative(self, u: Vector) -> bool:
        """Tell whether the sign of a coordinate keeps u out of the class of every radius."""
        return False

    def fitted(self, u: Vector, radius: float) -> Vector | None:
        """Return u brought into the class of that radius, None if the class is empty."""
        norm = self.norm(u)
        return u if norm <= radius * _INSIDE else u * (radius / norm * _INSIDE)

    def describe(self, radius: float) -> str:
        """Return the class of that radius in words."""
        # Printed digits must not make the class larger than the one that is certified.
        return f"every u with ||u||_{down(self.exponent, 4)} <= {down(radius)}"


#: Factor that keeps a rescaled point inside its class in spite of rounding.
_INSIDE = 1.0 - 1e-12


@dataclass(frozen=True)
class SubSimplex(Predictors):
    """The vectors u >= 0 of sum at most `radius`.

    >>> SubSimplex().support_upper(np.array([1.0, 2.0]), 3.0)
    0.0
    """

    dual: float = math.inf

    def _best(self, z: Vector) -> float:
        """Return the largest -z_i, at least 0."""
        return float(np.max(-z, initial=0.0))

    def negative(self, u: Vector) -> bool:
        """Tell whether a coordinate is below 0."""
        return bool(np.any(u < 0.0))

    def fitted(self, u: Vector, radius: float) -> Vector | None:
        """Return the positive part of u, shrunk to the sum if it is larger."""
        u = np.maximum(u, 0.0)
        total = float(u.sum())
        return u if total <= radius * _INSIDE else u * (radius / total * _INSIDE)

    def describe(self, radius: float) -> str:
        """Return the class of that sum in words."""
        return f"every u >= 0 with sum <= {down(radius)}"


@dataclass(frozen=True)
class Simplex(SubSimplex):
    """The vectors u >= 0 of sum `radius`.

    >>> Simplex().describe(2.0)
    'every u >= 0 with sum 2'
    """

    def _best(self, z: Vector) -> float:
        """Return the largest -z_i."""
        return float(np.max(-z, initial=-math.inf))

    def holds(self, u: Vector, radius: float) -> bool:
        """Return False: a sum of rounded numbers is not known exactly."""
        return False

    def fitted(self, u: Vector, radius: float) -> Vector | None:
        """Return the corner at the largest u_i: its sum is exact, that of other points is not."""
        if not len(u):
            return None
        corner = np.zeros_like(u)
        corner[int(np.argmax(np.maximum(u, 0.0)))] = radius
        return corner

    def describe(self, radius: float) -> str:
        """Return the class of that sum in words."""
        return f"every u >= 0 with sum {radius!r}".removesuffix(".0")


#: The classes that a map can name as its `geometry`.
GEOMETRIES: dict[str, Predictors] = {
    "1": Predictors(math.inf),
    "simplex": Simplex(),
    "subsimplex": SubSimplex(),
    "2": Predictors(2.0),
}
