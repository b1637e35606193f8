"""The batch solver for the Euclidean map and the ball: dual coordinate ascent.

An epoch visits the active rows in random order. The visits also estimate the gap at a sample of
the rows. Only when the estimate is small enough is the gap computed exactly: afresh from the
slopes, with its rounding. A solution always holds such an exact evaluation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.batch.leap import leap
from noregret.batch.problem import Problem, Solution, Vector, evaluate
from noregret.batch.solver import Solver
from noregret.passes.dual import dual

#: Approximate number of visits of an epoch that are sampled to guess the gap.
SAMPLE = 4096
#: Gap at the end of an epoch, relative to the sampled gap times its ratio to the last epoch's.
AHEAD = 1.75
#: After a guess that was too small the goal is multiplied by guess / gap, but at least by this.
LEAST_TRUST = 0.1
#: Rows put aside are visited again when the gap has fallen by this factor,
REVIVAL = 0.1
#: but not before this many passes.
REVIVAL_PASSES = 10
#: After CRAWL passes that each left more than the part SLOW of the gap, try a Newton step.
CRAWL, SLOW = 3, 0.92
#: Conjugate gradient iterations that a Newton step may take, per slow pass.
GRADIENTS = 10
#: Damping of the first Newton step, in units of the diagonal of its matrix.
FIRST_DAMPING = 0.1
#: Put a row aside if moving it by this part of the epoch's largest movement keeps its slope.
SETTLED = 0.5
#: A distance within which no slope stays the same, so that no row is put aside.
FAR = 1e300


@dataclass(frozen=True)
class Seen:
    """Sums over the sampled visits of an epoch, before each: the loss and its part of the gap."""

    largest: float
    lost: float
    apart: float
    everything: bool


class Guess:
    """An estimate of the gap after an epoch, from the samples of it and of the epoch before."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.gap = self.primal = math.inf
        self.goal = 0.0
        self.apart = self.revived = math.nan
        self.passes = self.crawled = 0

    def see(self, seen: Seen, regularizer: float) -> None:
        """Enter an epoch: the sample was taken during it, the guess is for its end."""
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
        """Return whether to revive rows that were put aside, and start counting anew if so."""
        if self.passes < REVIVAL_PASSES or self.apart > REVIVAL * self.revived:
            return False
        self.revived, self.passes = self.apart, 0
        return True

    def slow(self) -> int:
        """Return the number of slow passes in a row if it calls for a Newton step, else 0."""
        if self.crawled < CRAWL:
            return 0
        crawled, self.crawled = self.crawled, 0
        self.apart = math.nan
        return crawled

    def correct(self, solution: Solution, guessed: float) -> None:
        """Lower the goal after an exact evaluation with a larger gap than was guessed."""
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
        self.problem, rows = problem, problem.rows
        scale, curvature = curvatures(problem, "strength")
        ends = (0.0, 0.0) if rows.dense else (rows.indptr[:-1], rows.indptr[1:])
        places = slopes, problem.y, curvature, scale, problem.offset, *ends, 0.0
        # Rows of weight 0 stand behind the others.
        order = np.argsort(problem.weight == 0.0, kind="stable").astype(np.uint32)
        theta = np.zeros(rows.width) if centre is None else centre.copy()
        dual.gather(problem.block, -scale * slopes, theta)
        self.memory = dual.Memory(np.column_stack(np.broadcast_arrays(*places)), theta, order)
        self.records, self.theta, self.order = self.memory
        self.state = np.uint64(seed_state(seed))
        self.active = self.counted = np.uint64(np.count_nonzero(problem.weight))
        self.far = FAR
        #: Damping of the next Newton step, in units of the diagonal of its matrix.
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
        problem = self.problem
        self.state = np.uint64(dual.shuffle(self.order, before, self.state))
        active, largest, lost, apart = dual.ascend(
            problem.loss, problem.mirror, problem.block, self.memory, self.square, before,
            self.far, every,
        )  # fmt: skip
        if not math.isfinite(largest):
            raise OverflowError("the weights overflow: scale the rows or raise the strength")
        self.active, self.far = np.uint64(active), SETTLED * largest
        share = float(every) * problem.strength
        return Seen(largest, share * lost, share * apart, before == self.counted)

    def hurry(self, guess: Guess) -> None:
        """Look again at rows put aside if it is time; if visits are slow, try a Newton step.

        The step may take as long as the slow visits took.
        """
        if guess.stale():
            self.revive()
        crawled = guess.slow()
        if crawled and leap(self, GRADIENTS * crawled):
            self.far = FAR

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


def curvatures(problem: Any, strength: str) -> tuple[Vector, Vector]:
    """Return c_i / b and c_i ||x_i||^2 / b of every row; `strength` is what b is called."""
    squares = np.empty(len(problem.rows))
    dual.squares(problem.block, squares)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = problem.weight / problem.strength
        found = scale * squares
    if not np.all(np.isfinite(found)):
        raise ValueError(f"weight ||x||^2 / {strength} overflows: scale the rows or the weights")
    return scale, found


def seed_state(seed: int) -> int:
    """Return a state of 64 bits, not 0, that depends on every bit of the seed."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1


class EuclideanSolver(Solver):
    """Minimise sum_i c_i f(y_i, <w, x_i> + o_i) + (b/2) ||w||^2, inside the ball of a map Ball."""

    problem: Problem

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ascent = Ascent(self.problem, self.problem.start(self.warm_start), self.seed)
        self.guess = Guess(self.tol)

    def step(self) -> bool:
        """Visit the active rows; examine the slopes once the guess of the gap is small."""
        ascent, guess = self.ascent, self.guess
        seen = ascent.epoch()
        self.passes += 1
        guess.see(seen, 0.5 * self.problem.strength * ascent.square)
        self.report(guess.gap, guess.primal, int(ascent.active))
        settled = seen.largest == 0.0 or ascent.active == 0
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
