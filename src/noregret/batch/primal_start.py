"""When Newton's method on the objective pays, counted in operations, and where it starts.

The problem is first solved on samples of the rows, as accurately as they deserve: that leaves one
or two steps over all rows.
Reference: Byrd, Chin, Nocedal, Wu, Sample Size Selection in Optimization Methods for Machine
Learning, section 2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.batch.cost import Cost, forming
from noregret.batch.primal_newton import Newton
from noregret.batch.problem import Problem
from noregret.rows.examples import Rows
from noregret.shards import Shards

#: A matrix of second derivatives has at most this many columns.
LARGEST_MATRIX = 3000
#: Matrices formed and steps made by a run; more steps for losses with kinks, for each factor e by
#: which the gap has to fall.
FORMS, STEPS, KINKED_STEPS = 4.0, 10.0, 3.5
#: Visits one by one are expected to take at least so many epochs.
LEAST_EPOCHS = 10.0
#: Epochs are judged when there have been so many.
JUDGED = 2
#: Each sample has this part of the rows of the next, but at least so many rows a feature.
PART, ROWS_A_FEATURE = 4, 16
#: What a step costs on any rows, and so the least that one on a sample must cost.
OVERHEAD = 1e5
#: On a sample, stop when a step gains less than this times its features a row, of the objective.
DESERVED = 0.1
#: Most steps on a sample.
MOST_STEPS = 12


class Forecast(NamedTuple):
    """Operations that a run is expected to take, from those of its parts."""

    cost: Cost
    form: float
    kinked: bool

    @classmethod
    def of(cls, problem: Problem) -> Forecast:
        """Return the forecast for a problem."""
        return cls(Cost.of(problem), forming(problem), not problem.loss.curvature() < math.inf)

    def newton(self, fall: float) -> float:
        """Return the operations of Newton's method.

        fall: how much the logarithm of the gap has to fall; losses that bend hardly depend on it.
        """
        steps = STEPS + (KINKED_STEPS * fall if self.kinked else 0.0)
        return FORMS * self.form + steps * self.cost.step

    def at_once(self) -> bool:
        """Return whether Newton's method costs less than the fewest epochs, and has no kinks."""
        return not self.kinked and self.newton(0.0) <= LEAST_EPOCHS * self.cost.epoch

    def changes(self, gaps: list[float], goal: float, share: float) -> bool:
        """Return whether Newton's method is expected to cost less than the epochs that remain.

        gaps: after each epoch so far; share: the part of the rows that the next one visits.

        >>> forecast = Forecast(Cost(1.0, 3.0, 1.0), 5.0, False)
        >>> forecast.changes([1.0, 0.5], 1e-3, 1.0), forecast.changes([1.0, 0.1], 1e-3, 1.0)
        (False, False)
        >>> forecast.changes([1.0, 0.9], 1e-3, 1.0)
        True
        """
        count, gap = len(gaps), gaps[-1]
        if count < JUDGED or not goal < gap < math.inf:
            return False
        # One epoch says little: judge the later half.
        since = count // 2
        fallen = math.log(gaps[-1 - since] / gap) / since
        fall = math.log(gap / goal)
        return fall * share * self.cost.epoch > max(fallen, 0.0) * self.newton(fall)


def allowed(problem: Problem) -> bool:
    """Return whether Newton's method can minimise the objective, by declared properties."""
    loss = problem.loss
    return (
        problem.radius is None
        and problem.mirror.euclidean()
        and min(loss.curvature(), loss.lipschitz()) < math.inf
        and problem.rows.width <= LARGEST_MATRIX
    )


def sampled(problem: Problem, free: bool, seed: int) -> tuple[Vector, float]:
    """Return weights and a bias from samples of the rows, each PART times as large as the last.

    A sample has one row of each stretch of consecutive ones, chosen at random by the seed.
    """
    weights, bias = np.zeros(problem.width), 0.0
    random = np.random.default_rng(seed)
    count, step = len(problem.y), Cost.of(problem).step
    sizes = []
    size = count // PART
    while size >= ROWS_A_FEATURE * (problem.width + 1) and step * size >= OVERHEAD * count:
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
    weight = len(problem.y) / len(chosen) * problem.weight[chosen]
    terms = {"y": problem.y[chosen], "weight": weight, "offset": problem.offset[chosen]}
    return replace(problem, rows=picked, shards=Shards(), **terms)
