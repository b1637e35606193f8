"""Comparators in the space of a kernel, given by points and coefficients."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.losses import Loss
from noregret.passes.frame import block
from noregret.rounding.slack import grown, rounding_error
from noregret.rows.examples import Rows, as_rows
from noregret.tracking.hilbert_pass import Column, predict_points
from noregret.tracking.kernels import Kernel, gram
from noregret.tracking.schedules import Schedule, segment_loss, summed


class KernelSchedule:
    """Comparators u = sum_j b_j K(v_j, .) with the round at which each takes over.

    >>> schedule = KernelSchedule([(0, [[0.0]], [1.0]), (5, [[0.0]], [-1.0])])
    >>> from noregret.tracking.kernels import Gaussian
    >>> [round(number, 12) for number in schedule.measured(Gaussian())]
    [2.0, 1.0, 1.0]
    """

    def __init__(self, parts: Iterable[tuple[int, npt.ArrayLike, npt.ArrayLike]]) -> None:
        """Take (first round, points, coefficients) of each segment."""
        self.parts: list[tuple[int, Vector, Vector]] = []
        for start, points, coefficients in parts:
            rows = np.atleast_2d(np.array(points, np.float64))
            weights = np.atleast_1d(np.array(coefficients, np.float64))
            if weights.shape != (len(rows),) or not np.isfinite(weights).all():
                raise ValueError(
                    f"KernelSchedule: {len(rows)} points need as many finite coefficients, "
                    f"got the shape {weights.shape}"
                )
            self.parts.append((int(start), rows, weights))
        # Validate the rounds as for schedules of vectors.
        Schedule([(start, [0.0]) for start, _, _ in self.parts])

    def __len__(self) -> int:
        return len(self.parts)

    def measured(self, kernel: Kernel) -> tuple[float, float, float]:
        """Return the size, the norm of the last comparator and the largest norm, rounded up."""
        norms = [_norm_upper(kernel, points, b) for _, points, b in self.parts]
        steps = [
            _norm_upper(kernel, np.concatenate([v, w]), np.concatenate([b, -c]))
            for (_, v, b), (_, w, c) in zip(self.parts, self.parts[1:], strict=False)
        ]
        size = grown(float(np.sum(steps)), len(steps) + 1.0)
        return size, norms[-1], max(norms)

    def loss_between(
        self, kernel: Kernel, loss: Loss, rows: Rows, labels: Vector, largest: tuple[float, float]
    ) -> tuple[float, float]:
        """Return numbers between which the schedule's loss lies.

        largest: upper bounds on sqrt(K(x, x)) and on ||x||^2 of the features over all rows.
        """
        predictions, found = np.empty(len(rows)), []
        starts = Schedule([(start, [1.0]) for start, _, _ in self.parts])
        for (start, stop, one), part in zip(starts.segments(len(rows)), self.parts, strict=True):
            _, points, coefficients = part
            if points.shape[1] != rows.width:
                raise ValueError(
                    f"the points of the schedule have {points.shape[1]} features, X {rows.width}"
                )
            columns = np.zeros((len(points), len(Column)))
            columns[:, Column.COEFFICIENT] = coefficients
            columns[:, Column.SQUARE] = np.sum(points * points, axis=1)
            inside, chunk = predictions[start:stop], rows.part(start, stop)
            predict_points(kernel, points, columns, 1.0, block(chunk), inside)
            square = max(largest[1], float(columns[:, Column.SQUARE].max()))
            roundings = kernel.power(square) * (rows.width + 8.0) + len(points) + 16.0
            norms = np.sqrt(np.maximum(np.diag(gram(kernel, points, points)), 0.0))
            mass = float(np.abs(coefficients) @ norms) * largest[0]
            # Give the loss one feature, u(x), with weight 1.
            feature = as_rows(inside.reshape(-1, 1))
            error = rounding_error(2.0 * roundings, mass)
            found.append(segment_loss(loss, feature, labels[start:stop], one, error))
        return summed(found)


def _norm_upper(kernel: Kernel, points: Vector, b: Vector) -> float:
    """Return sqrt(b'Kb), rounded up."""
    matrix = gram(kernel, points, points)
    mass = float(np.abs(b) @ np.sqrt(np.maximum(np.diag(matrix), 0.0)))
    square = float(np.sum(points * points, axis=1).max(initial=0.0))
    roundings = kernel.power(square) * (points.shape[1] + 8.0) + 2.0 * len(b) + 8.0
    value = max(float(b @ matrix @ b), 0.0) + rounding_error(2.0 * roundings, mass) * mass
    return grown(math.sqrt(value), 4.0)
