"""A duality gap judged by code of its own: from slopes and weights, with bounds that hold a priori.

Nothing here is shared with the solvers or with their evaluation (`passes.dual.gap`): sums are plain
ones, and the error of a sum of n terms in any order is at most gamma_n = n u / (1 - n u) times the
sum of their sizes, u = 2^-53 (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).
The bounds are looser than those of compensated sums, by about n u of the objective.
"""

from __future__ import annotations

import itertools
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


@kernel(counted=False)
def least_rise(loss, y, weight, slopes, down, up, found):  # type: ignore[no-untyped-def]
    """Write the row whose conjugate rises least if it takes a remainder within [-up, down].

    found: the row, c times the rise of f* over the shift, and the size of the conjugates.
    """
    found[1] = np.inf
    for t in range(np.uint64(y.shape[0])):
        c, s = weight[t], slopes[t]
        if c > 0.0:
            # Farther than the remainder by more than their own rounding: f* is convex between.
            low = s - (1.01 * down / c + 4.0 * UNIT * abs(s) + TINY) if down > 0.0 else s
            high = s + (1.01 * up / c + 4.0 * UNIT * abs(s) + TINY) if up > 0.0 else s
            here, a, b = (
                loss.conjugate(y[t], s),
                loss.conjugate(y[t], low),
                loss.conjugate(y[t], high),
            )
            rise = c * (max(a, b) - here)
            if abs(a) < np.inf and abs(b) < np.inf and rise < found[1]:
                reach = abs(low) + abs(high)
                size = abs(here) + abs(a) + abs(b) + 3.0 * _at_zero(loss, y[t])
                found[0], found[1] = t, rise
                found[2] = c * (size + reach * (reach + abs(y[t])))


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

    def balance_witness(self) -> tuple[float, float, float]:
        """Return sum c_i s_i in two parts, and a bound on its error."""
        c, s = self.problem.weight, self.slopes
        products = c * s
        if not float(np.sum(np.abs(products))) < math.inf:
            return 0.0, 0.0, math.inf
        # Products by 0, 1 and -1 are exact.
        rounded = products[(c != 0.0) & (c != 1.0) & (s != 0.0) & (np.abs(s) != 1.0)]
        total = math.fsum(products)
        rest = math.fsum(itertools.chain(products, (-total,)))
        error = gamma(4.0) * (math.fsum(np.abs(rounded)) + abs(rest)) + len(rounded) * TINY
        return total, rest, error

    def remainder_witness(self, down: float, up: float) -> tuple[float, float, float, float]:
        """Return what it costs a row of this shard to take a remainder within [-up, down].

        That is c times the rise of its conjugate, the size of the terms of that, the row's 1-norm
        and its offset; the rise is infinite where no row has room.
        """
        problem, rows = self.problem, self.problem.rows
        found = np.zeros(3)
        least_rise(problem.loss, problem.y, problem.weight, self.slopes, down, up, found)
        row = int(found[0])
        place = row if rows.dense else slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
        length = float(np.sum(np.abs(rows.values[place].astype(np.float64))))
        return float(found[1]), float(found[2]), length, abs(float(problem.offset[row]))


def imbalance(workers: Workers) -> tuple[float, float]:
    """Return what an unbalanced sum c_i s_i costs at most.

    That is how far the sum of conjugates falls, and how far g moves in the 1-norm, where one row
    takes the whole sum so that the slopes balance exactly.
    """
    high, low, errors = zip(*workers.call("balance_witness"), strict=True)
    excess, error = math.fsum((*high, *low)), 1.01 * sum(errors)
    error += UNIT * abs(excess) * (error > 0.0)
    down, up = 1.01 * max(excess + error, 0.0), 1.01 * max(error - excess, 0.0)
    if down == up == 0.0:
        return 0.0, 0.0
    rise, size, length, offset = min(workers.call("remainder_witness", down, up))
    most = 1.01 * max(down, up)
    fall = 1.01 * (max(rise, 0.0) + gamma(WITHIN) * size + most * offset) + TINY
    return fall, 1.01 * most * length + UNDERFLOW


def within(weights: Vector, radius: float) -> bool:
    """Return whether ||w||_2 <= radius for sure."""
    square = math.fsum(np.square(weights / radius))
    return (1.0 + gamma(8.0)) * square + len(weights) * TINY <= 1.0


def verified(
    objective: Objective,
    workers: Workers,
    rows: int,
    weight: float,
    weights: Vector,
    bias: float | None = None,
) -> tuple[float, float]:
    """Return P(w) rounded up and D(s) rounded down, the slopes s as they lie on the shards.

    Args:
        objective: what is minimised.
        workers: hosts of shards that are a `Witness`.
        rows: how many there are in all.
        weight: the sum of their example weights.
        weights: w.
        bias: added to every prediction and not regularised [default: there is none].
    """
    count = rows + workers.count
    vectors, rest = workers.add("dual_witness")
    # Sums that overflow are infinite: they prove nothing, and are no error.
    with np.errstate(over="ignore", invalid="ignore"):
        g, sizes = np.split(whole(vectors), 2)
        delta = gamma(count + 4) * 1.01 * float(np.sum(sizes)) + count * UNDERFLOW
        total, size = (sum(column) for column in zip(*rest, strict=True))
        slack = gamma(count + WITHIN) * size + (count + weight) * TINY
        if bias is not None:
            fall, away = imbalance(workers)
            slack, delta = slack + fall, delta + away
        if objective.radius is not None:
            length = objective.mirror.predictors().support_upper(g, objective.radius, delta)
        else:
            b = objective.strength
            length = objective.mirror.conjugate_upper(-g, 1.0 / b, delta, b)
        lower = certified_floor(total, length, slack + TINY, objective.loss.nonnegative)
        found = workers.call("primal_witness", weights, bias or 0.0)
        losses, size = (sum(column) for column in zip(*found, strict=True))
        losses += gamma(count + WITHIN) * size + (count + weight) * TINY
        if objective.radius is None:
            losses += objective.mirror.regularizer_upper(weights, objective.strength)
        elif not within(weights, objective.radius):
            losses = math.inf
    return certified_ceiling(float(losses)), lower
