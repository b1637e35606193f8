"""The loop that every batch solver runs in: steps until the gap is closed, with progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from noregret.arguments import refuse
from noregret.arrays import Vector
from noregret.batch.problem import Solution, closed
from noregret.proof.wording import WrongConjugate, assumption_of
from noregret.status import StatusLine

S = TypeVar("S", bound=Solution)


@dataclass(frozen=True)
class Progress:
    """Progress of a run: passes made, an estimate of the gap, rows still visited."""

    passes: int
    gap: float
    primal: float
    active: int
    seconds: float


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
        self.begin = time.monotonic()
        self.line = StatusLine() if self.progress is True else None

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
            while self.passes < self.max_passes and not self.step():
                pass
        except KeyboardInterrupt:
            # Any slopes prove a bound, those of an interrupted pass too: examine them.
            self.looked = -1
            self.interrupted()
        finally:
            if self.line is not None:
                self.line.clear()
        return self.best if self.best and self.looked == self.passes else self.look()

    def interrupted(self) -> None:
        """Make what an interrupted pass has left ready to be examined."""

    def step(self) -> bool:
        """Make one or more passes, report them; return whether the run ends here."""
        raise NotImplementedError

    def look(self) -> Solution:
        """Examine where the solver stands; return the best solution so far."""
        return self.keep(self.examine())

    def keep(self, new: Solution) -> Solution:
        """Keep the better of a new solution and the best so far, or of their parts."""
        self.best, self.looked = self.kept(new), self.passes
        return self.best

    def examine(self) -> Solution:
        """Return weights and slopes with primal rounded up and dual rounded down."""
        raise NotImplementedError

    def kept(self, new: Solution) -> Solution:
        """Return the new solution, or the better parts of it and of the best so far."""
        return new

    def better_parts(self, new: Solution) -> Solution:
        """Return a solution with the best so far in place of its weights or slopes if better."""
        best = self.best
        if best is None:
            return new
        if best.primal < new.primal:
            new = replace(new, weights=best.weights, primal=best.primal, bias=best.bias)
        if best.dual > new.dual:
            new = replace(new, alpha=best.alpha, dual=best.dual)
        return replace(new, converged=closed(new.primal, new.dual, self.tol))

    def report(self, gap: float, primal: float, active: int) -> None:
        """Report the end of a pass: call a function, or show a status line after two seconds."""
        now = Progress(self.passes, gap, primal, active, time.monotonic() - self.begin)
        if callable(self.progress):
            self.progress(now)
        elif self.line is not None:
            self.line.tell(self._words(now))

    def _words(self, now: Progress) -> str:
        relative = now.gap / max(1.0, abs(now.primal))
        return (
            f"pass {now.passes:,}: relative gap about {relative:.1e} of {self.tol:.1e}, "
            f"{now.active:,} rows active, {now.seconds:.0f} s (Ctrl-C keeps what there is)"
        )

    def solution(
        self, weights: Vector, primal: float, dual: float, slopes: Vector, bias: float = 0.0
    ) -> Solution:
        """Return a solution with copies of the arrays, which later passes change."""
        return Solution(
            weights.copy(), primal, dual, slopes.copy(), self.passes,
            closed(primal, dual, self.tol), bias, self.problem.describe(),
        )  # fmt: skip


def trusted(found: S, loss: Any, feasible: bool = True) -> S:
    """Name what a loss of one's own is trusted for; refuse a dual value that disproves it.

    feasible: whether the weights are in the class that the dual value speaks about.
    """
    assumption = assumption_of(loss, conjugate=True)
    if assumption is not None and feasible and found.dual > found.primal:
        raise WrongConjugate(
            f"the dual value {found.dual:g} is above the loss {found.primal:g} of a "
            f"predictor: {type(loss).__name__}.conjugate is not that of a convex value(y, p)"
        )
    return replace(found, assumption=assumption)


def require_options(tol: float, max_passes: int) -> None:
    """Refuse a tolerance or a number of passes that no run can have."""
    refuse(
        {
            f"tol must be a finite number >= 0, got {tol}": not 0.0 <= float(tol) < math.inf,
            f"max_passes must be at least 1, got {max_passes}": not 1.0 <= max_passes < math.inf,
        }
    )
