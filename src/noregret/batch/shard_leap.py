"""Newton steps of the dual over the free rows of all shards, by conjugate gradients.

What `batch.ascent.leap` does for rows of one process, with rows and all vectors that are as long
as the rows on their shards. An iteration sends one vector of the length of the weights both ways.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret import mirrors
from noregret.arrays import Vector
from noregret.batch.ascent import (
    DAMPING,
    FIRST_DAMPING,
    HALVINGS,
    LEAST_DAMPING,
    RESIDUAL,
    projected,
    rise,
)
from noregret.batch.objective import Objective
from noregret.batch.problem import Problem
from noregret.passes import sync
from noregret.passes.dual import dual, joint
from noregret.passes.frame import block
from noregret.workers import Workers, packed, whole

EUCLIDEAN = mirrors.Euclidean()


class DualStep:
    """The part of a shard in such a step: vectors over its rows, 0 where a row is not free."""

    problem: Problem
    slopes: Vector

    def plan(self, weights: Vector, damping: float) -> tuple[int, float]:
        """Find the free rows and the right side; return how many, and its squared length.

        weights: those of all shards; damping: in units of the diagonal.
        """
        problem, memory = self.problem, self._ready()
        records, count = memory.records, len(problem.rows)
        every = memory._replace(theta=weights, order=np.arange(count, dtype=np.uint32))
        plan = np.empty((count, dual.PLAN))
        # The weights are the projected ones already.
        dual.plan(problem.loss, EUCLIDEAN, block(problem.rows), every, 0.0, plan)
        free = (plan[:, dual.FREE] > 0.0) & (problem.weight > 0.0)
        self._free, self._ends = free, (plan[:, dual.LOWEST], plan[:, dual.HIGHEST])
        self._scale = np.where(free, records[:, dual.SCALE], 0.0)
        self._bend = np.where(free, plan[:, dual.BEND], 0.0)
        diagonal = self._scale * (self._bend + records[:, dual.CURVATURE])
        self._diagonal = np.where(free, diagonal, 1.0)
        self._damped = damping * diagonal
        self._residual = self._scale * np.where(free, plan[:, dual.RESIDUAL], 0.0)
        self._direction, self._found = np.zeros(count), np.zeros(count)
        return int(np.count_nonzero(free)), self._size()

    def _size(self) -> float:
        return float(dual.inner(self._residual, self._residual / self._diagonal))

    def turned(self, beta: float) -> tuple[Any, float]:
        """Return X' c d of the next direction d, and d's own part of its curvature."""
        self._direction *= beta
        self._direction += self._residual / self._diagonal
        d = self._direction
        vector = joint.pull(block(self.problem.rows), self._scale * d)
        own = float(dual.inner(d, (self._scale * self._bend + self._damped) * d))
        return packed(vector), own

    def moved(self, step: float, image: Vector) -> float:
        """Move along the direction; return the squared length of what is left.

        image: the derivative of the weights along the direction.
        """
        rows, d = self.problem.rows, self._direction
        found = np.empty(len(rows))
        sync.predict_rows(image, rows.indptr, rows.indices, rows.values, found)
        curved = self._scale * (self._bend * d + found) + self._damped * d
        self._found += step * d
        self._residual -= step * curved
        return self._size()

    def tried(self, length: float) -> tuple[Any, float]:
        """Return the change of theta and the gain of the conjugates for a part of the step."""
        problem = self.problem
        values = np.empty((2, len(problem.y)))
        wanted = np.clip(self.slopes + length * self._found, *self._ends)
        self._wanted = np.where(self._free, wanted, self.slopes)
        change = self._wanted - self.slopes
        dual.conjugates(problem.loss, problem.y, self.slopes, values[0])
        dual.conjugates(problem.loss, problem.y, self._wanted, values[1])
        with np.errstate(invalid="ignore"):
            gains = values[0] - values[1] + change * problem.offset
        gain = float(dual.inner(self._scale, np.where(self._free, gains, 0.0)))
        return packed(joint.pull(block(problem.rows), -self._scale * change)), gain

    def taken(self) -> None:
        """Adopt the slopes that were tried last."""
        self.slopes[:] = self._wanted

    def _ready(self) -> dual.Memory:
        raise NotImplementedError


class DualNewton:
    """Newton steps of the dual, with a damping that follows how well they do."""

    def __init__(self, objective: Objective, workers: Workers) -> None:
        self.objective, self.workers = objective, workers
        self.damping = FIRST_DAMPING

    def step(self, theta: Vector, budget: int) -> Vector | None:
        """Return the change of theta after a step that raises the dual, None if none does.

        budget: conjugate gradient iterations, at most.
        """
        mirror, workers = self.objective.mirror, self.workers
        square = float(dual.inner(theta, theta))
        kappa = mirror.kappa(0.5 * square, 0.0, 1.0)
        plans = workers.call("plan", kappa * theta, self.damping)
        if not sum(free for free, _ in plans):
            return None
        size = first = float(sum(size for _, size in plans))
        beta = 0.0
        for _ in range(budget):
            if not size > RESIDUAL * RESIDUAL * first:
                break
            pulled, own = workers.add("turned", beta)
            image = projected(mirror, theta, square, whole(pulled))
            along = float(dual.inner(whole(pulled), image)) + float(sum(own))
            if not 0.0 < along < math.inf:
                break
            before, size = size, float(sum(workers.call("moved", size / along, image)))
            beta = size / before
        for halving in range(HALVINGS):
            shift, gains = workers.add("tried", 0.5**halving)
            shift = whole(shift)
            if float(sum(gains)) - rise(mirror, theta, square, shift) > 0.0:
                workers.call("taken")
                self.damping = max(self.damping * DAMPING[min(halving, 2)], LEAST_DAMPING)
                return shift
        self.damping = min(self.damping * DAMPING[-1], 1.0 / LEAST_DAMPING)
        return None
