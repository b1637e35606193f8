"""The base of domains: closed convex sets with projections and a support function.

Also checks of the vectors that their methods take, and norms that do not overflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noregret.arrays import ArrayLike, Vector, as_vector
from noregret.component import Component
from noregret.rounding import CLOSED_FORM


class Domain(Component):
    """A closed convex set in every dimension; base for your own.

    The methods on vectors are for dense numpy code. Compiled passes use the scalar ones:
    `separable` (the set is a product of equal intervals, and `clamp` projects one coordinate),
    `is_ball` and `is_simplex`, which are constants of the class.
    """

    #: The family of passes that plays on it; "any": the agile pass, by the methods below.
    family: ClassVar[str] = "any"
    _parameter: ClassVar[str] = "{}: {}"

    def contains(self, w: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether w lies in the set, up to a tolerance relative to the size of the set."""
        vector = as_vector(f"{type(self).__name__}.contains: w", w, finite=False)
        return bool(np.isfinite(vector).all()) and self._holds(vector, tolerance)

    def _holds(self, w: Vector, tolerance: float) -> bool:
        """Tell whether a finite vector lies in the set; called by `contains`."""
        raise NotImplementedError

    def project(self, w: ArrayLike) -> Vector:
        """Return argmin over u in the set of ||u - w||^2."""
        raise NotImplementedError

    def project_entropic(self, w: ArrayLike) -> Vector:
        """Return argmin over u in the set of sum_i u_i ln(u_i / w_i) + w_i - u_i, for w >= 0."""
        raise ValueError(
            f"{type(self).__name__} has no entropic projection: use the Euclidean geometry with "
            "it, or Box, Simplex, ClippedSimplex or Orthant with the entropy"
        )

    def support(self, theta: ArrayLike) -> float:
        """Return the support function: the maximum over u in the set of <u, theta>."""
        raise NotImplementedError

    def largest_coordinate(self, dimension: int) -> float:
        """Return an upper bound on |u_i| over all u in the set and all coordinates i.

        dimension: the number of coordinates, >= 1.

        The base class measures the set along every axis by its support function, both ways.
        """
        axes = (sign * unit for unit in np.eye(dimension) for sign in (1.0, -1.0))
        return max(self.support(axis) for axis in axes) * CLOSED_FORM

    def corners(self, dimension: int) -> list[Vector]:
        """Return points among which convex symmetric functions are largest, [] if not known.

        Such functions are the same for all orders of the coordinates: norms and regularisers. On
        a box they are largest where every coordinate is at the same end, on balls and simplices
        at a corner.
        """
        return []

    def clamp(self, value: float) -> float:
        """Return the projection of one coordinate; both geometries agree on an interval."""
        if not self.separable():
            raise ValueError("this domain is not a product of intervals: it cannot clamp")
        return value

    def separable(self) -> bool:
        """Tell whether the set is a product of equal intervals."""
        return False

    def is_ball(self) -> bool:
        """Tell whether the set is a ball around 0 in the norm of its map."""
        return False

    def is_simplex(self) -> bool:
        """Tell whether the set is a simplex without a floor."""
        return False

    def extent(self) -> float:
        """Return the radius of a ball or the scale of a simplex."""
        return math.nan


@dataclass(frozen=True)
class Everywhere(Domain):
    """No constraint at all, the default of learners."""

    def largest_coordinate(self, dimension: int) -> float:
        """Return infinity."""
        return math.inf


def as_weights(name: str, values: ArrayLike) -> Vector:
    """Return a vector of weights >= 0, where the entropy is defined."""
    vector = as_vector(name, values)
    if np.any(vector < 0.0):
        i = int(np.argmax(vector < 0.0))
        raise ValueError(f"{name} must not be negative, got {vector[i]} at index {i}")
    return vector


def as_positive_unit(name: str, values: ArrayLike) -> Vector:
    """Return weights divided by the largest, so that their sum neither over- nor underflows."""
    vector = as_weights(name, values)
    if not vector.any():
        raise ValueError(f"{name} must have a positive component, got zeros only")
    return vector / float(vector.max())


def largest_size(vector: Vector) -> float:
    """Return max_i |v_i|."""
    return float(np.max(np.abs(vector)))


def length(vector: Vector, exponent: float = 2.0) -> float:
    """Return the norm of that exponent, right also where the powers over- or underflow."""
    largest = largest_size(vector)
    return largest * float(np.linalg.norm(vector / largest, exponent)) if largest > 0.0 else 0.0


def dot(theta: Vector, corner: Vector) -> float:
    """Return <theta, corner>, infinite only if the true value is out of range."""
    with np.errstate(over="ignore", invalid="ignore"):
        plain = float(np.sum(theta * corner))
    if math.isfinite(plain):
        return plain
    left, right = largest_size(theta), largest_size(corner)
    small, large = sorted((left, right))
    return float(np.sum((theta / left) * (corner / right))) * small * large


def first_axis(dimension: int) -> Vector:
    """Return the unit vector e_1."""
    return np.eye(1, dimension).ravel()


def sums_to(vector: Vector, scale: float, floor: float, tolerance: float) -> bool:
    """Tell whether the components are above a floor and their sum is right."""
    with np.errstate(over="ignore", invalid="ignore"):
        excess = abs(float(np.sum(vector / scale)) - 1.0)
    return excess <= tolerance and bool(np.all(vector >= floor - tolerance * scale))
