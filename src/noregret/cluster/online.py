"""Online learning over K shards: each learns its own rows, and their learners are mixed.

    every shard k, at the same time:  learn the next N rows, each predicted before it is learnt
    mix:   state <- sum_k (n_k / n) state_k,   n_k = rows learnt by k since the last mixing

The number of shards K is part of the algorithm; the number of workers W is not: results are the
same bits for every W. What is mixed, and which learners cannot be: `noregret.learners.mixing`.

Between two mixings a shard does not know what the others learn. No bound for delayed gradients is
claimed, since states are averaged and gradients are not applied late; a rate counts the rows of one
shard (see `mixing`), so that its steps are as long as those of a learner of that shard alone.

The certificate is about the predictions made. Each shard enters its own in a ledger, with its own
Z_k beside the learner's state, and sum f(u) >= sum_k a_k + <u, sum_k Z_k> for every u. So it holds
for every way to share the rows out and every way to mix; see `noregret.proof.merging`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Vector, as_whole
from noregret.cluster.online_shard import OnlineShard
from noregret.learners.mirror_descent import MirrorDescent
from noregret.learners.mixing import mixable_copy
from noregret.proof.evidence import Evidence
from noregret.proof.ledger import Entry
from noregret.proof.merging import MixedCertificate, merged_error, merged_ledger
from noregret.rates import Constant
from noregret.workers import Threads, Workers, whole


class Line(NamedTuple):
    """The run after a mixing.

    `floor` is for the radius of the run, NaN without one; `seconds` since the run began.
    """

    rows: int
    loss: float
    floor: float
    seconds: float


class OnlineRun:
    """A run of online learning over the shards at some workers.

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Ball(1), nr.rates.Constant(1))
    >>> blocks = [[([[1.0, 0.0]], [1])], [([[0.0, 1.0], [1.0, 1.0]], [-1, 1])]]
    >>> shards = [OnlineShard(k, own, learner) for k, own in enumerate(blocks)]
    >>> run = OnlineRun(Threads(shards), learner, every=1).finish()
    >>> run.rows, run.loss, run.certificate().floor(1) <= run.loss
    (3, 3.0, True)
    """

    def __init__(
        self, workers: Workers, learner: MirrorDescent, every: int, radius: float | None = None
    ) -> None:
        """Begin a run.

        Args:
            workers: they host an `OnlineShard` a shard, made with the same learner.
            learner: a `MirrorDescent` that has learnt nothing; its settings are used.
            every: how many rows a shard learns between two mixings, >= 1.
            radius: of the class whose floor the table has, >= 0 [default: no floors].
        """
        self._workers, self._every = workers, as_whole("every", every)
        self._radius, self._spent = radius, 0.0
        extents = workers.call("extent")
        self._total = sum(rows for rows, _ in extents)
        self._width = learner._fixed or max(1, *(width for _, width in extents))
        self._template = mixable_copy(learner, self._width)
        workers.call("open", self._width)
        self._ledgers: list[Vector] = [self._template._ledger for _ in extents]
        #: The run after each mixing.
        self.table: list[Line] = []
        #: The error of a row that was refused: it ends the run, for its shard would fall behind.
        self._failed: Exception | None = None

    @property
    def shards(self) -> int:
        """The number of shards."""
        return self._workers.count

    @property
    def rows(self) -> int:
        """How many rows were learnt."""
        return int(sum(ledger[Entry.ROUNDS] for ledger in self._ledgers))

    @property
    def loss(self) -> float:
        """The loss of all predictions, each made before its row was learnt."""
        total = merged_ledger(self._ledgers)
        return float(total[Entry.LOSS] + total[Entry.LOSS_LOW])

    @property
    def weights(self) -> Vector:
        """The mixed weights, for the coming round."""
        found: list[Vector] = [one for one in self._workers.call("weights", 0) if one is not None]
        return found[0]

    def step(self) -> bool:
        """Let every shard learn its next rows and mix; return whether rows are left."""
        if self._failed is not None:
            raise RuntimeError(f"the run has ended: {self._failed}; begin again or restore")
        if self.rows == self._total:
            return False
        begin = time.perf_counter()
        before = self.rows
        found = self._workers.call("learn", self._every)
        self._ledgers = [learnt.ledger for learnt in found]
        self._failed = next((one.refused for one in found if one.refused is not None), None)
        if self._failed is not None:
            raise self._failed
        self._mix(self.rows - before)
        floor = float("nan") if self._radius is None else self.certificate().floor(self._radius)
        self._spent += time.perf_counter() - begin
        self.table.append(Line(self.rows, self.loss, floor, self._spent))
        return bool(self.rows < self._total)

    def _mix(self, learnt: int) -> None:
        """Mix the learners by the rows learnt since the last mixing; one learner stays as it is."""
        if self.shards == 1:
            self._workers.call("unmixed")
            return
        mixed, _ = self._workers.add("share", learnt, join="sum_and_largest")
        self._workers.call("take", *mixed)

    def finish(self) -> OnlineRun:
        """Learn all rows that are left."""
        while self.step():
            pass
        return self

    def certificate(self) -> MixedCertificate:
        """Return what the predictions of all shards prove, as a value that does not change."""
        parts = self._template._parts
        gradient, ledgers = self._workers.add("gradient", self._width)
        weights = self.weights
        mirror, _ = parts.resolved(self._width)
        return MixedCertificate(
            loss_function=parts.loss,
            mirror=mirror,
            # The ledgers were kept at rate 1: no theorem about the learner's own rate is stated.
            rate=Constant(1.0),
            ledger=merged_ledger(ledgers),
            gradient=whole(gradient),
            domain=parts.domain,
            played=False,
            reach=Evidence().norm(mirror, weights),
            shards=self.shards,
            every=self._every,
            gradient_slack=merged_error(ledgers, self._width),
        )

    def state(self) -> dict[str, Any]:
        """Return the run as arrays and plain values: `restore` continues it to the bit."""
        if self._failed is not None:
            raise RuntimeError(f"the run has ended and has no state to keep: {self._failed}")
        shards = self._workers.call("arrays", 0)
        learner = shards[0].pop("learner")
        table = [line._asdict() for line in self.table]
        return {"settings": self._settings(), "learner": learner, "shards": shards, "table": table}

    def restore(self, state: dict[str, Any]) -> OnlineRun:
        """Continue from what `state` of a run with the same shards and settings returned."""
        own, given = self._settings(), state["settings"]
        for name in own:
            if given.get(name) != own[name]:
                raise ValueError(
                    f"the checkpoint has {name} {given.get(name)}, and this run {own[name]}"
                )
        self._workers.call("restore", state["learner"], state["shards"])
        self._ledgers = [np.array(shard["ledger"]) for shard in state["shards"]]
        self.table = [Line(**line) for line in state["table"]]
        self._spent = self.table[-1].seconds if self.table else 0.0
        self._failed = None
        return self

    def _settings(self) -> dict[str, Any]:
        made = {name: repr(value) for name, value in self._template._settings().items()}
        return {
            "shards": self.shards, "every": self._every, "rows": self._total, "width": self._width,
            **made,
        }  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<OnlineRun: {self.rows:,} of {self._total:,} rows in {self.shards:,} shards, "
            f"mixed every {self._every:,}>"
        )


def learn(
    shards: Sequence[Iterable[Any]],
    learner: MirrorDescent,
    every: int,
    radius: float | None = None,
    workers: int = 1,
) -> OnlineRun:
    """Learn the rows of all shards with threads of this process; return the finished run.

    Args:
        shards: the blocks of each shard: a `noregret.streams.Block`, (X, y) or (X, y, weight) each.
        learner: a `MirrorDescent` that has learnt nothing; its settings are used.
        every: how many rows a shard learns between two mixings, >= 1.
        radius: of the class whose floor the table has, >= 0 [default: no floors].
        workers: threads; results do not depend on it [default: 1].

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.Constant(1))
    >>> run = learn([[([[2.0, 0.0]], [1])], [([[0.0, 4.0]], [-1])]], learner, every=1)
    >>> run.weights
    array([ 1., -2.])
    """
    if not shards:
        raise ValueError("shards is empty, expected the rows of at least one shard")
    own = [OnlineShard(number, blocks, learner) for number, blocks in enumerate(shards)]
    return OnlineRun(Threads(own, workers), learner, every, radius).finish()
