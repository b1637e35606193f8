"""The leader of a block of rows: the least of its losses plus a quadratic of the rows before.

    F(v) = sum_t c_t f(y_t, <v, x_t>) + <s, v> + v'Mv/2 + (prior/2) ||v||^2.

Newton's method, with steps shortened until F falls. A second derivative serves several steps while
it foretells how far F falls. Rows lie feature by feature, so that all loops run along the rows:
`rows[i, t]` is feature i of row t.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.ball_steps import backward, factorised, forward
from noregret.passes.curved_rows import total_loss
from noregret.rounding import EPSILON

#: The most steps; the part of the block's loss by which a step must promise to lower F; the part of
#: a promise that is kept if the second derivative is to serve once more.
STEPS, LITTLE, TRUE = 12, 1e-5, 0.5
#: Share of the decrease that its slope promises which a step must reach, and how often it is halved
#: until it does.
ENOUGH, HALVINGS = 1e-4, 10


class Room(NamedTuple):
    """Room for work: numbers for each row, numbers for each feature, and two matrices.

    One array each: in rows of a common array loops are not vectorised.
    """

    point: Any
    moved: Any
    change: Any
    part: Any
    slopes: Any
    bends: Any
    gradient: Any
    step: Any
    half: Any
    product: Any
    matrix: Any
    factor: Any


def new_room(rows: int, features: int) -> Room:
    """Return room for so many rows and features."""
    shapes = [rows] * 6 + [features] * 4 + [(features, features)] * 2
    return Room(*map(np.empty, shapes))


@kernel(fast=True, counted=False)
def lead_block(loss, given, slopes, matrix, prior, v, room):  # type: ignore[no-untyped-def]
    """Move v to the least of F, nearly."""
    rows, y, weight = given
    count, width = np.uint64(y.shape[0]), np.uint64(v.shape[0])
    point, part, gradient, step, product = (
        room.point, room.part, room.gradient, room.step, room.product,
    )  # fmt: skip
    multiply_rows(rows, v, point)
    block_loss = total_loss(loss, y, weight, point)
    value = block_loss + past_value(slopes, matrix, prior, v, product)
    fresh = True
    for _ in range(STEPS):
        for t in range(count):
            room.slopes[t] = loss.slope(y[t], point[t])
            part[t] = weight[t] * room.slopes[t]
        add_rows(rows, part, gradient)
        # `product` is M v.
        for i in range(width):
            gradient[i] += slopes[i] + product[i] + prior * v[i]
        if fresh:
            for t in range(count):
                room.bends[t] = weight[t] * loss.bend_of_slope(y[t], point[t], room.slopes[t])
            add_squares(rows, room.bends, room.moved, matrix, prior, room.matrix)
            factorise(room.matrix, room.factor)
        descend(room.factor, gradient, room.half, step)
        slope = 0.0
        for i in range(width):
            slope += gradient[i] * step[i]
        # Also false for NaN.
        if not -0.5 * slope > LITTLE * block_loss:
            break
        multiply_rows(rows, step, room.change)
        length = 1.0
        found = False
        for _ in range(HALVINGS):
            for t in range(count):
                room.moved[t] = point[t] + length * room.change[t]
            for i in range(width):
                gradient[i] = v[i] + length * step[i]
            lost = total_loss(loss, y, weight, room.moved)
            new = lost + past_value(slopes, matrix, prior, gradient, product)
            if new <= value + ENOUGH * length * slope:
                found = True
                break
            length *= 0.5
        if not found:
            break
        fresh = not (length == 1.0 and value - new > TRUE * -0.5 * slope)
        for i in range(width):
            v[i] = gradient[i]
        for t in range(count):
            point[t] = room.moved[t]
        value, block_loss = new, lost


@kernel(fast=True, counted=False)
def expand_block(loss, given, v, slopes, matrix, room):  # type: ignore[no-untyped-def]
    """Add the second-order expansion of a block's loss about v to s and M, but for a constant."""
    rows, y, weight = given
    width = np.uint64(v.shape[0])
    point, part, bends, gradient = room.point, room.part, room.bends, room.gradient
    multiply_rows(rows, v, point)
    for t in range(np.uint64(y.shape[0])):
        slope = loss.slope(y[t], point[t])
        bends[t] = weight[t] * loss.bend_of_slope(y[t], point[t], slope)
        # The slope of the expansion at 0.
        part[t] = weight[t] * slope - bends[t] * point[t]
    add_rows(rows, part, gradient)
    for i in range(width):
        slopes[i] += gradient[i]
    add_squares(rows, bends, room.moved, matrix, 0.0, room.matrix)
    for i in range(width):
        for j in range(i + np.uint64(1)):
            matrix[i, j] = room.matrix[i, j]
            matrix[j, i] = room.matrix[i, j]


@kernel(fast=True, inner=True, counted=False)
def multiply_rows(rows, v, out):  # type: ignore[no-untyped-def]
    """Write <v, x> of every row."""
    count = np.uint64(out.shape[0])
    for t in range(count):
        out[t] = 0.0
    for i in range(np.uint64(v.shape[0])):
        for t in range(count):
            out[t] += v[i] * rows[i, t]


@kernel(fast=True, inner=True, counted=False)
def add_rows(rows, factors, out):  # type: ignore[no-untyped-def]
    """Write the sum of the rows times their factors."""
    for i in range(np.uint64(out.shape[0])):
        total = 0.0
        for t in range(np.uint64(factors.shape[0])):
            total += factors[t] * rows[i, t]
        out[i] = total


@kernel(fast=True, inner=True, counted=False)
def add_squares(rows, factors, work, matrix, prior, out):  # type: ignore[no-untyped-def]
    """Write M + prior + sum_t factor_t x_t x_t' on and below the diagonal."""
    count = np.uint64(factors.shape[0])
    for i in range(np.uint64(out.shape[0])):
        for t in range(count):
            work[t] = factors[t] * rows[i, t]
        for j in range(i + np.uint64(1)):
            total = 0.0
            for t in range(count):
                total += work[t] * rows[j, t]
            out[i, j] = matrix[i, j] + total
        out[i, i] += prior


@kernel(fast=True, inner=True, counted=False)
def past_value(slopes, matrix, prior, v, product):  # type: ignore[no-untyped-def]
    """Return <s, v> + v'Mv/2 + (prior/2) ||v||^2; write M v."""
    total = 0.0
    width = np.uint64(v.shape[0])
    for i in range(width):
        along = 0.0
        for j in range(width):
            along += matrix[i, j] * v[j]
        product[i] = along
        total += v[i] * (slopes[i] + 0.5 * (along + prior * v[i]))
    return total


@kernel(fast=True, inner=True, counted=False)
def factorise(A, L):  # type: ignore[no-untyped-def]
    """Write the lower Cholesky factor; where rounding leaves no pivot, that of a little more.

    A matrix that is not finite has none: no step follows from what is written then.
    """
    trace = 0.0
    for i in range(np.uint64(A.shape[0])):
        trace += A[i, i]
    more = 0.0
    while not factorised(A, more, L) and more < np.inf:
        more = max(4.0 * more, EPSILON * trace) if trace < np.inf else np.inf


@kernel(fast=True, inner=True, counted=False)
def descend(L, gradient, half, step):  # type: ignore[no-untyped-def]
    """Write the step with L L' step = -gradient; `half` is room for work."""
    forward(L, gradient, half)
    backward(L, half, step)
    for i in range(np.uint64(step.shape[0])):
        step[i] = -step[i]
