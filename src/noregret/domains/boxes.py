"""Products of equal intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from noregret.arrays import Vector, as_vector
from noregret.domains.base import Domain
from noregret.domains.vectors import all_finite, as_weights, dot


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
        ends = (self.low, self.high)
        return [np.full(dimension, end) for end in ends if math.isfinite(self.low + self.high)]

    def support(self, theta: ArrayLike) -> float:
        """Return sum_i max(low theta_i, high theta_i)."""
        vector = as_vector("Box.support: theta", theta)
        vector = vector[vector != 0.0]  # 0 times an infinite bound is 0 here
        corner = np.where(vector > 0.0, self.high, self.low)
        return dot(vector, corner) if all_finite(corner) else math.inf

    def clamp(self, value: float) -> float:
        """Return min(max(value, low), high)."""
        return min(max(value, self.low), self.high)

    def separable(self) -> bool:
        """Return True."""
        return True


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

    def separable(self) -> bool:
        """Return True."""
        return True
