"""The best predictor in a ball, without a regulariser, with a certified gap.

    minimise over ||w|| <= B  sum_i c_i f(y_i, <w, x_i> + o_i)

The dual of this is not smooth, so solve a sequence of proximal problems: minimise the sum plus
(b/2) ||w - v||^2 over the ball by dual ascent, move the centre v to the minimiser, and so on. Any
slopes on the way prove a floor under the problem itself, with g = sum_i c_i s_i x_i:

    D(s) = sum_i c_i (s_i o_i - f*(s_i)) - B ||g||,
    P(w) - D(s) = sum_i c_i (f(p_i) + f*(s_i) - s_i p_i) + (<g, w> + B ||g||),

the first part 0 where every slope belongs to its prediction, the second where w points against
g as far as the ball allows, or g is 0. Reference: Rockafellar, Monotone Operators and the
Proximal Point Algorithm, Theorem 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from noregret import mirrors
from noregret.arrays import Vector
from noregret.batch.ascent import Guess
from noregret.batch.dual_newton import FIRST_DAMPING
from noregret.batch.problem import Problem, Solution
from noregret.batch.side_by_side import ascent_of
from noregret.batch.solver import Solver
from noregret.passes.dual.dual import inner

#: Move the centre when the rows' part of the gap is at most this multiple of the regulariser,
ENOUGH = 5.0
#: or after this many passes.
PATIENCE = 150
#: Lower the strength if the centre moved after fewer passes than this, unless the other part of
#: the gap halved.
FAST = 5
#: The factor by which the strength falls.
FACTOR = 2.0


@dataclass(eq=False)
class RadiusSolver(Solver):
    """Minimise sum_i c_i f(y_i, <w, x_i> + o_i) over ||w|| <= radius by proximal points.

    `start` is the first centre [default: 0].
    """

    problem: Problem
    start: Vector | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        problem = self.problem
        if problem.radius is None:
            raise ValueError("the problem has no radius")
        self.radius = problem.radius
        self.centre = np.zeros(problem.rows.width) if self.start is None else self.start
        # With this strength a step of one row and the loss of that row are of equal curvature.
        bend = min(problem.loss.curvature(), 1.0)
        self.strength = bend * problem.mean_square() or 1.0
        self.last = math.inf
        self.damping = FIRST_DAMPING
        self.guess = Guess(self.tol)
        self.recentre(problem.start(self.warm_start))

    def recentre(self, slopes: Vector) -> None:
        """Start dual ascent around the current centre."""
        ball = mirrors.Ball(self.radius)
        around = replace(self.problem, mirror=ball, strength=self.strength, radius=None)
        self.seed += 1
        self.ascent = ascent_of(around, slopes, self.seed, self.centre)
        self.ascent.leaps.damping = self.damping
        #: Passes around this centre.
        self.since = 0

    def step(self) -> bool:
        """Visit the active rows; examine once the guess is small; move the centre when due."""
        ascent, guess = self.ascent, self.guess
        largest = ascent.epoch(guess, penalised=False)
        self.passes, self.since = self.passes + 1, self.since + 1
        weights = self.weights()
        slack = self.slack(weights)
        self.report(guess.gap + slack, guess.primal, int(ascent.active))
        if guess.gap + slack <= guess.goal or largest == 0.0:
            found = self.examine()
            if self.keep(found).converged:
                return True
            ascent.revive()
            guess.correct(found, guess.gap + slack)
        if self.solved(weights, guess.gap) or self.since >= PATIENCE:
            self.advance(weights, slack)
        else:
            ascent.hurry(guess)
        # The weights move with the centre, and so may the slopes.
        self.looked = -1
        return False

    def weights(self) -> Vector:
        """Return the projection of theta onto the ball, certainly inside it."""
        return self.problem.inside(self.ascent.theta)

    def slack(self, weights: Vector) -> float:
        """Return <g, w> + B ||g||, the part of the gap that depends on the centre."""
        g = self.strength * (self.centre - self.ascent.theta)
        return max(float(inner(g, weights)) + self.radius * math.sqrt(inner(g, g)), 0.0)

    def solved(self, weights: Vector, apart: float) -> bool:
        """Return whether to move the centre: the rows' part of the gap is below the regulariser."""
        way = weights - self.centre
        return apart <= ENOUGH * 0.5 * self.strength * float(inner(way, way))

    def advance(self, weights: Vector, slack: float) -> None:
        """Move the centre; lower the strength if few passes sufficed and gained little."""
        if self.since < FAST and slack > 0.5 * self.last:
            self.strength /= FACTOR
        self.last, self.damping = slack, self.ascent.leaps.damping
        self.centre = weights
        self.recentre(self.ascent.slopes)

    def examine(self) -> Solution:
        """Return the exact evaluation at the slopes and weights so far."""
        slopes = self.ascent.slopes
        # Before the first pass the weights of a warm start are its centre, not the projection.
        given = self.start if self.passes == 0 else None
        weights = self.weights() if given is None else given
        primal, lower = self.problem.primal_upper(weights), self.problem.dual_lower(slopes)
        return self.solution(weights, primal, lower, slopes)

    def kept(self, new: Solution) -> Solution:
        """Return the solution with the smaller gap, with the passes of the new one."""
        best = self.best
        return new if best is None or not best.gap < new.gap else replace(best, passes=new.passes)
