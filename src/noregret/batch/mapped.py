"""The batch solver for every mirror map: dual coordinate ascent until the gap is closed.

Minimises sum_i c_i f(y_i, <w, x_i> + o_i) + b F(w) by visiting the rows in random order again
and again, each time moving one row's slope to where the dual is highest
(`passes.dual.dual_maps`). It stops when the duality gap of its slopes, rounded outwards, is closed.
Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, Algorithm 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.batch.newton import Point
from noregret.batch.newton_rounds import Rounds, between
from noregret.batch.problem import Problem, Solution, evaluate, link
from noregret.batch.solver import Solver
from noregret.passes.dual import dual_maps
from noregret.passes.slots import new_slots

#: A row's line search ends when its next step would be this part of the move so far.
ACCURACY = 0.1
#: Largest exponents at a cold and a warm start: beyond them the exponential of one feature
#: dominates S, and a step of a single row has no effect.
LARGEST_START, LARGEST_WARM_START = 4.0, 300.0
#: The gap is computed again after 1/PATIENCE of the passes made so far.
PATIENCE = 8


@dataclass(eq=False)
class MapAscent:
    """Slopes, the theta and weights that belong to them, and the scalars of the passes."""

    problem: Problem
    slopes: Vector
    #: The part of its best step that a row takes.
    fraction: float = 1.0

    def __post_init__(self) -> None:
        rows = self.problem.rows
        longest = rows.width if rows.dense else int(np.diff(rows.indptr).max(initial=0))
        self.memory = dual_maps.Slopes(
            self.slopes, first_curvatures(self.problem), np.zeros(3),
            np.zeros((rows.width, dual_maps.COLUMNS)), new_slots(), np.empty((2, max(longest, 1))),
        )  # fmt: skip
        self.refresh()

    def refresh(self) -> None:
        """Compute theta, S and the balance from the slopes, free of the drift of updates."""
        b, memory = self.problem.strength, self.memory
        memory.state[:, 0] = -self.problem.gradient(self.slopes)[0] / b
        memory.bias[dual_maps.BALANCE] = -math.fsum(self.problem.weight * self.slopes) / b
        dual_maps.settle(self.problem.mirror, memory.state, memory.slots)

    def visit(self, order: npt.NDArray[Any], accuracy: float = ACCURACY) -> int:
        """Visit the rows in that order and return how many of their slopes moved."""
        problem, rows = self.problem, np.ascontiguousarray(order, np.uint32)
        moved = dual_maps.ascend(
            problem.loss, problem.mirror, problem.strength, problem.block, problem.terms,
            self.memory, rows, dual_maps.Stride(accuracy, self.fraction),
        )  # fmt: skip
        return int(moved)


def first_curvatures(problem: Problem) -> Vector:
    """Return for each row a first guess of how far its prediction falls per unit of its slope.

    For a map that is smooth in its norm it is the upper bound (c/b) smoothness ||x||^2; other
    maps begin with the 2-norm, and the visits improve the guess.
    """
    rows, mirror = problem.rows, problem.mirror
    smoothness = mirror.smoothness()
    p = mirror.predictors().dual if smoothness < math.inf else 2.0
    size = np.abs(rows.values.astype(np.float64))
    if not rows.dense:
        # An empty row has norm 0; reduceat would give it its successor's first value.
        size = np.append(size[: int(rows.indptr[-1])], 0.0)
        begin = rows.indptr[:-1].astype(np.int64)
        norms = (
            np.maximum.reduceat(size, begin)
            if p == math.inf
            else np.add.reduceat(size**p, begin) ** (1.0 / p)
        )
        norms[np.diff(rows.indptr) == 0] = 0.0
    else:
        norms = size.max(axis=1) if p == math.inf else np.sum(size**p, axis=1) ** (1.0 / p)
    factor = smoothness if smoothness < math.inf else 1.0
    return np.asarray(problem.weight / problem.strength * factor * norms**2)


@dataclass(eq=False)
class MappedSolver(Solver):
    """Minimise sum_i c_i f(y_i, <w, x_i> + o_i) + b F(w), F the regulariser of any map.

    `fraction` is the part of its best step that a row takes, in (0, 1] [default: 1]; below 1 no
    Newton steps are taken.

    >>> from noregret import losses, mirrors
    >>> problem = Problem.of([[1.0, 0.0], [0.0, 1.0]], [1, -1], losses.Hinge(), mirrors.Entropy(),
    ...                      strength=0.5)
    >>> solution = MappedSolver(problem, 1e-9).run()
    >>> solution.weights.round(4).tolist(), solution.converged
    ([0.982, 0.018], True)
    """

    problem: Problem
    fraction: float = 1.0

    examines_start = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.problem = replace(self.problem, mirror=self.problem.mirror.standing())
        slopes = first_slopes(self.problem, self.warm_start)
        self.ascent = MapAscent(self.problem, slopes, self.fraction)
        self.rounds = Rounds(self.problem)
        self.random = np.random.default_rng(self.seed)
        self.rows = np.flatnonzero(self.problem.weight)
        #: Passes after which the gap is computed next, and the gap found last.
        self.due, self.gap = 1, math.inf

    def step(self) -> bool:
        """Visit all rows; when due, examine the slopes and perhaps play a Newton round."""
        ascent, rounds, before = self.ascent, self.rounds, self.gap
        moved = ascent.visit(self.random.permutation(self.rows))
        self.passes += 1
        if self.passes < self.due and moved:
            return False
        since = self.passes - max(self.looked, 0)
        best = self.look()
        self.report(best.gap, best.primal, moved)
        if best.converged or not moved:
            return True
        plain = self.fraction == 1.0
        if plain and rounds.wanted(self.passes, since, before, best.gap, self.goal(best)):
            best = self.hurry(best)
            self.report(best.gap, best.primal, moved)
            if best.converged:
                return True
        self.gap = best.gap
        self.due = self.passes + (1 if rounds.pause == 1 else max(1, self.passes // PATIENCE))
        ascent.refresh()
        return False

    def hurry(self, best: Solution) -> Solution:
        """Play a round of Newton steps, each counted as a pass; the dual never falls."""
        slopes, left = self.round_start(best), self.max_passes - self.passes
        found, steps = self.rounds.play(slopes, self.bias, best.gap, self.goal(best), left)
        self.passes += steps
        # After an overflow there are no slopes to move towards.
        if np.isfinite(self.rounds.slopes).all():
            self.take(slopes, found)
        new = self.examine()
        primal = self.problem.primal_upper(found.weights, found.bias)
        if primal < new.primal:
            new = replace(new, weights=found.weights, primal=primal, bias=found.bias)
        kept = self.keep(new)
        self.rounds.judge(self.passes, steps, best.gap, kept.gap)
        return kept

    def round_start(self, best: Solution) -> Vector:
        """Return the slopes from which a Newton round starts."""
        return self.ascent.slopes

    @property
    def bias(self) -> float:
        """The bias that predictions are made with."""
        return 0.0

    def take(self, slopes: Vector, found: Point) -> None:
        """Move the slopes towards those of a Newton round, as far as the dual rises."""
        self.ascent.slopes[:] = between(slopes, self.rounds.slopes, self.problem.dual_lower)

    def goal(self, best: Solution) -> float:
        """Return the gap at which the run ends."""
        return self.tol * max(1.0, abs(best.primal))

    def examine(self) -> Solution:
        """Return the exact evaluation at the slopes so far."""
        slopes = self.ascent.slopes
        return self.solution(*evaluate(self.problem, slopes), slopes)

    def kept(self, new: Solution) -> Solution:
        """Return the new solution with earlier weights or slopes in place of its own if better."""
        return self.better_parts(new)


def first_slopes(problem: Problem, warm_start: Any = None) -> Vector:
    """Return the slopes to start from, scaled towards 0 where exponentials would overflow."""
    slopes = problem.initial_slopes() if warm_start is None else problem.clipped(warm_start)
    if not (problem.mirror.separable() and problem.mirror.multiplicative()):
        return slopes
    largest = LARGEST_START if warm_start is None else LARGEST_WARM_START
    theta = -problem.gradient(slopes)[0] / problem.strength
    # Only weights can overflow: an exponent of the other sign may be of any size.
    wild = np.abs(link(problem.mirror, theta)) > problem.mirror.phi_prime(largest, 0.0)
    size = float(np.max(np.abs(theta[wild]), initial=0.0))
    return problem.clipped(slopes * (largest / size)) if size > 0.0 else slopes
