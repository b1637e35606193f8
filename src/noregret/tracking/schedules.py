"""Moving comparators: a fixed predictor for each segment of rounds.

Predictors are vectors, or in the space of a kernel points with coefficients. Rounds are counted
from 0, as the rows of X are. For a schedule u_0, ..., u_(T-1) its loss is sum_t f_t(u_t) and its
size sum_t ||u_t - u_(t+1)||_p; rounds without a shift cost no work.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, section 1.
"""

from __future__ import annotations

import bisect
import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector, as_vector
from noregret.jit import kernel
from noregret.losses import Loss, Squared
from noregret.norms import norm_upper
from noregret.passes.checks import sound_rows
from noregret.passes.frame import block
from noregret.passes.rows import place, row_of
from noregret.proof.certificate import ROUND_ERRORS
from noregret.rounding import EPSILON, UNDERFLOW, grown, rounding_error
from noregret.rows.examples import Rows, as_labels, as_rows
from noregret.tracking.hilbert_pass import Column, predict_points
from noregret.tracking.kernels import Kernel, gram

_ERRORS = ROUND_ERRORS * EPSILON


class Schedule:
    """Comparators with the round at which each takes over, the first at round 0.

    >>> schedule = Schedule([(0, [1.0, 0.0]), (2, [0.0, 1.0])])
    >>> schedule.shifts, schedule.at(1), round(schedule.size(1), 12)
    (1, array([1., 0.]), 2.0)
    >>> schedule.loss([[1, 0], [1, 1], [0, 1]], [1, 1, 3])
    4.0
    """

    def __init__(self, parts: Iterable[tuple[int, npt.ArrayLike]]) -> None:
        """Take (first round, comparator) of each segment, in the order of the rounds."""
        pairs = list(parts)
        if not pairs:
            raise ValueError("Schedule: expected (first round, comparator) pairs, got none")
        self._starts = tuple(operator.index(start) for start, _ in pairs)
        vectors = [np.atleast_1d(u) for _, u in pairs]
        self._comparators = np.array(
            [
                as_vector(f"Schedule: comparator {k}", vector, vectors[0].size)
                for k, vector in enumerate(vectors)
            ]
        )
        if self._starts[0] != 0:
            raise ValueError(f"Schedule: the first round must be 0, got {self._starts[0]}")
        for before, after in zip(self._starts, self._starts[1:], strict=False):
            if after <= before:
                raise ValueError(f"Schedule: first rounds must rise, got {after} after {before}")

    @classmethod
    def of_rounds(cls, comparators: npt.ArrayLike) -> Schedule:
        """Return the schedule that has row t of a matrix as the comparator of round t.

        >>> Schedule.of_rounds([[1.0], [1.0], [2.0]]).starts
        (0, 2)
        """
        U = np.asarray(comparators, np.float64)
        if U.ndim != 2 or not len(U):
            raise ValueError(f"Schedule.of_rounds: expected a row a round, got the shape {U.shape}")
        moved = np.flatnonzero(np.any(U[1:] != U[:-1], axis=1)) + 1
        return cls((int(t), U[t]) for t in (0, *moved))

    @property
    def starts(self) -> tuple[int, ...]:
        """The first round of each segment."""
        return self._starts

    @property
    def comparators(self) -> Vector:
        """The comparators, a row a segment."""
        return self._comparators.copy()

    @property
    def dimension(self) -> int:
        """How many features the comparators have."""
        return int(self._comparators.shape[1])

    @property
    def shifts(self) -> int:
        """How often the comparator changes."""
        return len(self._starts) - 1

    def __len__(self) -> int:
        return len(self._starts)

    def at(self, t: int) -> Vector:
        """Return the comparator of round t."""
        if t < 0:
            raise ValueError(f"Schedule.at: rounds are counted from 0, got {t}")
        return np.array(self._comparators[bisect.bisect_right(self._starts, t) - 1])

    def segments(self, rounds: int) -> Iterator[tuple[int, int, Vector]]:
        """Yield (first round, round after the last, comparator) over that number of rounds."""
        if self._starts[-1] >= rounds:
            raise ValueError(
                f"the schedule's last segment starts at round {self._starts[-1]}, "
                f"but there are {rounds} rounds"
            )
        stops = [*self._starts[1:], rounds]
        for start, stop, u in zip(self._starts, stops, self._comparators, strict=True):
            yield start, stop, u.copy()

    def size(self, p: float = 2.0) -> float:
        """Return sum_t ||u_t - u_(t+1)||_p, rounded up; p may be infinite.

        >>> Schedule([(0, [0.7, 0.1]), (9, [0.1, 0.2])]).size(np.inf) - 0.6 < 1e-15
        True
        """
        if not p >= 1.0:
            raise ValueError(f"Schedule.size: p must be at least 1, got {p}")
        steps = [norm_upper(step, p) for step in np.diff(self._comparators, axis=0)]
        # One rounding of the differences, and one for each term of the sum.
        return grown(float(np.sum(steps)), len(steps) + 2.0)

    def loss(self, X: Any, y: Any, loss: Loss | None = None) -> float:
        """Return sum_t f(y_t, <u_t, x_t>); the square loss without a factor 1/2 by default."""
        return 0.5 * sum(self.loss_between(X, y, loss))

    def loss_between(self, X: Any, y: Any, loss: Loss | None = None) -> tuple[float, float]:
        """Return a lower and an upper bound on the loss, rounding included.

        The rounding of <u, x> is at most (nonzeros + 4) EPSILON sum |u_i x_i| = e. By convexity
        f(p) - |f'(p)| e is below the loss, and the larger of f(p - e), f(p + e) above it.
        """
        loss = Squared() if loss is None else loss
        rows = sound_rows(as_rows(X), 0)
        labels = as_labels(y, len(rows), loss)
        if rows.width > self.dimension:
            raise ValueError(
                f"X has {rows.width} columns, the comparators of the schedule {self.dimension}"
            )
        found = [
            segment_loss(loss, rows.part(start, stop), labels[start:stop], u)
            for start, stop, u in self.segments(len(rows))
        ]
        return summed(found)

    def __repr__(self) -> str:
        return f"Schedule({list(zip(self._starts, self._comparators.tolist(), strict=True))})"

    def __str__(self) -> str:
        noun = "shift" if self.shifts == 1 else "shifts"
        return f"{self.shifts} {noun} over {self.dimension} features, at rounds " + (
            ", ".join(map(str, self._starts[1:])) or "none"
        )


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
            finite = np.isfinite(weights).all() and np.isfinite(rows).all()
            if weights.shape != (len(rows),) or not finite:
                raise ValueError(
                    f"KernelSchedule: {len(rows)} finite points need as many finite coefficients, "
                    f"got the shape {weights.shape}"
                )
            self.parts.append((operator.index(start), rows, weights))
        # A schedule with the same rounds checks them, and gives a loss one feature, u(x).
        self._ones = Schedule([(start, [1.0]) for start, _, _ in self.parts])

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
        segments = zip(self._ones.segments(len(rows)), self.parts, strict=True)
        for (start, stop, one), (_, points, coefficients) in segments:
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


def segment_loss(
    loss: Loss, rows: Rows, labels: Vector, u: Vector, error: float = 0.0
) -> tuple[float, float]:
    """Return bounds on a fixed predictor's loss, with an error of at most `error` in <u, x>."""
    low, high, size = map(float, _segment_loss(loss, block(rows), labels, u, float(error)))
    slack = rounding_error(len(labels) + 2.0, size) + len(labels) * UNDERFLOW
    return (max(low - slack, 0.0) if loss.nonnegative else low - slack), high + slack


def summed(intervals: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the sum of intervals, rounded outwards.

    >>> summed([(1.0, 2.0), (3.0, 4.0)])[1] >= 6.0
    True
    """
    low, high = (float(sum(ends)) for ends in zip(*intervals, strict=True))
    size = sum(max(abs(a), abs(b)) for a, b in intervals)
    slack = rounding_error(len(intervals) + 1.0, size)
    return low - slack if low != 0.0 else 0.0, high + slack


@kernel(counted=False)
def _segment_loss(loss, rows, y, u, known):  # type: ignore[no-untyped-def]
    """Return a fixed predictor's loss rounded down and up, and the sum of absolute terms."""
    below = 0.0
    above = 0.0
    total = 0.0
    for t in range(np.uint64(y.shape[0])):
        row = row_of(rows, t)
        p = 0.0
        size = 0.0
        for k in range(row.end - row.begin):
            i, x = place(row, k)
            p += x * u[i]
            size += abs(x * u[i])
        error = (4.0 + np.float64(row.end - row.begin)) * EPSILON * size + known
        value = loss.value(y[t], p)
        steepness = abs(loss.slope(y[t], p))
        rounded = _ERRORS * (abs(value) + steepness * (abs(y[t]) + abs(p)))
        below += value - steepness * error - rounded
        above += max(loss.value(y[t], p - error), loss.value(y[t], p + error)) + rounded
        total += abs(value) + steepness * (error + abs(p) + abs(y[t]))
    return below, above, total
