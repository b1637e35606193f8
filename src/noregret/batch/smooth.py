"""Newton's method on the objective itself, for losses that bend over rows with few features.

With p = <w, x> + o + beta, s_i = f'(p_i), h_i = f''(p_i) and g = sum c_i s_i x_i, a step solves

    (b I + sum c_i h_i x_i x_i') d = -(b w + g),

bordered by the row of a constant feature if there is a free bias. The linear model of the slopes,
s_i + h_i <d, x_i>, then satisfies sum c_i s_i x_i = -b (w + d) exactly: as dual variables these
slopes belong to the weights w + d, and their gap is only what the curvature of the losses changes
along the step, while the gap of the slopes at a point is the squared gradient over 2 b. So every
step offers both as a proof. First the problem is solved on samples of the rows, as accurately as
they deserve, which leaves one or two steps over all rows. A matrix is used again while that costs
less than forming the next one.
Reference: Nocedal and Wright, Numerical Optimization, chapter 3; samples as in Byrd, Chin, Nocedal,
Wu, Sample Size Selection in Optimization Methods for Machine Learning, section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.batch.problem import Problem
from noregret.passes.dual import dual, joint, smooth
from noregret.passes.dual.dual import inner
from noregret.rows.examples import Rows
from noregret.shards import Shards

#: Predictions, and how they change along a step.
Line = tuple[Vector, Vector]
#: Operations of a pass a stored feature and a row, in units of a multiplication of a matrix.
FEATURE, ROW = 5.0, 50.0
#: Form matrices if one costs at most as much as this many passes, and up to this width.
PASSES, LARGEST_MATRIX = 25.0, 3000
#: Each sample has this part of the rows of the next, but at least so many rows a feature.
PART, ROWS_A_FEATURE = 8, 16
#: On a sample, stop when a step gains less than this times its features a row, of the objective.
DESERVED = 0.1
#: Most steps on a sample.
MOST_STEPS = 12
#: Most points of a line that are tried; the part of the predicted descent that is required.
MOST_POINTS, PROMISED = 30, 1e-4
#: A point of a line is level enough if its slope is this part of that at the start.
LEVEL = 0.3
#: A point between two others keeps this part of their distance from both.
MARGIN = 0.05
#: Leave a second derivative in the matrix as it is until it has changed by this part of it.
NEAR = 0.2
#: A change of the objective below this part of it is lost in rounding.
LOST = 1e-13


class Cost(NamedTuple):
    """Operations of a pass over all rows, and of forming and factoring a matrix."""

    visit: float
    form: float

    @classmethod
    def of(cls, problem: Problem) -> Cost:
        """Count the operations for a problem.

        >>> from noregret import losses
        >>> rows = [[1.0, 2.0], [0.5, 1.0], [0.0, 3.0]]
        >>> Cost.of(Problem.of(rows, [1, -1, 1], losses.Logistic(), strength=1.0))
        Cost(visit=180.0, form=7.333333333333333)
        """
        rows = problem.rows
        counts = np.full(len(rows), rows.width) if rows.dense else np.diff(rows.indptr)
        lengths = counts.astype(np.float64)
        pairs = float(lengths @ lengths)
        return cls(FEATURE * rows.stored + ROW * len(rows), 0.5 * pairs + rows.width**3 / 6.0)

    @property
    def pays(self) -> bool:
        """Whether a matrix costs little enough for Newton's method."""
        return self.form <= PASSES * self.visit


def suits(problem: Problem) -> bool:
    """Return whether Newton's method is the way to solve a problem, by declared properties."""
    return (
        problem.radius is None
        and problem.mirror.euclidean()
        and problem.loss.curvature() < math.inf
        and problem.rows.width <= LARGEST_MATRIX
        and Cost.of(problem).pays
    )


@dataclass(frozen=True, eq=False)
class Place:
    """Weights and a bias, the answers of the rows there, the objective and its gradient."""

    weights: Vector
    bias: float
    answers: smooth.Answers
    value: float
    #: The last entry is that of the bias, 0 if there is none.
    gradient: Vector

    @property
    def sound(self) -> bool:
        """Whether nothing has overflowed."""
        return self.value < math.inf and bool(np.isfinite(self.gradient).all())


class Found(NamedTuple):
    """A point of a line: its answers, the objective and its two derivatives along the line."""

    part: float
    answers: smooth.Answers
    sums: smooth.Sums
    value: float
    slope: float
    bend: float


class Model:
    """The matrix b I + sum c_i h_i x_i x_i', brought along as the h_i change."""

    def __init__(self, problem: Problem, free: bool) -> None:
        self.problem, self.free = problem, free
        count, width = len(problem.y), problem.width + free
        #: The second derivatives in the matrix.
        self.bends = np.zeros(count)
        self._parts = np.zeros((problem.shards.count, width, width))
        self._factor = np.empty((width, width))

    def follow(self, bends: Vector) -> None:
        """Bring the matrix to new second derivatives, all but those that hardly changed."""
        problem, free = self.problem, self.free
        factors = np.empty(len(bends))

        def changed(begin: int, end: int, matrix: Vector) -> None:
            part = slice(begin, end)
            rows, terms = problem.piece(begin, end)
            smooth.changes(terms, self.bends[part], bends[part], NEAR, factors[part])
            smooth.squares(rows, factors[part], free, matrix)

        problem.shards.each(len(bends), changed, list(self._parts))
        self._factor[:] = self._parts[0]
        for other in self._parts[1:]:
            self._factor += other
        self._factor[np.diag_indices(problem.width)] += problem.strength
        joint.factor(self._factor)

    def step(self, gradient: Vector) -> Vector:
        """Return the step to the minimum of the model; the last entry moves the bias."""
        step = np.zeros(self.problem.width + 1)
        step[: len(self._factor)] = -gradient[: len(self._factor)]
        joint.substitute(self._factor, step[: len(self._factor)])
        return step


class Newton:
    """Newton's method from given weights; `here` is the place reached.

    Args:
        problem: what to minimise, its losses with a finite `curvature()`.
        free: whether there is a bias that the regulariser does not count.
        weights: where to start [default: 0].
        bias: where to start [default: 0].
    """

    def __init__(
        self, problem: Problem, free: bool, weights: Vector | None = None, bias: float = 0.0
    ) -> None:
        self.problem, self.free = problem, free
        self.model = Model(problem, free)
        start = np.zeros(problem.width) if weights is None else weights
        predictions = self.products(start) + (problem.offset + bias)
        nowhere = np.zeros(problem.width + 1)
        first = self.answer(start, nowhere, (predictions, np.zeros(len(problem.y))), 0.0)
        self.here = self.place(start, bias, first)
        self.before: Place | None = None
        #: The part of the last step that was taken.
        self.part = 1.0
        #: How far the last step moved the bias; before one it may be anywhere.
        self.swing = math.inf if free else 0.0
        #: The slopes that `gap` found to be the best proof.
        self.slopes = self.here.answers.slopes

    def products(self, weights: Vector) -> Vector:
        """Return <w, x> of every row."""
        found = np.empty(len(self.problem.y))

        def work(begin: int, end: int) -> None:
            dual.products(self.problem.piece(begin, end)[0], weights, found[begin:end])

        self.problem.shards.each(len(found), work)
        return found

    def answer(self, weights: Vector, step: Vector, line: Line, part: float) -> Found:
        """Return the point of a line, from these weights along a step, without reading features."""
        problem, count, b = self.problem, len(self.problem.y), self.problem.strength
        answers = smooth.Answers(np.empty(count), np.empty(count), np.empty(count))

        def work(begin: int, end: int) -> Any:
            mine = smooth.Answers(*(array[begin:end] for array in answers))
            piece = line[0][begin:end], line[1][begin:end]
            return smooth.answer(problem.loss, problem.terms_of(begin, end), piece, part, mine)

        sums = smooth.Sums(*np.sum(problem.shards.each(count, work), axis=0).tolist())
        move = step[:-1]
        there = weights + part * move
        value = sums.value + 0.5 * b * float(inner(there, there))
        slope = sums.along + b * float(inner(there, move))
        return Found(part, answers, sums, value, slope, sums.curved + b * float(inner(move, move)))

    def place(self, weights: Vector, bias: float, found: Found) -> Place:
        """Return the place with these answers, after reading the rows for its gradient."""
        problem = self.problem
        factors = problem.weight * found.answers.slopes
        pulled = np.zeros((problem.shards.count, problem.width))

        def work(begin: int, end: int, mine: Vector) -> None:
            dual.gather(problem.piece(begin, end)[0], factors[begin:end], mine)

        problem.shards.each(len(factors), work, list(pulled))
        gradient = problem.strength * weights + pulled.sum(axis=0)
        gradient = np.append(gradient, found.sums.slope * self.free)
        return Place(weights, bias, found.answers, found.value, gradient)

    def step(self, enough: float = 0.0) -> bool:
        """Take a step that lowers the objective; return whether there is one.

        enough: take no step that promises less [default: 0].
        """
        here = self.here
        self.model.follow(here.answers.bends)
        step = self.model.step(here.gradient)
        promised = -float(inner(here.gradient, step))
        if not enough < promised < math.inf:
            return False
        line = here.answers.predictions, self.products(step[:-1]) + step[-1]
        found = self.searched(step, line, promised)
        if found is None:
            return False
        weights = here.weights + found.part * step[:-1]
        there = self.place(weights, here.bias + found.part * float(step[-1]), found)
        if not there.sound:
            return False
        self.before, self.here, self.part = here, there, found.part
        self.swing = abs(there.bias - here.bias)
        return True

    def searched(self, step: Vector, line: Line, promised: float) -> Found | None:
        """Return a point of the line that is lower and nearly level, None if there is none.

        The objective is convex along the line, so that its slope changes its sign once.
        """
        value, slack = self.here.value, LOST * abs(self.here.value)
        low, high, part = 0.0, math.inf, 1.0
        best = None
        for _ in range(MOST_POINTS):
            found = self.answer(self.here.weights, step, line, part)
            fallen = found.value <= value - PROMISED * part * promised + slack
            if fallen:
                best = found
                if abs(found.slope) <= LEVEL * promised:
                    break
            # Numbers that overflow lie beyond the minimum.
            if found.slope < 0.0 and fallen:
                low = part
            else:
                high = part
            guess = part - found.slope / found.bend if found.bend > 0.0 else math.nan
            if high < math.inf:
                inside = low + MARGIN * (high - low) <= guess <= high - MARGIN * (high - low)
                part = guess if inside else 0.5 * (low + high)
            else:
                part = min(max(guess, 1.5 * part), 4.0 * part)
        return best

    def tangent(self) -> tuple[Vector, float]:
        """Return the slopes of the last step's model, and an estimate of their gap here."""
        problem, before = self.problem, self.before
        if before is None:
            return self.here.answers.slopes, math.inf
        found = np.empty(len(problem.y))
        off = (1.0 - self.part) * before.gradient[:-1]
        apart = smooth.tangent_slopes(
            problem.loss, problem.block, problem.terms, before.answers, self.model.bends,
            self.here.answers, found, off,
        )  # fmt: skip
        return found, float(apart) + 0.5 * float(inner(off, off)) / problem.strength

    def gap(self) -> float:
        """Estimate the gap of the slopes here or of those of the model, and keep the better."""
        gradient = self.here.gradient
        apart = 0.5 * float(inner(gradient[:-1], gradient[:-1])) / self.problem.strength
        apart += abs(float(gradient[-1])) * self.swing
        found, expected = self.tangent()
        self.slopes = found if expected < apart else self.here.answers.slopes
        return min(apart, expected)


def sampled(problem: Problem, free: bool, seed: int) -> tuple[Vector, float]:
    """Return weights and a bias from samples of the rows, each PART times as large as the last.

    A sample has one row of each stretch of consecutive ones, chosen at random by the seed.
    """
    weights, bias = np.zeros(problem.width), 0.0
    random = np.random.default_rng(seed)
    count, sizes = len(problem.y), []
    size = count // PART
    while size >= ROWS_A_FEATURE * (problem.width + 1):
        sizes.append(size)
        size //= PART
    for size in reversed(sizes):
        stretch = count // size
        chosen = np.arange(size) * stretch + random.integers(0, stretch, size)
        newton = Newton(taken(problem, chosen), free, weights, bias)
        for _ in range(MOST_STEPS):
            if not newton.step(DESERVED * problem.width / size * abs(newton.here.value)):
                break
        weights, bias = newton.here.weights, newton.here.bias
    return weights, bias


def taken(problem: Problem, chosen: Any) -> Problem:
    """Return the problem of some rows, their weights raised to stand for all."""
    rows = problem.rows
    if rows.dense:
        picked = Rows(rows.indptr, rows.indices, rows.values[chosen], rows.width, len(chosen))
    else:
        begins, ends = rows.indptr[chosen], rows.indptr[chosen + 1]
        indptr = np.zeros(len(chosen) + 1, np.uint64)
        np.cumsum(ends - begins, out=indptr[1:])
        places = np.arange(int(indptr[-1]), dtype=np.uint64)
        places += np.repeat(begins - indptr[:-1], (ends - begins).astype(np.int64))
        columns, values = rows.indices[places], rows.values[places]
        picked = Rows(indptr, columns, values, rows.width, len(chosen))
    share = len(problem.y) / len(chosen)
    weight = share * problem.weight[chosen]
    return replace(
        problem, rows=picked, y=problem.y[chosen], weight=weight, offset=problem.offset[chosen],
        shards=Shards(),
    )  # fmt: skip
