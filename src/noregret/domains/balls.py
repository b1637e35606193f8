"""Balls around 0."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from noregret.arrays import Vector, as_vector
from noregret.component import POSITIVE, allowed
from noregret.domains.base import Domain
from noregret.domains.vectors import first_axis, largest_size, length


class NormBall(Domain):
    """What the balls {w : ||w||_q <= radius} share; `dual` is the p of the dual norm."""

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

    def is_ball(self) -> bool:
        """Return True."""
        return True

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
