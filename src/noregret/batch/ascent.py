"""Dual coordinate ascent for the maps of the 2-norm: epochs, and a guess of the gap.

An epoch visits the active rows in random order. The visits also estimate the gap at a sample of
the rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.batch.cost import Cost
from noregret.batch.dual_newton import DualNewton, DualStep
from noregret.batch.problem import Problem, Solution
from noregret.passes.dual import dual
from noregret.passes.dual.dual import inner
from noregret.workers import Threads

#: Approximate number of visits of an epoch that are sampled to guess the gap.
SAMPLE = 4096
#: An epoch's gap at its end is guessed as this times its sampled gap, times the ratio of that to
#: the sampled gap of the epoch before.
AHEAD = 1.75
#: After a guess that was too small the goal is multiplied by guess / gap, but at least by this.
LEAST_TRUST = 0.1
#: Rows put aside are visited again when the gap has fallen by this factor,
REVIVAL = 0.1
#: but not before this many passes.
REVIVAL_PASSES = 10
#: After CRAWL passes that each left more than the part SLOW of the gap, try a Newton step.
CRAWL, SLOW = 3, 0.92
#: The rate of epochs is that of so many last ones.
JUDGED = 8
#: A Newton step may cost this many times as much as the slow passes.
EFFORT = 2.0
#: Put a row aside if moving it by this part of the epoch's largest movement keeps its slope.
SETTLED = 0.5
#: A distance within which no slope stays the same, so that no row is put aside.
FAR = 1e300


class Guess:
    """An estimate of the gap after an epoch, from the samples of it and of the epoch before."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.gap = self.primal = math.inf
        self.goal = 0.0
        self.apart = self.revived = math.nan
        self.passes = self.crawled = 0
        #: The gaps guessed after the last epochs.
        self.gaps: list[float] = []

    def see(self, apart: float, primal: float | None) -> None:
        """Guess the gap after an epoch from `apart`, the gap sampled during it.

        `primal` is the sampled objective, None if some rows were put aside.
        """
        if primal is not None:
            self.primal = primal
            self.goal = self.tol * max(1.0, self.primal)
        decline = apart / self.apart if self.apart > 0.0 else 1.0
        self.gap = apart * min(1.0, AHEAD * decline)
        self.apart = apart
        self.passes += 1
        self.crawled = self.crawled + 1 if decline > SLOW else 0
        self.gaps = [*self.gaps[-JUDGED:], self.gap]
        if math.isnan(self.revived):
            self.revived = self.apart

    def stale(self) -> bool:
        """Return whether to revive rows that were put aside, and start counting anew if so."""
        if self.passes < REVIVAL_PASSES or self.apart > REVIVAL * self.revived:
            return False
        self.revived, self.passes = self.apart, 0
        return True

    def slow(self) -> int:
        """Return the number of slow passes in a row if it calls for a Newton step, else 0."""
        if self.crawled < CRAWL or self.left() <= EFFORT * self.crawled:
            return 0
        crawled, self.crawled = self.crawled, 0
        self.apart = math.nan
        return crawled

    def left(self) -> float:
        """Return how many epochs are left at the rate of the last ones."""
        first, last = self.gaps[0], self.gaps[-1]
        if not 0.0 < self.goal < last < first < math.inf:
            return math.inf
        rate = math.log(first / last) / (len(self.gaps) - 1)
        return math.log(last / self.goal) / rate

    def correct(self, solution: Solution, guessed: float) -> None:
        """Lower the goal after an exact evaluation with a larger gap than was guessed."""
        self.primal = abs(solution.primal)
        trust = min(max(guessed / solution.gap, LEAST_TRUST), 1.0)
        self.goal = trust * self.tol * max(1.0, self.primal)


class Ascent(DualStep):
    """The state of dual ascent for the maps of the 2-norm: slopes, theta, active rows.

    The regulariser is (b/2) ||w - centre||^2, inside a ball if the map is one.
    """

    def __init__(
        self, problem: Problem, slopes: Vector, seed: int, centre: Vector | None = None
    ) -> None:
        self.problem = problem
        records = records_of(problem, slopes)
        order = np.flatnonzero(problem.weight).astype(np.uint32)
        theta = np.zeros(problem.rows.width) if centre is None else centre.copy()
        dual.gather(problem.block, -records[:, dual.SCALE] * slopes, theta)
        self.memory = dual.Memory(records, theta, order)
        self.records, self.theta, self.order = self.memory
        self.state = np.uint64(seed_state(seed))
        self.active = self.counted = np.uint64(len(order))
        self.far = FAR
        self.leaps = DualNewton(problem, Threads([self]))

    @property
    def slopes(self) -> Vector:
        """The dual variables, one a row."""
        return np.ascontiguousarray(self.records[:, dual.SLOPE])

    @property
    def square(self) -> float:
        """The squared norm of theta, summed afresh."""
        return float(inner(self.theta, self.theta))

    def epoch(self, guess: Guess, penalised: bool = True) -> float:
        """Visit every active row once; enter the gap in the guess; return the largest movement.

        penalised: whether the regulariser is a part of the objective [default: True].
        """
        before = self.active
        every = np.uint64(1 << (int(before) // SAMPLE).bit_length())
        problem = self.problem
        self.state = np.uint64(dual.shuffle(self.order, before, self.state))
        active, largest, lost, apart = self.visit(dual.Course(before, self.far, every))
        if not math.isfinite(largest):
            raise OverflowError("the weights overflow: scale the rows or raise the strength")
        self.active, self.far = np.uint64(active), SETTLED * largest
        share = float(every) * problem.strength
        half = 0.5 * problem.strength * self.square if penalised else 0.0
        guess.see(share * apart, share * lost + half if before == self.counted else None)
        return float(largest)

    def visit(self, course: dual.Course) -> tuple[int, float, float, float]:
        """Visit the rows; return how many are still active, the movement and the sampled sums."""
        problem = self.problem
        found = dual.ascend(
            problem.loss, problem.mirror, problem.block, self.memory, self.square, course, None
        )
        return found[:4]  # type: ignore[no-any-return]

    def hurry(self, guess: Guess) -> None:
        """Look again at rows put aside if it is time; if visits are slow, try a Newton step.

        The step may cost EFFORT times as much as the slow visits, counted in operations.
        """
        if guess.stale():
            self.revive()
        crawled = guess.slow()
        if crawled and self.leap(self.iterations(crawled)):
            self.far = FAR

    def iterations(self, crawled: int) -> int:
        """Return how many iterations of conjugate gradients cost as much as slow passes allow."""
        cost = Cost.of(self.problem)
        return max(int(EFFORT * crawled * cost.epoch / cost.iteration), 1)

    def leap(self, budget: int) -> bool:
        """Try a Newton step of at most `budget` iterations; return whether it was taken."""
        shift = self.leaps.step(self.theta, budget)
        if shift is not None:
            self.theta += shift
        return shift is not None

    def candidates(self) -> tuple[dual.Memory, int]:
        """Return the records; the active rows may be free."""
        return self.memory, int(self.active)

    def adopt(self, chosen: Any, slopes: Vector) -> None:
        """Give new slopes to some rows."""
        self.records[chosen, dual.SLOPE] = slopes

    def revive(self) -> bool:
        """Make rows active again that were put aside too early; return whether there were any."""
        problem, before = self.problem, self.active
        # Rows are read much faster in the order in which they are stored.
        self.order[int(before) : int(self.counted)].sort()
        self.active = np.uint64(
            dual.revive(
                problem.loss, problem.mirror, problem.block, self.memory, self.square, before,
                self.counted,
            )
        )  # fmt: skip
        return bool(self.active > before)


def records_of(problem: Problem, slopes: Vector) -> Vector:
    """Return the records of all rows, as visits read them."""
    rows = problem.rows
    scale, curvature = curvatures(problem, "strength")
    ends = (0.0, 0.0) if rows.dense else (rows.indptr[:-1], rows.indptr[1:])
    records = np.empty((len(rows), dual.PLACES))
    places = slopes, problem.y, curvature, scale, problem.offset, *ends
    for place, column in enumerate(places):
        records[:, place] = column
    return records


def curvatures(problem: Any, strength: str) -> tuple[Vector, Vector]:
    """Return c_i / b and c_i ||x_i||^2 / b of every row; `strength` names b in the error."""
    squares = np.empty(len(problem.rows))
    dual.squares(problem.block, squares)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = problem.weight / problem.strength
        found = scale * squares
    if not np.all(np.isfinite(found)):
        raise ValueError(f"weight ||x||^2 / {strength} overflows: scale the rows or the weights")
    return scale, found


def seed_state(seed: int | list[int]) -> int:
    """Return a state of 64 bits, not 0, that depends on every bit of the seed."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1
