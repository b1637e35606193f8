"""Mirror maps in quasi-additive form: G(theta) = Psi(sum_i phi(theta_i)), weights = grad G.

The learner's weights are w_i = Psi'(S) phi'(a_i) with a = eta * theta and S = sum_i phi(a_i)
(Lemma 2 of Shalev-Shwartz and Singer, A Primal-Dual Perspective), so a map is four scalar
functions and a round costs only the nonzeros. Passes keep v_i = phi'(a_i) and one number
`kappa`, with w_i = kappa v_i. A `reference` r keeps phi in the range of floating point: the
entropies see exp(a - r), the p-norms |a r|; a map that cannot overflow ignores it.
"""

from __future__ import annotations

import math
from typing import ClassVar

from noregret.component import Component, reassociable

#: What a declaration of strong convexity is about: the map, its norm and its class.
_DECLARED_FOR = (
    "phi", "phi_prime", "psi", "psi_prime", "kappa", "read", "threshold", "norm_term", "norm",
    "geometry",
)  # fmt: skip


class Mirror(Component):
    """A mirror map; base for your own, of which only the four functions are required.

    The base class treats the map as neither linear nor homogeneous (see `homogeneous`),
    measures predictors and rows in the 2-norm and declares no strong convexity, so that a map of
    one's own learns and is certified, without a theorem's bound. A map that declares both
    `smoothness` and `largest_regularizer` gets its theorem.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Cosh(Mirror):
    ...     def phi(self, a, reference):
    ...         return math.cosh(a) - 1.0
    ...     def phi_prime(self, a, reference):
    ...         return math.sinh(a)
    ...     def psi(self, s, reference):
    ...         return s
    ...     def psi_prime(self, s, reference):
    ...         return 1.0
    >>> Cosh().phi_prime(0.0, 0.0)
    0.0
    """

    #: Class of predictors that `Certificate.floor(radius)` speaks about: the ball of the "1" or
    #: "2" norm, the "simplex" of that sum, or the "subsimplex", u >= 0 of at most that sum.
    geometry: ClassVar[str] = "2"

    def phi(self, a: float, reference: float) -> float:
        """Return phi(a)."""
        raise NotImplementedError

    def phi_prime(self, a: float, reference: float) -> float:
        """Return the derivative of phi at a."""
        raise NotImplementedError

    def psi(self, s: float, reference: float) -> float:
        """Return Psi(s), up to a constant that depends on the dimension alone."""
        raise NotImplementedError

    def psi_prime(self, s: float, reference: float) -> float:
        """Return the derivative of Psi at s."""
        raise NotImplementedError

    def kappa(self, s: float, reference: float, eta: float) -> float:
        """Return the common factor of the weights; eta is already inside s."""
        return self.psi_prime(s, reference)

    def linear(self) -> bool:
        """Tell whether phi'(a) = a, so that theta itself is the stored value."""
        return False

    def homogeneous(self) -> bool:
        """Tell whether the link of eta theta is eta times the link of theta.

        Then phi is kept at eta = 1 and the rate multiplies kappa; otherwise the rate sits
        inside phi and every change of it costs a rebuild.
        """
        return False

    def read(self, v: float, threshold: float) -> float:
        """Return what a stored value contributes to a weight at this moment."""
        return v

    def threshold(self, rounds: float) -> float:
        """Return the soft threshold after that many rounds."""
        return 0.0

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return phi(a) when v = phi'(a) is at hand and saves work."""
        return self.phi(a, reference)

    def separable(self) -> bool:
        """Tell whether Psi(s) = s, so that no sum is needed to know a weight."""
        return False

    def multiplicative(self) -> bool:
        """Tell whether weights change by factors; the theorems then ask about single features."""
        return False

    def out_of_range(self, s: float, a: float, size: float, reference: float) -> bool:
        """Tell whether the reference must move, from S, the largest a and |a| just written."""
        return False

    def reference(self, largest: float, largest_size: float) -> float:
        """Return the reference to use, from max a_i and max |a_i|."""
        return 0.0

    @reassociable
    def norm_term(self, total: float, x: float) -> float:
        """Fold one feature into the accumulator of the row's dual norm."""
        return total + x * x

    def norm(self, total: float) -> float:
        """Return the row's dual norm from the accumulator."""
        return math.sqrt(total)

    def smoothness(self) -> float:
        """Declare strong convexity: return c if R is (1/c)-strongly convex in the map's norm.

        R is the regulariser, the conjugate of G. Equivalently G(b) <= G(a) + <w(a), b - a> +
        (c/2) ||b - a||_*^2, so that a round costs at most (eta/2) c ||z||_*^2. The norm is that of
        `geometry`, its dual that of `norm`. NaN: nothing is declared.
        Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 2.21.
        """
        return math.nan

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Declare the maximum of R(u) - min R over the class of that radius.

        radius: the radius of `Certificate.floor(radius)`, >= 0.
        dimension: the number of weights, >= 1.

        Infinity: the class is not inside the set of R. NaN: nothing is declared.
        """
        return math.nan

    def inverse(self, w: float) -> float:
        """Return the theta_i of a weight, for maps with Psi(s) = s."""
        return math.nan


def declares(mirror: Mirror, name: str) -> bool:
    """Tell whether the method of that name was written for this very map.

    A subclass that overrides the map, its norm or its class, and inherits `smoothness` or
    `largest_regularizer`, has not declared its own.

    >>> declares(Mirror(), "smoothness")
    True
    """
    return all(_place(mirror, name) <= _place(mirror, part) for part in _DECLARED_FOR)


def _place(mirror: Mirror, name: str) -> int:
    """Return how far up the class is that defines an attribute, 0 for the map's own class."""
    return next(k for k, kind in enumerate(type(mirror).__mro__) if name in vars(kind))
