"""The batch solver for the Euclidean map and the ball, by dual coordinate ascent.

Only when the visits' estimate of the gap is small enough is it computed exactly: afresh from the
slopes, with its rounding. A solution always holds such an exact evaluation.
"""

from __future__ import annotations

from noregret.batch.ascent import Guess
from noregret.batch.problem import Problem, Solution, evaluate
from noregret.batch.side_by_side import ascent_of
from noregret.batch.solver import Solver


class EuclideanSolver(Solver):
    """Minimise sum_i c_i f(y_i, <w, x_i> + o_i) + (b/2) ||w||^2, inside the ball of a map Ball."""

    problem: Problem

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ascent = ascent_of(self.problem, self.problem.start(self.warm_start), self.seed)
        self.guess = Guess(self.tol)

    def step(self) -> bool:
        """Visit the active rows; examine the slopes once the guess of the gap is small."""
        ascent, guess = self.ascent, self.guess
        largest = ascent.epoch(guess)
        self.passes += 1
        self.report(guess.gap, guess.primal, int(ascent.active))
        settled = largest == 0.0 or ascent.active == 0
        if not settled and guess.gap > guess.goal:
            ascent.hurry(guess)
            return False
        solution = self.look()
        if solution.converged or not (ascent.revive() or not settled):
            return True
        guess.correct(solution, guess.gap)
        return False

    def examine(self) -> Solution:
        """Return the exact evaluation at the slopes so far."""
        slopes = self.ascent.slopes
        return self.solution(*evaluate(self.problem, slopes), slopes)
