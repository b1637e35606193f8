"""Potentials F, their gradients and the divergences D(u, w) = F(u) - F(w) - <u - w, grad F(w)>.

They measure the distance from a comparator u to the weights w in every statement about a
tracker. Inputs are dense vectors; the numbers are plain floating point, not rounded outwards.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noregret import mirrors
from noregret.arrays import Vector
from noregret.component import Component, allowed
from noregret.domains.base import length
from noregret.mirrors import Mirror
from noregret.mirrors.base import declares

#: The map whose divergence is that of the entropies, wherever it starts.
_ENTROPY = mirrors.UnnormalizedEntropy(1.0)


def entropy(u: npt.ArrayLike) -> float:
    """Return H(u) = sum_i u_i ln(1 / u_i) for u >= 0, negative where components exceed 1.

    >>> round(entropy([0.7, 0.1, 0.2]), 12)
    0.801818552543
    """
    vector = np.asarray(u, np.float64)
    some = vector[vector > 0.0]
    return -float(np.sum(some * np.log(some)))


@dataclass(frozen=True)
class Square:
    """F(w) = ||w||_2^2 / 2 on all of space, D(u, w) = ||u - w||_2^2 / 2.

    >>> round(Square().divergence([0.7, 0.1, 0.2], [0.2, 0.3, 0.5]), 12)
    0.19
    """

    def value(self, u: npt.ArrayLike) -> float:
        """Return ||u||^2 / 2."""
        vector = np.asarray(u, np.float64)
        return 0.5 * float(vector @ vector)

    def gradient(self, w: npt.ArrayLike) -> Vector:
        """Return w."""
        return np.array(w, np.float64)

    link = gradient

    def divergence(self, u: npt.ArrayLike, w: npt.ArrayLike) -> float:
        """Return ||u - w||^2 / 2."""
        return self.value(np.asarray(u, np.float64) - np.asarray(w, np.float64))

    def shift_norm(self, w: npt.ArrayLike) -> float:
        """Return ||w||_2."""
        return math.sqrt(2.0 * self.value(w))


@dataclass(frozen=True)
class PNormSquare(Component):
    """F(w) = ||w||_q^2 / 2 with 1/p + 1/q = 1, the potential of the p-norm algorithms.

    Its gradient has ||grad F(w)||_p = ||w||_q, and grad F(c w) = c grad F(w).

    >>> PNormSquare(2.0).divergence([1.0, 0.0], [0.0, 1.0])
    1.0
    """

    p: float = field(
        metadata=allowed("must be a finite number >= 2", lambda p: 2.0 <= p < math.inf)
    )

    def value(self, u: npt.ArrayLike) -> float:
        """Return ||u||_q^2 / 2."""
        norm = length(np.asarray(u, np.float64), self.p / (self.p - 1.0))
        return 0.5 * norm * norm

    def gradient(self, w: npt.ArrayLike) -> Vector:
        """Return sign(w_i) |w_i|^(q-1) / ||w||_q^(q-2)."""
        return mirrors.PNorm(self.p).inverse_link(np.asarray(w, np.float64))

    def link(self, theta: npt.ArrayLike) -> Vector:
        """Return sign(theta_i) |theta_i|^(p-1) / ||theta||_p^(p-2)."""
        return mirrors.PNorm(self.p).link(np.asarray(theta, np.float64))

    def divergence(self, u: npt.ArrayLike, w: npt.ArrayLike) -> float:
        """Return F(u) + F(w) - <u, grad F(w)>, since <w, grad F(w)> = 2 F(w)."""
        line = float(np.asarray(u, np.float64) @ self.gradient(w))
        return max(self.value(u) + self.value(w) - line, 0.0)

    def shift_norm(self, w: npt.ArrayLike) -> float:
        """Return ||grad F(w)||_p = ||w||_q."""
        return math.sqrt(2.0 * self.value(w))


@dataclass(frozen=True)
class Entropic:
    """F(w) = sum_i w_i ln w_i - w_i for w >= 0, D(u, w) = sum_i u_i ln(u_i/w_i) + w_i - u_i.

    >>> round(Entropic().divergence([0.7, 0.1, 0.2], [0.5, 1.5, 0.25]), 11)
    1.17009683526
    """

    def value(self, u: npt.ArrayLike) -> float:
        """Return -H(u) - ||u||_1."""
        return -entropy(u) - float(np.sum(np.asarray(u, np.float64)))

    def gradient(self, w: npt.ArrayLike) -> Vector:
        """Return ln w_i."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.asarray(w, np.float64)))

    def link(self, theta: npt.ArrayLike) -> Vector:
        """Return exp(theta_i)."""
        return np.asarray(np.exp(np.asarray(theta, np.float64)))

    def divergence(self, u: npt.ArrayLike, w: npt.ArrayLike) -> float:
        """Return D(u, w), its digits kept where u is close to w; infinite if w_i = 0 < u_i."""
        return _ENTROPY.divergence(np.asarray(u, np.float64), np.asarray(w, np.float64))

    def shift_norm(self, w: npt.ArrayLike) -> float:
        """Return max_i |ln w_i|."""
        return float(np.max(np.abs(self.gradient(w))))


@dataclass(frozen=True)
class SimplexEntropic(Entropic):
    """The entropy on a simplex, where grad F is known up to a constant and D has no sums left.

    scale: the sum of the weights, above 0 [default: 1].

    >>> round(SimplexEntropic().divergence([1, 0, 0], [0.5, 0.25, 0.25]), 12)
    0.69314718056
    """

    scale: float = 1.0

    def link(self, theta: npt.ArrayLike) -> Vector:
        """Return scale exp(theta_i) / sum_j exp(theta_j)."""
        return mirrors.Entropy(self.scale).link(np.asarray(theta, np.float64))

    def shift_norm(self, w: npt.ArrayLike) -> float:
        """Return (max_i ln w_i - min_i ln w_i) / 2.

        Steps within a simplex sum to 0: a constant may be taken off the logarithms.
        """
        logs = self.gradient(w)
        return 0.5 * (float(logs.max()) - float(logs.min()))


#: A strictly convex F on a convex set. `value` is F(u), `gradient` and `link` are grad F and its
#: inverse, `divergence` is D(u, w) >= 0, zero only for u = w. `shift_norm` is the least c that is
#: known with <u - u', grad F(w)> <= c ||u - u'||, in the norm of a schedule's size.
Potential = Square | PNormSquare | Entropic


def potential_of(mirror: Mirror) -> Potential:
    """Return the potential whose gradient is the inverse of a map's link.

    >>> potential_of(mirrors.Entropy())
    SimplexEntropic(scale=1.0)
    """
    if declares(mirror, "inverse_link"):
        if mirror.local_norms():
            scale = mirror.own_radius()
            return Entropic() if scale is None else SimplexEntropic(scale)
        if mirror.squared_norm():
            return Square() if mirror.euclidean() else PNormSquare(mirror.predictors().dual)
    raise ValueError(
        f"{type(mirror).__name__} has no potential here; use Euclidean, PNorm, "
        "UnnormalizedEntropy or Entropy"
    )
