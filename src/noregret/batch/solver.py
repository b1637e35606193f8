"""The loop that every batch solver runs in: steps until the gap is closed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from noregret.batch.problem import Solution, Vector, closed
from noregret.batch.progress import Progress, Reporter


@dataclass(eq=False)
class Solver:
    """One way to raise the dual of a problem: `step` makes passes, `examine` proves a gap.

    Args:
        problem: what to minimise.
        tol: stop when gap <= tol * max(1, |primal|); at least 0 [default: 1e-6].
        max_passes: passes over the rows after which to give up, at least 0 [default: 1000].
        warm_start: slopes to start from, the `alpha` of a solution [default: a cold start].
        seed: of the order in which rows are visited, a whole number >= 0 [default: 0].
        progress: True shows a status line, a function is called with each `Progress`.
    """

    problem: Any
    tol: float = 1e-6
    max_passes: int = 1000
    warm_start: Any = None
    seed: int = 0
    progress: bool | Callable[[Progress], None] = False

    #: Whether the slopes of a warm start are examined before the first pass.
    examines_start: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.passes = 0
        self.best: Solution | None = None
        #: Passes at the last exact evaluation, -1 if something moved since.
        self.looked = -1
        self.reporter = Reporter(self.progress, self.tol)

    def run(self) -> Solution:
        """Return a solution with a closed gap, or the best so far once passes run out.

        KeyboardInterrupt ends the run as `max_passes` does; the solution's `alpha`, given as
        `warm_start`, resumes it.
        """
        if self.warm_start is not None and self.examines_start:
            given = self.look()
            if given.converged:
                return given
        try:
            with self.reporter:
                while self.passes < self.max_passes and not self.step():
                    pass
        except KeyboardInterrupt:
            # Any slopes prove a bound, those of an interrupted pass too: examine them.
            self.looked = -1
        return self.best if self.best and self.looked == self.passes else self.look()

    def step(self) -> bool:
        """Make one or more passes, report them; return whether the run ends here."""
        raise NotImplementedError

    def look(self) -> Solution:
        """Examine where the solver stands; return the best solution so far."""
        self.best = self.kept(self.examine())
        self.looked = self.passes
        return self.best

    def examine(self) -> Solution:
        """Return weights and slopes with primal rounded up and dual rounded down."""
        raise NotImplementedError

    def kept(self, new: Solution) -> Solution:
        """Return the new solution, or the better parts of it and of the best so far."""
        return new

    def report(self, gap: float, primal: float, active: int) -> None:
        """Report the progress at the end of a pass."""
        self.reporter.epoch(self.passes, gap, primal, active)

    def solution(
        self, weights: Vector, primal: float, dual: float, slopes: Vector, bias: float = 0.0
    ) -> Solution:
        """Return the solution with these bounds after the passes so far."""
        done = closed(primal, dual, self.tol)
        words = self.problem.describe()
        return Solution(weights, primal, dual, slopes, self.passes, done, bias, words)


def require_options(tol: float, max_passes: int) -> None:
    """Refuse a tolerance or a number of passes that no run can have."""
    if not 0.0 <= float(tol) < math.inf:
        raise ValueError(f"tol must be a finite number >= 0, got {tol}")
    if not int(max_passes) >= 1:
        raise ValueError(f"max_passes must be at least 1, got {max_passes}")
