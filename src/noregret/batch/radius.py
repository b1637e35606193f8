"""The best predictor in a ball, without a regulariser, with a certified gap.

    minimise over ||w|| <= B  sum_i c_i f(y_i, <w, x_i> + o_i)

The dual of this is not smooth, so proximal points stand between: minimise the sum plus
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
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from noregret import mirrors
from noregret.batch.problem import Problem, Solution, Vector, closed
from noregret.batch.progress import Progress, Reporter
from noregret.batch.solver import FIRST_DAMPING, Ascent, Guess
from noregret.passes.dual.dual import inner

#: The centre moves when the rows' part of the gap has fallen to this part of the regulariser.
ENOUGH = 5.0
#: ... or after so many passes.
PATIENCE = 150
#: With fewer passes than this between two moves of the centre the strength falls, unless the
#: other part of the gap halves anyway.
FAST = 5
#: The factor by which the strength falls.
FACTOR = 2.0


class Proximal:
    """The state of the proximal points: a centre, a strength, and dual ascent around it."""

    def __init__(
        self, problem: Problem, slopes: Vector, seed: int, centre: Vector | None = None
    ) -> None:
        if problem.radius is None:
            raise ValueError("the problem has no radius")
        self.problem = problem
        self.radius = problem.radius
        self.seed = seed
        self.centre = np.zeros(problem.rows.width) if centre is None else centre
        # With this strength a step of one row and the loss of that row are of equal curvature.
        bend = min(problem.loss.curvature(), 1.0)
        self.strength = bend * problem.mean_square() or 1.0
        self.last = math.inf
        self.damping = FIRST_DAMPING
        self.begin(slopes)

    def begin(self, slopes: Vector) -> None:
        """Start dual ascent around the current centre."""
        around = replace(
            self.problem,
            mirror=mirrors.Ball(self.radius),
            strength=self.strength,
            radius=None,
        )
        self.seed += 1
        self.ascent = Ascent(around, slopes, self.seed, self.centre)
        self.ascent.damping = self.damping
        self.passes = 0

    def weights(self) -> Vector:
        """Return the projection of theta onto the ball, certainly inside it."""
        return self.problem.inside(self.ascent.theta)

    def slack(self, weights: Vector) -> float:
        """Return <g, w> + B ||g||, the part of the gap that the centre is responsible for."""
        g = self.strength * (self.centre - self.ascent.theta)
        return max(float(inner(g, weights)) + self.radius * math.sqrt(inner(g, g)), 0.0)

    def solved(self, weights: Vector, apart: float) -> bool:
        """Tell whether the centre should move: the rows hold back less than the way since."""
        way = weights - self.centre
        return apart <= ENOUGH * 0.5 * self.strength * float(inner(way, way))

    def advance(self, weights: Vector, slack: float) -> None:
        """Move the centre, and lower the strength if that is quickly done but of little use."""
        if self.passes < FAST and slack > 0.5 * self.last:
            self.strength /= FACTOR
        self.last, self.damping = slack, self.ascent.damping
        self.centre = weights
        self.begin(self.ascent.slopes)


def solve_radius(
    problem: Problem,
    tol: float = 1e-6,
    max_passes: int = 10_000,
    warm_start: Vector | None = None,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    centre: Vector | None = None,
) -> Solution:
    """Minimise the sum of the losses over the ball until gap <= tol max(1, |P|).

    `centre` is where the proximal points begin, 0 by default.
    """
    slopes = problem.start(warm_start)
    state = Proximal(problem, slopes, seed, centre)
    best: Solution | None = None
    if warm_start is not None:
        best = examine(problem, slopes, state.weights() if centre is None else centre, 0, tol)
        if best.converged:
            return best
    passes = 0
    try:
        with Reporter(progress, tol) as reporter:
            guess = Guess(tol)
            while passes < max_passes:
                seen = state.ascent.epoch()
                passes, state.passes = passes + 1, state.passes + 1
                guess.see(seen, 0.0)
                weights = state.weights()
                slack = state.slack(weights)
                reporter.epoch(passes, guess.gap + slack, guess.primal, int(state.ascent.active))
                if guess.gap + slack <= guess.goal or seen.largest == 0.0:
                    found = examine(problem, state.ascent.slopes, weights, passes, tol)
                    best = found if best is None else better(best, found)
                    if best.converged:
                        return best
                    state.ascent.revive()
                    guess.correct(found, guess.gap + slack)
                if state.solved(weights, guess.gap) or state.passes >= PATIENCE:
                    state.advance(weights, slack)
                    continue
                if guess.stale():
                    state.ascent.revive()
                state.ascent.hurry(guess)
    except KeyboardInterrupt:
        return conclude(state, best, passes, tol)
    return conclude(state, best, passes, tol)


def conclude(state: Proximal, best: Solution | None, passes: int, tol: float) -> Solution:
    """Return where the state stands, or the best evaluation on the way there."""
    found = examine(state.problem, state.ascent.slopes, state.weights(), passes, tol)
    return found if best is None else better(best, found)


def examine(problem: Problem, slopes: Vector, weights: Vector, passes: int, tol: float) -> Solution:
    """Return the exact evaluation at these slopes and weights as a solution."""
    primal, lower = problem.primal_upper(weights), problem.dual_lower(slopes)
    done = closed(primal, lower, tol)
    return Solution(weights, primal, lower, slopes, passes, done, objective=problem.describe())


def better(old: Solution, new: Solution) -> Solution:
    """Return the one with the smaller gap, counted as far as the new one went."""
    return replace(old, passes=new.passes) if old.gap < new.gap else new
