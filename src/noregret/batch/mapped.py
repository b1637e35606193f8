"""The batch solver for every mirror map: dual coordinate ascent until the gap is closed.

Minimises sum_i c_i f(y_i, <w, x_i> + o_i) + b F(w) by visiting the rows in random order again
and again, each time moving one row's slope to where the dual is highest (`passes.dual_maps`).
The answer is stopped by, and comes with, the duality gap of its own slopes, rounded so that it
is true. Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret import mirrors
from noregret.batch.joint import Rounds, between
from noregret.batch.problem import Problem, Solution, Vector, closed, link
from noregret.batch.progress import Progress, Reporter
from noregret.batch.solver import examine
from noregret.passes.dual import dual_maps
from noregret.passes.slots import new_slots

#: A row's search ends when its next step would be this part of the move so far.
ACCURACY = 0.1
#: Exponents from which an ascent may start, cold and warm: beyond, the exponential of one feature
#: hides everything that a single row can do.
LARGEST_START, LARGEST_WARM_START = 4.0, 300.0
#: Passes between two looks at the gap, as a part of the passes made.
PATIENCE = 8


@dataclass(eq=False)
class Ascent:
    """Slopes, the theta and weights that belong to them, and what the passes carry along."""

    problem: Problem
    slopes: Vector
    state: Vector
    slots: Vector
    #: The fall of a row's prediction a unit of its slope, from its last visit.
    curvatures: Vector
    #: Balance, multiplier and stiffness of a bias; zeros without one.
    bias: Vector
    work: Vector
    passes: int = 0
    evaluations: int = 0
    #: The part of its best step that a row takes.
    fraction: float = 1.0

    @classmethod
    def start(cls, problem: Problem, slopes: Vector) -> Ascent:
        """Return the state that belongs to these slopes."""
        rows = problem.rows
        longest = rows.width if rows.dense else int(np.diff(rows.indptr).max(initial=0))
        ascent = cls(
            problem,
            slopes,
            np.zeros((rows.width, dual_maps.COLUMNS)),
            new_slots(),
            first_curvatures(problem),
            np.zeros(3),
            np.empty((2, max(longest, 1))),
        )
        ascent.refresh()
        return ascent

    def refresh(self) -> None:
        """Compute theta, S and the balance from the slopes, free of the drift of updates."""
        b = self.problem.strength
        self.state[:, 0] = -self.problem.gradient(self.slopes)[0] / b
        self.bias[dual_maps.BALANCE] = -math.fsum(self.problem.weight * self.slopes) / b
        dual_maps.settle(self.problem.mirror, self.state, self.slots)

    def visit(self, order: npt.NDArray[Any], accuracy: float = ACCURACY) -> int:
        """Visit the rows in that order and return how many of their slopes moved."""
        problem, rows = self.problem, self.problem.rows
        moved, evaluations = dual_maps.ascend(
            problem.loss,
            problem.mirror,
            problem.strength,
            rows.indptr,
            rows.indices,
            rows.values,
            problem.y,
            problem.weight,
            problem.offset,
            np.ascontiguousarray(order, np.uint32),
            accuracy,
            self.fraction,
            self.slopes,
            self.curvatures,
            self.state,
            self.slots,
            self.bias,
            self.work,
        )
        self.passes += 1
        self.evaluations += int(evaluations)
        return int(moved)

    def hurry(self, rounds: Rounds, best: Solution, max_passes: int, tol: float) -> Solution:
        """Play a round of Newton steps, each counted as a pass; the dual never falls."""
        problem = self.problem
        goal = tol * max(1.0, abs(best.primal))
        found, steps = rounds.play(self.slopes, 0.0, best.gap, goal, max_passes - self.passes)
        self.passes += steps
        self.slopes[:] = between(self.slopes, found.slopes, problem.dual_lower)
        new = examine(problem, self.slopes.copy(), self.passes, tol)
        primal = problem.primal_upper(found.weights)
        offered = replace(new, weights=found.weights, primal=primal)
        new = better(offered if primal < new.primal else best, new, tol)
        new = better(best, new, tol)
        rounds.judge(self.passes, steps, best.gap, new.gap)
        return new


def first_curvatures(problem: Problem) -> Vector:
    """Return for each row a first guess of the fall of its prediction a unit of its slope.

    Where the map is smooth in its norm it is the upper bound (c/b) smoothness ||x||^2; other
    maps begin with the 2-norm, and learn better.
    """
    rows, mirror = problem.rows, problem.mirror
    smoothness = mirror.smoothness()
    p = 2.0
    if isinstance(mirror, mirrors.PNorm):
        p = mirror.p
    elif mirror.multiplicative() and smoothness < math.inf:
        p = math.inf
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
    result: Vector = problem.weight / problem.strength * factor * norms**2
    return result


def solve_mapped(
    problem: Problem,
    tol: float = 1e-6,
    max_passes: int = 1000,
    warm_start: Any = None,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    fraction: float = 1.0,
) -> Solution:
    """Return a solution with gap <= tol max(1, |primal|), or what `max_passes` came to.

    With a fraction below 1 every row takes that part of its best step, and no Newton steps are
    taken between.

    An interrupted run (KeyboardInterrupt) returns what it has; its `alpha`, the slopes, given as
    `warm_start`, takes the run up again.

    >>> from noregret import losses
    >>> problem = Problem.of([[1.0, 0.0], [0.0, 1.0]], [1, -1], losses.Hinge(), mirrors.Entropy(),
    ...                      strength=0.5)
    >>> solution = solve_mapped(problem, 1e-9)
    >>> solution.weights.round(4).tolist(), solution.converged
    ([0.982, 0.018], True)
    """
    problem = standing(problem)
    ascent = Ascent.start(problem, first_slopes(problem, warm_start))
    ascent.fraction = fraction
    rounds = Rounds(problem)
    random = np.random.default_rng(seed)
    rows = np.flatnonzero(problem.weight)
    due, looked, gap = 1, 0, math.inf
    best: Solution | None = None
    try:
        with Reporter(progress, tol) as reporter:
            while ascent.passes < max_passes:
                moved = ascent.visit(random.permutation(rows))
                if ascent.passes < due and moved:
                    continue
                best = better(best, examine(problem, ascent.slopes.copy(), ascent.passes, tol), tol)
                reporter.epoch(ascent.passes, best.gap, best.primal, moved)
                if best.converged or not moved:
                    return best
                since, before, gap = ascent.passes - looked, gap, best.gap
                goal = tol * max(1.0, abs(best.primal))
                if fraction == 1.0 and rounds.wanted(ascent.passes, since, before, gap, goal):
                    best = ascent.hurry(rounds, best, max_passes, tol)
                    reporter.epoch(ascent.passes, best.gap, best.primal, moved)
                    if best.converged:
                        return best
                    gap = best.gap
                looked = ascent.passes
                due = looked + (1 if rounds.pause == 1 else max(1, looked // PATIENCE))
                ascent.refresh()
    except KeyboardInterrupt:
        # The slopes of a pass cut short are as good as any: what they prove is computed afresh.
        return better(best, examine(problem, ascent.slopes.copy(), ascent.passes, tol), tol)
    if best is None or best.passes < ascent.passes:
        best = better(best, examine(problem, ascent.slopes.copy(), ascent.passes, tol), tol)
    return best


def better(best: Solution | None, new: Solution, tol: float) -> Solution:
    """Return the new solution with earlier weights or slopes in place of its own if better."""
    if best is None:
        return new
    if best.primal < new.primal:
        new = replace(new, weights=best.weights, primal=best.primal, bias=best.bias)
    if best.dual > new.dual:
        new = replace(new, alpha=best.alpha, dual=best.dual)
    return replace(new, converged=closed(new.primal, new.dual, tol))


def first_slopes(problem: Problem, warm_start: Any = None) -> Vector:
    """Return the slopes to start from, drawn towards 0 where exponentials would overflow."""
    slopes = problem.initial_slopes() if warm_start is None else problem.clipped(warm_start)
    if not (problem.mirror.separable() and problem.mirror.multiplicative()):
        return slopes
    largest = LARGEST_START if warm_start is None else LARGEST_WARM_START
    theta = -problem.gradient(slopes)[0] / problem.strength
    # Exponents of one sign may be as large as they like; weights are cut off where they overflow.
    wild = np.abs(link(problem.mirror, theta)) > problem.mirror.phi_prime(largest, 0.0)
    size = float(np.max(np.abs(theta[wild]), initial=0.0))
    return problem.clipped(slopes * (largest / size)) if size > 0.0 else slopes


def standing(problem: Problem) -> Problem:
    """Return the problem with a map that does not change with time.

    The threshold of `SoftThreshold` grows with the rounds; in one batch there is one.
    """
    if isinstance(problem.mirror, mirrors.SoftThreshold):
        return replace(problem, mirror=mirrors.ElasticNet(problem.mirror.l1))
    return problem
