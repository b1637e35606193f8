"""The engine of `rates.BlockLeader`: rows held back, and a quadratic for earlier blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.learners.unit_free_engines import SizedEngine
from noregret.passes.descent import block_leader
from noregret.passes.descent.block_leader import Column, HeldRows, Memory, Scalar
from noregret.passes.frame import Rule
from noregret.passes.leading import expand_block, lead_block, new_room
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE
from noregret.rates import BlockLeader

#: More features than this are refused: a block takes 8 d (d + rows) bytes.
LARGEST_WIDTH = 2048


class Past(NamedTuple):
    """What earlier blocks say of v = m u, m the units: <slopes, v> + v'matrix v/2 a score."""

    units: Vector
    slopes: Vector
    matrix: Vector

    def within(self, m: Vector) -> Past:
        """Return a copy in other units."""
        ratio = self.units / m
        return Past(m, self.slopes * ratio, self.matrix * ratio * ratio[:, None])

    def within_shape(self, fresh: Past) -> Past:
        """Return it for more or fewer features or scores, which `fresh` has: it knows nothing."""
        for new, old in zip(fresh, self, strict=True):
            both = tuple(slice(min(ends)) for ends in zip(new.shape, old.shape, strict=True))
            new[both] = old[both]
        return fresh


class BlockLeaderEngine(SizedEngine):
    """A learner whose weights are those of the leader of all rows, found anew now and then."""

    widths = (block_leader.BlockLeaderRule.width,) * 2
    size_column = int(Column.SIZE)
    rate: BlockLeader

    def begin(self, dimension: int) -> None:
        """Allocate the state of a learner that has seen nothing."""
        self.require_narrow(dimension)
        super().begin(dimension)
        self.held, self.past = new_block(self.rate, dimension), _no_past(dimension)

    def new_slots(self) -> Vector:
        """Return the scalars of a pass that has seen nothing."""
        slots = np.zeros(len(Scalar))
        slots[Scalar.DUE] = self.rate.next_leader(0.0)
        return slots

    def require_narrow(self, dimension: int) -> None:
        """Refuse more features than pairs of them can be kept of."""
        if dimension > LARGEST_WIDTH:
            raise ValueError(
                f"BlockLeader keeps a matrix of all pairs of features, at most {LARGEST_WIDTH} of "
                f"them, and there are {dimension}: use ScaleFree() or CoinBetting(), or hash the "
                "features into fewer columns"
            )

    @property
    def size(self) -> int:
        """About how many numbers `arrays` has."""
        held = int(self.slots[Scalar.HELD]) * self.dimension
        return self.state.size + self.past.matrix.size + held

    def grow(self, dimension: int) -> None:
        """Make room for more features, with capacity to spare, or drop unused ones."""
        self.require_narrow(dimension)
        super().grow(dimension)
        self.held = self.held.widened(dimension, int(self.slots[Scalar.HELD]))
        self.past = self.past.within_shape(_no_past(dimension))

    def own_records(self) -> bool:
        """Return False: a new leader has other weights for all features."""
        return False

    def replaced(self) -> dict[str, Any]:
        """Return the attributes that a round may replace."""
        return {"held": self.held, "past": self.past}

    def rule(self) -> Rule:
        """Return the rule of the rate."""
        return block_leader.BlockLeaderRule(self.loss, self.mirror)

    def memory(self) -> Memory:
        """Return the arrays that the rule keeps from row to row."""
        return Memory(self.state, self.slots, self.held)

    def answer(self, stop: Stop) -> None:
        """Find the leader of all rows so far, and end the block if it is full."""
        if stop != Stop.LEAD:
            super().answer(stop)
            return
        self.lead(self.slots.item(Scalar.HELD) >= self.rate.block)
        seen = self.slots.item(Scalar.SEEN)
        if seen >= self.slots[Scalar.DUE]:
            self.slots[Scalar.DUE] = self.rate.next_leader(seen)

    def close(self) -> None:
        """End the block: no row is held back."""
        if self.slots[Scalar.HELD] > 0.0:
            self.lead(True)

    def lead(self, ending: bool) -> None:
        """Find the leader of all rows so far; expand the block about it if it ends."""
        m = self.units(self.state)
        given, past = self.held.within(m, int(self.slots[Scalar.HELD])), self.past.within(m)
        v = m * self.state[:, Column.WEIGHT]
        room = new_room(len(given.y), len(m))
        lead_block(self.loss, given, past.slopes, past.matrix, self.rate.prior, v, room)
        self.state[:, Column.WEIGHT] = v / m
        if ending:
            expand_block(self.loss, given, v, past.slopes, past.matrix, room)
            self.start_block(past)

    def units(self, records: Vector) -> Vector:
        """Return m, which is 1 for a feature that was not seen."""
        sizes = records[:, Column.SIZE]
        return np.where(sizes > 0.0, np.maximum(sizes, SMALLEST_SIZE), 1.0)

    def start_block(self, past: Past) -> None:
        """Begin the next block, after these."""
        # New arrays: a mark goes back to the rows that were held.
        self.past, self.held = past, new_block(self.rate, self.dimension)
        self.slots[Scalar.HELD] = 0.0
        # A `OneRow` bound to the old ones then binds itself again.
        self.state = self.state[:]

    def weights(self, ledger: Vector | None = None) -> Vector:
        """Return the weights of the last leader."""
        return self.state[:, Column.WEIGHT].copy()

    def arrays(self) -> dict[str, Vector]:
        """Return the arrays that a model file keeps, the rows held back among them."""
        return super().arrays() | self.kept_rows()

    def kept_rows(self) -> dict[str, Vector]:
        """Return the rows held back, and what earlier blocks say."""
        count = int(self.slots[Scalar.HELD])
        held = {f"held_{name}": array[:count] for name, array in self.held._asdict().items()}
        return held | self.past._asdict()

    def restore(self, arrays: dict[str, Vector]) -> None:
        """Restore the arrays of a model file, or refuse those of another shape or range."""
        count, seen, due = arrays["slots"][: len(Scalar)].tolist()
        whole = count % 1 == 0 == seen % 1 and due % 1 == 0
        if not (whole and 0 <= count < self.rate.block and count <= seen < due):
            raise ValueError("slots do not count rows held back, expected those of one learner")
        self.slots[Scalar.HELD] = count
        for name in ("held_rows", "held_y", "held_weight", *Past._fields):
            if not np.all(np.isfinite(arrays[name])):
                raise ValueError(f"{name} holds numbers that are not finite")
        if not np.all(arrays["units"] > 0.0) or arrays["held_weight"].min(initial=1.0) <= 0.0:
            raise ValueError("units and held_weight must be above 0")
        super().restore(arrays)


def new_block(rate: BlockLeader, dimension: int) -> HeldRows:
    """Return room for the rows of a block; untouched pages take no memory."""
    count = int(rate.block)
    return HeldRows(np.empty((count, dimension)), np.empty(count), np.empty(count))


def _no_past(dimension: int) -> Past:
    """Return what is known before the first block."""
    return Past(np.ones(dimension), np.zeros(dimension), np.zeros((dimension, dimension)))
