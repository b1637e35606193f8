"""Maps built on entropies: multiplicative weights on a simplex, an orthant or a 1-ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from noregret.component import reassociable, require_positive
from noregret.elementary import divide, exp, log, sqrt
from noregret.mirrors.base import Mirror

#: exp of anything above this is infinite in double precision; weights are capped there.
LARGEST_EXPONENT = 700.0
#: Something to divide by where an exponential has vanished.
SMALLEST_EXPONENTIAL = 1e-300


class Exponential(Mirror):
    """What the entropies share: rows measured in the max norm."""

    def multiplicative(self) -> bool:
        """Return True."""
        return True

    @reassociable
    def norm_term(self, total: float, x: float) -> float:
        """Fold in |x|."""
        return max(total, abs(x))

    def norm(self, total: float) -> float:
        """Return max |x_i|."""
        return total


@dataclass(frozen=True)
class Entropy(Exponential):
    """Entropy on the simplex of mass `scale`: normalised exponentiated gradient.

    w_i = scale exp(a_i) / sum_j exp(a_j); Psi(s) = scale ln s, phi = exp.
    The dimension must be known in advance, since phi(0) = 1.
    Reference: Shalev-Shwartz, Online Learning, Corollary 2.16.

    >>> Entropy(2.0).kappa(4.0, 0.0, 1.0)
    0.5
    """

    scale: float = 1.0

    geometry: ClassVar[str] = "simplex"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("Entropy(scale)", self.scale)

    def phi(self, a: float, reference: float) -> float:
        """Return exp(a - r)."""
        return exp(a - reference)

    def phi_prime(self, a: float, reference: float) -> float:
        """Return exp(a - r)."""
        return exp(a - reference)

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return v."""
        return v

    def psi(self, s: float, reference: float) -> float:
        """Return scale (ln s + r)."""
        return self.scale * (log(s) + reference)

    def psi_prime(self, s: float, reference: float) -> float:
        """Return scale / s."""
        return divide(self.scale, s)

    def out_of_range(self, s: float, a: float, size: float, reference: float) -> bool:
        """Tell whether an exponent has outgrown the reference by 30."""
        return a > reference + 30.0

    def reference(self, largest: float, largest_size: float) -> float:
        """Return the largest exponent."""
        return largest

    def smoothness(self) -> float:
        """Return scale."""
        return self.scale

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return scale ln d at a vertex, infinity for a simplex of another sum."""
        return self.scale * math.log(dimension) if radius == self.scale else math.inf


@dataclass(frozen=True)
class UnnormalizedEntropy(Exponential):
    """Entropy on the non-negative orthant: w_i = start exp(a_i), start = 1/d by default.

    phi(a) = start (exp(a) - 1), Psi(s) = s, so that G(0) = 0.
    Reference: Shalev-Shwartz, Online Learning, Theorem 2.23. The dimension must be known.

    >>> UnnormalizedEntropy(0.5).phi_prime(0.0, 0.0)
    0.5
    """

    start: float | None = None

    geometry: ClassVar[str] = "subsimplex"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start is not None:
            require_positive("UnnormalizedEntropy(start)", self.start)

    def phi(self, a: float, reference: float) -> float:
        """Return start (exp(a) - 1)."""
        return self.start * math.expm1(min(a, LARGEST_EXPONENT))  # type: ignore[operator]

    def phi_prime(self, a: float, reference: float) -> float:
        """Return start exp(a)."""
        return self.start * exp(min(a, LARGEST_EXPONENT))  # type: ignore[operator]

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return v - start."""
        return v - self.start  # type: ignore[operator]

    def psi(self, s: float, reference: float) -> float:
        """Return s."""
        return s

    def psi_prime(self, s: float, reference: float) -> float:
        """Return 1."""
        return 1.0

    def separable(self) -> bool:
        """Return True."""
        return True

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return the larger of F(0) = d start and F at the vertex radius e_1."""
        start = 1.0 / dimension if self.start is None else self.start
        corner = dimension * start
        if radius > 0.0:
            corner += radius * math.log(radius / (math.e * start))
        return max(dimension * start, corner)

    def inverse(self, w: float) -> float:
        """Return ln(w / start)."""
        return log(w / self.start)  # type: ignore[operator]


@dataclass(frozen=True)
class SignedEntropy(Exponential):
    """Two-sided entropy on the ball ||w||_1 <= radius: EG with signed weights.

    w_i = U sinh(U a_i) / sum_j cosh(U a_j) with U = radius, which is EG on the doubled
    features U (x, -x). phi(a) = 2 cosh(U a), Psi(s) = ln s.
    Reference: Shalev-Shwartz and Singer, Example 2, with the +- trick.

    >>> SignedEntropy(1.0).phi_prime(0.0, 0.0)
    0.0
    """

    radius: float = 1.0

    geometry: ClassVar[str] = "1"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("SignedEntropy(radius)", self.radius)

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
