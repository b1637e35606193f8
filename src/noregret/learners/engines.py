"""The engines of lazy mirror descent.

An engine owns the arrays of one pass: `state`, a record of float64 columns a feature, and
`slots`, the pass's scalars. It runs the pass over rows, serves the requests of the pass between
rows (recompute sums, lower the rate, settle averages) and reads out weights, Z and averages.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from noregret.arrays import Vector, aligned
from noregret.domains import Domain, Everywhere
from noregret.jit import Call, entry
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes import sync
from noregret.passes.descent import linear, mapped
from noregret.passes.frame import Labels, Memory, Rule, WorkMemory, block, play
from noregret.passes.rows import WORK
from noregret.passes.slots import Slot, Stop, new_slots
from noregret.passes.switches import Averages, Dropped, Kept, distance
from noregret.proof.evidence import Evidence
from noregret.proof.ledger import Entry
from noregret.rates import Rate
from noregret.rates.base import UNBOUNDED
from noregret.rounding import rounding_error
from noregret.rows.examples import Rows

#: A rate inside phi falls in steps of this ratio, so that S is rebuilt rarely.
STEPS_PER_OCTAVE = 8


def room_for(dimension: int) -> int:
    """Return the records to allocate: a power of two; untouched pages take no memory."""
    return 1 << (dimension - 1).bit_length() if dimension else 0


class Engine:
    """Base of all engines: storage, growth and the loop around a pass.

    A subclass names its columns, returns its rule (`rule`), bundles the arrays of the pass if they
    are more than `state` and `slots` (`memory`), and reads its state (`weights` or `kappa`,
    `gradient`). `begin` allocates the arrays.
    """

    #: Columns of a record without an average, and with one.
    widths: tuple[int, int]
    #: Column of the stored values v_i, and of the average's accumulator.
    value_column: int
    accumulator_column: int
    #: Whether a weight depends on the record of its own feature and on scalars only.
    by_record = True
    #: Shape of a prediction: a number, or as many as there are scores.
    prediction_shape: tuple[int, ...] = ()
    #: Shape of the rule's scratch array, which no file keeps.
    work_shape: tuple[int, ...] = (0,)
    #: Whether the average is always kept or never; None where the learner chooses.
    always_averages: bool | None = None

    def __init__(
        self,
        loss: Loss,
        mirror: Mirror,
        rate: Rate,
        averaging: bool = False,
        conservative: bool = False,
        domain: Domain | None = None,
        clip: float = math.inf,
        implicit: bool = False,
    ) -> None:
        self.loss = loss
        self.mirror = mirror
        self.rate = rate
        if self.always_averages is not None:
            averaging = self.always_averages
        self.averages: Averages = Kept() if averaging else Dropped()
        self.conservative = conservative
        self.domain = Everywhere() if domain is None else domain
        self.clip = clip
        self.implicit = implicit
        self.columns = self.averages.columns(*self.widths)

    def begin(self, dimension: int) -> None:
        """Allocate the state of a learner that has seen nothing."""
        self._storage = aligned(room_for(dimension), self.columns)
        self.state = self._storage[:dimension]
        self.slots = self.new_slots()
        self.work = np.zeros(self.work_shape)
        self._rule: Rule | None = None

    def new_slots(self) -> Vector:
        """Return the scalars of a pass that has seen nothing."""
        return new_slots()

    @property
    def dimension(self) -> int:
        """Number of known features."""
        return len(self.state)

    @property
    def size(self) -> int:
        """About how many numbers `arrays` has."""
        return self.state.size

    def grow(self, dimension: int) -> None:
        """Make room for more features, with capacity to spare, or drop unused ones.

        Only for maps where an unseen feature has weight 0 and phi(0) = 0: its record is then all
        zeros and no sum changes.
        """
        if len(self._storage) < dimension:
            self._storage = aligned(room_for(dimension), self.columns)
            self._storage[: len(self.state)] = self.state
        self.state = self._storage[:dimension]
        self._rule = None

    def rule(self) -> Rule:
        """Return the pass as a rule for the frame."""
        raise NotImplementedError

    def memory(self) -> Any:
        """Return the arrays that the rule keeps from row to row."""
        if self.work.size:
            return WorkMemory(self.state, self.slots, self.work)
        return Memory(self.state, self.slots)

    def run(
        self, rows: Rows, y: Vector, weight: Vector, ledger: Vector, predictions: Vector
    ) -> tuple[int, Stop]:
        """Play the rows; return the number played, and OVERFLOW or UNSOUND if one was refused."""
        row, stop, code = 0, Stop.DONE, None
        while row < len(y):
            kernel, arguments = call = self.call(rows, y, weight, row, ledger, predictions)
            # Argument types do not change: after a stop, call the machine code without dispatch.
            code = entry(call) if row and code is None else code
            go_on = partial(kernel if code is None else code, *arguments)
            row, stop = self.play_at_lower_rate(row, go_on) if stop == Stop.RATE else go_on()
            if stop in (Stop.OVERFLOW, Stop.UNSOUND):
                return row, Stop(stop)
            if stop not in (Stop.DONE, Stop.RATE):
                self.answer(Stop(stop))
        return row, Stop.DONE

    def play_at_lower_rate(self, row: int, again: Callable[[], Any]) -> tuple[int, Stop]:
        """Lower the rate inside phi for the coming row and play on; undo it if the row is refused.

        The new rate depends on that row, and a refused row must leave the state as it was.
        """
        raise AssertionError(f"{type(self).__name__} has no rate inside phi")

    def call(
        self, rows: Rows, y: Vector, weight: Vector, row: int, ledger: Vector, predictions: Vector
    ) -> Call:
        """Return the pass and its arguments, to play from `row` on."""
        if self._rule is None:
            self._rule = self.rule()
        return play, (
            self._rule, block(rows), Labels(y, weight), row, self.memory(), ledger, predictions,
        )  # fmt: skip

    def answer(self, stop: Stop) -> None:
        """Serve a request of the pass between rows."""
        if stop == Stop.SETTLE:
            self.settle()
        elif stop == Stop.RESUM:
            self.resum()
        else:
            raise AssertionError(f"{type(self).__name__} cannot answer {stop!r}")

    def settle(self) -> None:
        """Fold PREFIX * v into the accumulators, if there are any: v may then change everywhere."""
        if not self.averages.kept:
            return
        prefix = self.slots[Slot.PREFIX]
        self.state[:, self.accumulator_column] -= prefix * self.state[:, self.value_column]
        # One by one: an array of places takes three times as long.
        self.slots[Slot.PREFIX] = self.slots[Slot.BASE] = 0.0

    def resum(self) -> None:
        """Recompute S."""
        raise NotImplementedError

    def _keep(self, total: float) -> None:
        self.slots[Slot.SUM] = self.slots[Slot.PEAK] = total
        self.slots[Slot.UPDATES] = 0.0
        self.slots[Slot.SUM_ERROR] = rounding_error(16.0, abs(total))

    def rebuild(self, inner: float) -> None:
        """Choose a new reference and recompute v and S, at that rate inside phi."""
        reference = self.mirror.reference(*map(float, sync.extremes(self.state, inner)))
        self.slots[Slot.REFERENCE] = reference
        self._keep(float(sync.rebuild(self.mirror, self.state, inner, reference)))

    def kappa(self, ledger: Vector) -> float:
        """Return the common factor of the weights for the coming round."""
        slot = self.slots.item
        factor = self.mirror.kappa(slot(Slot.SUM), slot(Slot.REFERENCE), self.inner(ledger))
        return slot(Slot.FACTOR) * factor

    def weights(self, ledger: Vector) -> Vector:
        """Return the weights for the coming round."""
        weights = np.empty(len(self.state))
        threshold = self.mirror.threshold(ledger[Entry.ROUNDS])
        sync.read_out(
            self.mirror, self.state, self.value_column, self.kappa(ledger), threshold, weights
        )
        return weights

    def matrix(self, flat: Vector) -> Vector:
        """Return a number a record in the shape of the weights."""
        return flat

    def gradient(self) -> Vector:
        """Return Z, the sum of the gradients counted since `begin`."""
        return -self.state[:, 0]

    def sum_of_iterates(self) -> Vector:
        """Return the sum of the weights played since `begin`."""
        values = self.state[:, self.value_column]
        return np.asarray(self.slots[Slot.PREFIX] * values - self.state[:, self.accumulator_column])

    def evidence(self) -> Evidence:
        """Return what certificates need of this state beside the ledger and Z."""
        return Evidence()

    def evidence_of(self, gradient: Vector) -> Evidence:
        """Return the same for lines that do not touch at the predictions, with that Z."""
        return self.evidence()

    @property
    def offset(self) -> float:
        """What is added to <w, x>."""
        return 0.0

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest prediction that can be made."""
        return -math.inf, math.inf

    def finish(self, raw: Any) -> Any:
        """Return the predictions for <w, x>, one or many: an offset or a clip may follow."""
        return raw

    def sizes(self) -> Vector | None:
        """Return the largest |x_i| seen of each feature, None if the class does not use them."""
        return None

    def prediction(self) -> Call | None:
        """Return the kernel that predicts a row, if any, and its arguments before that row."""
        return None

    def predictions(self, rows: Rows) -> Vector | None:
        """Return the predictions for rows, None if `finish` makes them of <w, x>."""

    def arrays(self) -> dict[str, Vector]:
        """Return the arrays that a model file keeps."""
        return {"state": self.state, "slots": self.slots}

    def own_records(self) -> bool:
        """Tell whether a round writes no records but those of its own features."""
        return False

    def written(self) -> tuple[Vector, ...]:
        """Return the arrays that a round writes in place beside `state`, () if there are others."""
        return ()

    def replaced(self) -> dict[str, Any]:
        """Return the attributes that a round may replace, where it does not write in them."""
        return {}

    def close(self) -> None:
        """Hold back no row any longer, if the rate does."""

    def restore(self, arrays: dict[str, Vector]) -> None:
        """Restore the arrays of a model file, or refuse those of another shape."""
        for name, kept in self.arrays().items():
            if arrays[name].shape != kept.shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}, expected {kept.shape}")
            kept[...] = arrays[name]

    def inner(self, ledger: Vector) -> float:
        """Return the rate of the coming round at which the map's kappa is taken."""
        allowed = ledger.item(Entry.LARGEST_REACH)
        largest = max(ledger.item(Entry.LARGEST_SQUARE), allowed * allowed)
        eta = self.rate.at(ledger.item(Entry.ROUNDS), ledger.item(Entry.SQUARES), largest)
        return eta if eta < UNBOUNDED else 0.0


class LinearEngine(Engine):
    """Lazy descent for the maps whose stored value is theta itself."""

    kind: Callable[..., Rule] = linear.LinearRule
    widths = linear.WIDTHS
    value_column = int(linear.Column.THETA)
    accumulator_column = int(linear.Column.ACCUMULATOR)

    def rule(self) -> Rule:
        """Return the linear rule."""
        return self.kind(
            self.loss, self.mirror, self.rate, self.averages, distance(len(self.state)),
            self.mirror.plain_rows(), self.conservative,
        )  # fmt: skip

    def own_records(self) -> bool:
        """Return True without an average, which is settled for all features at once."""
        return not self.averages.kept

    def written(self) -> tuple[Vector, ...]:
        """Return the scalars."""
        return (self.slots,)

    def resum(self) -> None:
        """Recompute ||theta||^2 / 2."""
        self._keep(float(sync.half_square(self.state)))


class MappedEngine(Engine):
    """Lazy descent for every other map, with v = phi'(a) kept beside theta."""

    kind: Callable[..., Rule] = mapped.MappedRule
    widths = mapped.WIDTHS
    value_column = int(mapped.Column.VALUE)
    accumulator_column = int(mapped.Column.ACCUMULATOR)
    work_shape = WORK

    def begin(self, dimension: int) -> None:
        """Start at theta = 0 with the rate as high as it will ever be."""
        super().begin(dimension)
        # Otherwise the coming row may lower the rate inside phi, which changes all records.
        self.by_record = self.mirror.homogeneous() or self.rate.constant()
        if not self.mirror.homogeneous():
            constant = self.rate.constant()
            self.slots[Slot.INNER] = self.rate.at(0.0, 0.0, 0.0) if constant else UNBOUNDED
        self.resum()

    def rule(self) -> Rule:
        """Return the mapped rule."""
        return self.kind(self.loss, self.mirror, self.rate, self.averages, self.conservative)

    def written(self) -> tuple[Vector, ...]:
        """Return the scalars."""
        return (self.slots,)

    def play_at_lower_rate(self, row: int, again: Callable[[], Any]) -> tuple[int, Stop]:
        """Lower the rate inside phi for the coming row and play on; undo it if that is refused."""
        wanted = float(self.work[0, 0])
        if not wanted > 0.0:
            # The squared gradients overflow.
            return row, Stop.OVERFLOW
        # A copy costs no more than the pass over all records that a lower rate needs anyway.
        state, slots = self.state.copy(), self.slots.copy()
        self.lower_rate(wanted)
        reached, stop = again()
        if reached == row and stop in (Stop.OVERFLOW, Stop.UNSOUND):
            self.state[...], self.slots[...] = state, slots
        return reached, Stop(stop)

    def lower_rate(self, wanted: float) -> None:
        """Lower the rate inside phi, on a grid, to at most that."""
        octaves = math.floor(STEPS_PER_OCTAVE * math.log2(wanted))
        # The logarithm may have been rounded up to the next step of the grid.
        self.slots[Slot.INNER] = min(2.0 ** (octaves / STEPS_PER_OCTAVE), wanted)
        self.resum()

    def resum(self) -> None:
        """Choose a new reference and recompute v and S."""
        self.settle()
        self.rebuild(float(self.slots[Slot.INNER]))

    def weights(self, ledger: Vector) -> Vector:
        """Return the weights for the coming round, at the rate that it will be played with."""
        wanted = super().inner(ledger)
        if self.mirror.homogeneous() or not 0.0 < wanted < self.slots[Slot.INNER]:
            return super().weights(ledger)
        ahead = copy.copy(self)
        ahead.state, ahead.slots = self.state.copy(), self.slots.copy()
        ahead.lower_rate(wanted)
        return Engine.weights(ahead, ledger)

    def inner(self, ledger: Vector) -> float:
        """Return the rate of the coming round, or that of an entropy, which is inside S already."""
        return super().inner(ledger) if self.mirror.homogeneous() else self.slots.item(Slot.INNER)
