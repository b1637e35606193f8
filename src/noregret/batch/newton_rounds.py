"""Rounds of Newton's method between passes of dual ascent, for rows in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from noregret.arrays import Vector
from noregret.batch.newton import MOST_STEPS, PARTS, Point, newton_round
from noregret.batch.problem import Problem
from noregret.batch.shard import Shard, Size
from noregret.workers import Threads

#: Passes before the first round, and how many more must be expected for one to be played.
FIRST, MANY = 8, 20.0


class Rounds:
    """Newton's method in rounds: each solves one smoothed problem and offers its slopes.

    `slopes` are those of the last point, the ones that a round offers.
    """

    def __init__(self, problem: Problem, free: bool = False) -> None:
        self.problem, self.free = problem, free
        self.slopes, self.given = np.empty(len(problem.y)), np.empty(len(problem.y))
        self.workers = threads(problem, self.slopes, self.given)
        self.delta = math.inf
        #: Whether the last round was solved.
        self.solved = True
        self.theta: Vector | None = None
        #: Passes after which the next round is due, and how long to wait after it.
        self.due, self.pause = FIRST, 1

    @cached_property
    def size(self) -> Size:
        """The size of all shards together."""
        return Size.total(self.workers.call("size"))

    def wanted(self, passes: int, since: int, before: float, gap: float, goal: float) -> bool:
        """Return whether the gap would take many more passes to fall to the goal."""
        if passes < self.due or not 0.0 < goal < gap < math.inf:
            return False
        if not gap < before:
            return True
        if before == math.inf:
            return False
        fallen, left = math.log(before) - math.log(gap), math.log(gap) - math.log(goal)
        return left * since > MANY * fallen

    def play(
        self, slopes: Vector, bias: float, gap: float, goal: float, most: int
    ) -> tuple[Point, int]:
        """Return the point of one round from these slopes, and the steps that it took."""
        problem = self.problem
        if self.theta is None:
            self.theta = -problem.gradient(slopes)[0] / problem.strength
        self.given[:] = slopes
        here, steps, self.delta, self.solved = newton_round(
            problem, self.workers, self.size, (self.theta, bias), self.delta, gap, goal,
            min(MOST_STEPS, most), self.free, follow=self.solved,
        )  # fmt: skip
        self.theta = here.theta if here.value < math.inf else None
        return here, steps

    def judge(self, passes: int, steps: int, before: float, gap: float) -> None:
        """Wait longer for the next round if this one did not halve the gap."""
        # For a separable map a weight may not react to its theta, so that a round gains nothing:
        # visits then get as many passes as the round took. Otherwise the next round continues.
        spent = steps if self.problem.mirror.separable() else 0
        self.pause = 1 if gap <= 0.5 * before else 2 * max(self.pause, spent)
        self.due = passes + self.pause


def threads(problem: Problem, slopes: Vector, given: Vector) -> Threads:
    """Return the shards of a problem in memory, their slopes views of these arrays."""
    found = []
    for number, (begin, end) in enumerate(problem.shards.pieces(len(problem.rows))):
        part = problem.cut(begin, end)
        found.append(Shard(part, slopes[begin:end], given[begin:end], number=number))
    return Threads(found, problem.shards.workers)


def between(slopes: Vector, wanted: Vector, dual: Callable[[Vector], float]) -> Vector:
    """Return slopes on the way to the wanted ones with a dual above that of the given ones."""
    floor = dual(slopes)
    for part in PARTS:
        offered = slopes + part * (wanted - slopes)
        if dual(offered) > floor:
            return offered
    return slopes
