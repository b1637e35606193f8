"""The arrays of a dual-ascent learner: weights, sums and the ring of rows it keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.mirrors import Mirror
from noregret.passes.dual import dual_rows
from noregret.passes.dual.dual_maps import settle
from noregret.passes.dual.dual_rows import BOOK_COLUMNS, COUNT, FIRST, RANDOM, RING_SIZE
from noregret.passes.dual.dual_steps import ACCOUNTS
from noregret.passes.slots import Slot, new_slots
from noregret.rows.examples import Rows

Array = npt.NDArray[Any]
Vector = npt.NDArray[np.float64]

#: Features converted at a time: few enough for the cache, enough to amortise a call of the pass.
PORTION = 1 << 17

#: Features for which there is room at first.
FIRST_CAPACITY = 256


class DualStore:
    """The state of a dual-ascent learner, as arrays that a pass writes and a file stores.

    `memory` is how many rows are kept at most, None for all of them.
    """

    def __init__(self, mirror: Mirror, dimension: int, memory: int | None, seed: int) -> None:
        self.mirror = mirror
        self.memory = memory
        #: Whether the weights are theta itself, so that v is not stored.
        self.flat = mirror.linear() and mirror.separable()
        self.state: Vector = np.zeros(dimension if self.flat else (dimension, 2))
        self.slots = new_slots()
        if not self.flat:
            settle(mirror, self.state, self.slots)
        self.accounts: Vector = np.zeros(ACCOUNTS)
        slots = (memory if memory is not None else 15) + 1
        self.spans = np.zeros(2 * slots, np.uint64)
        self.book: Vector = np.zeros((slots, BOOK_COLUMNS))
        self.indices = np.zeros(FIRST_CAPACITY, np.uint32)
        self.values: Vector = np.zeros(FIRST_CAPACITY)
        self.ring = np.zeros(RING_SIZE, np.uint64)
        # The generator must not start at zero, and small seeds should not look alike.
        self.ring[RANDOM] = (seed * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03) % (1 << 64) or 1
        self.work: Vector = np.zeros((2, 0))
        self.links: Array = np.zeros((0, 2), np.uint64)
        self._take(book=self.book, ring=self.ring)

    @property
    def dimension(self) -> int:
        """Number of known features."""
        return len(self.state)

    @property
    def count(self) -> int:
        """Number of rows kept."""
        return int(self.ring[COUNT])

    def grow(self, dimension: int) -> None:
        """Add features that were never seen, as records of zeros, or drop such features."""
        state = np.zeros((dimension, *self.state.shape[1:]))
        known = min(dimension, len(self.state))
        state[:known] = self.state[:known]
        self.state = state

    @property
    def theta(self) -> Vector:
        """The sum theta = -C sum c s x; the weights are link(theta)."""
        return self.state if self.flat else self.state[:, 0]

    def place(self, theta: Vector) -> None:
        """Set theta and the weights that belong to it."""
        self.theta[:] = theta
        if not self.flat:
            settle(self.mirror, self.state, self.slots)

    def weights(self) -> Vector:
        """Return the weights for the coming round."""
        if self.flat:
            return self.state.copy()
        total, reference = self.slots[Slot.SUM], self.slots[Slot.REFERENCE]
        return self.mirror.kappa(float(total), float(reference), 1.0) * self.state[:, 1]

    def sums(self, ledger: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """Return the arrays that a step writes in addition to the state, as the pass takes them."""
        if not self.flat and self.work.shape[1] < self.dimension:
            self.work = np.zeros((2, self.dimension))
        return self.slots, ledger, self.accounts, self.work

    def kept(self) -> tuple[Array, Array, Vector, Vector]:
        """Return the rows kept, as the pass takes them."""
        return self.spans, self.indices, self.values, self.book

    def oldest_first(self) -> Array:
        """Return the slots of the rows kept, in the order in which they came."""
        return _oldest_first(self.book, self.ring)

    def make_slots(self, more: int) -> None:
        """Make room for `more` further rows, where all rows are kept."""
        if self.memory is None and self.count + more >= len(self.book):
            self._repack(max(2 * len(self.book), self.count + more + 1), len(self.values))

    def make_room(self, need: int) -> None:
        """Make room for a row of `need` features, with capacity to spare."""
        live = int(np.sum(np.diff(self.spans.reshape(-1, 2)[self.oldest_first()])))
        self._repack(len(self.book), max(2 * len(self.values), 2 * (live + need) + 2))

    def _repack(self, slots: int, capacity: int) -> None:
        order = self.oldest_first()
        spans, book = np.zeros(2 * slots, np.uint64), np.zeros((slots, BOOK_COLUMNS))
        indices, values = np.zeros(capacity, np.uint32), np.zeros(capacity)
        book[: len(order)] = self.book[order]
        head = 0
        for new, old in enumerate(order.tolist()):
            begin, end = self.spans[2 * old : 2 * old + 2].tolist()
            spans[2 * new] = head
            indices[head : head + end - begin] = self.indices[begin:end]
            values[head : head + end - begin] = self.values[begin:end]
            head += end - begin
            spans[2 * new + 1] = head
        ring = self.ring.copy()
        ring[FIRST] = 0
        self._take(spans=spans, book=book, indices=indices, values=values, ring=ring)

    def _take(self, **arrays: Array) -> None:
        """Replace arrays in one assignment, so that an interrupt leaves them consistent.

        The queue of rows by last visit is rebuilt: files do not store it.
        """
        book, ring = arrays["book"], arrays["ring"]
        order = _oldest_first(book, ring)
        order = order[np.argsort(book[order, dual_rows.VISITED], kind="stable")]
        circle = np.concatenate([[len(book)], order, [len(book)]]).astype(np.uint64)
        links = np.zeros((len(book) + 1, 2), np.uint64)
        links[circle[:-1], dual_rows.NEXT] = circle[1:]
        links[circle[1:], dual_rows.PREVIOUS] = circle[:-1]
        vars(self).update(arrays, links=links)

    def column(self, name: str) -> Vector:
        """Return a column of the book for the rows kept, oldest first."""
        column: Vector = self.book[self.oldest_first(), getattr(dual_rows, name)]
        return column

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of a model file."""
        names = ("state", "slots", "accounts", "spans", "book", "indices", "values")
        return {name: getattr(self, name).copy() for name in (*names, "ring")}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take the arrays of a file, or refuse those that cannot belong together."""
        for name, array in self.arrays().items():
            given = arrays[name]
            if name not in ("spans", "book", "indices", "values") and given.shape != array.shape:
                raise ValueError(f"{name} has shape {given.shape}, expected {array.shape}")
            if given.dtype != array.dtype or given.ndim != array.ndim:
                raise ValueError(f"{name} holds {given.dtype}, expected {array.dtype}")
        slots = len(arrays["book"])
        if (
            arrays["spans"].shape != (2 * slots,)
            or arrays["book"].shape != (slots, BOOK_COLUMNS)
            or arrays["values"].shape != arrays["indices"].shape
            or (self.memory is not None and slots != self.memory + 1)
            or not int(arrays["ring"][COUNT]) < slots > int(arrays["ring"][FIRST])
            or not int(arrays["ring"][RANDOM])
            or int(arrays["spans"].max(initial=0)) > len(arrays["values"])
            or int(arrays["indices"].max(initial=0)) >= max(len(arrays["state"]), 1)
            or not _apart(arrays["spans"], arrays["book"], arrays["ring"])
        ):
            raise ValueError("the rows kept do not fit together, expected those of one learner")
        self._take(**{name: arrays[name].copy() for name in self.arrays()})


def _oldest_first(book: Vector, ring: Array) -> Array:
    return (int(ring[FIRST]) + np.arange(int(ring[COUNT]))) % len(book)


def _apart(spans: Array, book: Vector, ring: Array) -> bool:
    """Return whether the rows kept follow one another in the ring buffer without overlap."""
    begins, ends = spans.reshape(-1, 2)[_oldest_first(book, ring)].T
    # Each begins where the one before it ended, or later; the ring may wrap around once.
    falls = np.flatnonzero(begins[1:] < ends[:-1]) + 1
    if not len(falls):
        return bool(np.all(begins <= ends))
    return bool(np.all(begins <= ends) and len(falls) == 1 and ends[-1] <= begins[0])


def portions(rows: Rows) -> Iterable[tuple[int, int]]:
    """Return where to cut rows so that the part to convert stays in the cache."""
    return [(0, len(rows))] if _is_sparse(rows) else rows.chunks(PORTION)


def _is_sparse(rows: Rows) -> bool:
    return not rows.dense and rows.values.dtype == np.float64


def as_sparse(rows: Rows) -> Rows:
    """Return rows as CSR in double precision: the pass is compiled for nothing else."""
    if _is_sparse(rows):
        return rows
    if rows.dense:
        some = rows.values != 0.0
        indptr = np.zeros(len(rows) + 1, np.uint64)
        np.cumsum(some.sum(axis=1), out=indptr[1:])
        indices, values = np.nonzero(some)[1].astype(np.uint32), rows.values[some]
    else:
        part = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
        indptr, indices = rows.indptr - rows.indptr[0], rows.indices[part]
        values = rows.values[part]
    return Rows(indptr, indices, values.astype(np.float64), rows.width, len(rows))
