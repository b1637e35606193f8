"""A user's rows in chunks for learners, with a constant feature where one is wanted.

Chunks with the constant reuse one buffer of the rows' own dtype: all rows are never copied at
once, and float32 stays float32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.jit import kernel
from noregret.rows.examples import CHUNK, Rows
from noregret.rows.soundness import LARGEST_FEATURE, descents
from noregret.streams.block import Block, Csr, cut_rows

Order = npt.NDArray[np.intp]

_1 = np.uint64(1)


#: In place of the column of a constant feature: there is none.
NO_CONSTANT = -1
#: In place of the number of columns: rows have to be checked again.
UNSOUND = np.uint64(2**33)


@kernel(fast=True)
def write_rows(indptr, indices, values, order, constant, new_indptr, new_indices, new_values):  # type: ignore[no-untyped-def]
    """Write the rows of the order one after the other, each with a 1 in column `constant`.

    Returns how many columns the rows name, the constant aside, or UNSOUND. Arrays are arguments
    of their own: single rows come here, too, and a bundle takes longer to unpack.
    """
    width = np.uint64(0)
    k = np.uint64(0)
    new_indptr[0] = k
    falls = np.uint32(0)
    # In the dtype of the values; if only the sum overflows, the core checks the rows again.
    total = values.dtype.type(0.0)
    for t in range(order.shape[0]):
        row = np.uint64(order[t])
        begin, end = indptr[row], indptr[row + _1]
        shift = k - begin
        for j in range(begin, end):
            new_indices[shift + j] = indices[j]
        for j in range(begin, end):
            new_values[shift + j] = values[j]
            total += abs(values[j])
        if end > begin:
            falls += descents(indices, begin, end)
            width = max(width, np.uint64(indices[end - _1]) + _1)
        k = shift + end
        if constant != NO_CONSTANT:
            new_indices[k] = np.uint32(constant)
            new_values[k] = 1.0
            k += _1
        new_indptr[np.uint64(t) + _1] = k
    return width if falls == 0 and total < np.inf and total <= LARGEST_FEATURE else UNSOUND


class Feeder:
    """Yields rows in chunks of about CHUNK features, in the order wanted; reuses its buffers."""

    def __init__(self, constant: bool) -> None:
        self.constant = constant
        self._matrix = np.zeros((0, 0))
        self._row = np.ones((1, 1))
        self._arrays = (np.zeros(0, np.uint64), np.zeros(0, np.uint32), np.zeros(0))

    def chunks(self, rows: Rows, order: Order | None = None) -> Iterator[tuple[slice, Any]]:
        """Yield (places in the order, rows as `learn` takes them); all rows by default.

        A chunk is good until the next one is asked for.
        """
        count = len(rows) if order is None else len(order)
        feed = self._dense if rows.dense else self._sparse
        for start, stop in _cuts(rows, order, count):
            part = slice(start, stop)
            yield part, feed(rows, part, None if order is None else order[part])

    def single(self, X: Any) -> Any:
        """Return a matrix of one row with the constant where one is wanted; good until the next."""
        if not self.constant:
            return X
        row = self._row
        if row.shape[1] != X.shape[1] + 1 or row.dtype is not X.dtype:
            row = self._row = np.ones((1, X.shape[1] + 1), X.dtype)
        row[0, :-1] = X[0]
        return row

    def whole(self, rows: Rows, order: Order) -> Any:
        """Return the rows of the order all at once, for solvers that visit them repeatedly."""
        every = len(order) == len(rows) and bool((order == np.arange(len(rows))).all())
        chosen = None if every else order
        part = slice(0, len(order))
        return (self._dense if rows.dense else self._sparse)(rows, part, chosen)

    def _dense(self, rows: Rows, part: slice, chosen: Order | None) -> Any:
        values = rows.values[part if chosen is None else chosen]
        if not self.constant:
            return values
        count, width = values.shape
        matrix = self._matrix
        if matrix.dtype != values.dtype or len(matrix) < count or matrix.shape[1] != width + 1:
            matrix = self._matrix = np.ones((count, width + 1), values.dtype)
        matrix[:count, :width] = values
        return matrix[:count]

    def _sparse(self, rows: Rows, part: slice, chosen: Order | None) -> Block:
        width = rows.width + self.constant
        if chosen is None and not self.constant:
            indptr = rows.indptr[part.start : part.stop + 1]
            sound = rows.trusted == len(rows)
            return _block(indptr, rows.indices, rows.values, width, sound)
        if chosen is None:
            chosen = np.arange(part.start, part.stop)
            length = int(rows.indptr[part.stop] - rows.indptr[part.start])
        else:
            length = int((rows.indptr[chosen + 1] - rows.indptr[chosen]).sum())
        room = length + self.constant * len(chosen)
        indptr, indices, values = self._arrays
        if len(indptr) <= len(chosen):
            indptr = np.empty(len(chosen) + 1, np.uint64)
        if len(indices) < room or values.dtype != rows.values.dtype:
            indices, values = np.empty(room, np.uint32), np.empty(room, rows.values.dtype)
        self._arrays = indptr, indices, values
        constant = rows.width if self.constant else NO_CONSTANT
        named = write_rows(
            rows.indptr, rows.indices, rows.values, chosen, constant, indptr, indices, values
        )
        sound = bool(named <= rows.width)
        return _block(indptr[: len(chosen) + 1], indices[:room], values[:room], width, sound)


def _cuts(rows: Rows, order: Order | None, count: int) -> Iterable[tuple[int, int]]:
    """Return (start, stop) of parts of the order with about CHUNK features each."""
    if order is None:
        return [(0, count)] if rows.values.size <= CHUNK else rows.chunks()
    starts = rows.indptr
    sizes = np.full(count, rows.width) if rows.dense else starts[order + 1] - starts[order]
    return pairwise([0, *cut_rows(sizes.astype(np.uint64), CHUNK)]) if count else ()


def _block(indptr: Any, indices: Any, values: Any, width: int, sound: bool) -> Block:
    # The core takes the labels apart from the rows.
    labels = np.broadcast_to(np.zeros(1), (len(indptr) - 1,))
    return Block._of_parser(Csr(indptr, indices, values), sound, labels, width)
