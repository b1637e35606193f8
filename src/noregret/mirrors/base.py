"""Mirror maps in quasi-additive form: G(theta) = Psi(sum_i phi(theta_i)), weights = grad G.

The learner's weights are w_i = Psi'(S) phi'(a_i) with a = eta * theta and S = sum_i phi(a_i)
(Lemma 2 of Shalev-Shwartz and Singer, A Primal-Dual Perspective), so a map is four scalar
functions and a round costs only the nonzeros. Passes keep v_i = phi'(a_i) and one number
`kappa`, with w_i = kappa v_i. A `reference` r keeps phi in the range of floating point: the
entropies see exp(a - r), the p-norms |a r|; a map that cannot overflow ignores it.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NoReturn, Protocol, Self

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.component import Component, reassociable
from noregret.mirrors.predictors import GEOMETRIES, Predictors
from noregret.rounding import EPSILON

#: The methods that a declaration of strong convexity is about: the map, its norm and its class.
_DECLARED_FOR = (
    "phi", "phi_prime", "psi", "psi_prime", "kappa", "read", "threshold", "norm_term", "norm",
    "geometry",
)  # fmt: skip
#: Proved for one map alone: a subclass of that map has not declared them unless it restates them.
_PROVED_FOR_ONE = (
    "own_radius", "natural_scale", "natural_size", "euclidean", "half_square", "squared_norm",
    "everywhere", "local_norms", "normalised", "regularizer", "conjugate_upper", "link",
    "inverse_link", "potential", "stability", "divergence", "project", "quadratic_minimizer",
)  # fmt: skip


class Undeclared(NotImplementedError, ValueError):
    """The map does not declare the property that was asked for."""


class ConvexSet(Protocol):
    """A domain, as far as a map needs one."""

    def project(self, w: npt.ArrayLike) -> Vector:
        """Return the nearest point in the 2-norm."""

    def project_entropic(self, w: npt.ArrayLike) -> Vector:
        """Return the nearest point in the unnormalised relative entropy."""


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
        """Return the contribution of a stored value to a weight at this moment."""
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

    def complexity(self, radius: float, eta: float, dimension: int) -> float:
        """Return the maximum of R(u) / eta over the class of that radius, NaN if not declared."""
        largest = self.largest_regularizer(radius, max(dimension, 1))
        if math.isnan(largest):
            return math.nan
        return largest / eta if eta > 0.0 else math.inf

    def inverse(self, w: float) -> float:
        """Return the theta_i of a weight, for maps with Psi(s) = s."""
        return math.nan

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Reset inherited declarations that need not hold for the subclass."""
        super().__init_subclass__(**kwargs)
        for name in _PROVED_FOR_ONE:
            definer: Any = cls.__mro__[_place(cls, name)]
            if definer is not cls and definer.phi is not Mirror.phi:
                setattr(cls, name, getattr(Mirror, name))
        for name in ("smoothness", "largest_regularizer"):
            if any(_place(cls, part) < _place(cls, name) for part in _DECLARED_FOR):
                setattr(cls, name, getattr(Mirror, name))

    # Methods on whole vectors: dense numpy for certificates and games, never compiled.

    def resolved(self, dimension: int) -> Self:
        """Return the map with the fields filled in that depend on the number of weights."""
        return self

    def standing(self) -> Mirror:
        """Return the map of one batch, for which the rounds count as one."""
        return self

    def lazy_only(self) -> bool:
        """Tell whether the map has no steps from weight to weight."""
        return False

    def keeps_average(self) -> bool:
        """Tell whether weights move only where they are read, so that sums of them are kept."""
        return True

    def grows(self) -> bool:
        """Tell whether a weight that was never moved is 0 and adds nothing to S."""
        mirror = self.resolved(1)
        reference = mirror.reference(0.0, 0.0)
        return mirror.phi(0.0, reference) == 0.0 == mirror.phi_prime(0.0, reference)

    def out_of_reach(self, w: float) -> str:
        """Return why no weight can be w, in words, or ''."""
        return ""

    def plain_rows(self) -> bool:
        """Tell whether stored values are read as they are and rows measured in the 2-norm."""
        kind = type(self)
        return kind.read is Mirror.read and kind.norm_term is Mirror.norm_term

    def predictors(self) -> Predictors:
        """Return the class of predictors that `geometry` names."""
        if self.geometry not in GEOMETRIES:
            raise ValueError(
                f"{type(self).__name__}.geometry must be one of {', '.join(GEOMETRIES)}, got "
                f"{self.geometry!r}"
            )
        return GEOMETRIES[self.geometry]

    def in_two_norm(self) -> bool:
        """Tell whether predictors are measured in the 2-norm."""
        return self.geometry == "2"

    def own_radius(self) -> float | None:
        """Return the radius of the set that the map itself keeps the weights in, None if none."""
        return None

    def euclidean(self) -> bool:
        """Tell whether w = eta theta exactly and R(u) = ||u||^2 / 2, everywhere."""
        return False

    def half_square(self) -> bool:
        """Tell whether R is half the squared 2-norm on the map's set, with R(0) = 0."""
        return False

    def squared_norm(self) -> bool:
        """Tell whether weights are multiples of those of G = ||theta||^2 / 2, in some norm."""
        return False

    def everywhere(self) -> bool:
        """Tell whether R is known to be finite at every point."""
        return False

    def local_norms(self) -> str:
        """Return the number of the theorem about local norms in Shalev-Shwartz 2012, '' if none."""
        return ""

    def normalised(self) -> bool:
        """Tell whether a constant added to all of theta changes no weight."""
        return False

    def natural_scale(self, dimension: int) -> float:
        """Return the scale that balances both halves of the bound of `rates.Adaptive`.

        dimension: the number of weights, >= 0.
        """
        smoothness = self.smoothness()
        return 1.0 / math.sqrt(smoothness) if smoothness > 0.0 else 1.0

    def natural_size(self, dimension: int) -> float:
        """Return the maximum of R over the map's own set, 1 if it has none."""
        radius = self.own_radius()
        return 1.0 if radius is None else self.largest_regularizer(radius, dimension)

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return R(u) / eta with min R = 0, infinity outside the map's set.

        rounds: completed rounds, for a regulariser that grows with them.
        """
        self._undeclared("declares no regulariser of single points")

    def regularizer_upper(self, u: Vector, strength: float) -> float:
        """Return strength R(u) of a single batch, rounded up."""
        value = self.regularizer(u, 1.0 / strength, strength)
        magnitude = abs(value) + self.cancellation(u, strength)
        return value + (len(u) + 64.0) * EPSILON * magnitude

    def cancellation(self, u: Vector, strength: float) -> float:
        """Return the size of the terms of strength R(u) that cancel one another."""
        return 0.0

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return the conjugate of R / eta at theta, rounded up.

        delta: how far theta may be from the true vector, in the 1-norm.
        rounds: completed rounds, for a regulariser that grows with them.
        """
        self._undeclared("has no conjugate rounded upwards; floor(radius) is available")

    def link(self, a: Vector) -> Vector:
        """Return the weights grad G(a), a = eta theta, from the four scalar functions."""
        s, reference = self._sum_of_phi(a)
        values = [self.phi_prime(float(x), reference) for x in a]
        return self.kappa(s, reference, 1.0) * np.array(values)

    def potential(self, a: Vector) -> float:
        """Return G(a) - G(0), from the four scalar functions."""
        zero = self._sum_of_phi(np.zeros_like(a))
        return self.psi(*self._sum_of_phi(a)) - self.psi(*zero)

    def _sum_of_phi(self, a: Vector) -> tuple[float, float]:
        """Return S and its reference."""
        reference = self.reference(float(a.max()), float(np.abs(a).max()))
        return math.fsum(self.phi(float(x), reference) for x in a), reference

    def inverse_link(self, w: Vector) -> Vector:
        """Return an a with link(a) = w, which is a gradient of R at w."""
        raise Undeclared(f"the link of {type(self).__name__} has no inverse here")

    def stability(self, a: Vector, w: Vector, step: Vector) -> float:
        """Return G(a - step) - G(a) + <w, step> for w = link(a).

        It is the Bregman divergence of G, and that of R between w and the point stepped to.
        """
        return max(self.potential(a - step) - self.potential(a) + float(w @ step), 0.0)

    def divergence(self, u: Vector, w: Vector) -> float:
        """Return D(u, w) = R(u) - R(w) - <grad R(w), u - w>."""
        self._undeclared("has no divergence here")

    def project(self, domain: ConvexSet, w: Vector) -> Vector:
        """Return the point u of the domain with the least D(u, w)."""
        self._undeclared(f"has no projection on {domain}")

    def quadratic_minimizer(self, c: float, b: Vector, eta: float) -> Vector:
        """Return argmin of (c/2) ||w||^2 + <b, w> + R(w) / eta, c > 0."""
        self._undeclared("has no closed form for quadratic losses")

    def _undeclared(self, lacking: str) -> NoReturn:
        raise Undeclared(f"{type(self).__name__} {lacking}")


def declares(mirror: Mirror, name: str) -> bool:
    """Tell whether the method of that name was written for this very map.

    A subclass that overrides the map, its norm or its class, and inherits `smoothness` or
    `largest_regularizer`, has not declared its own.

    >>> declares(Mirror(), "smoothness")
    False
    """
    return getattr(type(mirror), name) is not getattr(Mirror, name)


def _place(cls: type, name: str) -> int:
    """Return how far up the class is that defines an attribute, 0 for the class itself."""
    return next(k for k, kind in enumerate(cls.__mro__) if name in vars(kind))
