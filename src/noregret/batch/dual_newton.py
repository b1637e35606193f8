"""Newton steps of the dual over the free rows, by conjugate gradients.

Once the rows at the ends of their intervals have been found, the dual is smooth in the others, and
close to quadratic: a step solves that quadratic model, is bent back into the intervals, and is
taken only if it raises the dual. It replaces many visits where nearly parallel rows under a weak
regulariser keep correcting one another. Rows, and all vectors as long as the rows, stay on their
shards: an iteration sends one vector of the length of the weights both ways.
Reference: Bertsekas, Projected Newton Methods for Optimization Problems with Simple Constraints.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret import mirrors
from noregret.arrays import Vector
from noregret.batch.objective import Objective
from noregret.batch.problem import Problem
from noregret.mirrors import Mirror
from noregret.passes.dual import dual
from noregret.passes.dual.dual import inner
from noregret.passes.frame import block
from noregret.workers import Workers, packed, whole

EUCLIDEAN = mirrors.Euclidean()
#: Damping of the first step, in units of the diagonal of its matrix.
FIRST_DAMPING = 0.1
#: Conjugate gradients stop when the residual has fallen by this factor.
RESIDUAL = 1e-8
#: Factors of the damping after a step taken whole, halved once, halved more often, or refused.
DAMPING = (0.25, 1.0, 4.0, 16.0)
LEAST_DAMPING = 1e-9
#: Number of lengths tried, each half of the one before.
HALVINGS = 6


class DualStep:
    """The part of a shard in such a step: its free rows, and vectors with an entry for each."""

    problem: Problem

    def candidates(self) -> tuple[dual.Memory, int]:
        """Return records with the present slopes; the first rows of its order may be free."""
        raise NotImplementedError

    def adopt(self, chosen: Any, slopes: Vector) -> None:
        """Give new slopes to some rows."""
        raise NotImplementedError

    def plan(self, weights: Vector, damping: float) -> tuple[int, float]:
        """Find the free rows and the right side; return how many, and its squared length.

        weights: those of all shards; damping: in units of the diagonal.
        """
        memory, count = self.candidates()
        plan = np.empty((count, dual.PLAN))
        # The weights are the projected ones already.
        there = memory._replace(theta=weights)
        dual.plan(self.problem.loss, EUCLIDEAN, block(self.problem.rows), there, 0.0, plan)
        free = np.flatnonzero(plan[:, dual.FREE])
        self._chosen = memory.order[:count][free]
        slope, scale, curvature = (
            memory.records[self._chosen, place]
            for place in (dual.SLOPE, dual.SCALE, dual.CURVATURE)
        )
        bend, residual, *ends = (
            plan[free, place] for place in (dual.BEND, dual.RESIDUAL, dual.LOWEST, dual.HIGHEST)
        )
        self._slope, self._scale, self._bend, self._slope_ends = slope, scale, bend, ends
        self._diagonal = scale * (bend + curvature)
        self._damped = damping * self._diagonal
        self._residual = scale * residual
        self._direction, self._found = np.zeros(len(free)), np.zeros(len(free))
        return len(free), self._size()

    def _size(self) -> float:
        return float(inner(self._residual, self._residual / self._diagonal))

    def _pulled(self, factors: Vector) -> Any:
        """Return the sum of the free rows times these factors."""
        vector = np.zeros(self.problem.rows.width)
        dual.gather_some(block(self.problem.rows), self._chosen, factors, vector)
        return packed(vector)

    def turned(self, beta: float) -> tuple[Any, float]:
        """Return X' c d of the next direction d, and d's own part of its curvature."""
        self._direction *= beta
        self._direction += self._residual / self._diagonal
        d = self._direction
        own = float(inner(d, (self._scale * self._bend + self._damped) * d))
        return self._pulled(self._scale * d), own

    def moved(self, step: float, image: Vector) -> float:
        """Move along the direction; return the squared length of what is left.

        image: the derivative of the weights along the direction.
        """
        d = self._direction
        found = np.empty(len(d))
        dual.products_of_some(block(self.problem.rows), self._chosen, image, found)
        curved = self._scale * (self._bend * d + found) + self._damped * d
        self._found += step * d
        self._residual -= step * curved
        return self._size()

    def tried(self, length: float) -> tuple[Any, float]:
        """Return the change of theta and the gain of the conjugates for a part of the step."""
        problem, chosen = self.problem, self._chosen
        values = np.empty((2, len(chosen)))
        self._wanted = np.clip(self._slope + length * self._found, *self._slope_ends)
        change = self._wanted - self._slope
        dual.conjugates(problem.loss, problem.y[chosen], self._slope, values[0])
        dual.conjugates(problem.loss, problem.y[chosen], self._wanted, values[1])
        gain = float(inner(self._scale, values[0] - values[1] + change * problem.offset[chosen]))
        return self._pulled(-self._scale * change), gain

    def taken(self) -> None:
        """Adopt the slopes that were tried last."""
        self.adopt(self._chosen, self._wanted)


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
        square = float(inner(theta, theta))
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
            along = float(inner(whole(pulled), image)) + float(sum(own))
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


def projected(mirror: Mirror, theta: Vector, square: float, v: Vector) -> Vector:
    """Return the derivative of the weights along v: kappa (v - u <u, v>) where a ball binds.

    square: ||theta||^2.
    """
    kappa = mirror.kappa(0.5 * square, 0.0, 1.0)
    if kappa >= 1.0:
        return v
    return np.asarray(kappa * (v - theta * (float(inner(theta, v)) / square)))


def rise(mirror: Mirror, theta: Vector, square: float, shift: Vector) -> float:
    """Return G(theta + shift) - G(theta)."""
    growth = 2.0 * float(inner(theta, shift)) + float(inner(shift, shift))
    if mirror.kappa(0.5 * max(square, square + growth), 0.0, 1.0) >= 1.0:
        # Avoid the difference of two large numbers.
        return 0.5 * growth
    return mirror.psi(0.5 * (square + growth), 0.0) - mirror.psi(0.5 * square, 0.0)
