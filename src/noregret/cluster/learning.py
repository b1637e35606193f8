"""Online learning on a cluster: each shard learns its stream where it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from noregret.arguments import ArgumentError
from noregret.arrays import Vector, as_count
from noregret.cluster.errors import ClusterError, WorkerLost
from noregret.cluster.gathering import Gathered
from noregret.cluster.hosting import hosted
from noregret.cluster.online import Line, OnlineRun
from noregret.cluster.online_shard import OnlineShard
from noregret.cluster.ray_workers import LOCAL, MOST_LOSSES
from noregret.cluster.reading import Reader
from noregret.learners.mixing import require_mixable
from noregret.proof.merging import MixedCertificate
from noregret.streams.reading import Reading
from noregret.vocabulary.learners import Spec

#: Mixings after which the state of all shards is kept at the driver.
KEPT_EVERY = 10


class OnlineHost(Reader):
    """Shards of online learning: read by `scan` and `settle`, then given learners by `open`."""

    def open(self, spec: Mapping[str, Any]) -> list[int]:
        """Give every shard its learner; return the numbers of rows.

        Args:
            spec: `learner`, the fields of `nr.spec`'s learner in words.
        """
        blocks = list(self.shards)
        for k, block in enumerate(blocks):
            learner = Spec(**spec["learner"]).make()
            self.shards[k] = OnlineShard(self.first + k, [block], learner)  # type: ignore[arg-type]
        return [len(block) for block in blocks]


@dataclass(frozen=True, eq=False)
class Learnt:
    """What online learning over shards has come to."""

    certificate: MixedCertificate
    weights: Vector = field(repr=False)
    table: tuple[Line, ...] = field(repr=False)
    gathered: Gathered = field(repr=False)
    #: Workers that were lost and set up again.
    lost: int = 0


def learn(
    inputs: Any,
    learner: Spec,
    *,
    every: int = 1000,
    radius: float | None = None,
    shards: int = 8,
    workers: int = 2,
    address: str = LOCAL,
    timeout: float = 600.0,
    progress: Callable[[Line], None] | None = None,
    reading: Reading | None = None,
) -> Learnt:
    """Let K shards learn the rows of some files online; mix their learners every `every` rows.

    The certificate is about the predictions that were made, and holds for every way to share the
    rows out; see `noregret.cluster.online`. The result does not depend on the number of workers,
    nor on workers that were lost.

    Args:
        inputs: paths, patterns or addresses of files that every worker can read.
        learner: in words, see `noregret.cluster.online` for those that can be mixed.
        every: rows that a shard learns between two mixings, at least 1 [default: 1000].
        radius: of the class whose floor the table has [default: no floors].
        shards: K, at least 1 [default: 8].
        workers: processes, at least 1 and at most one a shard [default: 2].
        address: of a Ray cluster, or "local" to start one on this machine [default: "local"].
        timeout: seconds within which every worker has to answer [default: 600].
        progress: called with each `Line`.
        reading: how files are read [default: labels as the loss needs them].
    """
    made = learner.make()
    try:
        require_mixable(made)
    except ValueError as error:
        raise ArgumentError("rate", str(error), learner.rate) from None
    every = as_count("every", every)
    rule: Any = {"sign": "binary"}.get(made.loss.labels, "real")
    whole = Reading(labels=rule) if reading is None else reading
    with hosted(OnlineHost, inputs, whole, shards, workers, address, timeout) as (hosts, found):
        hosts.hosts("open", {"learner": vars(learner)})
        run: OnlineRun | None = None
        state: dict[str, Any] | None = None
        lost = losses = 0
        while True:
            try:
                if lost and run is not None and state is not None:
                    hosts.call("open", found.width)
                    run.restore(state)
                run = run or OnlineRun(hosts, made, every, radius)  # type: ignore[arg-type]
                while run.step():
                    losses = 0
                    if progress is not None:
                        progress(run.table[-1])
                    if len(run.table) % KEPT_EVERY == 0:
                        state = run.state()
                if progress is not None:
                    progress(run.table[-1])
                return Learnt(run.certificate(), run.weights, tuple(run.table), found, lost)
            except WorkerLost:
                lost, losses = lost + hosts.renew(), losses + 1
                if losses > MOST_LOSSES:
                    raise ClusterError(
                        f"workers ended {losses} times in a row: they may have too little memory; "
                        "use more workers or more shards"
                    ) from None
                if state is None:
                    run = None
