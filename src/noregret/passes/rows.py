"""Operations of a pass on one row: predict by it, add it to theta.

Sparse rows are CSR arrays with unsigned indices; for dense rows `values` has two dimensions, and
`indptr` and `indices` are ignored (the branch on `values.ndim` is resolved at compile time). Every
index is unsigned: signed ones would cost a test for negative values in each access.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import axpy1, axpy2, borrowed, dot, dot_ahead, fetch, kernel, mapped_dot
from noregret.passes.slots import Slot
from noregret.rounding import two_sum

_0, _1, _2, _3, _4 = (np.uint64(k) for k in range(5))

#: Features mapped together, and the shape of their scratch array: theta and v, new and old.
TOGETHER = 128
WORK = (4, TOGETHER)
#: Loops over them are padded to a multiple of this: full vector registers, no scalar remainder.
UNIT = np.uint64(8)

#: How many features ahead rows are prefetched, in steps of STRIDE features.
AHEAD = np.uint64(6000)
STRIDE = np.uint64(128)
#: Features whose indices fill a line of the cache.
LINE = np.uint64(16)


class Block(NamedTuple):
    """The rows of a pass: how many columns they may name, and how many are known to be sound."""

    indptr: Any
    indices: Any
    values: Any
    width: int
    trusted: int


class Row(NamedTuple):
    """Row t of a block: features `begin` to `end - 1`, which are columns if rows are dense."""

    indices: Any
    values: Any
    begin: Any
    end: Any
    t: Any


class Reading(NamedTuple):
    """A row read against v: sum v_i x_i, the dual norm's accumulator, ||x||_1, sum v_i x_i^2."""

    raw: float
    powers: float
    one_norm: float
    local: float
    #: The least and the largest x; a feature that the row leaves out is a zero.
    low: float
    high: float


@kernel(inline=True)
def row_at(indptr, indices, values, t):  # type: ignore[no-untyped-def]
    """Return row t."""
    if values.ndim == 2:
        return Row(borrowed(indices), borrowed(values), _0, np.uint64(values.shape[1]), t)
    else:
        return Row(borrowed(indices), borrowed(values), indptr[t], indptr[t + _1], t)


@kernel(inline=True)
def row_of(rows, t):  # type: ignore[no-untyped-def]
    """Return row t of a block."""
    return row_at(rows.indptr, rows.indices, rows.values, t)


# `values` is an argument of its own where a function depends on its dimension: the compiler prunes
# the other branch before type inference only for arguments.


@kernel(inline=True)
def place(row, k):  # type: ignore[no-untyped-def]
    """Return the column and the value of feature k of a row, counted from 0."""
    return _place(row.indices, row.values, row.begin, row.t, k)


@kernel(inline=True)
def _place(indices, values, begin, t, k):  # type: ignore[no-untyped-def]
    if values.ndim == 2:
        return np.uint64(k), np.float64(values[t, k])
    else:
        return np.uint64(indices[begin + k]), np.float64(values[begin + k])


@kernel(fast=True, inline=True)
def measure_row(mirror, row):  # type: ignore[no-untyped-def]
    """Return the accumulator of the dual norm and ||x||_1."""
    powers = one_norm = 0.0
    for k in range(row.end - row.begin):
        _, x = place(row, k)
        powers = mirror.norm_term(powers, x)
        one_norm += abs(x)
    return powers, one_norm


@kernel(inline=True)
def add_scaled(state, step, row):  # type: ignore[no-untyped-def]
    """Add step * x to column 0, what rounding lost to column 1; return ||x||_1."""
    size = 0.0
    for k in range(row.end - row.begin):
        j, x = place(row, k)
        size += abs(x)
        state[j, _0], lost = two_sum(state[j, _0], step * x)
        state[j, _1] += lost
    return size


@kernel(inline=True)
def fetch_ahead(indices, values, begin, end, t):  # type: ignore[no-untyped-def]
    """Prefetch later sparse rows while this one is learnt.

    The checks read a group of rows at once and would wait for the memory. Most rows prefetch
    once, for a whole stride, so that the loop's branch is predicted.
    """
    if values.ndim == 1:
        for first in range(begin + AHEAD, end + AHEAD, STRIDE):
            for line in range(STRIDE // LINE):
                fetch(indices, first + line * LINE)
                fetch(values, first + line * LINE)


@kernel(fast=True, inline=True)
def _read_any(mirror, state, threshold, row):  # type: ignore[no-untyped-def]
    raw = powers = one_norm = 0.0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        raw += mirror.read(state[i, _0], threshold) * x
        powers = mirror.norm_term(powers, x)
        one_norm += abs(x)
    return raw, powers, one_norm


@kernel(inline=True)
def read_row(mirror, plain, distance, state, threshold, row):  # type: ignore[no-untyped-def]
    """Return sum v_i x_i, the accumulator of the dual norm and ||x||_1, for linear maps.

    `plain` says that v_i is read as it is and that the norm is Euclidean.
    """
    return _read(mirror, plain, distance, state, threshold, row, row.values)


@kernel(inline=True)
def _read(mirror, plain, distance, state, threshold, row, values):  # type: ignore[no-untyped-def]
    if values.ndim == 1:
        fetch_ahead(*row)
        if plain:
            if distance.far:
                return dot_ahead(state, row.indices, values, row.begin, row.end)
            return dot(state, row.indices, values, row.begin, row.end)
    return _read_any(mirror, state, threshold, row)


@kernel(inline=True)
def _step(averages, state, i, step, shifted, x):  # type: ignore[no-untyped-def]
    if averages.kept:
        axpy2(state, i, step, shifted, x)
    else:
        axpy1(state, i, step, x)


@kernel(inline=True)
def add_row(averages, state, step, prefix, row):  # type: ignore[no-untyped-def]
    """Add step * x to theta and prefix * step * x to the accumulator of the average, if kept."""
    _add(averages, state, step, prefix * step, row, row.values)


@kernel(inline=True)
def _add(averages, state, step, shifted, row, values):  # type: ignore[no-untyped-def]
    indices = row.indices
    if values.ndim == 2:
        for j in range(np.uint64(values.shape[1])):
            _step(averages, state, j, step, shifted, values[row.t, j])
    else:
        k, end = row.begin, row.end
        while end - k >= _4:
            _step(averages, state, indices[k], step, shifted, values[k])
            _step(averages, state, indices[k + _1], step, shifted, values[k + _1])
            _step(averages, state, indices[k + _2], step, shifted, values[k + _2])
            _step(averages, state, indices[k + _3], step, shifted, values[k + _3])
            k += _4
        while k < end:
            _step(averages, state, indices[k], step, shifted, values[k])
            k += _1


@kernel(fast=True, inline=True)
def _norm_of(mirror, values, begin, end):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(begin, end):
        total = mirror.norm_term(total, np.float64(values[k]))
    return total


@kernel(fast=True, inline=True)
def _read_dense_mapped(mirror, state, values, t):  # type: ignore[no-untyped-def]
    raw = powers = one_norm = local = 0.0
    low = np.inf
    high = -np.inf
    for j in range(np.uint64(values.shape[1])):
        x = np.float64(values[t, j])
        product = state[j, _1] * x
        raw += product
        local += product * x
        powers = mirror.norm_term(powers, x)
        one_norm += abs(x)
        low = min(low, x)
        high = max(high, x)
    return Reading(raw, powers, one_norm, local, low, high)


@kernel(inline=True)
def read_mapped_row(mirror, state, row):  # type: ignore[no-untyped-def]
    """Return the `Reading` of a row; v is column 1 of a record."""
    return _read_mapped(mirror, state, row, row.values)


@kernel(inline=True)
def _read_mapped(mirror, state, row, values):  # type: ignore[no-untyped-def]
    begin, end = row.begin, row.end
    if values.ndim == 2:
        return _read_dense_mapped(mirror, state, values, row.t)
    else:
        fetch_ahead(*row)
        raw, local, one_norm, low, high = mapped_dot(state, row.indices, values, begin, end)
        if end - begin < np.uint64(state.shape[0]):
            low = min(low, 0.0)
            high = max(high, 0.0)
        return Reading(raw, _norm_of(mirror, values, begin, end), one_norm, local, low, high)


@kernel(inline=True)
def settled_leap(phi, v, limit):  # type: ignore[no-untyped-def]
    """Return v and 0, or 0 and infinity where phi leaps beyond the limit.

    PREFIX * v would cancel the digits of the average's accumulator. A v of 0 leaves it intact
    until S, infinite by then, is summed afresh and v recomputed.
    """
    return (v, 0.0) if phi < limit else (0.0, np.inf)


@kernel(inline=True)
def _filled_up(work, count):  # type: ignore[no-untyped-def]
    """Repeat the last feature, as it was before the step, up to a multiple of UNIT."""
    filled = (count + UNIT - _1) // UNIT * UNIT
    theta, v = work[_2, count - _1], work[_3, count - _1]
    for k in range(count, filled):
        work[_0, k] = theta
        work[_2, k] = theta
        work[_3, k] = v
    return filled


@kernel(fast=True, inline=True)
def _map(mirror, work, filled, inner, reference, limit):  # type: ignore[no-untyped-def]
    """Compute v for the theta in `work`; return the change of S and how many phi leap."""
    change = 0.0
    leaps = _0
    for k in range(filled):
        a = inner * work[_0, k]
        v = mirror.phi_prime(a, reference)
        phi = mirror.phi_given(a, reference, v)
        before = mirror.phi_given(inner * work[_2, k], reference, work[_3, k])
        work[_1, k] = v
        change += phi - before
        leaps += _0 if phi < limit else _1
    return change, leaps


@kernel(inline=True)
def _leap(mirror, work, count, inner, reference, limit):  # type: ignore[no-untyped-def]
    for k in range(count):
        phi = mirror.phi_given(inner * work[_0, k], reference, work[_1, k])
        work[_1, k], _ = settled_leap(phi, work[_1, k], limit)


@kernel(inline=True)
def add_mapped_row(mirror, averages, state, work, slots, step, limit, row):  # type: ignore[no-untyped-def]
    """Add step * x to theta and bring v and the average, if kept, along.

    Returns the change of S, the largest a and the largest |a| written. Theta and v, new and
    old, are first collected in `work`, so that phi is computed for several of them at a time.
    """
    inner, reference, prefix = slots[Slot.INNER], slots[Slot.REFERENCE], slots[Slot.PREFIX]
    change = 0.0
    largest = -np.inf
    size = 0.0
    begin, end = _0, row.end - row.begin
    while begin < end:
        count = min(end - begin, np.uint64(TOGETHER))
        for k in range(count):
            i, x = place(row, begin + k)
            theta = state[i, _0]
            moved = theta + step * x
            work[_0, k] = moved
            work[_2, k] = theta
            work[_3, k] = state[i, _1]
            largest = max(largest, inner * moved)
            size = max(size, abs(inner * moved))
        filled = _filled_up(work, count)
        part, leaps = _map(mirror, work, filled, inner, reference, limit)
        if leaps > _0:
            _leap(mirror, work, count, inner, reference, limit)
            part = np.inf
        for k in range(count):
            i, _ = place(row, begin + k)
            state[i, _0] = work[_0, k]
            state[i, _1] = work[_1, k]
            if averages.kept:
                state[i, _2] += prefix * (work[_1, k] - work[_3, k])
        change += part
        begin += count
    return change, largest, size
