"""Balls around 0."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from noregret.arrays import as_vector
from noregret.component import require_positive
from noregret.domains.base import Domain
from noregret.domains.vectors import Vector, all_finite, largest_size, length


@dataclass(frozen=True)
class Ball(Domain):
    """The Euclidean ball {w : ||w|| <= radius}.

    Projection: w if ||w|| <= radius, else radius w / ||w||; under the entropy there is none in
    closed form. Support: radius ||theta||.
    Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 5.

    >>> Ball(2).project([3, 4])
    array([1.2, 1.6])
    """

    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("Ball: radius", self.radius)

    def contains(self, w: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether ||w|| <= radius (1 + tolerance)."""
        vector = as_vector("Ball.contains: w", w, finite=False)
        return all_finite(vector) and length(vector) <= self.radius * (1.0 + tolerance)

    def project(self, w: ArrayLike) -> Vector:
        """Return argmin over ||u|| <= radius of ||u - w||^2."""
        vector = as_vector("Ball.project: w", w)
        largest = largest_size(vector)
        if largest == 0.0:
            return vector
        unit = vector / largest
        norm = length(unit)
        return vector if largest * norm <= self.radius else unit * (self.radius / norm)

    def largest_coordinate(self, dimension: int) -> float:
        """Return the radius."""
        return self.radius

    def support(self, theta: ArrayLike) -> float:
        """Return radius ||theta||."""
        return self.radius * length(as_vector("Ball.support: theta", theta))

    def is_ball(self) -> bool:
        """Return True."""
        return True

    def extent(self) -> float:
        """Return radius."""
        return self.radius


@dataclass(frozen=True)
class PNormBall(Domain):
    """The ball {w : ||w||_q <= radius} of the map PNorm(p), 1/p + 1/q = 1.

    The projection in the geometry of F(w) = ||w||_q^2 / 2, argmin over the ball of
    D(u, w) = F(u) + F(w) - <u, grad F(w)>, scales: c w with c = min(1, radius / ||w||_q). For
    grad F(c w) = c grad F(w), and for u in the ball <grad F(c w) - grad F(w), u - c w> =
    (1 - c) (c ||w||_q^2 - <grad F(w), u>) >= (1 - c) (c ||w||_q - radius) ||w||_q = 0.
    The Euclidean projection has no closed form. Support: radius ||theta||_p.

    >>> PNormBall(2.0, radius=2.0).project_norm([3, 4])
    array([1.2, 1.6])
    """

    p: float
    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2.0 <= self.p < math.inf:
            raise ValueError(f"PNormBall: p must be a finite number >= 2, got {self.p}")
        require_positive("PNormBall: radius", self.radius)

    def contains(self, w: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether ||w||_q <= radius (1 + tolerance)."""
        vector = as_vector("PNormBall.contains: w", w, finite=False)
        q = self.p / (self.p - 1.0)
        return all_finite(vector) and length(vector, q) <= self.radius * (1.0 + tolerance)

    def project(self, w: ArrayLike) -> Vector:
        """Refuse: the Euclidean projection on such a ball has no closed form."""
        raise ValueError("PNormBall has no Euclidean projection: use it with the map PNorm(p)")

    def project_norm(self, w: ArrayLike) -> Vector:
        """Return argmin over the ball of D(u, w) for the potential ||u||_q^2 / 2."""
        vector = as_vector("PNormBall.project_norm: w", w)
        size = largest_size(vector)
        if size == 0.0:
            return vector
        unit = vector / size
        norm = length(unit, self.p / (self.p - 1.0))
        return vector if size * norm <= self.radius else unit * (self.radius / norm)

    def largest_coordinate(self, dimension: int) -> float:
        """Return the radius: no coordinate exceeds the q-norm."""
        return self.radius

    def support(self, theta: ArrayLike) -> float:
        """Return radius ||theta||_p."""
        return self.radius * length(as_vector("PNormBall.support: theta", theta), self.p)

    def is_ball(self) -> bool:
        """Return True."""
        return True

    def extent(self) -> float:
        """Return radius."""
        return self.radius
