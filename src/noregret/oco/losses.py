"""Convex losses on vectors that a player can face, and their exact minimisers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from noregret import domains
from noregret.arrays import ArrayLike, Vector, as_positive, as_vector


@runtime_checkable
class ConvexFunction(Protocol):
    """Anything with a value and a subgradient at a point; `curvature` is optional.

    `curvature` is a sigma for which f - (sigma/2)||w||^2 is convex too; floors profit from it.
    """

    def value(self, w: Vector) -> float:
        """Return f(w)."""

    def subgradient(self, w: Vector) -> ArrayLike:
        """Return an element of the subdifferential of f at w."""


class Linear:
    """The linear loss f(w) = <z, w>.

    >>> import numpy as np
    >>> Linear([1.0, -2.0]).value(np.array([3.0, 1.0]))
    1.0
    """

    curvature = 0.0

    def __init__(self, z: ArrayLike) -> None:
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

    def __init__(self, center: ArrayLike, curvature: float = 1.0) -> None:
        """Take the center and the curvature."""
        self.center = as_vector("Quadratic(center)", center)
        self.curvature = as_positive("Quadratic(curvature)", curvature)

    def value(self, w: Vector) -> float:
        """Return (curvature/2) ||w - center||^2."""
        gap = w - self.center
        return 0.5 * self.curvature * float(gap @ gap)

    def subgradient(self, w: Vector) -> Vector:
        """Return curvature (w - center)."""
        return np.asarray(self.curvature * (w - self.center))


@dataclass(frozen=True)
class FromFunctions:
    """A loss given as two functions: w -> f(w) and w -> an element of the subdifferential at w."""

    value: Callable[[Vector], float]
    subgradient: Callable[[Vector], ArrayLike]
    #: A sigma for which f - (sigma/2)||w||^2 is convex too; None if unknown.
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


def corner(domain: domains.Domain | None, b: Vector, standing: Vector) -> Vector:
    """Return a minimiser of <b, w> over a bounded domain; ties stay where the player stands.

    >>> corner(domains.Box(-1.0, 1.0), np.array([0.5, 0.0]), np.array([0.25, 0.25]))
    array([-1.  ,  0.25])
    """
    if not b.any():
        return standing.copy()
    if type(domain) is domains.Box and math.isfinite(domain.low + domain.high):
        return np.where(b == 0.0, standing, np.where(b > 0.0, domain.low, domain.high))
    if type(domain) is domains.Ball:
        unit = b / np.abs(b).max()
        return -domain.radius * unit / float(np.linalg.norm(unit))  # type: ignore[no-any-return]
    if type(domain) is domains.Simplex or type(domain) is domains.ClippedSimplex:
        best = np.eye(1, len(b), int(np.argmin(b))).ravel()
        return domain.project(2.0 * domain.scale * best)
    raise ValueError(
        f"linear losses have no leader in {domain}: use a Box, Ball or simplex, or regularise"
    )


def on_interval(
    value: Callable[[float], float],
    slope: Callable[[float], float],
    low: float,
    high: float,
    standing: float,
) -> float:
    """Return a minimiser of a convex function on an interval, by bisection on its slopes.

    Exact to the last place, also at a kink; open ends are searched outwards.

    >>> on_interval(lambda w: abs(w - 0.3), lambda w: float(np.sign(w - 0.3)), -1.0, 1.0, 0.0)
    0.3
    """
    low = _outwards(slope, low, min(standing, high), -1.0)
    high = _outwards(slope, high, max(standing, low), 1.0)
    if slope(low) >= 0.0:
        return low
    if slope(high) <= 0.0:
        return high
    while low < (middle := low + 0.5 * (high - low)) < high:
        steepness = slope(middle)
        if steepness == 0.0:
            return middle
        low, high = (middle, high) if steepness < 0.0 else (low, middle)
    return low if value(low) < value(high) else high


def _outwards(slope: Callable[[float], float], end: float, inner: float, sign: float) -> float:
    """Return the end itself if finite, else a point beyond which the function only rises."""
    if math.isfinite(end):
        return end
    stride = 1.0
    while stride < 1e200:
        if sign * slope(inner + sign * stride) >= 0.0:
            return inner + sign * stride
        stride *= 2.0
    raise ValueError("the losses so far have no minimiser: give a bounded domain, or regularise")


def interval(domain: domains.Domain | None) -> tuple[float, float]:
    """Return the ends of a one-dimensional domain."""
    if domain is None:
        return -math.inf, math.inf
    if type(domain) is domains.Orthant:
        return 0.0, math.inf
    return float(-domain.support([-1.0])), float(domain.support([1.0]))
