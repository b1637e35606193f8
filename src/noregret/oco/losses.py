"""Convex losses on vectors, as objects that a player can face: linear, quadratic, or your own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from noregret.arrays import VECTOR, not_real, real_array

Vector = npt.NDArray[np.float64]


@runtime_checkable
class ConvexFunction(Protocol):
    """Anything with a value and a subgradient at a point; `curvature` is optional.

    `curvature` is a sigma for which f - (sigma/2)||w||^2 is convex too; floors profit from it.
    """

    def value(self, w: Vector) -> float:
        """Return f(w)."""

    def subgradient(self, w: Vector) -> npt.ArrayLike:
        """Return an element of the subdifferential of f at w."""


class Linear:
    """The linear loss f(w) = <z, w>.

    >>> Linear([1.0, -2.0]).value(np.array([3.0, 1.0]))
    1.0
    """

    curvature = 0.0

    def __init__(self, z: npt.ArrayLike) -> None:
        """Take the coefficients z."""
        self.z = vector("Linear(z)", z)

    def value(self, w: Vector) -> float:
        """Return <z, w>."""
        return float(self.z @ w)

    def subgradient(self, w: Vector) -> Vector:
        """Return z."""
        return self.z


class Quadratic:
    """The quadratic loss f(w) = (curvature/2) ||w - center||^2.

    >>> Quadratic([1.0, 0.0]).value(np.array([0.0, 0.0]))
    0.5
    """

    def __init__(self, center: npt.ArrayLike, curvature: float = 1.0) -> None:
        """Take the center and the curvature."""
        self.center = vector("Quadratic(center)", center)
        self.curvature = number("Quadratic(curvature)", curvature)
        if not self.curvature > 0.0:
            raise ValueError(f"Quadratic(curvature) must be above 0, got {curvature}")

    def value(self, w: Vector) -> float:
        """Return (curvature/2) ||w - center||^2."""
        gap = w - self.center
        return 0.5 * self.curvature * float(gap @ gap)

    def subgradient(self, w: Vector) -> Vector:
        """Return curvature (w - center)."""
        slope: Vector = self.curvature * (w - self.center)
        return slope


@dataclass(frozen=True)
class FromFunctions:
    """A loss given as two functions: w -> f(w) and w -> an element of the subdifferential at w."""

    value: Callable[[Vector], float]
    subgradient: Callable[[Vector], npt.ArrayLike]
    #: A sigma for which f - (sigma/2)||w||^2 is convex too; None if nothing is said about it.
    curvature: float | None = None


def as_loss(item: Any) -> ConvexFunction:
    """Return the loss that an object with value and subgradient, or a pair of functions, means.

    >>> float(as_loss((lambda w: abs(w[0]), np.sign)).value(np.array([-2.0])))
    2.0
    """
    if isinstance(item, tuple) and len(item) == 2 and callable(item[0]) and callable(item[1]):
        return FromFunctions(*item)
    if isinstance(item, ConvexFunction):
        return item
    raise ValueError(
        "a loss must be a pair of functions (value, subgradient) or an object with these two "
        f"methods, got {item!r}"
    )


def vector(name: str, values: Any, dimension: int | None = None) -> Vector:
    """Return a fresh float64 vector of finite numbers, or say in one line why it is none."""
    array = np.array(real_array(name, values, VECTOR), dtype=np.float64)
    if array.ndim != 1 or (dimension is not None and len(array) != dimension):
        wanted = "a vector" if dimension is None else f"({dimension},): one number a coordinate"
        raise ValueError(f"{name} has shape {array.shape}, expected {wanted}")
    if not np.isfinite(array).all():
        i = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} must be finite, got {array[i]} at index {i}")
    return array


def number(name: str, value: Any) -> float:
    """Return a finite float, or say in one line why it is none."""
    if np.ndim(value) != 0:
        raise ValueError(f"{name} must be one number, got the shape {np.shape(value)}")
    if isinstance(value, np.generic | np.ma.MaskedArray | str) and not_real(value):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        result = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a number, got {value!r}") from error
    if not math.isfinite(result):
        raise ValueError(f"{name} must be a finite number, got {result}")
    return result


def whole(name: str, value: Any) -> int:
    """Return a whole number >= 1, or say in one line why it is none."""
    result = number(name, value)
    if result < 1 or result != int(result):
        raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
    return int(result)
