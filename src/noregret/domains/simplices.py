"""Simplices, with and without a floor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from noregret.arrays import Vector, as_vector
from noregret.component import POSITIVE, allowed
from noregret.domains.base import Domain
from noregret.domains.vectors import as_positive_unit, first_axis, sums_to


@dataclass(frozen=True)
class Simplex(Domain):
    """The simplex {w : w_i >= 0, sum_i w_i = scale}.

    Euclidean projection: max(w_i - tau, 0), where tau = (sum of the k largest - scale) / k for
    the largest k whose k-th largest component exceeds it. Entropic projection: scale w / sum(w).
    Support: scale max_i theta_i.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Corollary 2.17
    (lazy projections) and Corollary 2.16 (normalised exponentiated gradient).

    >>> Simplex().project([0.75, 0.5, -1])
    array([0.625, 0.375, 0.   ])
    """

    scale: float = field(default=1.0, metadata=POSITIVE)

    def _holds(self, w: Vector, tolerance: float) -> bool:
        """Tell whether w >= 0 and sum(w) = scale, both up to tolerance * scale."""
        return sums_to(w, self.scale, 0.0, tolerance)

    def project(self, w: ArrayLike) -> Vector:
        """Return argmin over the simplex of ||u - w||^2, by sorting in O(n log n)."""
        return _nearest_on_simplex(as_vector("Simplex.project: w", w), self.scale)

    def project_entropic(self, w: ArrayLike) -> Vector:
        """Return scale w / sum(w)."""
        weights = as_positive_unit("Simplex.project_entropic: w", w)
        return self.scale * (weights / float(weights.sum()))

    def largest_coordinate(self, dimension: int) -> float:
        """Return the scale."""
        return self.scale

    def corners(self, dimension: int) -> list[Vector]:
        """Return scale e_1."""
        return [self.scale * first_axis(dimension)]

    def support(self, theta: ArrayLike) -> float:
        """Return scale max_i theta_i."""
        return self.scale * float(np.max(as_vector("Simplex.support: theta", theta)))

    def is_simplex(self) -> bool:
        """Return True."""
        return True

    def extent(self) -> float:
        """Return scale."""
        return self.scale


@dataclass(frozen=True)
class ClippedSimplex(Domain):
    """The simplex with a floor: {w : w_i >= alpha scale / n, sum_i w_i = scale}, 0 < alpha <= 1.

    Entropic projection: max(floor, m w_i) with the one m that makes the sum right; the clipped
    components are the smallest, and no more than necessary. Euclidean projection: the floor plus
    the projection on the simplex of scale (1 - alpha) scale. With alpha = 1 the set is the
    uniform point.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 7, Claims 1-3.

    >>> ClippedSimplex(0.3).project_entropic([0.9, 0.05, 0.05])
    array([0.8, 0.1, 0.1])
    """

    alpha: float = field(metadata=allowed("must be in (0, 1]", lambda alpha: 0.0 < alpha <= 1.0))
    scale: float = field(default=1.0, metadata=POSITIVE)

    family: ClassVar[str] = "clipped_simplex"

    def floor(self, n: int) -> float:
        """Return the least value of a component in n dimensions, alpha scale / n."""
        return self.scale * (self.alpha / n)

    def _holds(self, w: Vector, tolerance: float) -> bool:
        """Tell whether w >= floor and sum(w) = scale, both up to tolerance * scale."""
        return sums_to(w, self.scale, self.floor(w.size), tolerance)

    def project(self, w: ArrayLike) -> Vector:
        """Return argmin over the set of ||u - w||^2."""
        vector = as_vector("ClippedSimplex.project: w", w)
        floor, free = self.floor(vector.size), self.scale * (1.0 - self.alpha)
        if free == 0.0:
            return np.full(vector.size, floor)
        # Moving all components by the floor does not move their projection on a simplex.
        return floor + _nearest_on_simplex(vector, free)

    def project_entropic(self, w: ArrayLike) -> Vector:
        """Return argmin over the set of D(u, w), by repeated medians in O(n)."""
        # Compiled, and the compiler is not loaded before it is needed.
        from noregret.domains.medians import clipped_multiplier

        weights = as_positive_unit("ClippedSimplex.project_entropic: w", w)
        multiplier = float(clipped_multiplier(weights.copy(), self.alpha))
        return np.clip(self.scale * (multiplier * weights), self.floor(weights.size), None)

    def largest_coordinate(self, dimension: int) -> float:
        """Return the share of a vertex."""
        return self.floor(dimension) + self.scale * (1.0 - self.alpha)

    def corners(self, dimension: int) -> list[Vector]:
        """Return one vertex: all others are the same but for the order."""
        free = self.scale * (1.0 - self.alpha)
        return [self.floor(dimension) + free * first_axis(dimension)]

    def support(self, theta: ArrayLike) -> float:
        """Return scale (alpha mean(theta) + (1 - alpha) max_i theta_i)."""
        vector = as_vector("ClippedSimplex.support: theta", theta)
        mean = float(np.sum(vector / vector.size))
        return self.scale * (self.alpha * mean + (1.0 - self.alpha) * float(np.max(vector)))


def _nearest_on_simplex(vector: Vector, scale: float) -> Vector:
    """Return the Euclidean projection on the simplex of a scale."""
    # The projection ignores a common shift, and what is lower than the top by scale becomes 0:
    # nothing can overflow after both are used.
    with np.errstate(over="ignore"):
        low: Vector = np.maximum((vector - vector.max()) / scale, -1.0)
    ordered = np.sort(low)[::-1]
    counts = np.arange(1, low.size + 1)
    k = int(np.flatnonzero(ordered * counts > np.cumsum(ordered) - 1.0)[-1]) + 1
    # Summed anew, pairwise: the running sum loses digits in long vectors.
    tau = (float(ordered[:k].sum()) - 1.0) / k
    return scale * np.clip(low - tau, 0.0, None)
