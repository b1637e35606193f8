"""Newton's method on the objective itself, over rows with few features.

With p = <w, x> + o + beta, s_i = f'(p_i), h_i = f''(p_i) and g = sum c_i s_i x_i, a step solves

    (b I + sum c_i h_i x_i x_i') d = -(b w + g),

bordered by the row of a constant feature if there is a free bias. The linear model of the slopes,
s_i + h_i <d, x_i>, then satisfies sum c_i s_i x_i = -b (w + d): as dual variables these slopes
belong to the weights w + d, and their gap is only what the second derivatives change along the
step, while the gap of the slopes at a point is the squared gradient over 2 b. So every step offers
both as a proof. The matrix is brought along by the rows whose h_i have changed.

Losses with kinks are smoothed by delta around given slopes (`passes.dual.joint`), which is solved
in rounds: the slopes found are those given next, with a smaller delta.
Reference: Nocedal and Wright, Numerical Optimization, chapter 3; for the rounds Li, Sun, Toh, A
Highly Efficient Semismooth Newton Augmented Lagrangian Method, section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.batch.problem import Problem
from noregret.passes.dual import dual, joint, primal
from noregret.passes.dual.dual import inner

#: Leave a second derivative in the matrix as it is until it has changed by this part of it.
NEAR = 0.2
#: Most points of a line that are tried; the part of the predicted descent that is required.
MOST_POINTS, PROMISED = 30, 1e-4
#: A point of a line is level enough if its slope is this part of that at the start.
LEVEL = 0.3
#: A point between two others keeps this part of their distance from both.
MARGIN = 0.05
#: Beyond the last point the next one is at least and at most so many times as far.
NEXT, FARTHEST = 1.5, 4.0
#: A change of the objective below this part of it is lost in rounding.
LOST = 1e-13
#: A round ends when its own gap is this part of the proximal term, or of the wanted gap.
ENOUGH, GOAL = 0.2, 0.1
#: The factor of delta from round to round, and most steps of a round.
NARROWER, MOST_STEPS = 0.3, 40
#: Delta times the steepest slope is at least this part of the largest prediction.
LEAST_DELTA = 1e-9

#: Predictions, and how they change along a step.
Line = tuple[Vector, Vector]
#: The slopes around which losses are smoothed, and delta.
Smoothing = tuple[Vector, float]


@dataclass(frozen=True, eq=False)
class Place:
    """Weights and a bias, the answers of the rows there, the objective and its gradient."""

    weights: Vector
    bias: float
    answers: primal.Answers
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
    answers: primal.Answers
    value: float
    slope: float
    bend: float
    #: The sum of c s, the derivative of the objective in a bias.
    excess: float


class Model:
    """The matrix b I + sum c_i h_i x_i x_i', brought along as the h_i change."""

    def __init__(self, problem: Problem, free: bool) -> None:
        self.problem, self.free = problem, free
        width = problem.width + free
        #: The second derivatives in the matrix.
        self.bends = np.zeros(len(problem.y))
        #: Whether the matrix was formed anew last.
        self.fresh = True
        self._parts = np.zeros((problem.shards.count, width, width))
        self._factor = np.empty((width, width))

    def forget(self) -> None:
        """Form the matrix anew the next time."""
        self.bends[:] = 0.0

    def follow(self, bends: Vector) -> None:
        """Bring the matrix to new second derivatives, all but those that hardly changed."""
        problem, factors = self.problem, np.empty(len(bends))

        def work(begin: int, end: int, matrix: Vector) -> bool:
            part = slice(begin, end)
            mine = self.bends[part], bends[part]
            anew = primal.changes(problem.weight[part], *mine, NEAR, factors[part])
            if anew:
                matrix[:] = 0.0
            primal.squares(problem.piece(begin, end)[0], factors[part], self.free, matrix)
            return bool(anew)

        self.fresh = all(problem.shards.each(len(bends), work, list(self._parts)))
        self._factor[:] = self._parts[0]
        for other in self._parts[1:]:
            self._factor += other
        self._factor[np.diag_indices(problem.width)] += problem.strength
        joint.factor(self._factor)

    def step(self, gradient: Vector) -> Vector:
        """Return the step to the minimum of the model; the last entry moves the bias."""
        step, count = np.zeros(self.problem.width + 1), len(self._factor)
        step[:count] = -gradient[:count]
        joint.substitute(self._factor, step[:count])
        return step


class Newton:
    """Newton's method from given weights; `here` is the place reached.

    Args:
        problem: what to minimise.
        free: whether there is a bias that the regulariser does not count.
        weights: where to start [default: 0].
        bias: where to start [default: 0].
        given: slopes around which losses are smoothed [default: losses bend, and are not].
    """

    def __init__(
        self,
        problem: Problem,
        free: bool,
        weights: Vector | None = None,
        bias: float = 0.0,
        given: Vector | None = None,
    ) -> None:
        self.problem, self.free = problem, free
        self.model = Model(problem, free)
        self.smoothing: Smoothing | None = None
        start = np.zeros(problem.width) if weights is None else weights
        predictions = self._products(start) + (problem.offset + bias)
        self._stand(start, bias, predictions)
        if given is not None:
            # As wide as makes the proximal term about the gap.
            away = float(problem.weight @ np.square(self.here.answers.slopes - given))
            self.smoothing = given, 1.0
            self._stand(start, bias, predictions)
            gap = self._rows_apart(given) + self._length(self._pulled(given, start))
            self.smoothing = given, self._wide(2.0 * gap / away if away > 0.0 else 1.0)
            self._stand(start, bias, predictions)

    def _stand(self, weights: Vector, bias: float, predictions: Vector) -> None:
        """Start from this place, where no step has led."""
        nowhere = np.zeros(self.problem.width + 1)
        found = self._answer(weights, nowhere, (predictions, np.zeros(len(predictions))), 0.0)
        self.here = self._place(weights, bias, found)
        self.before: Place | None = None
        #: The part of the last step that was taken, and how far it moved the bias.
        self.part, self.swing = 1.0, math.inf
        #: The slopes that `gap` found to be the best proof, and the gap of the smoothed problem.
        self.slopes, self.own = self.here.answers.slopes, math.inf
        self.steps = 0

    def _wide(self, delta: float) -> float:
        """Return delta, or what moves a prediction by more than its rounding."""
        largest = float(np.max(np.abs(self.here.answers.predictions)))
        return max(delta, LEAST_DELTA * (largest or 1.0) / self.problem.loss.lipschitz())

    def _products(self, weights: Vector) -> Vector:
        """Return <w, x> of every row."""
        found = np.empty(len(self.problem.y))

        def work(begin: int, end: int) -> None:
            dual.products(self.problem.piece(begin, end)[0], weights, found[begin:end])

        self.problem.shards.each(len(found), work)
        return found

    def _answer(self, weights: Vector, step: Vector, line: Line, part: float) -> Found:
        """Return the point of a line, from these weights along a step, without reading features."""
        problem, count, b = self.problem, len(self.problem.y), self.problem.strength
        answers = primal.Answers(*np.empty((4, count)))

        def work(begin: int, end: int) -> Any:
            y, mine = problem.y[begin:end], primal.Answers(*(one[begin:end] for one in answers))
            piece = line[0][begin:end], line[1][begin:end]
            if self.smoothing is None:
                primal.answer(problem.loss, y, piece, part, mine)
            else:
                given, delta = self.smoothing
                around = given[begin:end], delta
                primal.answer_smoothed(problem.loss, y, piece, part, around, mine)
            return primal.sums(problem.weight[begin:end], piece[1], mine)

        found = problem.shards.each(count, work)
        value, slope, along, curved = (float(sum(one)) for one in zip(*found, strict=True))
        move = step[:-1]
        there = weights + part * move
        value += 0.5 * b * float(inner(there, there))
        along += b * float(inner(there, move))
        return Found(part, answers, value, along, curved + b * float(inner(move, move)), slope)

    def _pulled(self, slopes: Vector, weights: Vector) -> Vector:
        """Return b w + sum c_i s_i x_i."""
        problem = self.problem
        factors = problem.weight * slopes
        pulled = np.zeros((problem.shards.count, problem.width))

        def work(begin: int, end: int, mine: Vector) -> None:
            dual.gather(problem.piece(begin, end)[0], factors[begin:end], mine)

        problem.shards.each(len(factors), work, list(pulled))
        return np.asarray(problem.strength * weights + pulled.sum(axis=0))

    def _place(self, weights: Vector, bias: float, found: Found) -> Place:
        """Return the place with these answers, after reading the rows for its gradient."""
        gradient = self._pulled(found.answers.slopes, weights)
        gradient = np.append(gradient, found.excess * self.free)
        return Place(weights, bias, found.answers, found.value, gradient)

    def step(self, enough: float = 0.0) -> bool:
        """Take a step that lowers the objective; return whether there is one.

        enough: take no step that promises less [default: 0].
        """
        here, found = self.here, None
        self.model.follow(here.answers.bends)
        step = self.model.step(here.gradient)
        promised = -float(inner(here.gradient, step))
        if enough < promised < math.inf:
            line = here.answers.predictions, self._products(step[:-1]) + step[-1]
            found = self._searched(step, line, promised)
        elif 0.0 < promised <= enough:
            return False
        if found is None:
            if self.model.fresh:
                return False
            # Rounding may have gathered in the matrix.
            self.model.forget()
            return self.step(enough)
        weights = here.weights + found.part * step[:-1]
        there = self._place(weights, here.bias + found.part * float(step[-1]), found)
        if not there.sound:
            return False
        self.before, self.here, self.part = here, there, found.part
        self.swing = abs(there.bias - here.bias)
        self.steps += 1
        return True

    def _searched(self, step: Vector, line: Line, promised: float) -> Found | None:
        """Return a point of the line that is lower and nearly level, None if there is none.

        The objective is convex along the line, so that its slope changes its sign once.
        """
        value, slack = self.here.value, LOST * abs(self.here.value)
        low, high, part = 0.0, math.inf, 1.0
        best = None
        for _ in range(MOST_POINTS):
            found = self._answer(self.here.weights, step, line, part)
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
                room = MARGIN * (high - low)
                part = guess if low + room <= guess <= high - room else 0.5 * (low + high)
            else:
                part = min(max(guess, NEXT * part), FARTHEST * part)
        return best

    def _length(self, off: Vector) -> float:
        """Return ||off||^2 / (2 b), what slopes lose whose sum misses -b w by `off`."""
        return 0.5 * float(inner(off, off)) / self.problem.strength

    def _rows_apart(self, slopes: Vector) -> float:
        """Return the rows' part of the gap at these slopes; keep the true objective."""
        problem, here = self.problem, self.here
        found = primal.apart(problem.loss, problem.terms, here.answers.predictions, slopes)
        lost, rows = (float(one) for one in found)
        self.objective = lost + 0.5 * problem.strength * float(inner(here.weights, here.weights))
        return rows

    def gap(self) -> float:
        """Estimate the gap of the slopes here or of those of the model, and keep the better."""
        problem, here, before = self.problem, self.here, self.before
        slopes, away, rows = here.answers.slopes, self._length(here.gradient[:-1]), 0.0
        excess = abs(float(here.gradient[-1]))
        # Another bias may gain that much.
        away += excess * self.swing if excess > 0.0 else 0.0
        if before is not None:
            found, off = np.empty(len(slopes)), (1.0 - self.part) * before.gradient[:-1]
            expected = float(
                primal.tangent_slopes(
                    problem.loss, problem.block, problem.terms, before.answers, self.model.bends,
                    here.answers, found, off,
                )
            )  # fmt: skip
            length = self._length(off)
            if expected + length < away:
                slopes, away, rows = found, length, expected
        self.slopes, self.own, self.objective = slopes, away + rows, here.value
        return self.own if self.smoothing is None else away + self._rows_apart(slopes)

    def settled(self, goal: float) -> bool:
        """Return whether the round is solved as well as the next one deserves, after `gap`."""
        if self.smoothing is None:
            return False
        given, delta = self.smoothing
        back = 0.5 * delta * float(self.problem.weight @ np.square(self.slopes - given))
        return self.own <= max(GOAL * goal, ENOUGH * back) or self.steps >= MOST_STEPS

    def narrow(self) -> None:
        """Start the next round: smooth by less, around the slopes found."""
        if self.smoothing is not None:
            here, delta = self.here, self.smoothing[1]
            solved = self.steps < MOST_STEPS
            delta = self._wide(NARROWER * delta) if solved else delta
            self.smoothing = self.slopes.copy(), delta
            self._stand(here.weights, here.bias, here.answers.predictions)


def without_weights(problem: Problem) -> float:
    """Return the objective at w = 0 and without a bias, which needs no features."""
    answers = primal.Answers(*np.empty((4, len(problem.y))))
    nowhere = np.zeros(len(problem.y))
    primal.answer(problem.loss, problem.y, (problem.offset, nowhere), 0.0, answers)
    return float(primal.sums(problem.weight, nowhere, answers)[0])
