"""Dual coordinate ascent until the duality gap is proved to be small.

Epochs visit the active rows in random order. The gap is guessed from what the visits see
anyway, at a sample of the rows, and only when the guess is small enough is it computed: exactly,
afresh from the slopes, with its rounding. What is returned is always such an exact evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noregret.batch.leap import leap
from noregret.batch.problem import Problem, Solution, Vector, closed, evaluate
from noregret.batch.progress import Progress, Reporter
from noregret.passes.dual import dual

#: About how many visits of an epoch are looked at to guess the gap.
SAMPLE = 4096
#: The gap at the end of an epoch is about this times what the epoch saw of it, times the
#: decline since the epoch before.
AHEAD = 1.75
#: A guess that was too small is from then on divided by how much, at most by the inverse of this.
LEAST_TRUST = 0.1
#: Rows put aside are looked at again whenever the gap has fallen to this part.
REVIVAL = 0.1
#: ... but not before so many passes.
REVIVAL_PASSES = 10
#: After so many passes that each left more than this part of the gap, a Newton step is tried.
CRAWL, SLOW = 3, 0.92
#: How many conjugate gradients it may take for every such pass.
GRADIENTS = 10
#: How much the first one is held back, in units of the diagonal of its matrix.
FIRST_DAMPING = 0.1
#: A row is put aside if its slope is the same within this part of the epoch's largest movement.
SETTLED = 0.5
#: A distance within which no slope stays the same, so that no row is put aside.
FAR = 1e300


@dataclass(frozen=True)
class Seen:
    """What an epoch saw at a sample of its visits, before each: losses and parts of the gap."""

    largest: float
    lost: float
    apart: float
    everything: bool


class Guess:
    """The gap after an epoch, guessed from what it and the epoch before saw."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.gap = self.primal = math.inf
        self.goal = 0.0
        self.apart = self.revived = math.nan
        self.passes = self.crawled = 0

    def see(self, seen: Seen, regularizer: float) -> None:
        """Enter an epoch; the sample was taken along it, the guess is for its end."""
        if seen.everything:
            self.primal = seen.lost + regularizer
            self.goal = self.tol * max(1.0, self.primal)
        decline = seen.apart / self.apart if self.apart > 0.0 else 1.0
        self.gap = seen.apart * min(1.0, AHEAD * decline)
        self.apart = seen.apart
        self.passes += 1
        self.crawled = self.crawled + 1 if decline > SLOW else 0
        if math.isnan(self.revived):
            self.revived = self.apart

    def stale(self) -> bool:
        """Tell whether rows put aside should be looked at again; if so, they will be."""
        if self.passes < REVIVAL_PASSES or self.apart > REVIVAL * self.revived:
            return False
        self.revived, self.passes = self.apart, 0
        return True

    def slow(self) -> int:
        """Return how many passes were slow of late, if that calls for a Newton step, else 0."""
        if self.crawled < CRAWL:
            return 0
        crawled, self.crawled = self.crawled, 0
        self.apart = math.nan
        return crawled

    def correct(self, solution: Solution, guessed: float) -> None:
        """Learn from an exact evaluation that showed a larger gap than was guessed."""
        self.primal = abs(solution.primal)
        trust = min(max(guessed / solution.gap, LEAST_TRUST), 1.0)
        self.goal = trust * self.tol * max(1.0, self.primal)


class Ascent:
    """The state of dual ascent for the maps of the 2-norm: slopes, theta, active rows.

    The regulariser is (b/2) ||w - centre||^2, inside a ball if the map is one.
    """

    def __init__(
        self, problem: Problem, slopes: Vector, seed: int, centre: Vector | None = None
    ) -> None:
        self.problem = problem
        rows, count = problem.rows, len(problem.rows)
        self.records = np.empty((count, dual.PLACES))
        self.theta = np.zeros(rows.width) if centre is None else centre.copy()
        self.order = np.empty(count, np.uint32)
        self.state = np.uint64(seed_state(seed))
        self.counted = np.uint64(
            dual.prepare(
                rows.indptr, rows.indices, rows.values, problem.y, problem.weight, problem.offset,
                problem.strength, slopes, self.records, self.theta, self.order,
            )
        )  # fmt: skip
        if not np.all(np.isfinite(self.records[:, dual.CURVATURE])):
            raise ValueError("weight ||x||^2 / strength overflows: scale the rows or the weights")
        self.active = self.counted
        self.far = FAR
        #: How much a Newton step is held back, in units of the diagonal of its matrix.
        self.damping = FIRST_DAMPING

    @property
    def slopes(self) -> Vector:
        """The dual variables, one a row."""
        return np.ascontiguousarray(self.records[:, dual.SLOPE])

    @property
    def square(self) -> float:
        """The squared norm of theta, summed afresh."""
        return float(dual.inner(self.theta, self.theta))

    def epoch(self) -> Seen:
        """Visit every active row once."""
        before = self.active
        every = np.uint64(1 << (int(before) // SAMPLE).bit_length())
        rows, problem = self.problem.rows, self.problem
        self.state = np.uint64(dual.shuffle(self.order, before, self.state))
        active, largest, lost, apart = dual.ascend(
            problem.loss, problem.mirror, rows.indices, rows.values, self.records, self.theta,
            self.square, self.order, before, self.far, every,
        )  # fmt: skip
        if not math.isfinite(largest):
            raise OverflowError("the weights overflow: scale the rows or raise the strength")
        self.active, self.far = np.uint64(active), SETTLED * largest
        share = float(every) * problem.strength
        return Seen(largest, share * lost, share * apart, before == self.counted)

    def hurry(self, guess: Guess) -> None:
        """Try a Newton step if visits have become slow; it may take as long as they took."""
        crawled = guess.slow()
        if crawled and leap(self, GRADIENTS * crawled):
            self.far = FAR

    def revive(self) -> bool:
        """Make rows active again that were put aside too early; tell whether there were any."""
        rows, before = self.problem.rows, self.active
        # In the order in which they are stored, rows come from memory much faster.
        self.order[int(before) : int(self.counted)].sort()
        self.active = np.uint64(
            dual.revive(
                self.problem.loss, self.problem.mirror, rows.indices, rows.values, self.records,
                self.theta, self.square, self.order, before, self.counted,
            )
        )  # fmt: skip
        return bool(self.active > before)


def seed_state(seed: int) -> int:
    """Return a state of 64 bits, not 0, that depends on every bit of the seed."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1


def solve(
    problem: Problem,
    tol: float = 1e-6,
    max_passes: int = 1000,
    warm_start: Vector | None = None,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
) -> Solution:
    """Minimise sum_i c_i f(y_i, <w, x_i> + o_i) + (b/2) ||w||^2 until gap <= tol max(1, |P|).

    The map is Euclidean or Ball, and then the minimum is the one in the ball.
    An interrupted run (KeyboardInterrupt) returns what it has; `alpha` of it, given as
    `warm_start`, takes the run up again.
    """
    slopes = problem.start(warm_start)
    if warm_start is not None:
        given = examine(problem, slopes, 0, tol)
        if given.converged:
            return given
    ascent = Ascent(problem, slopes, seed)
    passes = 0
    solution: Solution | None = None
    try:
        with Reporter(progress, tol) as reporter:
            guess = Guess(tol)
            while passes < max_passes:
                seen = ascent.epoch()
                passes += 1
                guess.see(seen, 0.5 * problem.strength * ascent.square)
                reporter.epoch(passes, guess.gap, guess.primal, int(ascent.active))
                settled = seen.largest == 0.0 or ascent.active == 0
                if not settled and guess.gap > guess.goal:
                    if guess.stale():
                        ascent.revive()
                    ascent.hurry(guess)
                    continue
                solution = examine(problem, ascent.slopes, passes, tol)
                if solution.converged or not (ascent.revive() or not settled):
                    return solution
                guess.correct(solution, guess.gap)
    except KeyboardInterrupt:
        solution = None
    if solution is None or solution.passes < passes:
        solution = examine(problem, ascent.slopes, passes, tol)
    return solution


def examine(problem: Problem, slopes: Vector, passes: int, tol: float) -> Solution:
    """Return the exact evaluation at these slopes as a solution."""
    weights, primal, lower = evaluate(problem, slopes)
    done = closed(primal, lower, tol)
    return Solution(weights, primal, lower, slopes, passes, done, objective=problem.describe())
