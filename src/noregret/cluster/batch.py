"""`hindsight` on a cluster: the best fixed predictor of files that no single process holds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from noregret.arguments import ArgumentError, refuse
from noregret.arrays import as_count, as_positive
from noregret.batch.form import Form, form
from noregret.batch.problem import Solution, closed
from noregret.batch.shared import SharedProblem, SharedSolver
from noregret.batch.sharing import solver_of
from noregret.batch.solver import require_options, trusted
from noregret.batch.verifying import verified
from noregret.batch.work_shares import chosen_shares
from noregret.cluster.batch_host import BatchHost
from noregret.cluster.checkpoints import Checkpoints
from noregret.cluster.errors import ClusterError, WorkerLost
from noregret.cluster.gathering import Gathered
from noregret.cluster.hosting import hosted
from noregret.cluster.ray_workers import LOCAL, MOST_LOSSES
from noregret.cluster.solution import (
    ClusterSolution,
    Recorder,
    Round,
    against_rest,
    as_fields,
)
from noregret.files.store import component_to_header
from noregret.losses import OneAgainstRest, ScoreLoss
from noregret.mirrors import Mirror
from noregret.streams.reading import Reading

#: Passes after which a run stops without convergence.
MAX_PASSES = 10_000


def hindsight(
    inputs: Any,
    loss: Any,
    *,
    l2: float | None = None,
    radius: float | None = None,
    mirror: Mirror | None = None,
    strength: float | None = None,
    bias: bool = False,
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

    Minimises sum_i c_i f(y_i, <w, x_i>) over the ball ||w||_2 <= radius, or plus (l2/2) ||w||^2,
    inside the ball if both are given, or plus strength * F(w), F the regulariser of a mirror map.
    Rows are dealt to logical shards, which workers read; the result depends on the files, the
    number of shards and the seed, never on the number of workers, nor on workers that were lost on
    the way.

    Args:
        inputs: paths, patterns or addresses of files that every worker can read.
        loss: one of `nr.losses`, which travels by its name: of one score, or `OneAgainstRest` of
            such a loss, whose weights have a column a class.
        l2: factor of half the squared norm, above 0.
        radius: of the ball, above 0; of every column with several classes.
        mirror: a map, with `strength`.
        strength: factor of the map's regulariser, above 0.
        bias: whether a constant that nothing regularises is added to every prediction, with l2 or
            strength and one score [default: False].
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
    objective = form(l2, radius, mirror, strength, bias)
    require_one_score(loss, bias)
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
    require_one_score(loss)
    name = plain("loss", one_score(loss))
    every = as_count("every", every)
    rule: Any = {"sign": "binary", "class": "classes"}.get(loss.labels, "real")
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
    #: Where the end of the last call is kept.
    last: Path | None = None

    def solve(
        self,
        mirror: Mirror,
        strength: float,
        radius: float | None = None,
        bias: bool = False,
        *,
        tol: float = 1e-6,
        max_passes: int = MAX_PASSES,
        warm: bool = False,
        resume: bool = False,
        balance_work: bool = False,
        replay_work: str | None = None,
        progress: Callable[[Round], None] | None = None,
    ) -> ClusterSolution:
        """Return the best predictor for a map, or in a ball; `form` makes the first four of words.

        Balanced work lets a shard at a slow worker visit fewer rows in a turn (`work_shares`). The
        result then depends on measured seconds; the visits are logged in the file work.jsonl
        beside the checkpoints, and a run that replays that log finds the same bits.

        Args:
            mirror: the map, the same in all calls.
            strength: factor of its regulariser, above 0; 0 with a radius.
            radius: of the ball that takes the place of the regulariser [default: none].
            bias: whether a bias that is not regularised is added [default: False].
            tol: stop when gap <= tol max(1, |primal|) [default: 1e-6].
            max_passes: turns of all shards, or Newton steps, at most; of each class where there
                are several [default: 10,000].
            warm: start from the dual variables of the call before, with one score [default: False].
            resume: go on from the last checkpoint of this call [default: False].
            balance_work: lower the visits of shards at slow workers; Newton rounds, which narrow
                rows and other maps get, make none [default: False].
            replay_work: a log whose numbers of visits are used, with one score [default: none].
            progress: called with each `Round`.
        """
        require_options(tol, max_passes)
        require_one_score(self.loss, bias)
        what = Form(mirror, strength, radius, bias)
        work = balance_work, replay_work
        if not isinstance(self.loss, OneAgainstRest):
            problem, keeper, again, _ = self._opened(what, None, warm)
            return self._durable(problem, keeper, again, tol, max_passes, resume, progress, work)
        if warm:
            raise ArgumentError("warm", "dual variables of several classes are not kept", warm)
        if replay_work is not None:
            reason = "each class has a log of its own, and one log is given"
            raise ArgumentError("replay_work", reason, replay_work)
        parts: list[ClusterSolution] = []
        outputs = 2
        while len(parts) < outputs:
            problem, keeper, again, classes = self._opened(what, len(parts), False)
            outputs = max(classes, outputs)
            # Gaps add up. A driver that starts again may not have come to all classes.
            go_on = resume and (not parts or bool(keeper.complete()))
            share = tol / outputs
            parts.append(
                self._durable(problem, keeper, again, share, max_passes, go_on, progress, work)
            )
        return against_rest(parts, tol)

    def _opened(
        self, what: Form, target: int | None, warm: bool
    ) -> tuple[SharedProblem, Checkpoints, Callable[[], None], int]:
        """Return the problem of all shards, its checkpoints and the number of classes.

        Before the last comes what brings all shards back to its start after workers were lost.

        target: the class that is +1 where the others are -1, None for a loss of one score.
        """
        workers, width = self.workers, self.gathered.width
        name = plain("mirror", what.mirror)
        mirror = what.mirror.resolved(width)
        if self.opened not in (None, name):
            raise ArgumentError("mirror", "the rows were opened for another map", repr(mirror))
        spec = {
            **self.spec, "mirror": name, "strength": what.strength, "radius": what.radius,
            "target": target,
        }  # fmt: skip
        spec_now = spec | {"warm": warm and self.last is not None}
        before = self.last if spec_now["warm"] else None
        found = workers.hosts("open", spec_now)
        self.opened = name

        def again() -> None:
            # A new worker has not seen the calls before.
            if before is not None:
                workers.call("load", str(before))
            workers.hosts("open", spec_now)

        loss = one_score(self.loss)
        problem = SharedProblem(workers, loss, mirror, what.strength, width, what.radius, what.bias)
        files = [list(one) for one in self.gathered.files]
        about = {
            **spec, "bias": what.bias, "files": files, "shards": workers.count,
            "rows": self.gathered.rows,
        }  # fmt: skip
        keeper = Checkpoints(Path(self.folder) / f"call-{self.calls}", about, self.every)
        self.calls += 1
        return problem, keeper, again, max((count for one in found for count in one), default=0)

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
        again: Callable[[], None],
        tol: float,
        max_passes: int,
        resume: bool,
        progress: Callable[[Round], None] | None,
        work: tuple[bool, str | None],
    ) -> ClusterSolution:
        """Solve; after a lost worker go back to the last checkpoint, as often as it takes."""
        if keeper.complete() and not resume:
            raise ClusterError(
                f"{self.folder}: holds checkpoints of a run: resume it, or give another folder"
            )
        lost, stuck, reached = 0, 0, -1
        recorder = Recorder(keeper, progress)
        shares = chosen_shares(self.workers.pieces, keeper.folder, *work, resume)
        solver: SharedSolver | None = None
        back, begun = resume, True
        while True:
            try:
                if not begun:
                    again()
                    begun = True
                if solver is None:
                    recorder.rounds = []
                    kind = solver_of(problem)
                    solver = kind(problem, tol, max_passes, watch=recorder)
                    solver.work = shares
                if back:
                    recorder.back(solver)
                    back = False
                proved = self._proved(solver, solver.run(), recorder, lost)
                self.last = keeper.save_end(solver)
                return proved
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
                begun = back
                solver = solver if back else None

    def _proved(
        self, solver: SharedSolver, found: Solution, recorder: Recorder, lost: int
    ) -> ClusterSolution:
        """Return the solution with the gap that the verification has found."""
        problem, size = solver.problem, solver.problem.size
        solver.check()
        bias = found.bias if problem.free else None
        primal, dual = verified(problem, self.workers, size.rows, size.weight, found.weights, bias)
        kept = replace(found, primal=primal, dual=dual, converged=closed(primal, dual, solver.tol))
        sizes, _ = self.workers.add("sizes", join="largest")
        whole = ClusterSolution(
            **as_fields(kept), gathered=self.gathered, rounds=tuple(recorder.rounds), sizes=sizes,
            lost=lost, shards=self.workers.count,
        )  # fmt: skip
        return trusted(whole, problem.loss)


def one_score(loss: Any) -> Any:
    """Return the loss of one score that shards solve for: that of each class against the rest."""
    return loss.loss if type(loss) is OneAgainstRest else loss


def require_one_score(loss: Any, bias: bool = False) -> None:
    """Refuse losses that join several scores, and a bias with several classes."""
    several = isinstance(loss, ScoreLoss)
    name = type(loss).__name__
    refuse(
        {
            f"{name} joins several scores, which one process alone solves: use OneAgainstRest, or "
            "nr.hindsight": several and type(loss) is not OneAgainstRest,
            f"{name} takes no bias: add a column of 1": several and bias,
        }
    )


def plain(name: str, component: Any) -> dict[str, Any]:
    """Return a loss or map as plain data; refuse one's own, which workers could not import."""
    if not type(component).__module__.startswith("noregret."):
        raise ArgumentError(
            name, "only losses and maps of noregret can be sent to workers", repr(component)
        )
    return component_to_header(component)
