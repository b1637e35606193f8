"""A bias without regularisation over rows on shards, by Newton rounds.

Minimise over w and beta  sum_i c_i f(y_i, <w, x_i> + o_i + beta) + b F(w). A Newton step moves w
and beta together; the slopes that a round offers are balanced before anything is proved by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noregret.arrays import Vector
from noregret.batch.newton import Point, newton_round
from noregret.batch.problem import Solution, link
from noregret.batch.shared import NO_SLOPES, SharedSolver


@dataclass(eq=False)
class BiasRounds(SharedSolver):
    """The solver over shards for a problem with a free bias: Newton rounds alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.problem.balance.require_best()
        self.newton, self.bias = True, 0.0

    def play(self, gap: float, goal: float, most: int) -> tuple[Point, int]:
        """Return the point of a round; the slopes that it offers are balanced."""
        problem, start = self.problem, (self.away_from_zero(), self.bias)
        here, steps, self.delta, self.solved = newton_round(
            problem, self.workers, problem.size, start, self.delta, gap, goal, most, free=True,
            follow=self.solved,
        )  # fmt: skip
        problem.balance.balance()
        self.bias = here.bias
        return here, steps

    def examine(self) -> Solution:
        """Return the exact evaluation at the slopes of the last round, balanced."""
        problem = self.problem
        # Those of an unfinished round prove little.
        self.workers.call("take", 0.0)
        problem.balance.balance()
        self.workers.call("take", 1.0)
        self.theta, self.dual = self.first_theta(), problem.dual_lower()
        weights = link(problem.mirror, self.theta)
        primal = problem.primal_upper(weights, self.bias)
        return self.solution(weights, primal, self.dual, NO_SLOPES, self.bias)

    def state(self) -> tuple[dict[str, Any], dict[str, Vector]]:
        """Return what the solver knows beside the shards, as numbers and as arrays."""
        numbers, arrays = super().state()
        return numbers | {"bias": self.bias}, arrays

    def go_back(self, numbers: dict[str, Any], arrays: dict[str, Vector]) -> None:
        """Return to a state that was kept."""
        super().go_back(numbers, arrays)
        self.bias = numbers["bias"]
