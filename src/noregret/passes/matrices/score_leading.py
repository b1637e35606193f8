"""The leader of a block of rows with several scores: the least of its losses plus quadratics.

    F(W) = sum_t c_t f(y_t, W x_t) + sum_k (<s_k, w_k> + w_k'M_k w_k / 2 + (prior/2) ||w_k||^2).

Conjugate gradients in the metric of one matrix a score, M_k + prior + sum_t c_t f_kk x_t x_t' at
the start: how one score bends another is left to the search along each direction. Rows lie feature
by feature, scores score by score, so that all long loops run along the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.leading import (
    LITTLE,
    add_rows,
    add_squares,
    descend,
    factorise,
    multiply_rows,
    past_value,
)

#: The most directions.
DIRECTIONS = 12


class ScoreRoom(NamedTuple):
    """Room for work: numbers of rows, scores of rows, numbers of features, and matrices."""

    work: Any
    bends: Any
    scores: Any
    changes: Any
    slopes: Any
    alone: Any
    alone_slopes: Any
    half: Any
    gradient: Any
    before: Any
    step: Any
    direction: Any
    product: Any
    matrix: Any
    factors: Any


def new_score_room(rows: int, outputs: int, features: int) -> ScoreRoom:
    """Return room for so many rows, scores and features."""
    flat, wide = [(rows,)] * 2 + [(outputs, rows)] * 3, [(outputs, features)] * 5
    last = [(features, features), (outputs, features, features)]
    return ScoreRoom(*map(np.empty, [*flat, (outputs,), (outputs,), (features,), *wide, *last]))


@kernel(fast=True, counted=False)
def lead_scores(loss, given, slopes, matrices, prior, weights, room):  # type: ignore[no-untyped-def]
    """Move the weights, a row a score, to the least of F, nearly."""
    outputs = np.uint64(weights.shape[0])
    gradient, step, direction = room.gradient, room.step, room.direction
    _multiply(given.rows, weights, room.scores)
    lost = _lose(loss, given, 0.0, room)
    for k in range(outputs):
        _bend(loss, given, k, room)
        add_squares(given.rows, room.bends, room.work, matrices[k], prior, room.matrix)
        factorise(room.matrix, room.factors[k])
    scale = 0.0
    for turn in range(DIRECTIONS):
        # gradient = sum of the rows times their slopes + s + (M + prior) w.
        along = 0.0
        for k in range(outputs):
            add_rows(given.rows, room.slopes[k], gradient[k])
            past_value(slopes[k], matrices[k], prior, weights[k], room.product[k])
            for i in range(np.uint64(weights.shape[1])):
                gradient[k, i] += slopes[k, i] + room.product[k, i] + prior * weights[k, i]
            descend(room.factors[k], gradient[k], room.half, step[k])
            for i in range(np.uint64(weights.shape[1])):
                along += gradient[k, i] * step[k, i]
        # Also false for NaN.
        if not -0.5 * along > LITTLE * lost:
            break
        _turn_direction(gradient, step, room.before, direction, scale, turn)
        scale = along
        _multiply(given.rows, direction, room.changes)
        found, lost = _search(loss, given, slopes, matrices, prior, weights, lost, room)
        if not found:
            break


@kernel(fast=True, counted=False)
def expand_scores(loss, given, weights, slopes, matrices, room):  # type: ignore[no-untyped-def]
    """Add the expansion of a block's loss about the weights to every s and M, but for a constant.

    It leaves out how the slope of a score depends on the other scores.
    """
    width = np.uint64(weights.shape[1])
    _multiply(given.rows, weights, room.scores)
    _lose(loss, given, 0.0, room)
    for k in range(np.uint64(weights.shape[0])):
        _bend(loss, given, k, room)
        for t in range(np.uint64(given.y.shape[0])):
            # The slope of the expansion at 0.
            room.work[t] = room.slopes[k, t] - room.bends[t] * room.scores[k, t]
        add_rows(given.rows, room.work, room.gradient[k])
        add_squares(given.rows, room.bends, room.work, matrices[k], 0.0, room.matrix)
        for i in range(width):
            slopes[k, i] += room.gradient[k, i]
            for j in range(i + np.uint64(1)):
                matrices[k, i, j] = room.matrix[i, j]
                matrices[k, j, i] = room.matrix[i, j]


@kernel(fast=True, inner=True, counted=False)
def _turn_direction(gradient, step, before, direction, scale, turn):  # type: ignore[no-untyped-def]
    """Write the next direction, and the gradient to `before`."""
    change = 0.0
    if turn > 0:
        for k in range(np.uint64(step.shape[0])):
            for i in range(np.uint64(step.shape[1])):
                change += (gradient[k, i] - before[k, i]) * step[k, i]
    # Polak and Ribiere; below 0 it starts afresh.
    kept = max(change / scale, 0.0) if scale != 0.0 else 0.0
    for k in range(np.uint64(step.shape[0])):
        for i in range(np.uint64(step.shape[1])):
            direction[k, i] = step[k, i] + (kept * direction[k, i] if turn > 0 else 0.0)
            before[k, i] = gradient[k, i]


@kernel(fast=True, inner=True, counted=False)
def _search(loss, given, slopes, matrices, prior, weights, lost, room):  # type: ignore[no-untyped-def]
    """Step along the direction to where its slope is about 0; return whether F falls, and the loss.

    The place is that of a straight line through the slopes at 0 and 1.
    """
    outputs, width = np.uint64(weights.shape[0]), np.uint64(weights.shape[1])
    direction = room.direction
    first = bent = 0.0
    for k in range(outputs):
        past_value(slopes[k], matrices[k], prior, direction[k], room.product[k])
        for i in range(width):
            bent += direction[k, i] * (room.product[k, i] + prior * direction[k, i])
            first += direction[k, i] * room.gradient[k, i]
    begun = _along(room)
    _lose(loss, given, 1.0, room)
    # The past's slope along the direction is first - begun, and grows by `bent`.
    second = _along(room) + (first - begun) + bent
    length = 1.0
    if second != first:
        length = first / (first - second)
    if not 0.0 < length <= 4.0:
        length = 1.0
    new = lost
    for _ in range(10):
        new = _lose(loss, given, length, room)
        rise = (new - lost) + length * ((first - begun) + 0.5 * length * bent)
        if rise <= 1e-4 * length * first:
            break
        length *= 0.5
    else:
        _lose(loss, given, 0.0, room)
        return False, lost
    for k in range(outputs):
        for i in range(width):
            weights[k, i] += length * direction[k, i]
        for t in range(np.uint64(given.y.shape[0])):
            room.scores[k, t] += length * room.changes[k, t]
    return True, new


@kernel(fast=True, inner=True, counted=False)
def _along(room):  # type: ignore[no-untyped-def]
    """Return the slope of the block's loss along the changes."""
    total = 0.0
    for k in range(np.uint64(room.slopes.shape[0])):
        for t in range(np.uint64(room.slopes.shape[1])):
            total += room.slopes[k, t] * room.changes[k, t]
    return total


@kernel(inner=True, counted=False)
def _lose(loss, given, length, room):  # type: ignore[no-untyped-def]
    """Return the loss at scores + length * changes; write the weighted slopes."""
    outputs, total = np.uint64(room.scores.shape[0]), 0.0
    for t in range(np.uint64(given.y.shape[0])):
        for k in range(outputs):
            room.alone[k] = room.scores[k, t]
            if length != 0.0:
                room.alone[k] += length * room.changes[k, t]
        c = given.weight[t]
        total += c * loss.value_and_slopes(given.y[t], room.alone, room.alone_slopes)
        for k in range(outputs):
            room.slopes[k, t] = c * room.alone_slopes[k]
    return total


@kernel(inner=True, counted=False)
def _bend(loss, given, k, room):  # type: ignore[no-untyped-def]
    """Write the weighted second derivatives in score k."""
    for t in range(np.uint64(given.y.shape[0])):
        c = given.weight[t]
        room.bends[t] = c * loss.own_curvature(room.slopes[k, t] / c)


@kernel(fast=True, inner=True, counted=False)
def _multiply(rows, weights, out):  # type: ignore[no-untyped-def]
    """Write the scores of every row."""
    for k in range(np.uint64(weights.shape[0])):
        multiply_rows(rows, weights[k], out[k])
