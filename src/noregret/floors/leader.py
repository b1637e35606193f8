"""The leader of a block: near the least of what is proved already plus the block's own losses."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.floors.pending import Held
from noregret.losses import Loss
from noregret.passes.ball_steps import BallStep, multiply
from noregret.passes.curved_rows import Touch, derivatives, predict, total_loss
from noregret.passes.rows import Block

#: Newton steps, and the relative decrease that is expected of a step below which it is left out.
STEPS, LITTLE = 8, 1e-6
#: Share of the decrease that its slope promises which a step must reach, and how often it is halved
#: until it does.
ENOUGH, HALVINGS = 1e-4, 10


class Past(NamedTuple):
    """What is proved about the rows before: <v, slopes> + v'matrix v/2, but for a constant."""

    slopes: Vector
    matrix: Vector

    def value(self, v: Vector) -> float:
        """Return it at v."""
        return float(self.slopes @ v + 0.5 * (v @ times(self.matrix, v)))


def times(matrix: Vector, v: Vector) -> Vector:
    """Return matrix v, by one thread in one order."""
    product = np.empty(len(v))
    multiply(matrix, v, product)
    return product


def lead(loss: Loss, rows: Block, held: Held, past: Past, radius: float, start: Vector) -> Vector:
    """Return v near the least of the past plus the losses of a block over ||v||_2 <= radius.

    Newton steps, each the minimiser of the quadratic model over the ball, shortened until the
    sum falls. Any v is right for a leader: it decides only how high the floor is.

    Args:
        loss: one with curvature.
        rows: the rows of the block in the units of the ball.
        held: their labels, weights and offsets.
        past: what is proved about earlier rows, in these units.
        radius: of the ball, finite.
        start: the first v.
    """
    y, weight, offset = held.y, held.weight, held.offset
    length = float(np.linalg.norm(start))
    v = start * (radius / length) if length > radius else start.copy()
    point, following = np.empty(len(y)), np.empty(len(y))
    predict(rows, v, offset, point)
    value = total_loss(loss, y, weight, point) + past.value(v)
    if not math.isfinite(value):
        # New rows, far larger than those before: no loss of a row overflows at its offset.
        v = np.zeros(len(v))
        predict(rows, v, offset, point)
        value = total_loss(loss, y, weight, point) + past.value(v)
    newton = BallStep(len(v))
    for _ in range(STEPS):
        gradient, matrix = np.zeros(len(v)), np.zeros((len(v), len(v)))
        derivatives(loss, rows, Touch(y, weight, offset, point), gradient, matrix)
        matrix += np.triu(matrix, 1).T + past.matrix
        gradient += past.slopes + times(past.matrix, v)
        step = newton.solve(matrix, times(matrix, v) - gradient, radius) - v
        slope = float(gradient @ step)
        # Also false for NaN.
        if not -slope - 0.5 * float(step @ times(matrix, step)) > LITTLE * abs(value):
            break
        predict(rows, v + step, offset, following)
        # Predictions are linear: those of a part of the step lie between.
        change, part = following - point, 1.0
        for _ in range(HALVINGS):
            moved = point + part * change
            new = total_loss(loss, y, weight, moved) + past.value(v + part * step)
            if new <= value + ENOUGH * part * slope:
                break
            part *= 0.5
        else:
            break
        v, value = v + part * step, new
        predict(rows, v, offset, point)
    return v
