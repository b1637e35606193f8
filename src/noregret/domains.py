"""Convex sets that weights are kept in, with their projections and support functions.

Two geometries: `project` is Euclidean, argmin over u of ||u - w||^2, and `project_entropic` is
the Bregman projection argmin over u of D(u, w) = sum_i u_i ln(u_i / w_i) + w_i - u_i, for w >= 0
(a weight that underflowed to 0 is read as the limit w_i -> 0). Both satisfy the generalised
Pythagorean inequality D(u, w) >= D(u, p) + D(p, w) for the projection p and every u in the set.

Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.component import Component, require_positive

Vector = NDArray[np.float64]


class Domain(Component):
    """A closed convex set in every dimension; base for your own.

    The methods on vectors are for dense numpy code. Compiled passes use the scalar ones:
    `separable` (the set is a product of equal intervals, and `clamp` projects one coordinate),
    `is_ball` and `is_simplex`, which are constants of the class.
    """

    def contains(self, w: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether w lies in the set, up to a tolerance relative to the size of the set."""
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

    def clamp(self, value: float) -> float:
        """Return the projection of one coordinate; both geometries agree on an interval."""
        if not self.separable():
            raise ValueError("this domain is not a product of intervals: it cannot clamp")
        return value

    def separable(self) -> bool:
        """Tell whether the set is a product of equal intervals."""
        return False

    def is_ball(self) -> bool:
        """Tell whether the set is a Euclidean ball around 0."""
        return False

    def is_simplex(self) -> bool:
        """Tell whether the set is a simplex without a floor."""
        return False

    def extent(self) -> float:
        """Return the radius of a ball or the scale of a simplex."""
        return math.nan


@dataclass(frozen=True)
class Everywhere(Domain):
    """No constraint at all: the domain of a learner that was given none."""


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
        vector = _vector("Ball.contains: w", w, finite=False)
        return _finite(vector) and _norm(vector) <= self.radius * (1.0 + tolerance)

    def project(self, w: ArrayLike) -> Vector:
        """Return argmin over ||u|| <= radius of ||u - w||^2."""
        vector = _vector("Ball.project: w", w)
        largest = _largest(vector)
        if largest == 0.0:
            return vector
        unit = vector / largest
        length = _norm(unit)
        return vector if largest * length <= self.radius else unit * (self.radius / length)

    def support(self, theta: ArrayLike) -> float:
        """Return radius ||theta||."""
        return self.radius * _norm(_vector("Ball.support: theta", theta))

    def is_ball(self) -> bool:
        """Return True."""
        return True

    def extent(self) -> float:
        """Return radius."""
        return self.radius


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

    def contains(self, w: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether every w_i is in [low, high], up to tolerance times the finite bounds."""
        vector = _vector("Box.contains: w", w, finite=False)
        slack = tolerance * max(abs(b) for b in (self.low, self.high, 0.0) if math.isfinite(b))
        inside = (vector >= self.low - slack) & (vector <= self.high + slack)
        return _finite(vector) and bool(np.all(inside))

    def project(self, w: ArrayLike) -> Vector:
        """Return min(max(w_i, low), high) in every coordinate."""
        return np.clip(_vector("Box.project: w", w), self.low, self.high)

    def project_entropic(self, w: ArrayLike) -> Vector:
        """Return min(max(w_i, low), high) in every coordinate, for 0 < low."""
        if not self.low > 0.0:
            raise ValueError(f"Box.project_entropic: low must be above 0, got {self.low}")
        return np.clip(_weights("Box.project_entropic: w", w), self.low, self.high)

    def support(self, theta: ArrayLike) -> float:
        """Return sum_i max(low theta_i, high theta_i)."""
        vector = _vector("Box.support: theta", theta)
        vector = vector[vector != 0.0]  # 0 times an infinite bound is 0 here
        corner = np.where(vector > 0.0, self.high, self.low)
        return _dot(vector, corner) if _finite(corner) else math.inf

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

    def contains(self, w: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether every w_i >= -tolerance; absolute, as the orthant has no size."""
        vector = _vector("Orthant.contains: w", w, finite=False)
        return _finite(vector) and bool(np.all(vector >= -tolerance))

    def project(self, w: ArrayLike) -> Vector:
        """Return max(w_i, 0) in every coordinate."""
        vector = _vector("Orthant.project: w", w)
        return np.where(vector > 0.0, vector, 0.0)

    def project_entropic(self, w: ArrayLike) -> Vector:
        """Return w, which the entropy keeps inside."""
        return _weights("Orthant.project_entropic: w", w)

    def support(self, theta: ArrayLike) -> float:
        """Return 0 if theta <= 0, else infinity."""
        return math.inf if np.any(_vector("Orthant.support: theta", theta) > 0.0) else 0.0

    def clamp(self, value: float) -> float:
        """Return max(value, 0)."""
        return max(value, 0.0)

    def separable(self) -> bool:
        """Return True."""
        return True


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

    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("Simplex: scale", self.scale)

    def contains(self, w: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether w >= 0 and sum(w) = scale, both up to tolerance * scale."""
        vector = _vector("Simplex.contains: w", w, finite=False)
        return _sums_to(vector, self.scale, 0.0, tolerance)

    def project(self, w: ArrayLike) -> Vector:
        """Return argmin over the simplex of ||u - w||^2, by sorting in O(n log n)."""
        return _nearest_on_simplex(_vector("Simplex.project: w", w), self.scale)

    def project_entropic(self, w: ArrayLike) -> Vector:
        """Return scale w / sum(w)."""
        weights = _positive_unit("Simplex.project_entropic: w", w)
        return self.scale * (weights / float(weights.sum()))

    def support(self, theta: ArrayLike) -> float:
        """Return scale max_i theta_i."""
        return self.scale * float(np.max(_vector("Simplex.support: theta", theta)))

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

    alpha: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.alpha <= 1.0:
            raise ValueError(f"ClippedSimplex: alpha must be in (0, 1], got {self.alpha}")
        require_positive("ClippedSimplex: scale", self.scale)

    def floor(self, n: int) -> float:
        """Return the least value of a component in n dimensions, alpha scale / n."""
        return self.scale * (self.alpha / n)

    def contains(self, w: ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether w >= floor and sum(w) = scale, both up to tolerance * scale."""
        vector = _vector("ClippedSimplex.contains: w", w, finite=False)
        return _sums_to(vector, self.scale, self.floor(vector.size), tolerance)

    def project(self, w: ArrayLike) -> Vector:
        """Return argmin over the set of ||u - w||^2."""
        vector = _vector("ClippedSimplex.project: w", w)
        floor, free = self.floor(vector.size), self.scale * (1.0 - self.alpha)
        if free == 0.0:
            return np.full(vector.size, floor)
        # Moving all components by the floor does not move their projection on a simplex.
        return floor + _nearest_on_simplex(vector, free)

    def project_entropic(self, w: ArrayLike) -> Vector:
        """Return argmin over the set of D(u, w), by sorting in O(n log n)."""
        weights = _positive_unit("ClippedSimplex.project_entropic: w", w)
        n = weights.size
        ordered = np.sort(weights)
        suffix = np.cumsum(ordered[::-1])[::-1]
        # 1 - k alpha / n for k = 0 .. n-1 clipped components, without cancellation.
        mass = (1.0 - self.alpha) + self.alpha * (np.arange(n, 0, -1) / n)
        keep = mass / suffix * ordered >= self.alpha / n
        keep[-1] = True  # the largest component can always be kept, whatever rounding says
        k = int(np.argmax(keep))
        multiplier = float(mass[k] / ordered[k:].sum())
        return np.clip(self.scale * (multiplier * weights), self.floor(n), None)

    def support(self, theta: ArrayLike) -> float:
        """Return scale (alpha mean(theta) + (1 - alpha) max_i theta_i)."""
        vector = _vector("ClippedSimplex.support: theta", theta)
        mean = float(np.sum(vector / vector.size))
        return self.scale * (self.alpha * mean + (1.0 - self.alpha) * float(np.max(vector)))


def _vector(name: str, values: ArrayLike, finite: bool = True) -> Vector:
    """Return a fresh float64 vector, or refuse what is none."""
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a vector of real numbers: {error}") from error
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"{name} must be a non-empty vector, got the shape {vector.shape}")
    if finite and not _finite(vector):
        i = int(np.argmin(np.isfinite(vector)))
        raise ValueError(f"{name} must be finite, got {vector[i]} at index {i}")
    return vector


def _weights(name: str, values: ArrayLike) -> Vector:
    """Return a vector of weights >= 0, where the entropy is defined."""
    vector = _vector(name, values)
    if np.any(vector < 0.0):
        i = int(np.argmax(vector < 0.0))
        raise ValueError(f"{name} must not be negative, got {vector[i]} at index {i}")
    return vector


def _positive_unit(name: str, values: ArrayLike) -> Vector:
    """Return weights divided by the largest, so that their sum neither over- nor underflows."""
    vector = _weights(name, values)
    if not vector.any():
        raise ValueError(f"{name} must have a positive component, got zeros only")
    return vector / float(vector.max())


def _finite(vector: Vector) -> bool:
    return bool(np.isfinite(vector).all())


def _largest(vector: Vector) -> float:
    return float(np.max(np.abs(vector)))


def _norm(vector: Vector) -> float:
    """Return the Euclidean norm, right also where the squares over- or underflow."""
    largest = _largest(vector)
    return largest * float(np.linalg.norm(vector / largest)) if largest > 0.0 else 0.0


def _dot(theta: Vector, corner: Vector) -> float:
    """Return <theta, corner>, infinite only if the true value is out of range."""
    with np.errstate(over="ignore", invalid="ignore"):
        plain = float(np.sum(theta * corner))
    if math.isfinite(plain):
        return plain
    small, large = sorted((_largest(theta), _largest(corner)))
    return float(np.sum((theta / _largest(theta)) * (corner / _largest(corner)))) * small * large


def _sums_to(vector: Vector, scale: float, floor: float, tolerance: float) -> bool:
    """Tell whether the components are above a floor and their sum is right."""
    with np.errstate(over="ignore", invalid="ignore"):
        excess = abs(float(np.sum(vector / scale)) - 1.0)
    return excess <= tolerance and bool(np.all(vector >= floor - tolerance * scale))


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
