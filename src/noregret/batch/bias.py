"""A bias without regularisation: dual ascent with a multiplier for the balance of the slopes.

Minimise over w and beta  sum_i c_i f(y_i, <w, x_i> + o_i + beta) + b F(w). The dual is that
without a bias under the constraint sum_i c_i s_i = 0, of which beta is the multiplier. With the
balance r = -(1/b) sum_i c_i s_i the method of multipliers maximises, by coordinate ascent,

    D(s) - b (beta r + r^2 / (2 mu)),

then moves beta by r / mu if |r| has fallen to a half, and otherwise makes mu smaller, which
happens finitely often. Reference: Zhang, On the Dual Formulation of Regularized Linear Systems,
Algorithm 2 and eq. 30.

A proved bound must not rely on a balance that is only nearly 0: for such slopes the minimum over
beta is minus infinity. So the slopes are first balanced inside their intervals, each row moving
in proportion to its room on both sides. The remainder that rounding leaves is assigned to one row
with room for it: its convex conjugate is taken at the worse end of the shift, and the error of
theta grows by the shift times the row's 1-norm. The result is a true lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.batch.mapped import MappedSolver
from noregret.batch.newton import Point, Rounds, between
from noregret.batch.problem import Problem, Solution, link
from noregret.passes.dual import dual_maps
from noregret.rounding import rounding_error

#: First mu, and its factor when the balance does not fall.
FIRST_MU = 1.0
LESS = 0.1
#: Least mu: below it the balance is lost in the rounding of predictions.
LEAST_MU = 1e-12
#: Bisection steps for the shift that balances the slopes, enough for its last digit.
HALVINGS = 200


class Balancer:
    """Brings slopes to sum c_i s_i = 0 inside their intervals."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.lowest = np.empty(len(problem.y))
        self.highest = np.empty(len(problem.y))
        dual_maps.slope_ends(problem.loss, problem.y, self.lowest, self.highest)
        c = problem.weight
        some = c > 0.0
        for ends, side in ((self.lowest, 1.0), (self.highest, -1.0)):
            # Of the rows that count: 0 times an infinite end is not a number.
            extreme = side * float(np.sum(c[some] * ends[some]))
            if extreme > 0.0 or (extreme == 0.0 and not self._finite(ends, some)):
                name = type(problem.loss).__name__
                raise ValueError(f"{name} falls forever along a bias on these labels: none is best")

    def _finite(self, slopes: Vector, some: Any) -> bool:
        """Return whether the dual is finite at the only slopes that balance."""
        conjugate = self.problem.loss.conjugate  # type: ignore[attr-defined]
        pairs = set(zip(self.problem.y[some].tolist(), slopes[some].tolist(), strict=True))
        return all(conjugate(y, s) < math.inf for y, s in pairs)

    def balance(self, slopes: Vector) -> Vector:
        """Return slopes near the given ones that balance, up to rounding."""
        c = self.problem.weight
        excess = math.fsum(c * slopes)
        room = np.minimum(slopes - self.lowest, self.highest - slopes)
        room = np.minimum(room, 1.0 + np.abs(slopes))
        total = float(c @ room)
        if total > 2.0 * abs(excess):
            return self._inside(slopes - (excess / total) * room)
        high = 1.0 + float(np.max(np.abs(slopes))) + abs(excess)
        while not self._excess(slopes - high) <= 0.0 <= self._excess(slopes + high):
            high *= 2.0
        low = -high
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if self._excess(slopes + middle) <= 0.0:
                low = middle
            else:
                high = middle
        return self._inside(slopes + low)

    def _inside(self, slopes: Vector) -> Vector:
        return np.asarray(np.clip(slopes, self.lowest, self.highest))

    def _excess(self, slopes: Vector) -> float:
        return float(self.problem.weight @ self._inside(slopes))

    def dual_lower(self, slopes: Vector) -> float:
        """Return the dual of slopes that balance up to rounding, rounded down."""
        problem = self.problem
        c = problem.weight
        products = c * slopes
        excess = math.fsum(products)
        # The sum is exact; products are, where a factor is 0, 1 or -1.
        exact = (c == 0.0) | (c == 1.0) | (slopes == 0.0) | (np.abs(slopes) == 1.0)
        rounded = rounding_error(1.0, math.fsum(np.abs(products[~exact])))
        left = abs(excess) + rounded
        g, delta, total, slack = problem.gradient(slopes)
        if left > 0.0:
            below, above = slopes - self.lowest, self.highest - slopes
            # Where the sign of the remainder is known, one side suffices.
            down, up = excess > 0.0 or rounded > 0.0, excess < 0.0 or rounded > 0.0
            room = np.minimum(below if down else math.inf, above if up else math.inf)
            row = int(np.argmax(c * np.minimum(room, 1.0)))
            shift = 2.0 * left / c[row] if c[row] > 0.0 else math.inf
            if not shift < room[row]:
                return 0.0 if problem.loss.nonnegative else -math.inf
            y, s = float(problem.y[row]), float(slopes[row])
            ends = [math.nextafter(s - shift, -math.inf)] if down else []
            ends += [math.nextafter(s + shift, math.inf)] if up else []
            conjugate = problem.loss.conjugate  # type: ignore[attr-defined]
            worse = max(conjugate(y, end) for end in ends) - conjugate(y, s)
            slack += 2.0 * (c[row] * max(worse, 0.0) + left * abs(problem.offset[row]))
            delta += 2.0 * left * self._size(row)
        return problem.lower(g, delta, total, slack)

    def _size(self, row: int) -> float:
        rows = self.problem.rows
        place = row if rows.dense else slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
        return float(np.abs(rows.values[place], dtype=np.float64).sum())


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
