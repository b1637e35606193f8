"""What a pass does to one row: read it against the weights, add it to theta.

A block is `indptr`, `indices`, `values`. Sparse rows are the usual CSR triple with unsigned
indices; for dense rows `values` has two dimensions and the other two are not looked at (the
test on `values.ndim` is decided when the kernel is compiled). Every index is unsigned, so
that no test for negative ones is compiled in.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import axpy2, dot2, kernel

_0, _1, _2, _3, _4 = (np.uint64(k) for k in range(5))


@kernel(fast=True, inline=True)
def _read_dense(mirror, state, threshold, values, t):  # type: ignore[no-untyped-def]
    raw = 0.0
    total = 0.0
    reach = 0.0
    for j in range(np.uint64(values.shape[1])):
        x = np.float64(values[t, j])
        raw += mirror.read(state[j, _0], threshold) * x
        total = mirror.norm_term(total, x)
        reach += abs(x)
    return raw, total, reach


@kernel(fast=True, inline=True)
def _read_sparse(mirror, state, threshold, indices, values, begin, end):  # type: ignore[no-untyped-def]
    raw = 0.0
    total = 0.0
    reach = 0.0
    for k in range(begin, end):
        x = np.float64(values[k])
        raw += mirror.read(state[indices[k], _0], threshold) * x
        total = mirror.norm_term(total, x)
        reach += abs(x)
    return raw, total, reach


@kernel(inline=True)
def read_row(mirror, plain, state, threshold, indptr, indices, values, t):  # type: ignore[no-untyped-def]
    """Return sum v_i x_i, the accumulator of the dual norm and ||x||_1, for linear maps.

    `plain` says that v_i is read as it is and that the norm is Euclidean.
    """
    if values.ndim == 2:
        return _read_dense(mirror, state, threshold, values, t)
    else:
        begin, end = indptr[t], indptr[t + _1]
        if plain:
            return dot2(state, indices, values, begin, end)
        return _read_sparse(mirror, state, threshold, indices, values, begin, end)


@kernel(inline=True)
def add_row(state, step, prefix, indptr, indices, values, t):  # type: ignore[no-untyped-def]
    """Add step * x to theta and prefix * step * x to the accumulator of the average."""
    shifted = prefix * step
    if values.ndim == 2:
        for j in range(np.uint64(values.shape[1])):
            axpy2(state, j, step, shifted, values[t, j])
    else:
        k, end = indptr[t], indptr[t + _1]
        while end - k >= _4:
            axpy2(state, indices[k], step, shifted, values[k])
            axpy2(state, indices[k + _1], step, shifted, values[k + _1])
            axpy2(state, indices[k + _2], step, shifted, values[k + _2])
            axpy2(state, indices[k + _3], step, shifted, values[k + _3])
            k += _4
        while k < end:
            axpy2(state, indices[k], step, shifted, values[k])
            k += _1


@kernel(fast=True, inline=True)
def read_mapped_row(mirror, state, indptr, indices, values, t):  # type: ignore[no-untyped-def]
    """Return sum v_i x_i, the norm accumulator, ||x||_1, sum v_i x_i^2, min x and max x.

    A feature that the row leaves out is a zero and takes part in the extremes.
    """
    raw = 0.0
    total = 0.0
    reach = 0.0
    local = 0.0
    low = np.inf
    high = -np.inf
    if values.ndim == 2:
        for j in range(np.uint64(values.shape[1])):
            x = np.float64(values[t, j])
            product = state[j, np.uint64(1)] * x
            raw += product
            local += product * x
            total = mirror.norm_term(total, x)
            reach += abs(x)
            low = min(low, x)
            high = max(high, x)
    else:
        begin, end = indptr[t], indptr[t + np.uint64(1)]
        for k in range(begin, end):
            x = np.float64(values[k])
            product = state[indices[k], np.uint64(1)] * x
            raw += product
            local += product * x
            total = mirror.norm_term(total, x)
            reach += abs(x)
            low = min(low, x)
            high = max(high, x)
        if end - begin < np.uint64(state.shape[0]):
            low = min(low, 0.0)
            high = max(high, 0.0)
    return raw, total, reach, local, low, high


@kernel(inline=True)
def settled_leap(phi, v, limit):  # type: ignore[no-untyped-def]
    """Return v and 0, or 0 and infinity where phi leaps beyond the limit.

    The accumulator of the average would drown in PREFIX * v. A value of 0 leaves it intact
    until S, infinite by then, is summed afresh and v recomputed.
    """
    return (v, 0.0) if phi < limit else (0.0, np.inf)


@kernel(inline=True)
def _move(mirror, state, i, x, step, inner, reference, prefix, limit):  # type: ignore[no-untyped-def]
    theta = state[i, np.uint64(0)]
    v = state[i, np.uint64(1)]
    moved = theta + step * x
    a = inner * moved
    v_moved = mirror.phi_prime(a, reference)
    phi = mirror.phi_given(a, reference, v_moved)
    v_moved, leap = settled_leap(phi, v_moved, limit)
    state[i, np.uint64(0)] = moved
    state[i, np.uint64(1)] = v_moved
    state[i, np.uint64(2)] += prefix * (v_moved - v)
    change = phi - mirror.phi_given(inner * theta, reference, v)
    return a, leap if leap > 0.0 else change


@kernel(inline=True)
def add_mapped_row(  # type: ignore[no-untyped-def]
    mirror, state, step, inner, reference, prefix, limit, indptr, indices, values, t
):
    """Add step * x to theta where x is not 0 and bring v and the average along.

    Returns the change of S, the largest a and the largest |a| written.
    """
    change = 0.0
    largest = -np.inf
    size = 0.0
    if values.ndim == 2:
        for j in range(np.uint64(values.shape[1])):
            x = np.float64(values[t, j])
            if x != 0.0:
                a, delta = _move(mirror, state, j, x, step, inner, reference, prefix, limit)
                change += delta
                largest = max(largest, a)
                size = max(size, abs(a))
    else:
        for k in range(indptr[t], indptr[t + np.uint64(1)]):
            x = np.float64(values[k])
            a, delta = _move(mirror, state, indices[k], x, step, inner, reference, prefix, limit)
            change += delta
            largest = max(largest, a)
            size = max(size, abs(a))
    return change, largest, size
