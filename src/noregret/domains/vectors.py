"""The vectors that domains are asked about: what is refused, and lengths without overflow."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from noregret.arrays import Vector, as_vector


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


def all_finite(vector: Vector) -> bool:
    """Tell whether every component is a finite number."""
    return bool(np.isfinite(vector).all())


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
    axis: Vector = np.eye(1, dimension).ravel()
    return axis


def sums_to(vector: Vector, scale: float, floor: float, tolerance: float) -> bool:
    """Tell whether the components are above a floor and their sum is right."""
    with np.errstate(over="ignore", invalid="ignore"):
        excess = abs(float(np.sum(vector / scale)) - 1.0)
    return excess <= tolerance and bool(np.all(vector >= floor - tolerance * scale))
