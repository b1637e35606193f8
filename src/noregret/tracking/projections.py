"""Bregman projections on hyperplanes, half-spaces and affine sets.

The projection of w on a set is argmin over its u of D(u, w). On {v : A v = b} its gradient is
grad F(p) = grad F(w) - A' lambda, with the lambda that makes A p = b: the zero of a monotone
function for one row, found by bisection; the minimum of a smooth convex one for several, found by
Newton's method. D(u, w) = D(u, p) + D(p, w)
for every u of an affine set; on a half-space it is >=. Balls, boxes and simplices with a floor
are in `noregret.domains`.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 2 and Propositions
24-26.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector, as_vector
from noregret.domains.base import as_weights, largest_size
from noregret.tracking.potentials import Entropic, Potential, SimplexEntropic, Square

#: Most steps of Newton's method, and most halvings of each.
_ROUNDS = 200
_HALVINGS = 60
#: Residual at which A p = b counts as solved, relative to the sum of absolute terms.
_RESIDUAL = 64.0 * float(np.finfo(np.float64).eps)


def project_hyperplane(
    potential: Potential, w: npt.ArrayLike, x: npt.ArrayLike, y: float
) -> Vector:
    """Return argmin of D(u, w) over {u : <x, u> = y}; on the simplex its points of sum 1.

    >>> project_hyperplane(Square(), [0.2, 0.3, 0.5], [1, 0, 2], 1.0)
    array([0.16, 0.3 , 0.42])
    """
    start, row = _start(potential, w), as_vector("x", x)
    if row.shape != start.shape:
        raise ValueError(f"x has {len(row)} components, expected {len(start)} as in w")
    if not row.any() or not math.isfinite(y):
        raise ValueError(f"x must have a component that is not 0 and y be finite, got y={y}")
    if isinstance(potential, Square):
        return project_affine(potential, start, row[None], [y])
    _require_reachable(potential, row[start > 0.0], y)

    def excess(multiplier: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(row @ _moved(potential, start, multiplier * row)) - y

    return _moved(potential, start, _zero(excess, 1.0 / largest_size(row)) * row)


def project_halfspace(potential: Potential, w: npt.ArrayLike, x: npt.ArrayLike, y: float) -> Vector:
    """Return argmin of D(u, w) over {u : <x, u> <= y}: w itself if it is inside.

    >>> project_halfspace(Square(), [0.0, 0.0], [1, 1], 1.0)
    array([0., 0.])
    """
    start = _start(potential, w)
    if float(np.asarray(x, np.float64) @ start) <= y:
        return start
    return project_hyperplane(potential, start, x, y)


def project_affine(
    potential: Potential, w: npt.ArrayLike, A: npt.ArrayLike, b: npt.ArrayLike
) -> Vector:
    """Return argmin of D(u, w) over {u : A u = b}; on the simplex its points of sum 1.

    >>> p = project_affine(Entropic(), [0.2, 0.3, 0.5], [[1, 0, 2], [0, 1, 0]], [1.0, 0.4])
    >>> np.round(p, 6)
    array([0.180998, 0.4     , 0.409501])
    """
    start = _start(potential, w)
    rows, right = np.array(A, np.float64), as_vector("b", b)
    if rows.shape != (len(right), len(start)) or not np.all(np.isfinite(rows)):
        raise ValueError(
            f"A must be finite numbers of shape ({len(right)}, {len(start)}), got {rows.shape}"
        )
    if isinstance(potential, Square):
        correction, *_ = np.linalg.lstsq(rows, rows @ start - right, rcond=None)
        point = start - correction
    else:
        point = _newton(potential, start, rows, right)
    size = np.abs(rows) @ np.abs(point) + np.abs(right)
    if not np.all(np.abs(rows @ point - right) <= 1e-9 * size):
        raise ValueError("A u = b holds for no u inside the potential's domain")
    return point


def _newton(potential: Potential, start: Vector, rows: Vector, right: Vector) -> Vector:
    """Return the point of the smallest dual, by Newton's method."""
    multipliers = np.zeros(len(right))
    point = _moved(potential, start, np.zeros_like(start))
    for _ in range(_ROUNDS):
        residual = right - rows @ point
        if np.all(np.abs(residual) <= _RESIDUAL * (np.abs(rows) @ point + np.abs(right))):
            break
        centred = rows
        if isinstance(potential, SimplexEntropic):
            centred = rows - (rows @ point)[:, None]
        hessian = (centred * point) @ centred.T
        # The residual is the gradient of the dual in the multipliers.
        direction, *_ = np.linalg.lstsq(hessian, -residual, rcond=1e-15)
        slope, step = float(residual @ direction), 1.0
        height = _dual(potential, start, rows, right, multipliers)
        for _ in range(_HALVINGS):
            ahead = multipliers + step * direction
            value = _dual(potential, start, rows, right, ahead)
            # Near the minimum rounding exceeds the decrease: accept the full step.
            if value <= height + 1e-4 * step * slope + 1e-13 * (1.0 + abs(height)):
                break
            step *= 0.5
        multipliers = ahead
        point = _moved(potential, start, rows.T @ multipliers)
    return point


def _dual(
    potential: Potential, start: Vector, rows: Vector, right: Vector, multipliers: Vector
) -> float:
    """Return the convex function whose gradient is b - A p: a sum, or its logarithm."""
    exponent = -(rows.T @ multipliers)
    with np.errstate(over="ignore"):
        if not isinstance(potential, SimplexEntropic):
            return float(_moved(potential, start, -exponent).sum()) + float(multipliers @ right)
    top = float(exponent.max())
    return math.log(float(start @ np.exp(exponent - top))) + top + float(multipliers @ right)


def _start(potential: Potential, w: npt.ArrayLike) -> Vector:
    if isinstance(potential, Entropic):
        start = as_weights("w", w)
        if not start.any():
            raise ValueError("w must have a positive component, got zeros only")
        return start
    if isinstance(potential, Square):
        return as_vector("w", w)
    raise ValueError(f"{potential} has no projection here; use Square or one of the entropies")


def _moved(potential: Potential, start: Vector, shift: Vector) -> Vector:
    """Return the point whose gradient is grad F(start) - shift; zeros stay zeros."""
    if isinstance(potential, SimplexEntropic):
        some = start > 0.0
        result = np.zeros_like(start)
        result[some] = potential.link(np.log(start[some]) - shift[some])
        return result
    # Multiply twice by the root: the factor may overflow where its product does not.
    half: Vector = np.exp(-0.5 * shift)
    return start * half * half


def _require_reachable(potential: Potential, x: Vector, y: float) -> None:
    """Refuse a value that no positive weights on the support of w give."""
    low, high = float(x.min()), float(x.max())
    if isinstance(potential, SimplexEntropic):
        reachable = low < y < high or low == y == high
    else:
        reachable = (low < 0.0 and y < 0.0) or (high > 0.0 and y > 0.0) or low < 0.0 < high
    if not reachable:
        raise ValueError(
            f"<x, u> = {y:g} holds for no u > 0 with features from {low:g} to {high:g}"
        )


def _zero(excess: Callable[[float], float], unit: float) -> float:
    """Return the zero of a falling function: double the bracket from 0 outwards, then bisect."""
    sign = math.copysign(1.0, excess(0.0))
    near, far = 0.0, sign * unit
    while excess(far) * sign > 0.0:
        near, far = far, 2.0 * far
        if not math.isfinite(far):
            raise ValueError("the hyperplane is out of reach of floating point")
    while (middle := 0.5 * near + 0.5 * far) not in (near, far):
        near, far = (middle, far) if excess(middle) * sign > 0.0 else (near, middle)
    return min(near, far, key=lambda multiplier: abs(excess(multiplier)))
