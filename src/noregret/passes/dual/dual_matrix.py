"""Dual coordinate ascent for matrices of weights, all slopes of one row at a time.

    minimise over W  sum_i c_i f(y_i, W^T x_i) + (b/2) ||W||_F^2

Input: rows, slopes g (a row of K each), weights W = -(1/b) sum_i c_i x_i g_i^T, the order of
visits. Output: the same, better. With s the scores of a row and q = c_i ||x_i||^2 / b a visit
replaces its slopes by the proximal ones at s + q g_i, which raises the dual as far as they can.
Reference: Keerthi, Sundararajan, Chang, Hsieh, Lin, A Sequential Dual Method for Large Scale
Multi-Class Linear SVMs, 2008.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.rows import place, row_of
from noregret.rounding import EPSILON, add_twofold, two_sum

_0, _1 = np.uint64(0), np.uint64(1)


class Memory(NamedTuple):
    """c_i / b and q of every row, slopes and weights, and the rows in the order of visits."""

    scale: Any
    curvature: Any
    slopes: Any
    weights: Any
    order: Any


@kernel(fast=True, inline=True)
def _read_scores(weights, row, s):  # type: ignore[no-untyped-def]
    """Write W^T x into s."""
    outputs = np.uint64(s.shape[0])
    s[:] = 0.0
    for at in range(row.end - row.begin):
        j, x = place(row, at)
        for k in range(outputs):
            s[k] += x * weights[j, k]


@kernel(fast=True, inline=True)
def _add_slopes(weights, scale, row, g):  # type: ignore[no-untyped-def]
    """Add scale * x g^T to W."""
    outputs = np.uint64(g.shape[0])
    for at in range(row.end - row.begin):
        j, x = place(row, at)
        for k in range(outputs):
            weights[j, k] += scale * x * g[k]


@kernel
def gather(rows, memory):  # type: ignore[no-untyped-def]
    """Add to W what belongs to the slopes."""
    scale, slopes = memory.scale, memory.slopes
    for t in range(np.uint64(slopes.shape[0])):
        if scale[t] > 0.0:
            _add_slopes(memory.weights, -scale[t], row_of(rows, t), slopes[t])


@kernel
def ascend(loss, rows, y, memory, active):  # type: ignore[no-untyped-def]
    """Visit the first `active` rows of `order`; put those aside that did not move.

    Returns how many rows are still active, and the sums over the rows of losses and of parts of
    the gap, both before the visit and in units of the strength.
    """
    scale, curvature, slopes, weights, order = memory
    outputs = np.uint64(slopes.shape[1])
    s, z, new = np.empty(outputs), np.empty(outputs), np.empty(outputs)
    lost = apart = 0.0
    turn = _0
    while turn < active:
        i = np.uint64(order[turn])
        row = row_of(rows, i)
        g = slopes[i]
        q = curvature[i]
        _read_scores(weights, row, s)
        value = loss.value_and_slopes(y[i], s, new)
        touching = 0.0
        for k in range(outputs):
            touching += g[k] * s[k]
            z[k] = s[k] + q * g[k]
        lost += scale[i] * value
        apart += scale[i] * max(value + loss.conjugate(y[i], g) - touching, 0.0)
        loss.proximal_slopes(y[i], z, q, new)
        move = 0.0
        for k in range(outputs):
            z[k] = new[k] - g[k]
            move = max(move, abs(z[k]))
            g[k] = new[k]
        if move > 0.0:
            _add_slopes(weights, -scale[i], row, z)
            turn += _1
        else:
            active -= _1
            order[turn], order[active] = order[active], order[turn]
    return active, lost, apart


@kernel
def dual_sums(loss, rows, labels, slopes, state):  # type: ignore[no-untyped-def]
    """Return -sum c_i f*(g_i), its magnitude and how far the gradient travelled in the 1-norm.

    The gradient sum c_i x_i g_i^T is added to `state[:, :, 0]`, what rounding lost to [:, :, 1].
    """
    total = low = magnitude = travel = 0.0
    outputs = np.uint64(slopes.shape[1])
    for t in range(np.uint64(slopes.shape[0])):
        c = labels.weight[t]
        if c == 0.0:
            continue
        g = slopes[t]
        term = -c * loss.conjugate(labels.y[t], g)
        total, low = add_twofold(total, low, term)
        size = 0.0
        for k in range(outputs):
            size += abs(g[k])
        # Conjugates are sums of terms of at most the size of the slopes, or of 1.
        magnitude += abs(term) + c * (1.0 + size)
        if size == 0.0:
            continue
        row = row_of(rows, t)
        one_norm = 0.0
        for at in range(row.end - row.begin):
            j, x = place(row, at)
            one_norm += abs(x)
            for k in range(outputs):
                state[j, k, _0], lost = two_sum(state[j, k, _0], c * g[k] * x)
                state[j, k, _1] += lost
        travel += c * size * one_norm
    return total + low, magnitude, travel


@kernel
def primal_sums(loss, rows, labels, weights, roundings):  # type: ignore[no-untyped-def]
    """Return a sum that sum c_i f(W^T x_i) does not exceed, and its magnitude.

    `roundings` are those of each weight, in units of EPSILON. No slope is above lipschitz.
    """
    total = low = magnitude = 0.0
    steepest = loss.lipschitz()
    outputs = np.uint64(weights.shape[1])
    s, slopes, sizes = np.empty(outputs), np.empty(outputs), np.empty(outputs)
    for t in range(np.uint64(labels.weight.shape[0])):
        c = labels.weight[t]
        if c == 0.0:
            continue
        row = row_of(rows, t)
        s[:] = 0.0
        sizes[:] = 0.0
        for at in range(row.end - row.begin):
            j, x = place(row, at)
            for k in range(outputs):
                product = x * weights[j, k]
                s[k] += product
                sizes[k] += abs(product)
        size = 0.0
        for k in range(outputs):
            size += sizes[k]
        error = (np.float64(row.end - row.begin) + roundings) * EPSILON * size
        value = loss.value_and_slopes(labels.y[t], s, slopes)
        term = c * (value + steepest * error)
        total, low = add_twofold(total, low, term)
        # The value is a difference of scores and what is added to it.
        magnitude += abs(term) + c * size
    return total + low, magnitude
