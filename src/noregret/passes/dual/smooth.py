"""The passes of Newton's method for losses that bend, on the objective itself.

Along a line of weights the prediction of a row is p_i + a p_i': its loss, s_i = f'(p_i + a p_i') and
h_i = f'' there need no features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.dual.dual import axpy_row
from noregret.passes.rows import place, row_of
from noregret.rounding import add_twofold

_1 = np.uint64(1)


class Answers(NamedTuple):
    """The prediction of each row, and the first two derivatives of its loss there."""

    predictions: Any
    slopes: Any
    bends: Any


class Sums(NamedTuple):
    """Sums over the rows at a point of a line: of c f(p), c s, c s p' and c h p'^2."""

    value: float
    slope: float
    along: float
    curved: float


@kernel(counted=False)
def answer(loss, terms, line, part, answers):  # type: ignore[no-untyped-def]
    """Write the answers at p + part p', and return their sums; `line` has p and p' of each row."""
    total = low = slope = along = curved = 0.0
    start, moves = line
    for t in range(np.uint64(terms.y.shape[0])):
        y, c, move = terms.y[t], terms.weight[t], moves[t]
        p = start[t] + part * move
        s, h = loss.slope(y, p), loss.bend(y, p)
        answers.predictions[t] = p
        answers.slopes[t] = s
        answers.bends[t] = h
        if c > 0.0:
            total, low = add_twofold(total, low, c * loss.value(y, p))
            slope += c * s
            along += c * s * move
            curved += c * h * move * move
    return Sums(total + low, slope, along, curved)


@kernel(counted=False)
def tangent_slopes(loss, rows, terms, before, bends, now, found, off):  # type: ignore[no-untyped-def]
    """Write the slopes that the quadratic model of a step expected; return how far they are off.

    That is s + h (p' - p), brought into the interval of allowed slopes, with s and p from `before`
    and h the bends of the model. Those brought in are what sum c_t s_t x_t then lacks, which is
    added to `off`. The sum of c_t (f'(p') - s_t)^2 / (2 h_t), returned, estimates the gap of these
    slopes at the point of p', sum c_t (f(p') + f*(s_t) - s_t p').
    """
    apart = 0.0
    for t in range(np.uint64(terms.y.shape[0])):
        y, h, c = terms.y[t], bends[t], terms.weight[t]
        s = before.slopes[t] + h * (now.predictions[t] - before.predictions[t])
        inside = min(max(s, loss.lowest_slope(y)), loss.highest_slope(y))
        found[t] = inside
        away = now.slopes[t] - inside
        if away != 0.0:
            apart += c * away * (away / (2.0 * max(h, now.bends[t], LEAST_BEND)))
        if inside != s:
            row = row_of(rows, t)
            axpy_row(off, c * (inside - s), row, rows.values)
    return apart


@kernel(counted=False)
def changes(terms, before, now, near, factors):  # type: ignore[no-untyped-def]
    """Write c_t times the change of each second derivative; bring the one before along.

    near: changes by less than this part of the larger one are left out.
    """
    for t in range(np.uint64(now.shape[0])):
        change = now[t] - before[t]
        moved = abs(change) > near * max(now[t], before[t])
        factors[t] = terms.weight[t] * change if moved else 0.0
        if moved:
            before[t] = now[t]


@kernel(counted=False)
def squares(rows, factors, free, matrix):  # type: ignore[no-untyped-def]
    """Add sum_t factor_t x_t x_t' to the part of the matrix that is not above its diagonal.

    Columns ascend within a row. If `free`, rows end with a constant feature 1.
    """
    last = np.uint64(matrix.shape[0]) - _1
    for t in range(np.uint64(factors.shape[0])):
        factor = factors[t]
        if factor == 0.0:
            continue
        row = row_of(rows, t)
        for k in range(row.end - row.begin):
            i, left = place(row, k)
            scaled = factor * left
            for m in range(k + _1):
                j, right = place(row, m)
                matrix[i, j] += scaled * right
            if free:
                matrix[last, i] += scaled
        if free:
            matrix[last, last] += factor


#: A second derivative below it would make an estimate overflow.
LEAST_BEND = 1e-100
