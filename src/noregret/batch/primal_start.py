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
from noregret.batch.primal_newton import Newton
from noregret.batch.problem import Problem
from noregret.rows.examples import Rows
from noregret.shards import Shards

#: Operations of a Newton step without its matrix, and of an epoch of visits one by one, for each
#: stored feature and for each row, in units of a multiplication of a matrix.
FEATURE, ROW = 1.75, 20.0
VISITED_FEATURE, VISITED_ROW = 5.0, 160.0
#: A matrix of second derivatives has at most this many columns.
LARGEST_MATRIX = 3000
#: Matrices formed and steps made by a run; more steps for losses with kinks, for each factor e by
#: which the gap has to fall.
FORMS, STEPS, KINKED_STEPS = 4.0, 10.0, 3.5
#: Visits one by one are expected to take at least so many epochs.
LEAST_EPOCHS = 10.0
#: Each sample has this part of the rows of the next, but at least so many rows a feature.
PART, ROWS_A_FEATURE = 4, 16
#: On a sample, stop when a step gains less than this times its features a row, of the objective.
DESERVED = 0.1
#: Most steps on a sample.
MOST_STEPS = 12


class Cost(NamedTuple):
    """Operations of a step, of forming and factoring a matrix, and of an epoch of visits."""

    step: float
    form: float
    epoch: float

    @classmethod
    def of(cls, problem: Problem) -> Cost:
        """Count the operations for a problem.

        >>> from noregret import losses
        >>> rows = [[1.0, 2.0], [0.5, 1.0], [0.0, 3.0]]
        >>> Cost.of(Problem.of(rows, [1, -1, 1], losses.Logistic(), strength=1.0))
        Cost(step=70.5, form=7.333333333333333, epoch=510.0)
        """
        rows = problem.rows
        counts = np.full(len(rows), rows.width) if rows.dense else np.diff(rows.indptr)
        lengths = counts.astype(np.float64)
        formed = 0.5 * float(lengths @ lengths) + rows.width**3 / 6.0
        stored, count = rows.stored, len(rows)
        visited = VISITED_FEATURE * stored + VISITED_ROW * count
        return cls(FEATURE * stored + ROW * count, formed, visited)

    def newton(self, fall: float, kinked: bool) -> float:
        """Return the expected operations of Newton's method.

        fall: how much the logarithm of the gap has to fall.
        """
        steps = STEPS + (KINKED_STEPS * fall if kinked else 0.0)
        return FORMS * self.form + steps * self.step

    def at_once(self) -> bool:
        """Return whether Newton's method costs less than the fewest epochs, without kinks."""
        return self.newton(0.0, False) <= LEAST_EPOCHS * self.epoch


def allowed(problem: Problem) -> bool:
    """Return whether Newton's method can minimise the objective, by declared properties."""
    loss = problem.loss
    return (
        problem.radius is None
        and problem.mirror.euclidean()
        and min(loss.curvature(), loss.lipschitz()) < math.inf
        and problem.rows.width <= LARGEST_MATRIX
    )


def kinked(problem: Problem) -> bool:
    """Return whether the slope of the loss may jump."""
    return not problem.loss.curvature() < math.inf


def sampled(problem: Problem, free: bool, seed: int) -> tuple[Vector, float]:
    """Return weights and a bias from samples of the rows, each PART times as large as the last.

    A sample has one row of each stretch of consecutive ones, chosen at random by the seed.
    """
    weights, bias = np.zeros(problem.width), 0.0
    random = np.random.default_rng(seed)
    count = len(problem.y)
    sizes = []
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
    weight = len(problem.y) / len(chosen) * problem.weight[chosen]
    terms = {"y": problem.y[chosen], "weight": weight, "offset": problem.offset[chosen]}
    return replace(problem, rows=picked, shards=Shards(), **terms)
