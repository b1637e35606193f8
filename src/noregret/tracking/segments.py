"""What every segment of a stream costs at best, and the cheapest way through all of them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from noregret.geometry import EPSILON
from noregret.jit import kernel

Matrix = npt.NDArray[np.float64]

#: Steps of Newton's method for the multiplier of the ball, and how near is near enough.
STEPS = 40
NEAR = 1e-12
#: Segments are bounded at vectors no longer than this, in units of the radius.
LONGEST = 1.001


@kernel(fast=True)
def _factor(moments, ridge, work):  # type: ignore[no-untyped-def]
    """Write the Cholesky factor of A + ridge I to `work`; tell whether there is one."""
    d = work.shape[0]
    for j in range(d):
        total = moments[j, j] + ridge
        for k in range(j):
            total -= work[j, k] * work[j, k]
        if not total > 0.0:
            return False
        root = np.sqrt(total)
        work[j, j] = root
        for i in range(j + 1, d):
            total = moments[i, j]
            for k in range(j):
                total -= work[i, k] * work[j, k]
            work[i, j] = total / root
    return True


@kernel(fast=True)
def _forward(work, v):  # type: ignore[no-untyped-def]
    """Solve L v = v in place."""
    for i in range(work.shape[0]):
        total = v[i]
        for k in range(i):
            total -= work[i, k] * v[k]
        v[i] = total / work[i, i]


@kernel
def _backward(work, v):  # type: ignore[no-untyped-def]
    """Solve L' v = v in place."""
    d = work.shape[0]
    for i in range(d - 1, -1, -1):
        total = v[i]
        for k in range(i + 1, d):
            total -= work[k, i] * v[k]
        v[i] = total / work[i, i]


@kernel
def _minimizer(moments, radius, mu, work, v, slope):  # type: ignore[no-untyped-def]
    """Write the best v of the ball; return its multiplier, from where the next search starts."""
    d = work.shape[0]
    trace = 0.0
    for i in range(d):
        trace += moments[i, i]
        v[i] = 0.0
    if not 0.0 < trace < np.inf:
        return 0.0
    least = (d + 1.0) * EPSILON * trace
    mu = max(mu, least)
    for _ in range(STEPS):
        if not _factor(moments, mu, work):
            least *= 4.0
            mu = max(mu, least)
            continue
        for i in range(d):
            v[i] = moments[i, d]
        _forward(work, v)
        _backward(work, v)
        square = 0.0
        for i in range(d):
            square += v[i] * v[i]
            slope[i] = v[i]
        length = np.sqrt(square)
        if (length <= radius and mu == least) or abs(length - radius) <= NEAR * radius:
            break
        if length == 0.0:
            break
        if radius == np.inf:
            mu = least
            continue
        # Newton's method for 1/||v|| = 1/radius, which is almost straight in mu.
        _forward(work, slope)
        fall = 0.0
        for i in range(d):
            fall += slope[i] * slope[i]
        mu = max(mu + square / fall * (length - radius) / radius, least)
    return mu


@kernel
def segment_costs(cells, radius, costs):  # type: ignore[no-untyped-def]
    """Write to costs[i, j] what a predictor of the ball loses on cells i to j at least.

    It is s - v'Av - 2 radius ||Av - b|| with a v near the minimiser, at least 0; without a
    radius the last term is left out, and costs serve to compare only.
    """
    count, d = cells.shape[0], cells.shape[1] - 1
    moments = np.empty((d + 1, d + 1))
    work = np.empty((d, d))
    v = np.empty(d)
    slope = np.empty(d)
    for i in range(count):
        moments[:, :] = 0.0
        mu = 0.0
        for j in range(i, count):
            for a in range(d + 1):
                for b in range(d + 1):
                    moments[a, b] += cells[j, a, b]
            mu = _minimizer(moments, radius, mu, work, v, slope)
            length = 0.0
            for a in range(d):
                length += v[a] * v[a]
            if not length <= (LONGEST * radius) ** 2:
                # A search that failed: the bound holds for any v, and its slack up to here.
                v[:] = 0.0
            inner = 0.0
            square = 0.0
            for a in range(d):
                total = 0.0
                for b in range(d):
                    total += moments[a, b] * v[b]
                inner += v[a] * total
                square += (total - moments[a, d]) * (total - moments[a, d])
            value = moments[d, d] - inner
            if radius < np.inf:
                value -= 2.0 * radius * np.sqrt(square) * (1.0 + (d + 8.0) * EPSILON)
            costs[i, j] = max(value, 0.0)


@kernel
def _cheapest(costs, before, price, lost, best, origin):  # type: ignore[no-untyped-def]
    """Write the cheapest way to begin a segment at every cell, `before` being that of one less.

    A segment from p that ends where another begins at i has the cells p to i - 1 - lost.
    """
    count = costs.shape[0]
    for i in range(1, count + 1):
        best[i] = before[i]
        origin[i] = -1
        for p in range(i):
            last = i - 1 - (lost if i < count else 0)
            value = before[p] + price + (costs[p, last] if last >= p else 0.0)
            if value < best[i]:
                best[i] = value
                origin[i] = p


def fewest(costs: Matrix, shifts: int, lost: int) -> tuple[list[int], float]:
    """Return where segments begin, with at most so many shifts, and what they cost together.

    >>> costs = np.array([[0.0, 0.0, 4.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    >>> fewest(costs, 1, 0), fewest(costs, 0, 0)
    (([0, 2], 0.0), ([0], 4.0))
    """
    count = len(costs)
    values = [np.full(count + 1, math.inf)]
    values[0][0] = 0.0
    origins = []
    for _ in range(shifts + 1):
        best, origin = np.full(count + 1, math.inf), np.full(count + 1, -1, np.int64)
        best[0] = 0.0
        _cheapest(costs, values[-1], 0.0, lost, best, origin)
        values.append(best)
        origins.append(origin)
    starts, place = [], count
    for origin in reversed(origins):
        if origin[place] >= 0:
            place = int(origin[place])
            starts.append(place)
    return starts[::-1], float(values[-1][count])


@kernel
def _priced(costs, price, lost, best, origin):  # type: ignore[no-untyped-def]
    count = costs.shape[0]
    best[0] = 0.0
    for i in range(1, count + 1):
        best[i] = np.inf
        for p in range(i):
            last = i - 1 - (lost if i < count else 0)
            value = best[p] + (costs[p, last] if last >= p else 0.0)
            if p > 0:
                value += price
            if value < best[i]:
                best[i] = value
                origin[i] = p


def priced(costs: Matrix, price: float, lost: int) -> tuple[list[int], float]:
    """Return where segments begin if every shift has a price, and what all costs together.

    >>> costs = np.array([[0.0, 0.0, 4.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    >>> priced(costs, 3.0, 0), priced(costs, 5.0, 0)
    (([0, 2], 3.0), ([0], 4.0))
    """
    count = len(costs)
    best, origin = np.empty(count + 1), np.full(count + 1, -1, np.int64)
    _priced(costs, price, lost, best, origin)
    starts, place = [], count
    while place > 0:
        place = int(origin[place])
        starts.append(place)
    return starts[::-1], float(best[count])
