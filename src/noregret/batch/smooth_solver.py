"""The batch solver for losses that bend over rows with few features: Newton's method, then ascent.

Where no step lowers the objective any more and the gap is still open, or where numbers overflow,
the solver of all other problems goes on from the slopes found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from noregret.arrays import Vector
from noregret.batch.bias import Balancer
from noregret.batch.problem import Problem, Solution, evaluate, link
from noregret.batch.smooth import Newton, sampled
from noregret.batch.solver import Solver

#: After a gap that was larger than guessed, guesses count this much less, at least.
LEAST_TRUST = 0.1


@dataclass(eq=False)
class SmoothSolver(Solver):
    """Minimise sum_i c_i f(y_i, <w, x_i> + o_i) + (b/2) ||w||^2 by Newton's method.

    Args:
        problem, tol, max_passes, warm_start, seed, progress: as of every solver.
        rest: the solver that goes on where Newton's method ends without a proof.
        free: whether there is a bias that the regulariser does not count [default: False].

    >>> from noregret import losses
    >>> from noregret.batch.euclidean import EuclideanSolver
    >>> problem = Problem.of([[1.0], [2.0]], [1, -1], losses.Squared(), strength=2.0)
    >>> solution = SmoothSolver(problem, 1e-9, rest=EuclideanSolver).run()
    >>> solution.weights.round(6).tolist(), round(solution.primal, 6), solution.passes
    ([-0.166667], 1.833333, 2)
    """

    problem: Problem
    rest: Callable[..., Solver] | None = None
    free: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.newton: Newton | None = None
        self.balancer = Balancer(self.problem) if self.free else None
        self.trust = 1.0
        self.stopped = False

    def run(self) -> Solution:
        """Return a solution with a closed gap, or the best so far once passes run out."""
        found = super().run()
        if found.converged or self.stopped or self.passes >= self.max_passes or self.rest is None:
            return found
        rest = self.rest(
            self.problem, self.tol, self.max_passes, found.alpha, self.seed, self.progress
        )
        rest.passes, rest.begin = self.passes, self.begin
        return self.keep(rest.run())

    def interrupted(self) -> None:
        """Note that the run ends here, without the solver that would go on."""
        self.stopped = True

    def step(self) -> bool:
        """Examine where Newton's method stands if its guess is small enough; take a step."""
        if self.newton is None:
            self.newton = self.begun()
            self.passes += 1
            if not self.newton.here.sound:
                return True
        newton = self.newton
        value = newton.here.value
        gap, goal = newton.gap(), self.tol * max(1.0, abs(value))
        self.report(gap, value, len(self.problem.y))
        if gap <= self.trust * goal:
            found = self.look()
            if found.converged:
                return True
            self.trust *= min(max(gap / found.gap, LEAST_TRUST), 0.5)
        moved = newton.step()
        self.passes += moved
        return not moved

    def begun(self) -> Newton:
        """Return Newton's method at the weights of a warm start, or of samples of the rows."""
        problem = self.problem
        if self.warm_start is None:
            newton = Newton(problem, self.free, *sampled(problem, self.free, self.seed))
            return newton if newton.here.sound else Newton(problem, self.free)
        slopes = problem.clipped(self.warm_start)
        weights = link(problem.mirror, -problem.gradient(slopes)[0] / problem.strength)
        return Newton(problem, self.free, weights)

    def examine(self) -> Solution:
        """Return the exact evaluation of the weights so far and of the slopes that fit best."""
        problem, newton = self.problem, self.newton
        if newton is None or not newton.here.sound:
            slopes = self.balanced(problem.start(self.warm_start))
            return self.solution(*evaluate(problem, slopes), slopes)
        here, slopes = newton.here, self.balanced(problem.clipped(newton.slopes))
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
