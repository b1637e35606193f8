"""The sets: balls around 0, products of equal intervals, simplices with and without a floor."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from noregret.arrays import ArrayLike, Vector, as_vector
from noregret.component import POSITIVE, allowed, yes
from noregret.domains.base import (
    Domain,
    as_positive_unit,
    as_weights,
    dot,
    first_axis,
    largest_size,
    length,
    sums_to,
)


class NormBall(Domain):
    """A ball {w : ||w||_q <= radius}; `dual` is the p of the dual norm."""

    radius: float

    def dual(self) -> float:
        """Return p with 1/p + 1/q = 1."""
        return 2.0

    def _holds(self, w: Vector, tolerance: float) -> bool:
        """Tell whether ||w||_q <= radius (1 + tolerance)."""
        return length(w, self.dual() / (self.dual() - 1.0)) <= self.radius * (1.0 + tolerance)

    def _scaled(self, vector: Vector) -> Vector:
        """Return c w with c = min(1, radius / ||w||_q)."""
        largest = largest_size(vector)
        if largest == 0.0:
            return vector
        unit = vector / largest
        norm = length(unit, self.dual() / (self.dual() - 1.0))
        return vector if largest * norm <= self.radius else unit * (self.radius / norm)

    def largest_coordinate(self, dimension: int) -> float:
        """Return the radius: no coordinate exceeds the norm."""
        return self.radius

    def support(self, theta: ArrayLike) -> float:
        """Return radius ||theta||_p."""
        vector = as_vector(f"{type(self).__name__}.support: theta", theta)
        return self.radius * length(vector, self.dual())

    is_ball = yes

    def extent(self) -> float:
        """Return radius."""
        return self.radius


@dataclass(frozen=True)
class Ball(NormBall):
    """The Euclidean ball {w : ||w|| <= radius}.

    Projection: w if ||w|| <= radius, else radius w / ||w||; under the entropy there is none in
    closed form. Support: radius ||theta||.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 5.

    >>> Ball(2).project([3, 4])
    array([1.2, 1.6])
    """

    radius: float = field(metadata=POSITIVE)

    def project(self, w: ArrayLike) -> Vector:
        """Return argmin over ||u|| <= radius of ||u - w||^2."""
        return self._scaled(as_vector("Ball.project: w", w))

    def corners(self, dimension: int) -> list[Vector]:
        """Return radius e_1."""
        return [self.radius * first_axis(dimension)]


@dataclass(frozen=True)
class PNormBall(NormBall):
    """The ball {w : ||w||_q <= radius} of the map PNorm(p), 1/p + 1/q = 1.

    The projection in the geometry of F(w) = ||w||_q^2 / 2, argmin over the ball of
    D(u, w) = F(u) + F(w) - <u, grad F(w)>, scales: c w with c = min(1, radius / ||w||_q). For
    grad F(c w) = c grad F(w), and for u in the ball <grad F(c w) - grad F(w), u - c w> =
    (1 - c) (c ||w||_q^2 - <grad F(w), u>) >= (1 - c) (c ||w||_q - radius) ||w||_q = 0.
    The Euclidean projection has no closed form. Support: radius ||theta||_p.

    >>> PNormBall(2.0, radius=2.0).project_norm([3, 4])
    array([1.2, 1.6])
    """

    p: float = field(
        metadata=allowed("must be a finite number >= 2", lambda p: 2.0 <= p < math.inf)
    )
    radius: float = field(metadata=POSITIVE)

    def dual(self) -> float:
        """Return p."""
        return self.p

    def project(self, w: ArrayLike) -> Vector:
        """Refuse: the Euclidean projection on such a ball has no closed form."""
        raise ValueError("PNormBall has no Euclidean projection: use it with the map PNorm(p)")

    def project_norm(self, w: ArrayLike) -> Vector:
        """Return argmin over the ball of D(u, w) for the potential ||u||_q^2 / 2."""
        return self._scaled(as_vector("PNormBall.project_norm: w", w))


@dataclass(frozen=True)
class Box(Domain):
    """The box {w : low <= w_i <= high}; one bound or both may be infinite.

    Both projections clamp each coordinate to [low, high]; the entropic one needs low > 0.
    With low = alpha/n and high = n/alpha it is the set of the tracking algorithm C-EGU.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 6.

    >>> Box(0.1, 10).project_entropic([0.05, 0.1, 3, 20])
    array([ 0.1,  0.1,  3. , 10. ])
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise ValueError(f"Box: low must be below high, got low={self.low}, high={self.high}")

    def _holds(self, w: Vector, tolerance: float) -> bool:
        """Tell whether every w_i is in [low, high], up to tolerance times the finite bounds."""
        slack = tolerance * max(abs(b) for b in (self.low, self.high, 0.0) if math.isfinite(b))
        return bool(np.all((w >= self.low - slack) & (w <= self.high + slack)))

    def project(self, w: ArrayLike) -> Vector:
        """Return min(max(w_i, low), high) in every coordinate."""
        return np.clip(as_vector("Box.project: w", w), self.low, self.high)

    def project_entropic(self, w: ArrayLike) -> Vector:
        """Return min(max(w_i, low), high) in every coordinate, for 0 < low."""
        if not self.low > 0.0:
            raise ValueError(f"Box.project_entropic: low must be above 0, got {self.low}")
        return np.clip(as_weights("Box.project_entropic: w", w), self.low, self.high)

    def largest_coordinate(self, dimension: int) -> float:
        """Return the larger end."""
        return max(abs(self.low), abs(self.high))

    def corners(self, dimension: int) -> list[Vector]:
        """Return the two corners with equal coordinates, none if one is at infinity."""
        finite = math.isfinite(self.low + self.high)
        return [np.full(dimension, end) for end in (self.low, self.high) if finite]

    def support(self, theta: ArrayLike) -> float:
        """Return sum_i max(low theta_i, high theta_i)."""
        vector = as_vector("Box.support: theta", theta)
        vector = vector[vector != 0.0]  # 0 times an infinite bound is 0 here
        corner = np.where(vector > 0.0, self.high, self.low)
        return dot(vector, corner) if np.isfinite(corner).all() else math.inf

    def clamp(self, value: float) -> float:
        """Return min(max(value, low), high)."""
        return min(max(value, self.low), self.high)

    separable = yes


@dataclass(frozen=True)
class Orthant(Domain):
    """The non-negative orthant {w : w_i >= 0}.

    Euclidean projection: max(w_i, 0). Entropic projection: w itself. Support: 0 if no theta_i is
    positive, else infinity.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Corollary 2.17.

    >>> Orthant().project([1.5, -2])
    array([1.5, 0. ])
    """

    def _holds(self, w: Vector, tolerance: float) -> bool:
        """Tell whether every w_i >= -tolerance; absolute, as the orthant has no size."""
        return bool(np.all(w >= -tolerance))

    def project(self, w: ArrayLike) -> Vector:
        """Return max(w_i, 0) in every coordinate."""
        vector = as_vector("Orthant.project: w", w)
        return np.where(vector > 0.0, vector, 0.0)

    def project_entropic(self, w: ArrayLike) -> Vector:
        """Return w, which the entropy keeps inside."""
        return as_weights("Orthant.project_entropic: w", w)

    def largest_coordinate(self, dimension: int) -> float:
        """Return infinity."""
        return math.inf

    def support(self, theta: ArrayLike) -> float:
        """Return 0 if theta <= 0, else infinity."""
        return math.inf if np.any(as_vector("Orthant.support: theta", theta) > 0.0) else 0.0

    def clamp(self, value: float) -> float:
        """Return max(value, 0)."""
        return max(value, 0.0)

    separable = yes


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

    is_simplex = yes

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
        # Imported here, so that the compiler is loaded only if it is needed.
        from noregret.domains.medians import clipped_multiplier

        weights = as_positive_unit("ClippedSimplex.project_entropic: w", w)
        multiplier = float(clipped_multiplier(weights.copy(), self.alpha))
        return np.clip(self.scale * (multiplier * weights), self.floor(weights.size), None)

    def largest_coordinate(self, dimension: int) -> float:
        """Return the share of a vertex."""
        return self.floor(dimension) + self.scale * (1.0 - self.alpha)

    def corners(self, dimension: int) -> list[Vector]:
        """Return one vertex: all others are the same but for the order."""
        return [self.floor(dimension) + self.scale * (1.0 - self.alpha) * first_axis(dimension)]

    def support(self, theta: ArrayLike) -> float:
        """Return scale (alpha mean(theta) + (1 - alpha) max_i theta_i)."""
        vector = as_vector("ClippedSimplex.support: theta", theta)
        mean = float(np.sum(vector / vector.size))
        return self.scale * (self.alpha * mean + (1.0 - self.alpha) * float(np.max(vector)))


def _nearest_on_simplex(vector: Vector, scale: float) -> Vector:
    """Return the Euclidean projection on the simplex of a scale."""
    # A common shift does not change the projection, and components lower than the largest by
    # `scale` become 0: shift and clip, so that nothing overflows.
    with np.errstate(over="ignore"):
        low: Vector = np.maximum((vector - vector.max()) / scale, -1.0)
    ordered = np.sort(low)[::-1]
    counts = np.arange(1, low.size + 1)
    k = int(np.flatnonzero(ordered * counts > np.cumsum(ordered) - 1.0)[-1]) + 1
    # Sum again, pairwise: the running sum loses digits in long vectors.
    tau = (float(ordered[:k].sum()) - 1.0) / k
    return scale * np.clip(low - tau, 0.0, None)
