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

import numpy as np

from noregret.jit import fetch, kernel

#: The places of a row's record; together they fill one line of the cache.
SLOPE, LABEL, CURVATURE, SCALE, OFFSET, BEGIN, END, SPARE = range(8)
PLACES = 8

_SLOPE, _LABEL, _CURVATURE, _SCALE, _OFFSET, _BEGIN, _END = (np.uint64(k) for k in range(7))
_0, _1, _2, _3, _4 = (np.uint64(k) for k in range(5))

#: The places of a row in a plan: whether it is free, the second derivative of its conjugate, how
#: far its prediction is from where its slope belongs, the ends of its interval.
FREE, BEND, RESIDUAL, LOWEST, HIGHEST = range(5)
PLAN = 5
#: At this distance on both sides a slope is looked at to learn how fast it changes.
NEAR = 1e-5
#: A row whose slope changes less than this is as good as one at the end of its interval.
FLAT = 1e-12

#: How many visits ahead a record, and a row, are asked for.
RECORD_AHEAD = np.uint64(12)
ROW_AHEAD = np.uint64(4)
#: Features whose indices fill a line of the cache.
LINE = np.uint64(16)
#: How much more curvature than at theta a step in a ball reckons with.
MARGIN = 1.02


@kernel(inline=True)
def _random(state):  # type: ignore[no-untyped-def]
    """Return the next state of a generator of 64 bits (xorshift)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@kernel
def shuffle(order, count, state):  # type: ignore[no-untyped-def]
    """Put the first `count` entries in random order; return the generator's new state."""
    for k in range(count - _1 if count > _0 else _0):
        state = _random(state)
        left = count - k
        # The high half of a product: a random place without a division.
        place = k + ((state >> np.uint64(32)) * left >> np.uint64(32))
        order[k], order[place] = order[place], order[k]
    return state


@kernel(inline=True)
def _dot(weights, indices, values, begin, end):  # type: ignore[no-untyped-def]
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    k = begin
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


@kernel(inline=True)
def _axpy(weights, step, indices, values, begin, end):  # type: ignore[no-untyped-def]
    k = begin
    while end - k >= _4:
        weights[indices[k]] += step * np.float64(values[k])
        weights[indices[k + _1]] += step * np.float64(values[k + _1])
        weights[indices[k + _2]] += step * np.float64(values[k + _2])
        weights[indices[k + _3]] += step * np.float64(values[k + _3])
        k += _4
    while k < end:
        weights[indices[k]] += step * np.float64(values[k])
        k += _1


@kernel(fast=True, inline=True)
def _dot_dense(weights, row):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(np.uint64(row.shape[0])):
        total += weights[j] * np.float64(row[j])
    return total


@kernel(fast=True, inline=True)
def _axpy_dense(weights, step, row):  # type: ignore[no-untyped-def]
    for j in range(np.uint64(row.shape[0])):
        weights[j] += step * np.float64(row[j])


@kernel(inline=True)
def read(weights, indices, values, i, begin, end):  # type: ignore[no-untyped-def]
    """Return <w, x_i>."""
    if values.ndim == 2:
        return _dot_dense(weights, values[i])
    else:
        return _dot(weights, indices, values, begin, end)


@kernel(inline=True)
def add(weights, step, indices, values, i, begin, end):  # type: ignore[no-untyped-def]
    """Add step * x_i to the weights."""
    if values.ndim == 2:
        _axpy_dense(weights, step, values[i])
    else:
        _axpy(weights, step, indices, values, begin, end)


@kernel(inline=True)
def fetch_later(order, k, active, records, indices, values):  # type: ignore[no-untyped-def]
    """Have a record and a row that will soon be visited brought near."""
    if k + RECORD_AHEAD < active:
        fetch(records, np.uint64(order[k + RECORD_AHEAD]) * np.uint64(PLACES))
    if values.ndim == 1:
        if k + ROW_AHEAD < active:
            later = np.uint64(order[k + ROW_AHEAD])
            begin, end = np.uint64(records[later, _BEGIN]), np.uint64(records[later, _END])
            for first in range(begin, end, LINE):
                fetch(indices, first)
                fetch(values, first)


@kernel(fast=True)
def inner(a, b):  # type: ignore[no-untyped-def]
    """Return <a, b> in this thread: a library that starts others for it may have to wait."""
    total = 0.0
    for j in range(np.uint64(a.shape[0])):
        total += a[j] * b[j]
    return total


@kernel(fast=True)
def prepare(  # type: ignore[no-untyped-def]
    indptr, indices, values, y, weight, offset, strength, slopes, records, theta, order
):
    """Fill the records and move theta to where the slopes belong; return how many rows count.

    Rows of weight 0 stand behind the others in `order`.
    """
    count = np.uint64(y.shape[0])
    active, last = _0, count
    for i in range(count):
        scale = weight[i] / strength
        step = -scale * slopes[i]
        begin, end = _0, _0
        square = 0.0
        if values.ndim == 2:
            for j in range(np.uint64(values.shape[1])):
                x = np.float64(values[i, j])
                square += x * x
                theta[j] += step * x
        else:
            begin, end = indptr[i], indptr[i + _1]
            for k in range(begin, end):
                square += np.float64(values[k]) * np.float64(values[k])
            if step != 0.0:
                _axpy(theta, step, indices, values, begin, end)
        records[i, _SLOPE] = slopes[i]
        records[i, _LABEL] = y[i]
        records[i, _CURVATURE] = scale * square
        records[i, _SCALE] = scale
        records[i, _OFFSET] = offset[i]
        records[i, _BEGIN] = np.float64(begin)
        records[i, _END] = np.float64(end)
        if weight[i] > 0.0:
            order[active] = np.uint32(i)
            active += _1
        else:
            last -= _1
            order[last] = np.uint32(i)
    return active


@kernel(inline=True)
def _highest_kappa(mirror, square, product, norm, step):  # type: ignore[no-untyped-def]
    """Return the largest kappa between t and t + step * x."""
    growth = step * step * norm
    slant = step * product
    way = min(max(-slant / growth, 0.0), 1.0) if growth > 0.0 else 0.0
    least = square + way * (2.0 * slant + way * growth)
    return mirror.kappa(0.5 * max(least, 0.0), 0.0, 1.0)


@kernel(inline=True)
def _best_slope(loss, mirror, records, i, square, product, kappa):  # type: ignore[no-untyped-def]
    """Return a slope that raises the dual, for the Euclidean map the best one.

    Between t and t + step * x the curvature is at most the largest kappa there times q: a step
    that reckons with as much never overshoots. It is tried with little more than the kappa at
    t, since one row hardly ever moves it.
    """
    s, y, q, scale = (
        records[i, _SLOPE],
        records[i, _LABEL],
        records[i, _CURVATURE],
        records[i, _SCALE],
    )
    p = kappa * product + records[i, _OFFSET]
    reach = min(MARGIN * kappa, 1.0)
    new = loss.proximal_slope(y, p + reach * q * s, reach * q, s)
    if kappa < 1.0 and q > 0.0:
        for trial in range(4):
            needed = _highest_kappa(mirror, square, product, q / scale, scale * (s - new))
            if needed <= reach:
                break
            reach = min(MARGIN * needed, 1.0) if trial < 2 else 1.0
            new = loss.proximal_slope(y, p + reach * q * s, reach * q, s)
    # Where numbers overflow a row stays as it is, so that the slopes at hand are always finite.
    return (new if abs(new) < np.inf else s), p


@kernel
def ascend(  # type: ignore[no-untyped-def]
    loss, mirror, indices, values, records, theta, square, order, active, far, every
):
    """Visit the first `active` rows of `order` once; put aside those that are settled.

    `square` is ||theta||^2. A row is settled if its slope would stay the same within `far` of
    its prediction. Returns how many rows are still active, the largest movement q |s' - s|, and
    the sums over one visit in `every` (a power of two) of the losses and of the rows' parts of
    the gap, both before the visit and in units of the strength.
    """
    largest = 0.0
    lost = 0.0
    apart = 0.0
    k = _0
    visits = _0
    mask = every - _1
    while k < active:
        fetch_later(order, k, active, records, indices, values)
        i = np.uint64(order[k])
        begin, end = np.uint64(records[i, _BEGIN]), np.uint64(records[i, _END])
        s, y, q, scale = (
            records[i, _SLOPE],
            records[i, _LABEL],
            records[i, _CURVATURE],
            records[i, _SCALE],
        )
        product = read(theta, indices, values, i, begin, end)
        kappa = mirror.kappa(0.5 * square, 0.0, 1.0)
        new, p = _best_slope(loss, mirror, records, i, square, product, kappa)
        if visits & mask == _0:
            value = loss.value(y, p)
            lost += scale * value
            apart += scale * max(value + loss.conjugate(y, s) - s * p, 0.0)
        visits += _1
        change = new - s
        if change != 0.0:
            records[i, _SLOPE] = new
            step = -scale * change
            add(theta, step, indices, values, i, begin, end)
            move = q * abs(change)
            square = max(square + 2.0 * step * product + abs(step) * move, 0.0)
            largest = max(largest, move)
        elif loss.slope(y, p - far) == s and loss.slope(y, p + far) == s:
            active -= _1
            order[k], order[active] = order[active], order[k]
            continue
        k += _1
    return active, largest, lost, apart


@kernel
def revive(loss, mirror, indices, values, records, theta, square, order, active, count):  # type: ignore[no-untyped-def]
    """Make those rows active again whose slope is not the best one any more; return how many."""
    kappa = mirror.kappa(0.5 * square, 0.0, 1.0)
    for k in range(active, count):
        i = np.uint64(order[k])
        begin, end = np.uint64(records[i, _BEGIN]), np.uint64(records[i, _END])
        product = read(theta, indices, values, i, begin, end)
        new, _ = _best_slope(loss, mirror, records, i, square, product, kappa)
        if new != records[i, _SLOPE]:
            order[k], order[active] = order[active], order[k]
            active += _1
    return active


@kernel
def plan(loss, mirror, indices, values, records, theta, square, order, found):  # type: ignore[no-untyped-def]
    """Look at the first rows of `order` and write for each what a Newton step needs to know.

    A row is free if its slope lies, and would move to a place, strictly inside its interval.
    """
    kappa = mirror.kappa(0.5 * square, 0.0, 1.0)
    for k in range(np.uint64(found.shape[0])):
        i = np.uint64(order[k])
        begin, end = np.uint64(records[i, _BEGIN]), np.uint64(records[i, _END])
        s, y, q = records[i, _SLOPE], records[i, _LABEL], records[i, _CURVATURE]
        p = kappa * read(theta, indices, values, i, begin, end) + records[i, _OFFSET]
        new = loss.proximal_slope(y, p + q * s, q, s)
        low, high = loss.lowest_slope(y), loss.highest_slope(y)
        there = p - q * (new - s)
        near = NEAR * (1.0 + abs(there))
        rise = loss.slope(y, there + near) - loss.slope(y, there - near)
        inside = low < s < high and low < new < high and q > 0.0 and rise > FLAT * near
        bend = 2.0 * near / rise if inside else 0.0
        found[k, np.uint64(FREE)] = 1.0 if inside else 0.0
        found[k, np.uint64(BEND)] = bend
        found[k, np.uint64(RESIDUAL)] = (bend + q) * (new - s)
        found[k, np.uint64(LOWEST)] = low
        found[k, np.uint64(HIGHEST)] = high


@kernel
def conjugates(loss, y, slopes, found):  # type: ignore[no-untyped-def]
    """Write the conjugate of every row's loss at its slope."""
    for t in range(np.uint64(y.shape[0])):
        found[t] = loss.conjugate(y[t], slopes[t])
