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


class Mirror(Component):
    """A mirror map; base for your own, of which only the four functions are required.

    The base class treats the map as neither linear nor homogeneous (see `homogeneous`),
    measures rows in the 2-norm and knows no strong convexity, so that a map of one's own
    learns and is certified, without a theorem's bound.

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

    #: Name of the class of predictors that `Certificate.floor(radius)` speaks about.
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
        """Return c where a round costs at most (eta/2) c ||z||_*^2; NaN if none is known."""
        return math.nan

    def inverse(self, w: float) -> float:
        """Return the theta_i of a weight, for maps with Psi(s) = s."""
        return math.nan
