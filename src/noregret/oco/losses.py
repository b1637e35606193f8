"""Convex losses on vectors, as objects that a player can face: linear, quadratic, or your own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from noregret.arrays import Vector, as_positive, as_vector


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

    >>> import numpy as np
    >>> Linear([1.0, -2.0]).value(np.array([3.0, 1.0]))
    1.0
    """

    curvature = 0.0

    def __init__(self, z: npt.ArrayLike) -> None:
        """Take the coefficients z."""
        self.z = as_vector("Linear(z)", z)

    def value(self, w: Vector) -> float:
        """Return <z, w>."""
        return float(self.z @ w)

    def subgradient(self, w: Vector) -> Vector:
        """Return z."""
        return self.z


class Quadratic:
    """The quadratic loss f(w) = (curvature/2) ||w - center||^2.

    >>> import numpy as np
    >>> Quadratic([1.0, 0.0]).value(np.array([0.0, 0.0]))
    0.5
    """

    def __init__(self, center: npt.ArrayLike, curvature: float = 1.0) -> None:
        """Take the center and the curvature."""
        self.center = as_vector("Quadratic(center)", center)
        self.curvature = as_positive("Quadratic(curvature)", curvature)

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

    >>> import numpy as np
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
