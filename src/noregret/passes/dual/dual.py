"""Dual coordinate ascent for half the squared 2-norm, one row's slope at a time.

    minimise over w  sum_i c_i f(y_i, <w, x_i> + o_i) + (b/2) ||w - v||^2,  everywhere or in a
    ball ||w|| <= B

Input: rows, a record a row, slopes s inside the records, theta = v - (1/b) sum_i c_i s_i x_i,
the rows still active. Output: the same, better. The weights are kappa theta, with kappa = 1 or
what projects onto the ball. A visit raises the dual as far as s_i can: with p the prediction of
the row and q = c_i ||x_i||^2 / b, the new slope is the proximal one at p + q s_i; exactly so
without a ball, and with the curvature kappa q, or a little more, where the ball is in the way.
Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, Algorithm 1; rows are
put aside as in Hsieh et al., A Dual Coordinate Descent Method, section 3.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import borrowed, fetch, kernel
from noregret.passes.rows import Row, place, row_of

#: The places of a row's record; together they fill one line of the cache.
SLOPE, LABEL, CURVATURE, SCALE, OFFSET, BEGIN, END, BEFORE = range(8)
PLACES = 8

_0, _1, _2, _3, _4 = (np.uint64(k) for k in range(5))

#: The places of a row in a plan: whether it is free, the second derivative of its conjugate, how
#: far its prediction is from where its slope belongs, the ends of its interval.
FREE, BEND, RESIDUAL, LOWEST, HIGHEST = range(5)
PLAN = 5
#: A slope is evaluated at this distance on both sides to learn how fast it changes.
NEAR = 1e-5
#: A row whose slope changes less than this is as good as one at the end of its interval.
FLAT = 1e-12

#: How many visits ahead a record, and a row, are prefetched.
RECORD_AHEAD = np.uint64(12)
ROW_AHEAD = np.uint64(4)
#: Features whose indices fill a line of the cache.
LINE = np.uint64(16)
#: A step in a ball assumes the curvature at theta times this factor.
MARGIN = 1.02


class Memory(NamedTuple):
    """What visits read and write: a record a row, theta, and the rows in the order of visits."""

    records: Any
    theta: Any
    order: Any


@kernel(inline=True)
def next_random(state):  # type: ignore[no-untyped-def]
    """Return the next state of a generator of 64 bits (xorshift)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@kernel(inline=True)
def random_below(state, count):  # type: ignore[no-untyped-def]
    """Return a place below `count`, the high half of a product: without a division."""
    return (state >> np.uint64(32)) * count >> np.uint64(32)


@kernel
def shuffle(order, count, state):  # type: ignore[no-untyped-def]
    """Put the first `count` entries in random order; return the generator's new state."""
    for k in range(count - _1 if count > _0 else _0):
        state = next_random(state)
        place = k + random_below(state, count - k)
        order[k], order[place] = order[place], order[k]
    return state


@kernel(fast=True, inline=True)
def _dot_dense(weights, row):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(np.uint64(row.shape[0])):
        total += weights[j] * np.float64(row[j])
    return total


@kernel(inline=True)
def dot_row(weights, row, values):  # type: ignore[no-untyped-def]
    """Return <w, x>; of a sparse row as four sums, which need not wait for one another."""
    if values.ndim == 2:
        return _dot_dense(weights, values[row.t])
    else:
        indices, k, end = row.indices, row.begin, row.end
        a = b = c = d = 0.0
        while end - k >= _4:
            a += weights[indices[k]] * np.float64(values[k])
            b += weights[indices[k + _1]] * np.float64(values[k + _1])
            c += weights[indices[k + _2]] * np.float64(values[k + _2])
            d += weights[indices[k + _3]] * np.float64(values[k + _3])
            k += _4
        while k < end:
            a += weights[indices[k]] * np.float64(values[k])
            k += _1
        return (a + b) + (c + d)


@kernel(fast=True, inline=True)
def _axpy_dense(weights, step, row):  # type: ignore[no-untyped-def]
    for j in range(np.uint64(row.shape[0])):
        weights[j] += step * np.float64(row[j])


@kernel(inline=True)
def axpy_row(weights, step, row, values):  # type: ignore[no-untyped-def]
    """Add step * x to the weights."""
    if values.ndim == 2:
        _axpy_dense(weights, step, values[row.t])
    else:
        indices, k, end = row.indices, row.begin, row.end
        while end - k >= _4:
            weights[indices[k]] += step * np.float64(values[k])
            weights[indices[k + _1]] += step * np.float64(values[k + _1])
            weights[indices[k + _2]] += step * np.float64(values[k + _2])
            weights[indices[k + _3]] += step * np.float64(values[k + _3])
            k += _4
        while k < end:
            weights[indices[k]] += step * np.float64(values[k])
            k += _1


@kernel(inline=True)
def _recorded(rows, records, i):  # type: ignore[no-untyped-def]
    """Return row i, its ends from its record, which is in the cache already."""
    begin, end = np.uint64(records[i, BEGIN]), np.uint64(records[i, END])
    return Row(borrowed(rows.indices), borrowed(rows.values), begin, end, i)


@kernel(inline=True)
def _fetch_later(memory, indices, values, k, active):  # type: ignore[no-untyped-def]
    """Prefetch a record and a sparse row that will soon be visited."""
    records, order = memory.records, memory.order
    if k + RECORD_AHEAD < active:
        fetch(records, np.uint64(order[k + RECORD_AHEAD]) * np.uint64(PLACES))
    if values.ndim == 1:
        if k + ROW_AHEAD < active:
            later = np.uint64(order[k + ROW_AHEAD])
            begin, end = np.uint64(records[later, BEGIN]), np.uint64(records[later, END])
            for first in range(begin, end, LINE):
                fetch(indices, first)
                fetch(values, first)


class Course(NamedTuple):
    """How an epoch goes: rows to visit, when one is settled, and one in how many is sampled."""

    active: Any
    far: Any
    every: Any


@kernel
def inner(a, b):  # type: ignore[no-untyped-def]
    """Return <a, b> in this thread: BLAS would start others and wait for them."""
    return _dot_dense(a, b)


@kernel(fast=True, counted=False)
def squares(rows, found):  # type: ignore[no-untyped-def]
    """Write ||x_t||^2 of every row."""
    for t in range(np.uint64(found.shape[0])):
        total = 0.0
        row = row_of(rows, t)
        for k in range(row.end - row.begin):
            _, x = place(row, k)
            total += x * x
        found[t] = total


@kernel(counted=False)
def gather(rows, factors, weights):  # type: ignore[no-untyped-def]
    """Add sum_t factor_t x_t to the weights."""
    for t in range(np.uint64(factors.shape[0])):
        if factors[t] != 0.0:
            axpy_row(weights, factors[t], row_of(rows, t), rows.values)


@kernel(counted=False)
def gather_some(rows, chosen, factors, found):  # type: ignore[no-untyped-def]
    """Add sum_k factor_k x_t, t the k-th chosen row, to `found`."""
    for k in range(np.uint64(factors.shape[0])):
        if factors[k] != 0.0:
            axpy_row(found, factors[k], row_of(rows, np.uint64(chosen[k])), rows.values)


@kernel(counted=False)
def products_of_some(rows, chosen, v, found):  # type: ignore[no-untyped-def]
    """Write <v, x> of each chosen row."""
    for k in range(np.uint64(found.shape[0])):
        found[k] = dot_row(v, row_of(rows, np.uint64(chosen[k])), rows.values)


@kernel(counted=False)
def products(rows, v, found):  # type: ignore[no-untyped-def]
    """Write <v, x> of every row."""
    for t in range(np.uint64(found.shape[0])):
        found[t] = dot_row(v, row_of(rows, t), rows.values)


@kernel(inline=True)
def _highest_kappa(mirror, square, product, norm, step):  # type: ignore[no-untyped-def]
    """Return the largest kappa between t and t + step * x."""
    growth = step * step * norm
    slant = step * product
    way = min(max(-slant / growth, 0.0), 1.0) if growth > 0.0 else 0.0
    least = square + way * (2.0 * slant + way * growth)
    return mirror.kappa(0.5 * max(least, 0.0), 0.0, 1.0)


@kernel(inline=True)
def _best_slope(loss, mirror, rows, memory, i, square, spread):  # type: ignore[no-untyped-def]
    """Return a slope that raises the dual, <theta, x> and the prediction.

    For the Euclidean map it is the best slope. Between t and t + step * x the curvature is at
    most the largest kappa there times q: a step that assumes this curvature never overshoots.
    First try little more than the kappa at t, since one row hardly ever moves it.
    """
    records = memory.records
    product = dot_row(memory.theta, _recorded(rows, records, i), rows.values)
    kappa = mirror.kappa(0.5 * square, 0.0, 1.0)
    s, y = records[i, SLOPE], records[i, LABEL]
    q, scale = records[i, CURVATURE], records[i, SCALE]
    if spread is not None:
        q *= spread
    p = kappa * product + records[i, OFFSET]
    share = min(MARGIN * kappa, 1.0)
    new = loss.proximal_slope(y, p + share * q * s, share * q, s)
    if kappa < 1.0 and q > 0.0:
        for trial in range(4):
            needed = _highest_kappa(mirror, square, product, q / scale, scale * (s - new))
            if needed <= share:
                break
            share = min(MARGIN * needed, 1.0) if trial < 2 else 1.0
            new = loss.proximal_slope(y, p + share * q * s, share * q, s)
    # Where numbers overflow a row keeps its slope, so that slopes are always finite.
    return (new if abs(new) < np.inf else s), product, p


@kernel(counted=False)
def ascend(loss, mirror, rows, memory, square, course, spread):  # type: ignore[no-untyped-def]
    """Visit the first `active` rows of `order` once; put aside those that are settled.

    `square` is ||theta||^2. A row is settled if its slope would stay the same within `far` of
    its prediction. Returns how many rows are still active, the largest movement q |s' - s|, and
    the sums over one visit in `every` (a power of two) of the losses and of the rows' parts of
    the gap, both before the visit and in units of the strength; then the sum of c_i / b
    q (s' - s)^2, the squared lengths of all steps.

    `spread` is None where this is the only pass, or sigma' if others visit other rows meanwhile
    from the same weights: steps count `spread` times here, as if the others took them too, and
    the slope before the visit is kept in the record.
    """
    records, order = memory.records, memory.order
    active, far, every = course
    largest = lost = apart = length = 0.0
    k = visits = _0
    mask = every - _1
    while k < active:
        _fetch_later(memory, rows.indices, rows.values, k, active)
        i = np.uint64(order[k])
        s, y, scale = records[i, SLOPE], records[i, LABEL], records[i, SCALE]
        new, product, p = _best_slope(loss, mirror, rows, memory, i, square, spread)
        if visits & mask == _0:
            value = loss.value(y, p)
            lost += scale * value
            apart += scale * max(value + loss.conjugate(y, s) - s * p, 0.0)
        visits += _1
        change = new - s
        if spread is not None:
            records[i, BEFORE] = s
        if change != 0.0:
            records[i, SLOPE] = new
            step = -scale * change
            move = records[i, CURVATURE] * abs(change)
            if spread is not None:
                length += abs(step) * move
                axpy_row(memory.theta, spread * step, _recorded(rows, records, i), rows.values)
            else:
                axpy_row(memory.theta, step, _recorded(rows, records, i), rows.values)
                square = max(square + 2.0 * step * product + abs(step) * move, 0.0)
            largest = max(largest, move)
        elif loss.slope(y, p - far) == s and loss.slope(y, p + far) == s:
            active -= _1
            order[k], order[active] = order[active], order[k]
            continue
        k += _1
    return active, largest, lost, apart, length


@kernel(counted=False)
def join(theta, kappa, locals, spread, whole, begin, end):  # type: ignore[no-untyped-def]
    """Write the step of all shards, sum_k (u_k - kappa theta) / spread, for some columns.

    Row k of `locals` is u_k. Returns the squared lengths of the shards' steps and of their sum.
    """
    parts = square = 0.0
    for j in range(np.uint64(begin), np.uint64(end)):
        start = kappa * theta[j]
        total = 0.0
        for k in range(np.uint64(locals.shape[0])):
            step = (locals[k, j] - start) / spread
            total += step
            parts += step * step
        whole[j] = total
        square += total * total
    return parts, square


@kernel
def retreat(records, order, gamma):  # type: ignore[no-untyped-def]
    """Take back the part 1 - gamma of the last change of each row's slope."""
    for k in range(np.uint64(order.shape[0])):
        i = np.uint64(order[k])
        before = records[i, BEFORE]
        records[i, SLOPE] = before + gamma * (records[i, SLOPE] - before)


@kernel(counted=False)
def revive(loss, mirror, rows, memory, square, active, count):  # type: ignore[no-untyped-def]
    """Make those rows active again whose slope is not the best one any more; return how many."""
    order = memory.order
    for k in range(active, count):
        i = np.uint64(order[k])
        new, _, _ = _best_slope(loss, mirror, rows, memory, i, square, None)
        if new != memory.records[i, SLOPE]:
            order[k], order[active] = order[active], order[k]
            active += _1
    return active


@kernel(counted=False)
def plan(loss, mirror, rows, memory, square, found):  # type: ignore[no-untyped-def]
    """Look at the first rows of `order` and write for each what a Newton step needs to know.

    A row is free if its slope lies, and would move to a place, strictly inside its interval.
    """
    records = memory.records
    kappa = mirror.kappa(0.5 * square, 0.0, 1.0)
    for k in range(np.uint64(found.shape[0])):
        i = np.uint64(memory.order[k])
        s, y, q = records[i, SLOPE], records[i, LABEL], records[i, CURVATURE]
        product = dot_row(memory.theta, _recorded(rows, records, i), rows.values)
        p = kappa * product + records[i, OFFSET]
        new = loss.proximal_slope(y, p + q * s, q, s)
        low, high = loss.lowest_slope(y), loss.highest_slope(y)
        there = p - q * (new - s)
        near = NEAR * (1.0 + abs(there))
        rise = loss.slope(y, there + near) - loss.slope(y, there - near)
        inside = low < s < high and low < new < high and q > 0.0 and rise > FLAT * near
        bend = 2.0 * near / rise if inside else 0.0
        found[k, FREE] = 1.0 if inside else 0.0
        found[k, BEND] = bend
        found[k, RESIDUAL] = (bend + q) * (new - s)
        found[k, LOWEST] = low
        found[k, HIGHEST] = high


@kernel
def conjugates(loss, y, slopes, found):  # type: ignore[no-untyped-def]
    """Write the conjugate of every row's loss at its slope."""
    for t in range(np.uint64(y.shape[0])):
        found[t] = loss.conjugate(y[t], slopes[t])
