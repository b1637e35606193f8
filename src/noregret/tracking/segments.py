"""Lower bounds on the cost of every segment of a stream, and the cheapest schedule of segments."""

from __future__ import annotations

import math

import numpy as np

from noregret.arrays import Matrix
from noregret.jit import kernel
from noregret.rounding import EPSILON

#: Number of segments, with the same last cell, that are solved side by side: vectorised over these
#: lanes they take a quarter of the time of a loop.
LANES = 32
#: Most steps of Newton's method for the multiplier of the ball, and its relative tolerance: the
#: bound falls only with the square of the error.
STEPS = 40
NEAR = 1e-8
#: Segments are bounded at vectors no longer than this, in units of the radius.
LONGEST = 1.001
#: Added to every ridge, so that it is positive where all rows are 0.
LEAST_RIDGE = 1e-300


@kernel(fast=True)
def _factor(moments, ridge, work, sound):  # type: ignore[no-untyped-def]
    """Write the Cholesky factors of A + ridge I, with 1/L_jj in the diagonal, to `work`."""
    d, lanes = work.shape[0], np.uint64(work.shape[2])
    for j in range(d):
        for i in range(j, d):
            for k in range(lanes):
                work[i, j, k] = moments[i, j, k]
            for m in range(j):
                for k in range(lanes):
                    work[i, j, k] -= work[i, m, k] * work[j, m, k]
            if i > j:
                for k in range(lanes):
                    work[i, j, k] *= work[j, j, k]
                continue
            for k in range(lanes):
                pivot = work[j, j, k] + ridge[k]
                positive = pivot > 0.0
                sound[k] = sound[k] and positive
                work[j, j, k] = 1.0 / np.sqrt(pivot if positive else 1.0)


@kernel(fast=True)
def _forward(work, v):  # type: ignore[no-untyped-def]
    """Solve L v = v in place."""
    lanes = np.uint64(work.shape[2])
    for i in range(work.shape[0]):
        for m in range(i):
            for k in range(lanes):
                v[i, k] -= work[i, m, k] * v[m, k]
        for k in range(lanes):
            v[i, k] *= work[i, i, k]


@kernel(fast=True)
def _backward(work, v):  # type: ignore[no-untyped-def]
    """Solve L' v = v in place."""
    d, lanes = work.shape[0], np.uint64(work.shape[2])
    for i in range(d - 1, -1, -1):
        for m in range(i + 1, d):
            for k in range(lanes):
                v[i, k] -= work[m, i, k] * v[m, k]
        for k in range(lanes):
            v[i, k] *= work[i, i, k]


@kernel
def _minimizers(moments, radius, trace, mu, work, v, slope):  # type: ignore[no-untyped-def]
    """Write the best v of the ball in every lane; `mu` is where the search starts and ends."""
    d, lanes = v.shape
    least = (d + 1.0) * EPSILON * trace + LEAST_RIDGE
    sound, open_ = np.empty(lanes, np.bool_), np.ones(lanes, np.bool_)
    for k in range(lanes):
        mu[k] = max(mu[k], least[k])
    for _ in range(STEPS):
        sound[:] = True
        _factor(moments, mu, work, sound)
        v[:] = moments[d, :d]
        _forward(work, v)
        _backward(work, v)
        slope[:] = v
        _forward(work, slope)
        left = 0
        for k in range(lanes):
            if not open_[k]:
                continue
            square, fall = 0.0, 0.0
            for i in range(d):
                square += v[i, k] * v[i, k]
                fall += slope[i, k] * slope[i, k]
            length = np.sqrt(square)
            if not sound[k]:
                least[k] *= 4.0
                mu[k] = max(mu[k], least[k])
            elif length == 0.0 or (length <= radius and mu[k] == least[k]):
                open_[k] = False
            elif abs(length - radius) <= NEAR * radius:
                open_[k] = False
            elif radius == np.inf:
                mu[k] = least[k]
            else:
                # Newton's method for 1/||v|| = 1/radius, which is almost straight in mu.
                mu[k] = max(mu[k] + square / fall * (length - radius) / radius, least[k])
            left += open_[k]
        if left == 0:
            break
    for k in range(lanes):
        # Inside the ball, or diverged: the next search starts from the least ridge.
        if not least[k] < mu[k] < np.inf:
            mu[k] = 0.0


@kernel
def _bounds(moments, radius, v, product, values):  # type: ignore[no-untyped-def]
    """Write s - v'Av - 2 radius ||Av - b|| of every lane, at least 0; see `segment_costs`."""
    d, lanes = v.shape
    product[:] = 0.0
    for i in range(d):
        for m in range(d):
            for k in range(lanes):
                product[i, k] += moments[max(i, m), min(i, m), k] * v[m, k]
    for k in range(lanes):
        inner, square = 0.0, 0.0
        for i in range(d):
            tilt = product[i, k] - moments[d, i, k]
            inner += v[i, k] * product[i, k]
            square += tilt * tilt
        value = moments[d, d, k] - inner
        if radius < np.inf:
            value -= 2.0 * radius * np.sqrt(square) * (1.0 + (d + 8.0) * EPSILON)
        values[k] = max(value, 0.0)


@kernel
def segment_costs(cells, radius):  # type: ignore[no-untyped-def]
    """Return at [i, j] a lower bound on the loss of every predictor of the ball on cells i to j.

    It is s - v'Av - 2 radius ||Av - b|| with a v near the minimiser, at least 0; without a
    radius the last term is left out, and costs serve to compare only. Cells are second moments
    of (x, y), of which the lower triangles are read.
    """
    count, d = cells.shape[0], cells.shape[1] - 1
    costs = np.zeros((count, count))
    lanes = min(LANES, count)
    moments = np.empty((d + 1, d + 1, lanes))
    work = np.empty((d, d, lanes))
    v, slope = np.empty((d, lanes)), np.empty((d, lanes))
    trace, mu, values = np.empty(lanes), np.empty(lanes), np.empty(lanes)
    for first in range(0, count, lanes):
        moments[:] = 0.0
        trace[:] = 0.0
        mu[:] = 0.0
        for j in range(first, count):
            begun = min(j - first + 1, lanes)
            for a in range(d + 1):
                for b in range(a + 1):
                    entry = cells[j, a, b]
                    for k in range(np.uint64(begun)):
                        moments[a, b, k] += entry
            gain = 0.0
            for a in range(d):
                gain += cells[j, a, a]
            for k in range(begun):
                # Multipliers grow like the moments.
                mu[k] *= 1.0 + gain / trace[k] if trace[k] > 0.0 else 1.0
                trace[k] += gain
            _minimizers(moments, radius, trace, mu, work, v, slope)
            for k in range(begun):
                length = 0.0
                for a in range(d):
                    length += v[a, k] * v[a, k]
                if not length <= (LONGEST * radius) ** 2:
                    # The search failed. The bound holds for any v, its slack for short ones.
                    v[:, k] = 0.0
            _bounds(moments, radius, v, slope, values)
            for k in range(begun):
                costs[first + k, j] = values[k]
    return costs


@kernel
def _extend(costs, before, price, skipped, best, origin):  # type: ignore[no-untyped-def]
    """Lower best[i] to the cheapest way to begin a segment at cell i, by one segment from `before`.

    A segment from p that ends where another begins at i has the cells p to i - 1 - skipped. With
    `before` and `best` the same array a way may have any number of segments.
    """
    count = costs.shape[0]
    for i in range(1, count + 1):
        for p in range(i):
            last = i - 1 - (skipped if i < count else 0)
            value = before[p] + (costs[p, last] if last >= p else 0.0)
            if p > 0:
                value += price
            if value < best[i]:
                best[i] = value
                origin[i] = p


def cheapest(
    costs: Matrix, shifts: int | None, price: float, skipped: int
) -> tuple[list[int], float]:
    """Return where the segments of the cheapest schedule begin, and its cost with the price.

    shifts: the most shifts, with price = 0; None for any number of them, at a price each. skipped:
    how many cells before a shift are not counted.

    >>> costs = np.array([[0.0, 0.0, 4.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    >>> cheapest(costs, 1, 0.0, 0), cheapest(costs, 0, 0.0, 0)
    (([0, 2], 0.0), ([0], 4.0))
    >>> cheapest(costs, None, 3.0, 0), cheapest(costs, None, 5.0, 0)
    (([0, 2], 3.0), ([0], 4.0))
    """
    count = len(costs)
    best = np.full(count + 1, math.inf)
    best[0] = 0.0
    origins = []
    for _ in range(1 if shifts is None else shifts + 1):
        origins.append(np.full(count + 1, -1, np.int64))
        _extend(costs, best if shifts is None else best.copy(), price, skipped, best, origins[-1])
    starts, place = [], count
    for origin in reversed(origins * count if shifts is None else origins):
        if origin[place] >= 0:
            place = int(origin[place])
            starts.append(place)
    return starts[::-1], float(best[count])
