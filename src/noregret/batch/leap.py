"""A Newton step of the dual over the free rows, for when visits one by one get slow.

Once the rows at the ends of their intervals have been found, the dual is smooth in the others,
and close to quadratic: the step solves that quadratic model by conjugate gradients, is bent back
into the intervals, and is taken only if it raises the dual. It replaces many visits where nearly
parallel rows under a weak regulariser keep correcting one another.
Reference: Bertsekas, Projected Newton Methods for Optimization Problems with Simple Constraints.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from noregret.batch.problem import Problem, Vector
from noregret.passes.dual import dual
from noregret.passes.dual.dual import inner

if TYPE_CHECKING:
    from noregret.batch.euclidean import Ascent

#: Conjugate gradients stop when the residual has fallen by this factor.
ACCURACY = 1e-8
#: Factors of the damping after a step taken whole, halved once, halved more often, or refused.
DAMPING = (0.25, 1.0, 4.0, 16.0)
LEAST_DAMPING = 1e-9
#: Number of lengths tried, each half of the one before.
HALVINGS = 6


def leap(ascent: Ascent, budget: int) -> bool:
    """Try a Newton step with at most `budget` conjugate gradients; return whether it was taken."""
    problem = ascent.problem
    active = int(ascent.active)
    plan = np.empty((active, dual.PLAN))
    dual.plan(problem.loss, problem.mirror, problem.block, ascent.memory, ascent.square, plan)
    free = np.flatnonzero(plan[:, dual.FREE])
    if not len(free):
        return False
    chosen = ascent.order[:active][free].astype(np.int64)
    bend, residual, low, high = (
        plan[free, k] for k in (dual.BEND, dual.RESIDUAL, dual.LOWEST, dual.HIGHEST)
    )
    matrix = _part(problem, chosen)
    scale = ascent.records[chosen, dual.SCALE]
    diagonal = scale * (bend + ascent.records[chosen, dual.CURVATURE])
    damping = ascent.damping * diagonal

    def curve(d: Vector) -> Vector:
        rows = matrix @ _projected(ascent, matrix.T @ (scale * d))
        image: Vector = scale * (bend * d + rows) + damping * d
        return image

    direction = conjugate_gradients(curve, scale * residual, diagonal, budget)
    slopes = ascent.records[chosen, dual.SLOPE]
    values = np.empty((2, len(chosen)))
    labels, offsets = problem.y[chosen], problem.offset[chosen]
    dual.conjugates(problem.loss, labels, slopes, values[0])
    for halving in range(HALVINGS):
        wanted = np.clip(slopes + 0.5**halving * direction, low, high)
        change = wanted - slopes
        shift = -(matrix.T @ (scale * change))
        dual.conjugates(problem.loss, labels, wanted, values[1])
        gain = float(inner(scale, values[0] - values[1] + change * offsets))
        if gain - _rise(ascent, shift) > 0.0:
            ascent.records[chosen, dual.SLOPE] = wanted
            ascent.theta += shift
            ascent.damping = max(ascent.damping * DAMPING[min(halving, 2)], LEAST_DAMPING)
            return True
    ascent.damping = min(ascent.damping * DAMPING[-1], 1.0 / LEAST_DAMPING)
    return False


def _part(problem: Problem, chosen: Any) -> Any:
    """Return some rows as a matrix that can be multiplied from both sides."""
    rows = problem.rows
    if rows.dense:
        return rows.values[chosen].astype(np.float64)
    begin = rows.indptr[chosen].astype(np.int64)
    lengths = rows.indptr[chosen + 1].astype(np.int64) - begin
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(indptr[-1]) + np.repeat(begin - indptr[:-1], lengths)
    values = rows.values[places].astype(np.float64)
    indices = rows.indices[places].astype(np.int64)
    return csr_array((values, indices, indptr), shape=(len(chosen), rows.width))


def _projected(ascent: Ascent, v: Vector) -> Vector:
    """Return the derivative of the weights along v: kappa (v - u <u, v>) where a ball binds."""
    square = ascent.square
    kappa = ascent.problem.mirror.kappa(0.5 * square, 0.0, 1.0)
    if kappa >= 1.0:
        return v
    return np.asarray(kappa * (v - ascent.theta * (float(inner(ascent.theta, v)) / square)))


def _rise(ascent: Ascent, shift: Vector) -> float:
    """Return G(theta + shift) - G(theta)."""
    square, mirror = ascent.square, ascent.problem.mirror
    growth = 2.0 * float(inner(ascent.theta, shift)) + float(inner(shift, shift))
    if mirror.kappa(0.5 * max(square, square + growth), 0.0, 1.0) >= 1.0:
        # Avoid the difference of two large numbers.
        return 0.5 * growth
    return mirror.psi(0.5 * (square + growth), 0.0) - mirror.psi(0.5 * square, 0.0)


def conjugate_gradients(
    curve: Callable[[Vector], Vector], right: Vector, diagonal: Vector, budget: int
) -> Vector:
    """Return an approximate solution of curve(d) = right."""
    found = np.zeros_like(right)
    residual = right.copy()
    scaled = residual / diagonal
    direction = scaled.copy()
    size = first = float(inner(residual, scaled))
    for _ in range(budget):
        if not size > ACCURACY * ACCURACY * first:
            break
        image = curve(direction)
        along = float(inner(direction, image))
        if not 0.0 < along < math.inf:
            break
        step = size / along
        found += step * direction
        residual -= step * image
        scaled = residual / diagonal
        new = float(inner(residual, scaled))
        direction = scaled + (new / size) * direction
        size = new
    return found
