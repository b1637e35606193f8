"""What a batch run on a cluster returns: the solution, and the table of its rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from noregret.batch.best_matrix import beside
from noregret.batch.problem import WIDTHS, Solution
from noregret.batch.shared import SharedSolver, Watch
from noregret.cluster.checkpoints import Checkpoints
from noregret.cluster.gathering import Gathered
from noregret.proof.statement import row


@dataclass(frozen=True)
class Round:
    """One line of the table of a run: where it stands after some passes.

    Of one class against the rest the lines of each class follow those of the class before.
    """

    passes: int
    #: The objective of the best weights examined so far, and what no predictor has less than.
    primal: float
    dual: float
    #: The gap, which visits only estimate between two examinations.
    gap: float
    estimated: bool
    #: Bytes sent in both directions, and seconds of the slowest worker and of waiting for it.
    sent: int
    work: float
    wait: float
    #: Calls of all shards, and those of them that add vectors: the rounds of the literature.
    calls: int
    vectors: int
    #: Rows that each shard visited in the pass, where work is balanced.
    visits: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class ClusterSolution(Solution):
    """The best predictor found on a cluster; its gap was verified by code of its own.

    The dual variables stay at the workers, or in the last checkpoint: `alpha` is empty.
    """

    gathered: Gathered | None = field(default=None, repr=False)
    rounds: tuple[Round, ...] = field(default=(), repr=False)
    #: The largest |x_i| of each feature.
    sizes: Any = field(default=None, repr=False)
    shards: int = 1
    #: Workers that were lost and set up again.
    lost: int = 0

    def _lines(self) -> list[str]:
        lines = super()._lines()
        lines.append(row("gap verified", "by separate code", widths=WIDTHS))
        lines.append(row("shards", f"{self.shards:,}", widths=WIDTHS))
        if self.lost:
            lines.append(row("workers lost and replaced", f"{self.lost:,}", widths=WIDTHS))
        return lines


def as_fields(found: Solution) -> dict[str, Any]:
    """Return the fields of a solution by name."""
    return {one.name: getattr(found, one.name) for one in fields(found)}


def against_rest(parts: Sequence[ClusterSolution], tol: float) -> ClusterSolution:
    """Return the solutions of all classes, each against the rest, as one."""
    first = parts[0]
    return ClusterSolution(
        **as_fields(beside(parts, tol)),
        gathered=first.gathered,
        rounds=tuple(one for part in parts for one in part.rounds),
        sizes=first.sizes,
        shards=first.shards,
        lost=sum(part.lost for part in parts),
    )


class Recorder(Watch):
    """Keeps checkpoints of a run, and the table of its rounds.

    Args:
        keeper: where checkpoints go.
        tell: called with each line of the table [default: nothing is].
    """

    def __init__(self, keeper: Checkpoints, tell: Callable[[Round], None] | None = None) -> None:
        self.keeper, self.tell = keeper, tell
        self.rounds: list[Round] = []

    def before(self, solver: SharedSolver) -> None:
        """Keep a first checkpoint."""
        if not self.keeper.complete():
            self.keeper.save(solver)

    def after(self, solver: SharedSolver, done: bool) -> None:
        """Note where the run stands; keep a checkpoint if one is due."""
        self.note(solver)
        if not done and self.keeper.due(solver):
            self.keeper.save(solver)

    def note(self, solver: SharedSolver) -> None:
        """Add a line to the table."""
        best, traffic = solver.best, solver.workers.traffic
        if best is None:
            return
        estimated = not solver.newton and solver.looked != solver.passes
        gap = solver.guess.gap if estimated else best.gap
        numbers = traffic.sent, traffic.work, traffic.wait, traffic.calls, traffic.vectors
        made = solver.work.logged.get(solver.passes) if solver.work is not None else None
        visits = () if made is None else tuple(made.visits)
        found = Round(solver.passes, best.primal, best.dual, gap, estimated, *numbers, visits)
        self.rounds.append(found)
        if self.tell is not None:
            self.tell(found)

    def back(self, solver: SharedSolver) -> None:
        """Bring solver, shards and table back to the last checkpoint."""
        self.keeper.restore(solver)
        self.rounds = [one for one in self.rounds if one.passes <= solver.passes]
