"""A bias without regularisation: dual ascent with a multiplier for the balance of the slopes.

Minimise over w and beta  sum_i c_i f(y_i, <w, x_i> + o_i + beta) + b F(w). The dual is that
without a bias under the constraint sum_i c_i s_i = 0, of which beta is the multiplier. With the
balance r = -(1/b) sum_i c_i s_i the method of multipliers maximises, by coordinate ascent,

    D(s) - b (beta r + r^2 / (2 mu)),

then moves beta by r / mu if |r| has fallen to a half, and otherwise makes mu smaller, which
happens finitely often. Reference: Zhang, On the Dual Formulation of Regularized Linear Systems,
Algorithm 2 and eq. 30.

Slopes are balanced before anything is proved by them, see `batch.shard_balance`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from noregret.arrays import Vector
from noregret.batch.mapped import MappedSolver
from noregret.batch.newton import Point
from noregret.batch.newton_rounds import Rounds, between
from noregret.batch.problem import Problem, Solution, link
from noregret.batch.shard import Shard
from noregret.batch.shard_balance import Balance
from noregret.passes.dual import dual_maps
from noregret.workers import Threads

#: First mu, and its factor when the balance does not fall.
FIRST_MU = 1.0
LESS = 0.1
#: Least mu: below it the balance is lost in the rounding of predictions.
LEAST_MU = 1e-12


class Balancer:
    """Bring slopes of rows in memory to sum c_i s_i = 0, see `batch.shard_balance`."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.slopes = np.zeros(len(problem.y))
        shard = Shard(problem, self.slopes, self.slopes)
        self.shards = Balance(problem, Threads([shard]))
        self.shards.require_best()

    def balance(self, slopes: Vector) -> Vector:
        """Return slopes near the given ones that balance, up to rounding."""
        self.slopes[:] = slopes
        self.shards.balance()
        return self.slopes.copy()

    def dual_lower(self, slopes: Vector) -> float:
        """Return the dual of slopes that balance up to rounding, rounded down."""
        self.slopes[:] = slopes
        return self.problem.lower(*self.shards.lowered(self.problem.gradient(slopes)))


@dataclass(eq=False)
class BiasSolver(MappedSolver):
    """Minimise over weights and an unregularised bias by the method of multipliers.

    >>> from noregret import losses
    >>> problem = Problem.of([[-1.0], [0.0], [1.0]], [3, 5, 7], losses.Squared(), strength=1.0)
    >>> solution = BiasSolver(problem, 1e-9).run()
    >>> solution.weights.round(4).tolist(), round(solution.bias, 4), round(solution.primal, 4)
    ([1.6], 5.0, 1.6)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.balancer = Balancer(self.problem)
        self.rounds = Rounds(self.problem, free=True)
        #: The smallest |r| at which beta moved.
        self.least = math.inf
        self._stiffen(FIRST_MU)

    def _stiffen(self, mu: float) -> None:
        """Set mu, and add the curvature of the bias term to that of each row."""
        _, curvatures, bias, *_ = self.ascent.memory
        more = 1.0 / mu - bias[dual_maps.STIFFNESS]
        bias[dual_maps.STIFFNESS] = 1.0 / mu
        curvatures += self.problem.weight / self.problem.strength * more
        self.mu = mu

    @property
    def balance(self) -> float:
        """The balance r of the slopes so far."""
        return float(self.ascent.memory.bias[dual_maps.BALANCE])

    @property
    def bias(self) -> float:
        """The bias that predictions are made with."""
        return float(self.ascent.memory.bias[dual_maps.MULTIPLIER]) + self.balance / self.mu

    def step(self) -> bool:
        """Settle the slopes at this beta, examine them; move beta or play a Newton round."""
        goal = self.goal(self.best) if self.best else 0.0
        settled = self.settle(0.25 * goal, min(self.rounds.due, self.max_passes))
        best = self.look()
        if not best.converged and self.passes >= self.rounds.due:
            best = self.hurry(best)
        elif settled:
            self.move()
        self.report(best.gap, best.primal, len(self.problem.y))
        return best.converged

    def settle(self, goal: float, until: int) -> bool:
        """Ascend until the rows' part of the gap is at most the goal or the penalty b r^2 / mu.

        Make at least one pass, and none beyond `until`; return whether the part is that small.
        """
        problem, agreed = self.problem, False
        bundles = problem.block, problem.terms, self.ascent.memory
        while not agreed:
            moved = self.ascent.visit(self.random.permutation(self.rows))
            self.passes += 1
            penalty = self.problem.strength * self.balance * self.balance / self.mu
            apart = float(dual_maps.apart(problem.loss, problem.mirror, *bundles))
            agreed = not moved or apart <= max(goal, penalty)
            if self.passes >= until:
                break
        self.ascent.refresh()
        return agreed

    def move(self) -> None:
        """Move beta if the balance has fallen to a half, else make mu smaller."""
        size = abs(self.balance)
        if size <= 0.5 * self.least or self.mu <= LEAST_MU:
            self.ascent.memory.bias[dual_maps.MULTIPLIER] += self.balance / self.mu
            self.least = size
        else:
            self._stiffen(LESS * self.mu)

    def round_start(self, best: Solution) -> Vector:
        """Return the slopes from which a Newton round starts: the best balanced ones."""
        return best.alpha

    def take(self, slopes: Vector, found: Point) -> None:
        """Balance the slopes of a Newton round, move towards them, and adopt its bias."""
        wanted = self.balancer.balance(self.problem.clipped(self.rounds.slopes))
        self.ascent.slopes[:] = between(slopes, wanted, self.balancer.dual_lower)
        self.ascent.refresh()
        self.ascent.memory.bias[dual_maps.MULTIPLIER] = found.bias - self.balance / self.mu

    def examine(self) -> Solution:
        """Return the exact evaluation at the slopes so far, balanced."""
        problem, bias = self.problem, self.bias
        slopes = self.balancer.balance(self.ascent.slopes)
        weights = link(problem.mirror, -problem.gradient(slopes)[0] / problem.strength)
        primal = problem.primal_upper(weights, bias)
        found = self.solution(weights, primal, self.balancer.dual_lower(slopes), slopes, bias)
        return replace(found, objective=f"{found.objective}, bias free")
