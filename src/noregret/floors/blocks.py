"""Rows held back block by block, for what proves floors without predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.floors.lines import Chosen, Proved, most_bent, none_stay
from noregret.floors.pending import Held, Pending
from noregret.proof.quadratic import Quadratic
from noregret.rows.examples import Rows

#: Stored features of a block: about 3 MB.
BLOCK = 1 << 18

_NO_ENDS, _NO_OFFSET = np.zeros(1, np.uint64), np.zeros(1)
Arrays = dict[str, npt.NDArray[Any]]


class Blocks(ABC):
    """Rows held back, and what has entered of all blocks before.

    Args:
        size: stored features with which a block is full, at least 1 [default: 262,144].
    """

    def __init__(self, size: int = BLOCK) -> None:
        self.pending = Pending(size)
        self.width = self.entered = 0

    @property
    def rounds(self) -> int:
        """How many rows there were, those held back included."""
        return self.entered + len(self.pending)

    def add(
        self, rows: Rows, y: npt.NDArray[Any], weight: Vector, offset: float | Vector = 0.0
    ) -> None:
        """Hold back rows that are known to be sound; enter each block that they fill.

        Every u predicts <u, x> + offset.
        """
        self._make_room(rows.width)
        given = np.broadcast_to(offset, len(y))
        for start, stop in rows.chunks():
            part = slice(start, stop)
            taken = self.pending.take(rows.part(start, stop), y[part], weight[part], given[part])
            self._enter_all(taken)

    def add_row(
        self, columns: npt.NDArray[np.uint32], values: Vector, y: float, weight: float
    ) -> None:
        """Hold back one sound row, as `add` does, for the price of a few arrays of one number."""
        if values.ndim == 1:
            self._make_room(int(columns[-1]) + 1 if len(columns) else 0)
            ends = np.array([0, len(columns)], np.uint64)
            row = Rows(ends, columns, values, self.width, 1)
        else:
            self._make_room(values.shape[1])
            row = Rows(_NO_ENDS, columns, values, self.width, 1)
        terms = np.array([y], np.float64), np.array([weight], np.float64), _NO_OFFSET
        self._enter_all(self.pending.take(row, *terms))

    def proved(self, thorough: bool = True) -> list[Proved]:
        """Return ledgers of all rows, each with its Z; the rows held back stay so.

        Each is right for every class.
        thorough: try several ways to enter the rows held back [default: True].
        """
        held = self.pending.held(self.width) if len(self.pending) else None
        return self._proved(held, thorough)

    def curves(self) -> list[Quadratic]:
        """Return the parabolas of all rows, if there are any; the rows held back stay so."""
        return []

    def close(self) -> None:
        """Enter the rows held back as a block of its own, after which no row is kept."""
        if len(self.pending):
            held = self.pending.held(self.width)
            self._enter(held, self._choose(held), none_stay(held))
            self.entered += len(held.y)
            self.pending.forget()

    def _enter_all(self, full: Iterable[Held]) -> None:
        most = self.pending.most
        for held in full:
            chosen = self._choose(held)
            bends = np.sum([one.bends for one in chosen], axis=0)
            lengths = np.diff(held.rows.indptr)
            limits = self.pending.size // 2, len(held.y) if most is None else most // 2
            staying = most_bent(bends, lengths, *limits) if chosen else none_stay(held)
            self._enter(held, chosen, staying)
            self.entered += len(held.y) - int(staying.sum())
            self.pending.retain(staying)

    def arrays(self) -> Arrays:
        """Return copies of all state, the rows held back included, for a file."""
        kept = {name: array.copy() for name, array in self.pending.arrays().items()}
        return kept | self._entered_arrays() | {"entered": np.array([self.entered])}

    def restore(self, arrays: Arrays) -> None:
        """Continue from what `arrays` returned, or refuse what cannot be blocks."""
        self.width = 0
        self._restore_entered(arrays)
        self.pending.restore(arrays, self.width)
        if self._retained() > len(self.pending):
            few = len(self.pending)
            raise ValueError(f"{few} rows are held back, {self._retained()} of them chosen before")
        self.entered = int(arrays["entered"][0])

    def _make_room(self, width: int) -> None:
        if width > self.width:
            self.width = width
            self._widen(width)

    @abstractmethod
    def _widen(self, width: int) -> None:
        """Make room for features."""

    @abstractmethod
    def _choose(self, held: Held) -> list[Chosen]:
        """Return slopes of the rows of a block, for each set of lines."""

    @abstractmethod
    def _enter(self, held: Held, chosen: list[Chosen], staying: npt.NDArray[np.bool_]) -> None:
        """Enter the rows of a block but for those that stay."""

    @abstractmethod
    def _retained(self) -> int:
        """Return how many of the rows held back were in a block before."""

    @abstractmethod
    def _proved(self, held: Held | None, thorough: bool) -> list[Proved]:
        """Return ledgers of all rows, those held back entered for the time being."""

    @abstractmethod
    def _entered_arrays(self) -> Arrays:
        """Return copies of the state of the blocks before."""

    @abstractmethod
    def _restore_entered(self, arrays: Arrays) -> None:
        """Restore the state of the blocks before, and `width`."""
