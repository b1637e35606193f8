"""`hindsight` on a cluster: the best fixed predictor of files that no single process holds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from noregret.arguments import ArgumentError, refuse
from noregret.arrays import as_count, as_positive
from noregret.batch.problem import WIDTHS, Solution, closed
from noregret.batch.shared import SharedProblem, SharedSolver
from noregret.batch.solver import require_options, trusted
from noregret.batch.verifying import verified
from noregret.batch.work_shares import WorkShares, chosen_shares
from noregret.cluster.batch_host import BatchHost
from noregret.cluster.checkpoints import Checkpoints
from noregret.cluster.errors import ClusterError, WorkerLost
from noregret.cluster.gathering import Gathered
from noregret.cluster.hosting import hosted
from noregret.cluster.ray_workers import LOCAL, MOST_LOSSES
from noregret.files.store import component_to_header
from noregret.mirrors import Ball, Euclidean, Mirror
from noregret.proof.statement import row
from noregret.streams.reading import Reading

#: Passes after which a run stops without convergence.
MAX_PASSES = 10_000


@dataclass(frozen=True)
class Round:
    """One line of the table of a run: where it stands after some passes."""

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


class ClusterSolver(SharedSolver):
    """The solver over shards, with checkpoints and a table of its rounds."""

    keeper: Checkpoints
    rounds: list[Round]
    tell: Callable[[Round], None] | None = None

    def step(self) -> bool:
        """Make passes; note where the run stands, keep a checkpoint if one is due."""
        if not self.keeper.complete():
            self.keeper.save(self)
        done = super().step()
        self.note()
        if not done and self.keeper.due(self):
            self.keeper.save(self)
        return done

    def note(self) -> None:
        """Add a line to the table."""
        best, traffic = self.best, self.workers.traffic
        if best is None:
            return
        estimated = not self.newton and self.looked != self.passes
        gap = self.guess.gap if estimated else best.gap
        numbers = traffic.sent, traffic.work, traffic.wait, traffic.calls, traffic.vectors
        made = self.work.logged.get(self.passes) if self.work is not None else None
        visits = () if made is None else tuple(made.visits)
        found = Round(self.passes, best.primal, best.dual, gap, estimated, *numbers, visits)
        self.rounds.append(found)
        if self.tell is not None:
            self.tell(found)


def hindsight(
    inputs: Any,
    loss: Any,
    *,
    l2: float | None = None,
    radius: float | None = None,
    mirror: Mirror | None = None,
    strength: float | None = None,
    shards: int = 8,
    workers: int = 2,
    address: str = LOCAL,
    tol: float = 1e-6,
    max_passes: int = MAX_PASSES,
    seed: int = 0,
    checkpoint: str | None = None,
    every: int = 10,
    resume: bool = False,
    timeout: float = 600.0,
    balance_work: bool = False,
    replay_work: str | None = None,
    progress: Callable[[Round], None] | None = None,
    reading: Reading | None = None,
) -> ClusterSolution:
    """Return the best fixed linear predictor of the rows of some files, solved where they lie.

    Minimises sum_i c_i f(y_i, <w, x_i>) plus (l2/2) ||w||^2, inside the ball ||w|| <= radius if
    both are given, or plus strength * F(w), F the regulariser of a mirror map. Rows are dealt to
    logical shards, which workers read; the result depends on the files, the number of shards and
    the seed, never on the number of workers, nor on workers that were lost on the way.

    Args:
        inputs: paths, patterns or addresses of files that every worker can read.
        loss: of one score, one of `nr.losses`: it travels by its name.
        l2: factor of half the squared norm, above 0.
        radius: of the ball, with l2, above 0.
        mirror: a map, with `strength`.
        strength: factor of the map's regulariser, above 0.
        shards: K, at least 1 [default: 8].
        workers: processes, at least 1 and at most one a shard [default: 2].
        address: of a Ray cluster, or "local" to start one on this machine [default: "local"].
        tol: stop when gap <= tol max(1, |primal|) [default: 1e-6].
        max_passes: turns of all shards, or Newton steps, at most [default: 10,000].
        seed: of the order of visits, a whole number >= 0 [default: 0].
        checkpoint: a folder that all workers see [default: a temporary one of this machine].
        every: passes between two checkpoints, at least 1 [default: 10].
        resume: go on from the last checkpoint in the folder [default: False].
        timeout: seconds within which every worker has to answer [default: 600].
        balance_work: lower the visits of shards at slow workers, see `Session.solve`
            [default: False].
        replay_work: a log of such a run, whose numbers of visits are used [default: none].
        progress: called with each `Round`.
        reading: how files are read [default: labels as the loss needs them].

    Reference: Ma, Smith, Jaggi, Jordan, Richtarik, Takac, Adding vs. Averaging in Distributed
    Primal-Dual Optimization, 2015.
    """
    require_options(tol, max_passes)
    objective = form(l2, radius, mirror, strength)
    with session(
        inputs, loss, shards=shards, workers=workers, address=address, seed=seed,
        checkpoint=checkpoint, every=every, timeout=timeout, reading=reading,
    ) as run:  # fmt: skip
        return run.solve(
            *objective, tol=tol, max_passes=max_passes, resume=resume, progress=progress,
            balance_work=balance_work, replay_work=replay_work,
        )  # fmt: skip


@contextmanager
def session(
    inputs: Any,
    loss: Any,
    *,
    shards: int = 8,
    workers: int = 2,
    address: str = LOCAL,
    seed: int = 0,
    checkpoint: str | None = None,
    every: int = 10,
    timeout: float = 600.0,
    reading: Reading | None = None,
) -> Iterator[Session]:
    """Read files at workers and keep them there, to solve one problem or several over them."""
    name = plain("loss", loss)
    every = as_count("every", every)
    rule: Any = {"sign": "binary"}.get(loss.labels, "real")
    whole = Reading(labels=rule) if reading is None else reading
    with (
        hosted(BatchHost, inputs, whole, shards, workers, address, timeout) as (hosts, found),
        tempfile.TemporaryDirectory() as folder,
    ):
        spec = {"loss": name, "seed": int(seed), "width": found.width}
        yield Session(hosts, loss, spec, found, checkpoint or folder, every)


@dataclass(eq=False)
class Session:
    """Rows at workers; `solve` may be called for one objective after the other."""

    workers: Any
    loss: Any
    spec: dict[str, Any]
    gathered: Gathered
    folder: str
    every: int
    opened: dict[str, Any] | None = None
    calls: int = 0

    def solve(
        self,
        mirror: Mirror,
        strength: float,
        *,
        tol: float = 1e-6,
        max_passes: int = MAX_PASSES,
        warm: bool = False,
        resume: bool = False,
        balance_work: bool = False,
        replay_work: str | None = None,
        progress: Callable[[Round], None] | None = None,
    ) -> ClusterSolution:
        """Return the best predictor for a map.

        Balanced work lets a shard at a slow worker visit fewer rows in a turn (`work_shares`). The
        result then depends on measured seconds; the visits are logged in the file work.jsonl
        beside the checkpoints, and a run that replays that log finds the same bits.

        Args:
            mirror: the map, the same in all calls.
            strength: factor of its regulariser, above 0.
            tol: stop when gap <= tol max(1, |primal|) [default: 1e-6].
            max_passes: turns of all shards, or Newton steps, at most [default: 10,000].
            warm: start from the dual variables of the call before [default: False].
            resume: go on from the last checkpoint of this call [default: False].
            balance_work: lower the visits of shards at slow workers; Newton rounds, which narrow
                rows and other maps get, make none [default: False].
            replay_work: a log whose numbers of visits are used [default: none].
            progress: called with each `Round`.
        """
        require_options(tol, max_passes)
        workers, width = self.workers, self.gathered.width
        name = plain("mirror", mirror)
        mirror = mirror.resolved(width)
        if self.opened not in (None, name):
            raise ArgumentError("mirror", "the rows were opened for another map", repr(mirror))
        spec = {**self.spec, "mirror": name, "strength": strength}
        workers.hosts("open", spec | {"warm": warm and self.opened is not None})
        self.opened = name
        problem = SharedProblem(workers, self.loss, mirror, strength, width)
        files = [list(one) for one in self.gathered.files]
        about = {**spec, "files": files, "shards": workers.count, "rows": self.gathered.rows}
        keeper = Checkpoints(Path(self.folder) / f"call-{self.calls}", about, self.every)
        self.calls += 1
        if keeper.complete() and not resume:
            raise ClusterError(
                f"{self.folder}: holds checkpoints of a run: resume it, or give another folder"
            )
        work = chosen_shares(workers.pieces, keeper.folder, balance_work, replay_work, resume)
        return self._durable(problem, keeper, tol, max_passes, resume, progress, work)

    def path(
        self, mirror: Mirror, strengths: Iterable[float], **options: Any
    ) -> Iterator[ClusterSolution]:
        """Yield the solution for every strength in turn, each started from the one before.

        Args:
            mirror: the map, the same for all.
            strengths: factors of its regulariser, each above 0; from the strongest to the weakest
                is usually the cheapest order.
            options: those of `solve`.
        """
        for strength in strengths:
            yield self.solve(mirror, as_positive("strength", strength), warm=True, **options)

    def _durable(
        self,
        problem: SharedProblem,
        keeper: Checkpoints,
        tol: float,
        max_passes: int,
        resume: bool,
        progress: Callable[[Round], None] | None,
        work: WorkShares | None,
    ) -> ClusterSolution:
        """Solve; after a lost worker go back to the last checkpoint, as often as it takes."""
        lost, stuck, reached = 0, 0, -1
        solver: ClusterSolver | None = None
        back = resume
        while True:
            try:
                if solver is None:
                    solver = ClusterSolver(problem, tol, max_passes)
                    solver.keeper, solver.rounds, solver.tell = keeper, [], progress
                    solver.work = work
                if back:
                    keeper.restore(solver)
                    solver.rounds = [one for one in solver.rounds if one.passes <= solver.passes]
                    back = False
                found = solver.run()
                return self._proved(solver, found, lost)
            except WorkerLost:
                lost += self.workers.renew()
                now = solver.passes if solver is not None else -1
                stuck = 0 if now > reached else stuck + 1
                reached = max(now, reached)
                if stuck > MOST_LOSSES:
                    raise ClusterError(
                        f"workers ended {stuck} times at pass {now:,}: they may have too little "
                        "memory; use more workers or more shards"
                    ) from None
                # A worker may also be lost while all go back: then they go back once more.
                back = resume or (solver is not None and bool(keeper.complete()))
                solver = solver if back else None

    def _proved(self, solver: ClusterSolver, found: Solution, lost: int) -> ClusterSolution:
        """Return the solution with the gap that the verification has found."""
        problem = solver.problem
        size = problem.size
        solver.check()
        primal, dual = verified(problem, self.workers, size.rows, size.weight, found.weights)
        kept = replace(found, primal=primal, dual=dual, converged=closed(primal, dual, solver.tol))
        more: dict[str, Any] = {name: getattr(kept, name) for name in kept.__dataclass_fields__}
        sizes, _ = self.workers.add("sizes", join="largest")
        more |= {"sizes": sizes}
        more |= {"gathered": self.gathered, "rounds": tuple(solver.rounds), "lost": lost}
        whole = ClusterSolution(**more, shards=self.workers.count)
        return trusted(whole, self.loss)


def form(
    l2: float | None = None,
    radius: float | None = None,
    mirror: Mirror | None = None,
    strength: float | None = None,
) -> tuple[Mirror, float]:
    """Return the map and its strength; refuse options that do not go together."""
    refuse(
        {
            "l2 is the strength of the Euclidean map: give l2, or mirror and strength":
                l2 is not None and (mirror is not None or strength is not None),
            "radius goes with l2 on a cluster": radius is not None and l2 is None,
            "give l2= or strength=: without any there may be no best one":
                l2 is None and strength is None,
        }
    )  # fmt: skip
    force = as_positive("l2", l2) if l2 is not None else as_positive("strength", strength)
    if radius is not None:
        return Ball(as_positive("radius", radius)), force
    return mirror or Euclidean(), force


def plain(name: str, component: Any) -> dict[str, Any]:
    """Return a loss or map as plain data; refuse one's own, which workers could not import."""
    if not type(component).__module__.startswith("noregret."):
        raise ArgumentError(
            name, "only losses and maps of noregret can be sent to workers", repr(component)
        )
    return component_to_header(component)
