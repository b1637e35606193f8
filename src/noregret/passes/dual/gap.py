"""The sums of a duality gap: what slopes prove, and what weights cost, in one pass each.

Both are read off with their rounding: the gradient is summed with a low-order part beside
every coordinate, and a loss without a largest slope is taken at the worse end of the interval
in which the true prediction lies, which for a convex function bounds it everywhere between.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.rows import place, row_of
from noregret.rounding import EPSILON, add_twofold, two_sum

_0, _1 = np.uint64(0), np.uint64(1)
#: Features of a row whose sums are read, added to and written together: reading one while another
#: is being written would wait for it.
TOGETHER = np.uint64(64)


class Terms(NamedTuple):
    """The label, the weight c and the offset o of each row: its term of the objective."""

    y: Any
    weight: Any
    offset: Any


@kernel(inline=True)
def anchor_of(loss, y):  # type: ignore[no-untyped-def]
    """Return the size of f(0), 1 where it is infinite: parts of a conjugate may cancel to it."""
    size = abs(loss.value(y, 0.0))
    return size if size < np.inf else 1.0


@kernel(inline=True)
def _add_row(state, step, row, work):  # type: ignore[no-untyped-def]
    """Add step * x to column 0, what rounding lost to column 1; return ||x||_1.

    The columns of a row are distinct, so that reading several before writing any changes nothing.
    """
    size = 0.0
    count = row.end - row.begin
    for first in range(_0, count, TOGETHER):
        several = min(count - first, TOGETHER)
        for k in range(several):
            j, x = place(row, first + k)
            work[_0, k] = state[j, _0]
            size += abs(x)
        for k in range(several):
            _, x = place(row, first + k)
            work[_0, k], work[_1, k] = two_sum(work[_0, k], step * x)
        for k in range(several):
            j, _ = place(row, first + k)
            state[j, _0] = work[_0, k]
            state[j, _1] += work[_1, k]
    return size


def dual_sums(loss: Any, rows: Any, terms: Terms, slopes: Any, state: Any) -> Any:
    """Return sum c_i (s_i o_i - f*(s_i)), its magnitude and how far the gradient travelled.

    The gradient sum c_i s_i x_i is added to `state`, a record of the sum and its low-order part
    for each coordinate.
    """
    return _dual_sums(loss, rows, terms, slopes, state, np.empty((2, int(TOGETHER))))


@kernel(counted=False)
def _dual_sums(loss, rows, terms, slopes, state, work):  # type: ignore[no-untyped-def]
    total = low = magnitude = travel = 0.0
    below, above = anchor_of(loss, -1.0), anchor_of(loss, 1.0)
    for t in range(np.uint64(slopes.shape[0])):
        y, c, offset, s = terms.y[t], terms.weight[t], terms.offset[t], slopes[t]
        if c == 0.0:
            continue
        conjugate = loss.conjugate(y, s)
        term = c * (s * offset - conjugate)
        total, low = add_twofold(total, low, term)
        # Where the parts of a conjugate cancel, they are of the size of one of these.
        anchor = below if y == -1.0 else (above if y == 1.0 else anchor_of(loss, y))
        size = abs(s)
        magnitude += c * (abs(conjugate) + anchor + size * (size + abs(y) + abs(offset)))
        if s != 0.0:
            travel += c * size * _add_row(state, c * s, row_of(rows, t), work)
    return total + low, magnitude, travel


@kernel(counted=False)
def join(states, begin, end):  # type: ignore[no-untyped-def]
    """Add the gradients of all shards to that of the first, for some coordinates."""
    for k in range(_1, np.uint64(states.shape[0])):
        for j in range(np.uint64(begin), np.uint64(end)):
            total, lost = two_sum(states[_0, j, _0], states[k, j, _0])
            states[_0, j, _0] = total
            states[_0, j, _1] += states[k, j, _1] + lost


@kernel(fast=True, inline=True)
def _read(weights, row):  # type: ignore[no-untyped-def]
    """Return <w, x> and sum |w_j x_j|."""
    product = size = 0.0
    for k in range(row.end - row.begin):
        j, x = place(row, k)
        term = weights[j] * x
        product += term
        size += abs(term)
    return product, size


@kernel(counted=False)
def primal_sums(loss, rows, terms, bias, weights, roundings):  # type: ignore[no-untyped-def]
    """Return a sum that sum c_i f(<w, x_i> + o_i + bias) does not exceed, and its magnitude.

    `roundings` are those of each weight, in units of EPSILON.
    """
    total = low = magnitude = 0.0
    steepest = loss.lipschitz()
    for t in range(np.uint64(terms.y.shape[0])):
        y, c, offset = terms.y[t], terms.weight[t], terms.offset[t]
        if c == 0.0:
            continue
        row = row_of(rows, t)
        product, size = _read(weights, row)
        p = product + (offset + bias)
        error = (np.float64(row.end - row.begin) + roundings) * EPSILON * size
        error += 2.0 * EPSILON * (abs(offset) + abs(bias) + abs(p))
        if steepest < np.inf:
            term = c * (loss.value(y, p) + steepest * error)
        else:
            term = c * max(loss.value(y, p - error), loss.value(y, p + error))
        total, low = add_twofold(total, low, term)
        # What the value itself may have rounded away is of the size of one of these.
        magnitude += abs(term)
    return total + low, magnitude


@kernel
def first_slopes(loss, y, slopes):  # type: ignore[no-untyped-def]
    """Write a slope at which the conjugate is finite for every row."""
    for t in range(np.uint64(y.shape[0])):
        slopes[t] = loss.initial_slope(y[t])


@kernel
def allowed_slopes(loss, y, slopes):  # type: ignore[no-untyped-def]
    """Bring every slope into the interval of its row, or to where its conjugate is finite."""
    for t in range(np.uint64(y.shape[0])):
        s = min(max(slopes[t], loss.lowest_slope(y[t])), loss.highest_slope(y[t]))
        slopes[t] = s if abs(loss.conjugate(y[t], s)) < np.inf else loss.initial_slope(y[t])
