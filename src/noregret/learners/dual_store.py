"""The arrays of a dual-ascent learner: weights, sums and the ring of rows it keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.learners.engines import Engine
from noregret.passes.dual import dual_rows
from noregret.passes.dual.dual_maps import settle
from noregret.passes.dual.dual_online import ACCOUNTS, DualRule, Memory
from noregret.passes.dual.dual_rows import BOOK_COLUMNS, COUNT, FIRST, RANDOM, RING_SIZE, Kept
from noregret.passes.slots import Slot, Stop
from noregret.rates import Constant
from noregret.rows.examples import Rows

Array = npt.NDArray[Any]

#: Features converted at a time: few enough for the cache, enough to amortise a call of the pass.
PORTION = 1 << 17

#: Features for which there is room at first.
FIRST_CAPACITY = 256


class DualStore(Engine):
    """The state of a dual-ascent learner, as arrays that a pass writes and a file stores.

    memory: largest number of rows kept, None for all rows.
    """

    work_shape = (2, 0)

    def __init__(self, rule: DualRule, dimension: int, memory: int | None, seed: int) -> None:
        self.widths = rule.columns(), rule.columns()
        super().__init__(rule.loss, rule.mirror, Constant(rule.C))
        self._own_rule = rule
        self.kept_at_most = memory
        self.begin(dimension)
        self.resum()
        self.accounts: Vector = np.zeros(ACCOUNTS)
        slots = (memory if memory is not None else 15) + 1
        self.spans = np.zeros(2 * slots, np.uint64)
        self.book: Vector = np.zeros((slots, BOOK_COLUMNS))
        self.indices = np.zeros(FIRST_CAPACITY, np.uint32)
        self.values: Vector = np.zeros(FIRST_CAPACITY)
        self.ring = np.zeros(RING_SIZE, np.uint64)
        # The generator must not start at zero, and small seeds should not look alike.
        self.ring[RANDOM] = (seed * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03) % (1 << 64) or 1
        self.links: Array = np.zeros((0, 2), np.uint64)
        #: Offsets of the coming rows: added to the prediction, and added inside the loss only.
        self.terms: list[Vector] = [np.zeros(0), np.zeros(0)]
        self._take(book=self.book, ring=self.ring)

    def rule(self) -> DualRule:
        """Return the rule of the update."""
        return self._own_rule

    def memory(self) -> Memory:
        """Return the arrays that the rule keeps from row to row."""
        if self.columns == 2 and self.work.shape[1] < self.dimension:
            self.work = np.zeros((2, self.dimension))
        kept = Kept(self.spans, self.indices, self.values, self.book, self.ring, self.links)
        return Memory(self.state, self.slots, self.work, self.accounts, kept, *self.terms)

    def answer(self, stop: Stop) -> None:
        """Double the room for the features of the rows kept."""
        assert stop == Stop.ROOM
        self._repack(len(self.book), 2 * len(self.values))

    def resum(self) -> None:
        """Choose a new reference and recompute v and S, where they are kept."""
        if self.columns == 2:
            settle(self.mirror, self.state, self.slots)

    @property
    def count(self) -> int:
        """Number of rows kept."""
        return int(self.ring[COUNT])

    @property
    def theta(self) -> Vector:
        """The sum theta = -C sum c s x; the weights are link(theta)."""
        return self.state[:, 0]

    def place(self, theta: Vector) -> None:
        """Set theta, and recompute the weights."""
        self.theta[:] = theta
        self.resum()

    def weights(self, ledger: Vector | None = None) -> Vector:
        """Return the weights for the coming round."""
        total, reference = float(self.slots[Slot.SUM]), float(self.slots[Slot.REFERENCE])
        weights: Vector = self.mirror.kappa(total, reference, 1.0) * self.state[:, -1]
        return weights

    def oldest_first(self) -> Array:
        """Return the slots of the rows kept, in the order in which they came."""
        return _oldest_first(self.book, self.ring)

    def make_slots(self, more: int) -> None:
        """Make room for `more` further rows, where all rows are kept."""
        if self.kept_at_most is None and self.count + more >= len(self.book):
            self._repack(max(2 * len(self.book), self.count + more + 1), len(self.values))

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
        """Return the arrays of a model file; records of one number are a vector there."""
        names = ("slots", "accounts", "spans", "book", "indices", "values", "ring")
        state = self.state if self.columns == 2 else self.theta
        return {"state": state} | {name: getattr(self, name) for name in names}

    def written(self) -> tuple[Array, ...]:
        """Return all arrays, the queue of rows by last visit among them."""
        kept = (self.spans, self.book, self.indices, self.values, self.ring, self.links)
        return (self.state, self.slots, self.accounts, *kept)

    def restore(self, arrays: dict[str, Array]) -> None:
        """Restore the arrays of a file, or refuse arrays that do not fit together."""
        own = self.arrays()
        for name, array in own.items():
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
            or (self.kept_at_most is not None and slots != self.kept_at_most + 1)
            or not int(arrays["ring"][COUNT]) < slots > int(arrays["ring"][FIRST])
            or not int(arrays["ring"][RANDOM])
            or int(arrays["spans"].max(initial=0)) > len(arrays["values"])
            or int(arrays["indices"].max(initial=0)) >= max(len(arrays["state"]), 1)
            or not _apart(arrays["spans"], arrays["book"], arrays["ring"])
        ):
            raise ValueError("the rows kept do not fit together, expected those of one learner")
        own.pop("state")[...] = arrays["state"]
        self._take(**{name: arrays[name].copy() for name in own})


def _oldest_first(book: Vector, ring: Array) -> Array:
    return (int(ring[FIRST]) + np.arange(int(ring[COUNT]))) % len(book)


def _apart(spans: Array, book: Vector, ring: Array) -> bool:
    """Return whether the rows kept follow one another in the ring buffer without overlap."""
    begins, ends = spans.reshape(-1, 2)[_oldest_first(book, ring)].T
    # Each row begins at the end of the one before, or later; the ring may wrap around once.
    falls = np.flatnonzero(begins[1:] < ends[:-1]) + 1
    in_order = len(falls) == 0 or (len(falls) == 1 and ends[-1] <= begins[0])
    return bool(in_order and np.all(begins <= ends))


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
    return replace(rows, indptr=indptr, indices=indices, values=values.astype(np.float64))
