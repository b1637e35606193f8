"""The frame of every pass over rows: check a row, examine it, commit it, go on or stop.

A pass is a `Rule`. `examine` reads a row against the learner's memory, predicts and decides
whether the round can be played; it writes to work buffers only, so that a refused row changes
nothing. `commit` takes the step and enters the round in the ledger.
Arrays come in bundles and are not reference-counted here: the caller of `play` holds them.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from noregret.component import Component
from noregret.jit import kernel
from noregret.passes.checks import LARGEST_FEATURE, indices_sound_until
from noregret.passes.rows import Block, Row, row_at
from noregret.passes.slots import Stop
from noregret.rows.examples import Rows

Vector = npt.NDArray[np.float64]

_DONE = int(Stop.DONE)
_UNSOUND = int(Stop.UNSOUND)


class Labels(NamedTuple):
    """The label and the weight of each row."""

    y: Vector
    weight: Vector


class Memory(NamedTuple):
    """What most passes keep from row to row: a record a feature, and scalars."""

    state: Vector
    slots: Vector


class WorkMemory(NamedTuple):
    """Records, scalars, and room for what a rule works with."""

    state: Vector
    slots: Vector
    work: Vector


class Rule(Component):
    """One pass: what it reads from a row, and what it does with it.

    Subclasses are frozen dataclasses whose fields are the parts of a learner. Their `memory` is a
    bundle with a matrix `state` and whatever else they keep.
    """

    #: Methods are compiled without reference counting: the kernel that calls them holds the arrays.
    counted = False
    #: Columns of a record of `state`; rules with an optional average override `columns`.
    width: ClassVar[int]

    def columns(self) -> int:
        """Return how many columns a record of `state` has."""
        return self.width

    def fits(self, memory: Any) -> bool:
        """Return whether arrays have the widths that are compiled in."""
        return bool(memory.state.shape[-1] == self.columns())

    def examine(
        self, row: Row, label: float, mass: float, memory: Any, ledger: Vector
    ) -> tuple[Any, int]:
        """Return what `commit` needs, with a `Round` in `played`, and DONE or why it is refused."""
        raise NotImplementedError

    def commit(self, row: Row, memory: Any, ledger: Vector, found: Any) -> int:
        """Play the round; return DONE, or why the pass must stop after it."""
        raise NotImplementedError


@kernel(counted=False)
def play(rule, rows, labels, first, memory, ledger, predictions):  # type: ignore[no-untyped-def]
    """Play the rows from `first` on; return (next row, why it stopped)."""
    # Assert the widths so that the compiler treats them as constants in address arithmetic.
    assert rule.fits(memory)
    sound = np.uint64(rows.trusted)
    for t in range(np.uint64(first), np.uint64(labels.y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(rows.indptr, rows.indices, rows.values, rows.width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        row = row_at(rows.indptr, rows.indices, rows.values, t)
        found, stop = rule.examine(row, labels.y[t], labels.weight[t], memory, ledger)
        if t >= rows.trusted and not found.played.one_norm <= LARGEST_FEATURE:
            return np.int64(t), _UNSOUND
        if stop != _DONE:
            return np.int64(t), stop
        write_prediction(predictions, t, found.played.prediction)
        stop = rule.commit(row, memory, ledger, found)
        if stop != _DONE:
            return np.int64(t) + 1, stop
    return labels.y.shape[0], _DONE


@kernel(inline=True)
def write_prediction(predictions, t, prediction):  # type: ignore[no-untyped-def]
    """Write what was predicted for row t: a number, or a vector of scores."""
    if predictions.ndim == 2:
        for k in range(np.uint64(predictions.shape[1])):
            predictions[t, k] = prediction[k]
    else:
        predictions[t] = prediction


def block(rows: Rows) -> Block:
    """Return rows as the bundle that a pass takes."""
    return Block(rows.indptr, rows.indices, rows.values, rows.width, rows.trusted)
