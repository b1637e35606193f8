"""The batch solver for rows with few features: Newton's method where it pays, visits elsewhere.

Losses that bend start with Newton's method if that costs less than a few epochs of visits one by
one. Others start with visits, and change to Newton's method from their slopes once the epochs that
remain at the present rate would cost more. Where no step lowers the objective any more and the gap
is still open, or where numbers overflow, visits go on from the slopes found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from noregret.arrays import Vector
from noregret.batch.bias import Balancer
from noregret.batch.euclidean import EuclideanSolver
from noregret.batch.primal_newton import Newton, without_weights
from noregret.batch.primal_start import Forecast, sampled
from noregret.batch.problem import Problem, Solution, evaluate, link
from noregret.batch.solver import Solver

#: Examine a gap that is guessed to be this part of the wanted one.
FIRST_TRUST = 0.7
#: After a gap that was larger than guessed, guesses count this much less, at least and at most.
LEAST_TRUST, MOST_TRUST = 0.1, 0.5
#: Newton's method ends where the gap has not halved in so many steps.
PATIENCE = 100


@dataclass(eq=False)
class PrimalSolver(Solver):
    """Minimise sum_i c_i f(y_i, <w, x_i> + o_i) + (b/2) ||w||^2 by Newton's method.

    Args:
        problem, tol, max_passes, warm_start, seed, progress: as of every solver.
        rest: the solver that visits rows one by one.
        free: whether there is a bias that the regulariser does not count [default: False].

    >>> from noregret import losses
    >>> problem = Problem.of([[1.0], [2.0]], [1, -1], losses.Squared(), strength=2.0)
    >>> solution = PrimalSolver(problem, 1e-9).run()
    >>> solution.weights.round(6).tolist(), round(solution.primal, 6), solution.passes
    ([-0.166667], 1.833333, 2)
    """

    problem: Problem
    rest: Callable[..., Solver] = EuclideanSolver
    free: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.forecast = Forecast.of(self.problem)
        self.balancer = Balancer(self.problem) if self.free else None
        self.newton: Newton | None = None
        #: The visits that a run starts with, if it does, and the gap guessed after each epoch.
        self.visits: EuclideanSolver | None = None
        self.gaps: list[float] = []
        if not (self.free or self.forecast.at_once()):
            self.visits = EuclideanSolver(
                self.problem, self.tol, self.max_passes, self.warm_start, self.seed, self.progress
            )
        self.trust = FIRST_TRUST
        self.stopped = self.stuck = False
        #: The gap when it had last halved, and the steps since then.
        self.least, self.since = math.inf, 0

    def run(self) -> Solution:
        """Return a solution with a closed gap, or the best so far once passes run out."""
        found = super().run()
        if found.converged or self.stopped or self.passes >= self.max_passes:
            return found
        if self.visits is not None:
            return found
        rest = self.rest(
            self.problem, self.tol, self.max_passes, found.alpha, self.seed, self.progress
        )
        rest.passes, rest.begin = self.passes, self.begin
        found = rest.run()
        self.passes = rest.passes
        return self.keep(found)

    def interrupted(self) -> None:
        """Note that the run ends here."""
        self.stopped = True

    def step(self) -> bool:
        """Visit the rows, or take a Newton step; examine where the guess of the gap is small."""
        if self.visits is not None:
            return self.visited(self.visits)
        if self.newton is None:
            self.newton = self.begun()
            self.passes += 1
        newton = self.newton
        if not newton.here.sound:
            return True
        gap = newton.gap()
        goal = self.tol * max(1.0, abs(newton.objective))
        self.report(gap, newton.objective, len(self.problem.y))
        if gap <= self.trust * goal:
            found = self.look()
            if found.converged:
                return True
            self.trust *= min(max(gap / found.gap, LEAST_TRUST), MOST_TRUST)
        if gap <= 0.5 * self.least:
            self.least, self.since = gap, 0
        if self.since >= PATIENCE:
            return True
        if newton.settled(goal):
            newton.narrow()
        moved = newton.step()
        self.passes += moved
        self.since += 1
        if moved or newton.smoothing is None or self.stuck:
            self.stuck = False
            return not moved
        # Nothing left to gain in this round, up to rounding.
        self.stuck = True
        newton.narrow()
        return False

    def visited(self, visits: EuclideanSolver) -> bool:
        """Visit the rows once; go on with Newton's method if that is expected to cost less."""
        ended = visits.step()
        self.passes, self.best, self.looked = visits.passes, visits.best, visits.looked
        if ended:
            return True
        ascent, guess = visits.ascent, visits.guess
        self.gaps.append(guess.gap)
        share = int(ascent.active) / max(int(ascent.counted), 1)
        if self.forecast.changes(self.gaps, guess.goal, share):
            given = ascent.slopes if self.forecast.kinked else None
            self.newton = Newton(self.problem, False, ascent.theta.copy(), given=given)
            self.visits = None
        return False

    def begun(self) -> Newton:
        """Return Newton's method at the weights of a warm start, or of samples of the rows.

        Where w = 0 is better, or the objective there overflows, it starts from w = 0.
        """
        problem, free = self.problem, self.free
        given = problem.start(self.warm_start) if self.forecast.kinked else None
        if self.warm_start is not None:
            slopes = problem.clipped(self.warm_start)
            weights = link(problem.mirror, -problem.gradient(slopes)[0] / problem.strength)
            bias = 0.0
        elif self.forecast.kinked:
            return Newton(problem, free, given=given)
        else:
            weights, bias = sampled(problem, free, self.seed)
        newton = Newton(problem, free, weights, bias, given)
        worse = not (newton.here.sound and newton.here.value <= without_weights(problem))
        return Newton(problem, free) if worse and given is None else newton

    def examine(self) -> Solution:
        """Return the exact evaluation of the weights so far and of the slopes that fit best."""
        if self.visits is not None:
            return self.visits.examine()
        problem, newton = self.problem, self.newton
        if newton is None or not newton.here.sound:
            slopes = self.balanced(problem.start(self.warm_start))
            return self.solution(*evaluate(problem, slopes), slopes)
        here, slopes = newton.here, self.balanced(newton.slopes)
        primal = problem.primal_upper(here.weights, here.bias)
        return self.solution(here.weights, primal, self.lower(slopes), slopes, here.bias)

    def balanced(self, slopes: Vector) -> Vector:
        """Return the slopes, brought to sum c_i s_i = 0 if there is a free bias."""
        return slopes if self.balancer is None else self.balancer.balance(slopes)

    def lower(self, slopes: Vector) -> float:
        """Return the dual of slopes, rounded down."""
        return (self.balancer or self.problem).dual_lower(slopes)

    def solution(
        self, weights: Vector, primal: float, dual: float, slopes: Vector, bias: float = 0.0
    ) -> Solution:
        """Return a solution that names its objective."""
        found = super().solution(weights, primal, dual, slopes, bias)
        return replace(found, objective=f"{found.objective}, bias free") if self.free else found

    def kept(self, new: Solution) -> Solution:
        """Return the new solution with earlier weights or slopes in place of its own if better."""
        return self.better_parts(new)
