"""The passes of Newton's method on the objective itself.

Along a line of weights the prediction of a row is p + a p': its loss there and the derivatives of
that need no features, so that a line is searched without reading the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.dual.dual import axpy_row
from noregret.passes.dual.joint import answer_bend, smoothed
from noregret.passes.rows import place, row_of

_1 = np.uint64(1)
#: A second derivative below it would make an estimate overflow.
LEAST_BEND = 1e-100


class Answers(NamedTuple):
    """The prediction of each row, its loss there and the first two derivatives of that."""

    predictions: Any
    values: Any
    slopes: Any
    bends: Any


@kernel(counted=False)
def answer(loss, y, line, part, answers):  # type: ignore[no-untyped-def]
    """Write the answers at p + part p'; `line` has p and p' of each row.

    Without a sum or a branch, so that several rows are computed at a time.
    """
    start, moves = line
    for t in range(np.uint64(y.shape[0])):
        p = start[t] + part * moves[t]
        answers.predictions[t] = p
        answers.values[t] = loss.value(y[t], p)
        answers.slopes[t] = loss.slope(y[t], p)
        answers.bends[t] = loss.bend(y[t], p)


@kernel(counted=False)
def answer_smoothed(loss, y, line, part, smoothing, answers):  # type: ignore[no-untyped-def]
    """Write the answers of losses smoothed around given slopes, see `passes.dual.joint`."""
    start, moves = line
    given, delta = smoothing
    for t in range(np.uint64(y.shape[0])):
        p = start[t] + part * moves[t]
        s, value = smoothed(loss, y[t], p, given[t], delta, given[t])
        answers.predictions[t] = p
        answers.values[t] = value
        answers.slopes[t] = s
        answers.bends[t] = max(answer_bend(loss, y[t], p + delta * given[t], delta, s), 0.0)


@kernel(fast=True, counted=False)
def sums(weight, moves, answers):  # type: ignore[no-untyped-def]
    """Return the sums of c f(p), c s, c s p' and c h p'^2 over the rows with c > 0."""
    value = slope = along = curved = 0.0
    for t in range(np.uint64(weight.shape[0])):
        c, move = weight[t], moves[t]
        s = answers.slopes[t]
        value += c * answers.values[t] if c > 0.0 else 0.0
        slope += c * s if c > 0.0 else 0.0
        along += c * s * move if c > 0.0 else 0.0
        curved += c * answers.bends[t] * (move * move) if c > 0.0 else 0.0
    return value, slope, along, curved


@kernel(fast=True, counted=False)
def apart(loss, terms, predictions, slopes):  # type: ignore[no-untyped-def]
    """Return the sums of c f(p), and of c (f(p) + f*(s) - s p), the rows' part of the gap."""
    lost = total = 0.0
    for t in range(np.uint64(slopes.shape[0])):
        y, c, p, s = terms.y[t], terms.weight[t], predictions[t], slopes[t]
        value = loss.value(y, p)
        lost += c * value if c > 0.0 else 0.0
        total += c * max(value + loss.conjugate(y, s) - s * p, 0.0) if c > 0.0 else 0.0
    return lost, total


@kernel(counted=False)
def tangent_slopes(loss, rows, terms, before, bends, now, found, off):  # type: ignore[no-untyped-def]
    """Write the slopes that the quadratic model of a step expected; return how far they are off.

    That is s + h (p' - p), brought into the interval of allowed slopes, with s and p from `before`
    and h the bends of the model. What sum c_t s_t x_t then lacks is added to `off`. The sum of
    c_t (f'(p') - s_t)^2 / (2 h_t), returned, estimates the gap of these slopes at the point of p',
    sum c_t (f(p') + f*(s_t) - s_t p').
    """
    total = 0.0
    for t in range(np.uint64(terms.y.shape[0])):
        y, h, c = terms.y[t], bends[t], terms.weight[t]
        s = before.slopes[t] + h * (now.predictions[t] - before.predictions[t])
        inside = min(max(s, loss.lowest_slope(y)), loss.highest_slope(y))
        found[t] = inside
        if c > 0.0:
            away = now.slopes[t] - inside
            total += c * away * (away / (2.0 * max(h, now.bends[t], LEAST_BEND)))
            if inside != s:
                axpy_row(off, c * (inside - s), row_of(rows, t), rows.values)
    return total


@kernel(counted=False)
def changes(weight, before, now, near, factors):  # type: ignore[no-untyped-def]
    """Write c_t times the change of each second derivative; bring the one before along.

    near: changes by less than this part of the larger one are left out.

    Where as many would change as are not 0, start anew: `before` is then 0, and rounding is not
    carried on. Returns whether that is so.
    """
    changed = present = 0
    for t in range(np.uint64(now.shape[0])):
        moved = abs(now[t] - before[t]) > near * max(now[t], before[t])
        changed += 1 if moved else 0
        present += 1 if now[t] > 0.0 else 0
    anew = changed >= present
    for t in range(np.uint64(now.shape[0])):
        if anew:
            before[t] = 0.0
        moved = abs(now[t] - before[t]) > near * max(now[t], before[t])
        factors[t] = weight[t] * (now[t] - before[t]) if moved else 0.0
        before[t] = now[t] if moved else before[t]
    return anew


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
