"""Rows that are held back: where a leader predicts, and the parabolas that touch there.

A row with weight c, label y and offset o has the loss c f(<u, x> + o). The parabola that touches f
at the prediction p, with the slope g there, proves of it, with e = p - o,

    c f(<u, x> + o) >= (a + c k e^2 / 2) + <u, (c g - c k e) x> + (c k / 2) <u, x>^2

for every u whose prediction lies in the range that the curvature k was computed for; a is c times
the height of the line at <u, x> = 0. The sums over the rows keep lines and parabolas apart.

The sums are about w = u - v for some origin v, with the offset o + <v, x> in place of o: near v
their terms are as small as the losses. That offset is rounded, by d = (n/2 + 1) EPSILON
(sum |v_j x_j| + |o|) at most for n features. With the true offset the parabola would be higher or
lower by c |g - k e| d + c k d^2 / 2 at most, and its gradient another by c k d ||x||.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.rows import place, row_of
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.proof.quadratic import LEDGER_ERRORS, Bend
from noregret.rounding import EPSILON, ROOT_UNDERFLOW, two_sum

_0, _1 = np.uint64(0), np.uint64(1)


class Touch(NamedTuple):
    """Label, weight and offset of each row, and where its parabola touches.

    Where the sums have an origin v, <v, x> is part of the offset.
    """

    y: Any
    weight: Any
    offset: Any
    point: Any


class Reach(NamedTuple):
    """The class ||m u||_2 <= radius; `symmetric` for ranges around the points of contact."""

    radius: float
    symmetric: bool


class Sums(NamedTuple):
    """The sums over all rows, twofold but for sizes, which are the largest |x_i| so far."""

    #: Gradients of the lines, and sum c k e x; a record of the sum and its low-order part each.
    lines: Any
    shifts: Any
    #: sum c k x x', on and above the diagonal, and the low-order parts.
    matrix: Any
    low: Any
    sizes: Any
    ledger: Any
    bends: Any
    #: The point v that the sums are about.
    origin: Any


@kernel(fast=True, counted=False)
def predict(rows, weights, offset, out):  # type: ignore[no-untyped-def]
    """Write <weights, x> + offset of every row."""
    for t in range(np.uint64(out.shape[0])):
        row = row_of(rows, t)
        total = 0.0
        for k in range(row.end - row.begin):
            j, x = place(row, k)
            total += weights[j] * x
        out[t] = total + offset[t]


@kernel(counted=False)
def total_loss(loss, y, weight, point):  # type: ignore[no-untyped-def]
    """Return the sum of the losses at these predictions."""
    total = 0.0
    for t in range(np.uint64(y.shape[0])):
        if weight[t] > 0.0:
            total += weight[t] * loss.value(y[t], point[t])
    return total


@kernel(counted=False)
def derivatives(loss, rows, touch, gradient, matrix):  # type: ignore[no-untyped-def]
    """Add first and second derivatives of the loss at the points, the latter above the diagonal."""
    for t in range(np.uint64(touch.y.shape[0])):
        y, c, p = touch.y[t], touch.weight[t], touch.point[t]
        if c == 0.0:
            continue
        row = row_of(rows, t)
        g, bend = c * loss.slope(y, p), c * loss.curvature_below(y, p, p, p)
        count = row.end - row.begin
        for i in range(count):
            j, x = place(row, i)
            gradient[j] += g * x
            if bend > 0.0:
                part = bend * x
                for k in range(i, count):
                    other, z = place(row, k)
                    matrix[j, other] += part * z


@kernel(counted=False)
def enter_parabolas(loss, rows, touch, reach, sums):  # type: ignore[no-untyped-def]
    """Enter the parabola of every row. Sizes must know the rows already.

    The sizes of all terms go to MAGNITUDE, TRAVEL and SCALED_TRAVEL of the ledger and to `bends`.
    """
    ledger, bends, sizes, origin = sums.ledger, sums.bends, sums.sizes, sums.origin
    for t in range(np.uint64(touch.y.shape[0])):
        y, c, o, p = touch.y[t], touch.weight[t], touch.offset[t], touch.point[t]
        ledger[Entry.ROUNDS] += 1.0
        if c == 0.0:
            continue
        row = row_of(rows, t)
        count = row.end - row.begin
        square = scaled = length = moved = 0.0
        for k in range(count):
            j, x = place(row, k)
            unit = abs(x) / max(sizes[j], SMALLEST_SIZE)
            square += unit * unit
            scaled += unit
            length += abs(x)
            moved += abs(origin[j] * x)
        # What the rounding of the offset does, in units of 32 EPSILON.
        lost_offset = 0.0
        if moved > 0.0:
            lost_offset = (moved + abs(o)) * (0.5 * np.float64(count) + 1.0) / LEDGER_ERRORS
        # Rounded up, as is the range: the curvature of a smaller range could be too large.
        root = np.sqrt(square) * (1.0 + (np.float64(count) + 8.0) * EPSILON) + ROOT_UNDERFLOW
        value, g, e = loss.value(y, p), loss.slope(y, p), p - o
        middle, half = o, reach.radius * root
        if reach.symmetric:
            middle, half = p, half + abs(e)
        half += 8.0 * EPSILON * (half + abs(o) + abs(p))
        bend = c * loss.curvature_below(y, p, middle - half, middle + half)
        height = loss.intercept(y, p, value, g)
        g = c * g
        ledger[Entry.INTERCEPT], lost = two_sum(ledger[Entry.INTERCEPT], c * height + g * o)
        ledger[Entry.INTERCEPT_LOW] += lost
        bends[Bend.RISE], lost = two_sum(bends[Bend.RISE], bend * e * e)
        bends[Bend.RISE_LOW] += lost
        spread = c * (abs(value) + abs(height)) + abs(g) * (abs(y) + abs(p) + abs(o)) + bend * e * e
        spread += (abs(g) + bend * (abs(e) + lost_offset)) * lost_offset
        ledger[Entry.MAGNITUDE] += 2.0 * spread
        size = abs(g) + bend * (abs(e) + lost_offset)
        ledger[Entry.TRAVEL] += size * length
        ledger[Entry.SCALED_TRAVEL] += size * scaled
        bends[Bend.SQUARES] += bend * root * root
        bends[Bend.TRAVEL] += bend * root * length
        bends[Bend.SCALED_TRAVEL] += bend * root * scaled
        for i in range(count):
            j, x = place(row, i)
            sums.lines[j, _0], lost = two_sum(sums.lines[j, _0], g * x)
            sums.lines[j, _1] += lost
            if bend > 0.0:
                sums.shifts[j, _0], lost = two_sum(sums.shifts[j, _0], bend * e * x)
                sums.shifts[j, _1] += lost
                part = bend * x
                for other in range(i, count):
                    h, z = place(row, other)
                    sums.matrix[j, h], lost = two_sum(sums.matrix[j, h], part * z)
                    sums.low[j, h] += lost
