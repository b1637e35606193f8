"""Rows that are held back: their units, and the lines that their slopes prove.

Features are measured by m_i, the largest |x_i| so far. A slope s of the loss of a row proves the
line c (s (<u, x> + o) - f*(s)) below it, whatever was predicted, o the offset of the row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.dual.gap import anchor_of
from noregret.passes.rows import row_of
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.rounding import two_sum

_0, _1 = np.uint64(0), np.uint64(1)


class Held(NamedTuple):
    """Label, weight, offset and slope of each row that is held back."""

    y: Any
    weight: Any
    offset: Any
    slopes: Any


@kernel(counted=False)
def measure(rows, weight, sizes, theta, scaled):  # type: ignore[no-untyped-def]
    """Raise m_i to the largest |x_i|, bring theta to these units, and write x_i / m_i.

    Rows of weight 0 do not count: learners do not measure by them.
    """
    for t in range(np.uint64(weight.shape[0])):
        if weight[t] > 0.0:
            for k in range(rows.indptr[t], rows.indptr[t + _1]):
                j, size = np.uint64(rows.indices[k]), abs(rows.values[k])
                if size > sizes[j]:
                    theta[j] *= sizes[j] / size
                    sizes[j] = size
    begin, end = rows.indptr[_0], rows.indptr[rows.indptr.shape[0] - _1]
    for k in range(begin, end):
        x = rows.values[k]
        scaled[k] = x / max(sizes[np.uint64(rows.indices[k])], SMALLEST_SIZE)


@kernel(counted=False)
def measure_scores(rows, weight, sizes, theta, scaled):  # type: ignore[no-untyped-def]
    """As `measure`, where theta has a column a score."""
    outputs = np.uint64(theta.shape[1])
    for t in range(np.uint64(weight.shape[0])):
        if weight[t] != 0.0:
            for k in range(rows.indptr[t], rows.indptr[t + _1]):
                j, size = np.uint64(rows.indices[k]), abs(rows.values[k])
                if size > sizes[j]:
                    for column in range(outputs):
                        theta[j, column] *= sizes[j] / size
                    sizes[j] = size
    begin, end = rows.indptr[_0], rows.indptr[rows.indptr.shape[0] - _1]
    for k in range(begin, end):
        x = rows.values[k]
        scaled[k] = x / max(sizes[np.uint64(rows.indices[k])], SMALLEST_SIZE)


@kernel(counted=False)
def bends(loss, held, point, nearby, found):  # type: ignore[no-untyped-def]
    """Write c d (f'(p + d) - f'(p - d)) of every row, d how far other predictions are nearby."""
    for t in range(np.uint64(held.y.shape[0])):
        y, c, p, d = held.y[t], held.weight[t], point[t], nearby[t]
        bend = c * d * (loss.slope(y, p + d) - loss.slope(y, p - d))
        # Infinite slopes may differ by NaN.
        found[t] = bend if bend > 0.0 else 0.0


@kernel(counted=False)
def enter_slopes(loss, rows, held, sizes, state, ledger):  # type: ignore[no-untyped-def]
    """Enter the line of every row in the ledger, and its gradient in the twofold sums `state`.

    Twice the sizes of `passes.dual.gap` are entered, as `batch.objective.loss_roundings` counts.
    """
    total, low = ledger[Entry.INTERCEPT], ledger[Entry.INTERCEPT_LOW]
    for t in range(np.uint64(held.y.shape[0])):
        y, c, s = held.y[t], held.weight[t], held.slopes[t]
        if c == 0.0:
            continue
        conjugate, moved = loss.conjugate(y, s), s * held.offset[t]
        total, lost = two_sum(total, c * (moved - conjugate))
        low += lost
        size = abs(s)
        anchor = anchor_of(loss, y)
        spread = abs(conjugate) + anchor + size * (size + abs(y)) + abs(moved)
        ledger[Entry.MAGNITUDE] += 2.0 * c * spread
        if s != 0.0:
            row = row_of(rows, t)
            length = scaled = 0.0
            for k in range(row.begin, row.end):
                j, x = np.uint64(rows.indices[k]), rows.values[k]
                length += abs(x)
                scaled += abs(x) / max(sizes[j], SMALLEST_SIZE)
                state[j, _0], lost = two_sum(state[j, _0], c * s * x)
                state[j, _1] += lost
            ledger[Entry.TRAVEL] += c * size * length
            ledger[Entry.SCALED_TRAVEL] += c * size * scaled
    ledger[Entry.INTERCEPT], ledger[Entry.INTERCEPT_LOW] = total, low
