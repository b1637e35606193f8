"""One shard of online learning: its rows, its learner, and the ledger of its predictions.

A shard lives where its rows are. `noregret.cluster.online` calls its methods by name, through
`noregret.workers.Workers`, and mixes the learners of all shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.learners.base import Diverged
from noregret.learners.foreign import Certifier
from noregret.learners.mirror_descent import MirrorDescent
from noregret.learners.mixing import mixable_copy, require_mixable, shared, take_mixed
from noregret.proof.ledger import Entry
from noregret.rows.examples import Rows, as_labels, as_rows, as_weights
from noregret.workers import packed, whole


class Part(NamedTuple):
    """Rows with their labels and weights."""

    rows: Rows
    y: Vector
    weight: Vector


def as_part(block: Any, learner: MirrorDescent) -> Part:
    """Return a block of rows as arrays: a `noregret.streams.Block`, (X, y) or (X, y, weight)."""
    if hasattr(block, "indptr") and hasattr(block, "y"):
        X, y, weight = block, block.y, block.weight
    else:
        X, y, weight = (*block, None) if len(block) == 2 else block
    rows = as_rows(X)
    return Part(rows, as_labels(y, len(rows), learner.loss), as_weights(weight, len(rows)))


class Learnt(NamedTuple):
    """The ledger of all predictions of a shard so far, and the error of a row that was refused."""

    ledger: Vector
    refused: Exception | None


class OnlineShard:
    """The rows of one shard, in their order, and the learner that learns them.

    Args:
        number: which shard it is, from 0.
        blocks: the rows, each a `noregret.streams.Block`, (X, y) or (X, y, weight).
        learner: a `MirrorDescent` that has learnt nothing; its settings are copied.

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.Constant(1))
    >>> shard = OnlineShard(0, [([[1.0], [2.0]], [1, -1]), ([[3.0]], [1])], learner)
    >>> shard.open(shard.extent()[1])
    >>> int(shard.learn(2).ledger[Entry.ROUNDS])
    2
    """

    def __init__(self, number: int, blocks: Iterable[Any], learner: MirrorDescent) -> None:
        require_mixable(learner)
        self._number, self._template = number, learner
        self._parts = [as_part(block, learner) for block in blocks]

    def open(self, width: int) -> None:
        """Begin with a learner that knows `width` features, those of all shards together."""
        self._learner = mixable_copy(self._template, width)
        parts = self._learner._parts
        self._certifier = Certifier(parts.loss, parts.played_mirror())
        #: Rows learnt, and those of them since the last mixing.
        self._position = self._since = 0

    def extent(self) -> tuple[int, int]:
        """Return the number of rows and of their columns."""
        widths = [part.rows.width for part in self._parts]
        return sum(len(part.y) for part in self._parts), max(widths, default=0)

    def learn(self, most: int) -> Learnt:
        """Learn the next rows, at most that many.

        An error is returned, not raised, so that the other shards of a worker learn their rows
        whatever the number of workers. If the learner diverges, the rows before are kept; a block
        with a row that is refused is not learnt at all.
        """
        refused: Exception | None = None
        for part, start in self._next(most):
            try:
                made = self._learner.learn(part.rows.plain(), part.y, part.weight)
            except Diverged as error:
                made = error.predictions
                where = f"shard {self._number}, row {start + len(made)}"
                refused = OverflowError(f"{where}: {error}")
            except ValueError as error:
                refused = ValueError(f"shard {self._number}, rows from {start}: {error}")
                break
            self._enter(part, made)
            if refused is not None:
                break
        return Learnt(self._certifier.arrays()["ledger"], refused)

    def _next(self, most: int) -> Iterator[tuple[Part, int]]:
        """Yield the next rows, cut at the ends of blocks, and the number of their first row."""
        begin, end = self._position, self._position + most
        first = 0
        for rows, y, weight in self._parts:
            low, high = max(begin - first, 0), min(end - first, len(y))
            if low < high:
                cut = slice(low, high)
                yield Part(rows.part(low, high), y[cut], weight[cut]), first + low
            first += len(y)

    def _enter(self, part: Part, predictions: Vector) -> None:
        """Certify the predictions of the first rows of a part."""
        count = len(predictions)
        rows, y, weight = part.rows.part(0, count), part.y[:count], part.weight[:count]
        if count:
            self._certifier.add(rows.plain(), y, predictions, weight)
        self._position += count
        self._since += count

    def share(self, total: int) -> tuple[Any, int]:
        """Return what the learner gives to the mixing, and how many rows it has learnt for it.

        total: the rows that all shards have learnt since the last mixing.
        """
        averaged, largest = shared(self._learner, self._since / total)
        return (packed(averaged), largest), self._since

    def take(self, averaged: Any, largest: Vector) -> None:
        """Continue from the mixed state."""
        take_mixed(self._learner, whole(averaged), largest)
        self._since = 0

    def unmixed(self) -> None:
        """Count the rows for the next mixing from here on: with one shard nothing is mixed."""
        self._since = 0

    def gradient(self, width: int) -> tuple[Any, Vector]:
        """Return the Z of the shard's predictions, and their ledger."""
        arrays = self._certifier.arrays()
        gradient = arrays["gradient"]
        return packed(np.pad(gradient, (0, width - len(gradient)))), arrays["ledger"]

    def weights(self, number: int) -> Vector | None:
        """Return the weights of the coming round if it is that shard, else None."""
        return self._learner.weights if number == self._number else None

    def arrays(self, number: int) -> dict[str, Any]:
        """Return ledger, Z and position; of that shard the learner's state, too."""
        kept: dict[str, Any] = {**self._certifier.arrays(), "position": self._position}
        if number == self._number:
            kept["learner"] = self._learner._arrays()
        return kept

    def restore(self, learner: dict[str, Vector], shards: list[dict[str, Any]]) -> None:
        """Continue from the states of the learner and of the shards, of which it takes its own."""
        own = shards[self._number]
        if own["ledger"][Entry.ROUNDS] != own["position"] or own["position"] > self.extent()[0]:
            raise ValueError(
                f"shard {self._number}: the checkpoint has learnt {own['position']} rows, and "
                f"there are {self.extent()[0]}: give the rows that it was made with"
            )
        self._certifier.restore(own)
        self._learner._restore(learner)
        self._position, self._since = own["position"], 0
