"""Floors under the loss of every fixed predictor of a ball, as tight as can be computed.

For the square loss everything is in the second moments, with rows x, targets y, weights c,

    F(u) = sum c (<u, x> - y)^2 = u'Au - 2 b'u + s,   A = sum c xx',  b = sum c yx,  s = sum c yy.

F is convex, so the tangent at any v whatever is below it, and over ||u|| <= B

    F(u) >= F(v) + 2 <Av - b, u - v> >= s - v'Av - 2B ||Av - b||.                          (1)

At the minimiser over the ball, where Av - b = -mu v, this is its value: the bound is tight. The
proof holds for any v, so the rounding of the factorisation that finds v does not matter.

Rounding. With t = sum c ||x||^2 = trace A and an entry of a moment summed from n0 rows a block
and m blocks, in any order, the error of entry (i, j) is at most e sum c |x_i x_j|, where
e = (n0 + m + 4) EPSILON (EPSILON is twice the unit roundoff, which pays for the terms of second
order). With R = ||v||, by Cauchy's inequality,
    |s - s^| <= e s,   |v'Av - v'A^v| <= e R^2 t,   ||(A - A^) v - (b - b^)|| <= e (R t + sqrt(ts)),
and the same bounds with e = (2 d + 8) EPSILON cover the arithmetic of (1) itself. Together the
right side of (1) moves by at most e (s + R^2 t + 2B (R t + sqrt(ts))), and twice that is taken
off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from noregret.arrays import Vector
from noregret.batch.hindsight import hindsight
from noregret.batch.solver import Progress
from noregret.learners.anyone import certify
from noregret.losses import Loss, Squared
from noregret.norms import norm_upper
from noregret.passes.checks import sound_rows
from noregret.passes.rounds import LARGEST_GRADIENT, LARGEST_LOSS, LARGEST_PREDICTION
from noregret.rounding import UNDERFLOW, rounding_error
from noregret.rows.examples import Rows, as_labels, as_rows, as_weights
from noregret.trust_region import ball_minimizer
from noregret.turns import one_at_a_time

#: Rows whose moments are summed by one product of matrices.
BLOCK = 1024
#: Sparse blocks with a larger share of nonzeros are faster as dense ones.
MOST_SPARSE = 0.2
#: Largest number of features for which a matrix of second moments is kept and decomposed.
LARGEST_WIDTH = 2048
#: Relative gap and passes with which the dual of other losses is solved.
TOLERANCE = 1e-4
MAX_PASSES = 300


class Moments:
    """Running second moments of rows and targets, and the floors they prove.

    >>> moments = Moments().add([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 0.0])
    >>> moments.rounds, round(moments.floor(0.5), 6)
    (3, 3.43426)
    """

    def __init__(self) -> None:
        self._moments = np.zeros((1, 1))
        #: How many blocks were added, and how many rows the longest had.
        self._blocks = self._longest = 0
        self.rounds = 0

    @property
    def width(self) -> int:
        """How many features are known."""
        return len(self._moments) - 1

    @property
    def matrix(self) -> Vector:
        """The second moments of (x, y): A bordered by b, with s in the last corner."""
        return self._moments.copy()

    @one_at_a_time
    def add(self, X: Any, y: Any, weight: Any = None) -> Moments:
        """Add rows, their targets and their weights; return the moments."""
        rows = sound_rows(as_rows(X), self.rounds)
        targets = as_labels(y, len(rows), Squared())
        weights = as_weights(weight, len(rows))
        if rows.width > LARGEST_WIDTH:
            raise ValueError(
                f"X has {rows.width:,} columns: second moments are kept of {LARGEST_WIDTH:,} at "
                "most, so hold the rows in memory instead"
            )
        if rows.width > self.width:
            # The products with the targets stay in the last row and column.
            new = np.full(rows.width - self.width, self.width)
            self._moments = np.insert(np.insert(self._moments, new, 0.0, 0), new, 0.0, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            for matrix, part in _matrices(rows):
                self._enter(matrix, targets[part], weights[part])
        self.rounds += len(rows)
        return self

    def _enter(self, matrix: Any, y: Vector, weight: Vector) -> None:
        """Add the products of one block."""
        d = matrix.shape[1]
        if isinstance(matrix, np.ndarray):
            weighed = matrix * weight[:, None]
            self._moments[:d, :d] += weighed.T @ matrix
        else:
            weighed = matrix.multiply(weight[:, None]).tocsr()
            self._moments[:d, :d] += (weighed.T @ matrix).toarray()
        cross = weighed.T @ y
        self._moments[:d, -1] += cross
        self._moments[-1, :d] += cross
        self._moments[-1, -1] += (weight * y) @ y
        self._blocks += 1
        self._longest = max(self._longest, len(y))

    def minimizer(self, radius: float) -> Vector:
        """Return the best predictor of the ball, as well as floating point finds it."""
        A, b = self._moments[:-1, :-1], self._moments[:-1, -1]
        return ball_minimizer(A, b, radius)

    def floor(self, radius: float) -> float:
        """Return a number that F exceeds on the whole ball: (1) at the minimiser, rounded down."""
        v = self.minimizer(radius)
        A, b, s = self._moments[:-1, :-1], self._moments[:-1, -1], float(self._moments[-1, -1])
        with np.errstate(over="ignore", invalid="ignore"):
            product = A @ v
            tilt = norm_upper(product - b, 2.0)
            floor = s - float(v @ product) - 2.0 * radius * tilt - self._slack(v, radius)
        # Overflow on the way: nothing is known but that squares are not negative.
        return max(floor, 0.0) if math.isfinite(floor) else 0.0

    def _slack(self, v: Vector, radius: float) -> float:
        length = norm_upper(v, 2.0)
        t = max(float(np.trace(self._moments[:-1, :-1])), 0.0)
        s = max(float(self._moments[-1, -1]), 0.0)
        roundings = self._longest + self._blocks + 2.0 * len(v) + 32.0
        tilt = length * t + math.sqrt(t) * math.sqrt(s)
        size = s + length * length * t + 2.0 * radius * tilt
        longest = 1.0 + radius + length
        underflow = UNDERFLOW * self.rounds * (len(v) + 1.0) * longest * longest
        return rounding_error(2.0 * roundings, size) + 4.0 * underflow


def static_floor(
    X: Any,
    y: Any,
    loss: Loss,
    radius: float,
    weight: Any = None,
    progress: bool | Callable[[Progress], None] = False,
) -> float:
    """Return the best floor at hand under sum c f(y, <u, x>) for all ||u||_2 <= radius.

    Rows are in memory. For the square loss and up to 2,048 features it is (1) at the
    minimiser, from the moments or row by row, whichever rounding harms less; for other
    losses the dual value that `nr.hindsight` ends with. A loss of one's own without a
    conjugate gets what non-negativity gives.

    >>> from noregret import losses
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 0.0]
    >>> round(static_floor(X, y, losses.Squared(), 0.5), 6)
    3.43426
    """
    rows = as_rows(X)
    if type(loss) is Squared and rows.width <= LARGEST_WIDTH:
        moments = Moments().add(X, y, weight)
        made = products(rows, moments.minimizer(radius))
        floor = moments.floor(radius)
        if _small_enough(rows, y, weight, made):
            floor = max(floor, certify(X, y, made, loss, weight).floor(radius))
        return floor
    if not loss.has_conjugate() or rows.width == 0:
        return 0.0 if loss.nonnegative else -math.inf
    solution = hindsight(
        X, y, loss, radius=radius, weight=weight, tol=TOLERANCE, max_passes=MAX_PASSES,
        progress=progress,
    )  # fmt: skip
    return solution.dual


def _small_enough(rows: Rows, y: Any, weight: Any, made: Vector) -> bool:
    """Tell whether a certificate takes these predictions: the products of the rounds fit."""
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = 2.0 * (np.abs(made) + np.abs(np.asarray(y, np.float64)))
        heavy = slopes * as_weights(weight, len(rows))
        steepest = heavy * row_norms(rows) * math.sqrt(max(rows.width, 1))
        fits = (steepest < LARGEST_GRADIENT) & (heavy * slopes < LARGEST_LOSS)
        return bool(np.all(fits & (slopes < LARGEST_PREDICTION)))


def products(rows: Rows, weights: Vector) -> Vector:
    """Return <w, x> for every row."""
    parts = [np.asarray(matrix @ weights) for matrix, _ in _matrices(rows)]
    return np.concatenate(parts) if parts else np.zeros(0)


def row_norms(rows: Rows) -> Vector:
    """Return ||x||_2 of every row, not rounded in any direction."""
    parts = []
    for matrix, _ in _matrices(rows):
        # Each row measured by its own largest entry, so that squares neither overflow nor vanish.
        if isinstance(matrix, np.ndarray):
            largest = np.abs(matrix).max(axis=1, initial=0.0)
            unit = np.where(largest > 0.0, largest, 1.0)
            squares = np.square(matrix / unit[:, None]).sum(axis=1)
        else:
            of_row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
            largest = np.zeros(matrix.shape[0])
            np.maximum.at(largest, of_row, np.abs(matrix.data))
            unit = np.where(largest > 0.0, largest, 1.0)
            # Row by row: differences of a running sum would be wrong by its rounding.
            ratios = np.square(matrix.data / unit[of_row])
            squares = np.bincount(of_row, ratios, matrix.shape[0])
        parts.append(unit * np.sqrt(squares))
    return np.concatenate(parts) if parts else np.zeros(0)


def _matrices(rows: Rows) -> Iterator[tuple[Any, slice]]:
    """Yield blocks of rows as matrices of float64, and which rows they are."""
    for start in range(0, len(rows), BLOCK):
        stop = min(start + BLOCK, len(rows))
        matrix = as_matrix(rows.part(start, stop))
        full = matrix.size > MOST_SPARSE * (stop - start) * rows.width
        yield matrix.toarray() if full and not rows.dense else matrix, slice(start, stop)


def as_matrix(rows: Rows) -> Any:
    """Return rows as a matrix of float64, that of scipy for sparse ones."""
    if rows.dense:
        return rows.values.astype(np.float64, copy=False)
    part = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
    values = rows.values[part].astype(np.float64, copy=False)
    indices = rows.indices[part].astype(np.int64)
    indptr = rows.indptr.astype(np.int64) - part.start
    return csr_array((values, indices, indptr), shape=(len(rows), rows.width))
