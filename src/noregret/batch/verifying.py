"""A duality gap judged by code of its own: from slopes and weights, with bounds that hold a priori.

Nothing here is shared with the solvers or with their evaluation (`passes.dual.gap`): sums are plain
ones, and the error of a sum of n terms in any order is at most gamma_n = n u / (1 - n u) times the
sum of their sizes, u = 2^-53 (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).
The bounds are looser than those of compensated sums, by about n u of the objective.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.batch.objective import Objective
from noregret.batch.problem import LINK_ERRORS, Problem
from noregret.jit import kernel
from noregret.rounding import UNDERFLOW, certified_ceiling, certified_floor
from noregret.workers import Workers, packed, whole

UNIT = 2.0**-53
#: Roundings within one value or conjugate of a loss, products of its terms included.
WITHIN = 64
#: What underflow can hide in a term, with room; features multiply it by up to 1e100: UNDERFLOW.
TINY = 1e-300


def gamma(terms: float) -> float:
    """Return a bound on the relative error of a sum of this many terms, in any order.

    >>> gamma(1) >= UNIT
    True
    """
    product = 1.01 * terms * UNIT
    return product / (1.0 - product) if product < 0.5 else math.inf


@kernel(inline=True)
def _at_zero(loss, y):  # type: ignore[no-untyped-def]
    """Return the size of f(0), 1 where it is infinite: -ln 0."""
    size = abs(loss.value(y, 0.0))
    return size if size < np.inf else 1.0


@kernel(counted=False)
def loss_sums(loss, y, weight, low, high, found):  # type: ignore[no-untyped-def]
    """Write the sum of c_i max(f(low_i), f(high_i)), and that of its size."""
    for t in range(np.uint64(y.shape[0])):
        if weight[t] > 0.0:
            value = max(loss.value(y[t], low[t]), loss.value(y[t], high[t]))
            found[0] += weight[t] * value
            found[1] += weight[t] * (abs(value) + _at_zero(loss, y[t]))


@kernel(counted=False)
def conjugate_sums(loss, y, weight, offset, slopes, found):  # type: ignore[no-untyped-def]
    """Write the sum of c_i (s_i o_i - f*(s_i)), and that of its size."""
    for t in range(np.uint64(y.shape[0])):
        if weight[t] > 0.0:
            s = slopes[t]
            conjugate = loss.conjugate(y[t], s)
            found[0] += weight[t] * (s * offset[t] - conjugate)
            size = abs(conjugate) + _at_zero(loss, y[t])
            found[1] += weight[t] * (size + abs(s) * (abs(s) + abs(y[t]) + abs(offset[t])))


class Witness:
    """The part of a shard in a verification."""

    problem: Problem
    slopes: Vector

    def dual_witness(self) -> tuple[Any, tuple[float, float]]:
        """Return sum c_i s_i x_i beside the sum of sizes, and the sums of conjugates."""
        problem, rows = self.problem, self.problem.rows
        factors = problem.weight * self.slopes
        if rows.dense:
            values = rows.values.astype(np.float64)
            vectors: Any = factors @ values, np.abs(factors) @ np.abs(values)
        else:
            used = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
            columns = rows.indices[used]
            lengths: Any = np.diff(rows.indptr.astype(np.int64))
            terms = np.repeat(factors, lengths) * rows.values[used]
            vectors = tuple(np.bincount(columns, one, rows.width) for one in (terms, np.abs(terms)))
        found = np.zeros(2)
        conjugate_sums(problem.loss, problem.y, problem.weight, problem.offset, self.slopes, found)
        return packed(np.concatenate(vectors)), (float(found[0]), float(found[1]))

    def primal_witness(self, weights: Vector, bias: float) -> tuple[float, float]:
        """Return an upper bound of the sum of losses, but for the errors of its own sum."""
        problem, rows = self.problem, self.problem.rows
        if rows.dense:
            values = rows.values.astype(np.float64)
            products: Any = values @ weights
            sizes: Any = np.abs(values) @ np.abs(weights)
            longest = rows.width
        else:
            used = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
            lengths: Any = np.diff(rows.indptr.astype(np.int64))
            of_row = np.repeat(np.arange(len(rows)), lengths)
            terms = weights[rows.indices[used]] * rows.values[used]
            products = np.bincount(of_row, terms, len(rows))
            sizes = np.bincount(of_row, np.abs(terms), len(rows))
            longest = int(lengths.max(initial=0))
        predictions = products + problem.offset + bias
        error = (
            gamma(longest + 2.0 * LINK_ERRORS) * (sizes + np.abs(problem.offset) + abs(bias)) + TINY
        )
        found = np.zeros(2)
        low, high = predictions - 2.0 * error, predictions + 2.0 * error
        loss_sums(problem.loss, problem.y, problem.weight, low, high, found)
        return float(found[0]), float(found[1])


def verified(
    objective: Objective, workers: Workers, rows: int, weight: float, weights: Vector
) -> tuple[float, float]:
    """Return P(w) rounded up and D(s) rounded down, the slopes s as they lie on the shards.

    Args:
        objective: what is minimised.
        workers: hosts of shards that are a `Witness`.
        rows: how many there are in all.
        weight: the sum of their example weights.
        weights: w.
    """
    count = rows + workers.count
    vectors, rest = workers.add("dual_witness")
    # Sums that overflow are infinite: they prove nothing, and are no error.
    with np.errstate(over="ignore", invalid="ignore"):
        g, sizes = np.split(whole(vectors), 2)
        delta = gamma(count + 4) * 1.01 * float(np.sum(sizes)) + count * UNDERFLOW
        total, size = (sum(column) for column in zip(*rest, strict=True))
        slack = gamma(count + WITHIN) * size + (count + weight) * TINY
        if objective.radius is not None:
            length = objective.mirror.predictors().support_upper(g, objective.radius, delta)
        else:
            b = objective.strength
            length = objective.mirror.conjugate_upper(-g, 1.0 / b, delta, b)
        lower = certified_floor(total, length, slack + TINY, objective.loss.nonnegative)
        found = workers.call("primal_witness", weights, 0.0)
        losses, size = (sum(column) for column in zip(*found, strict=True))
        losses += gamma(count + WITHIN) * size + (count + weight) * TINY
        if objective.radius is None:
            losses += objective.mirror.regularizer_upper(weights, objective.strength)
    return certified_ceiling(float(losses)), lower
