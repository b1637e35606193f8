"""The rows of one shard in memory: appended while files are read, then brought into order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from noregret.streams.block import Block, Csr
from noregret.streams.sparse import gathered, in_order, order_rows

Vector: TypeAlias = NDArray[np.float64]
_S = TypeVar("_S", bound=np.generic)
#: Room of a new array, and how many columns are renumbered at a time.
_FIRST, _STEP = 1 << 10, 1 << 20


class Growing(Generic[_S]):
    """An array to append to; room that is not used yet takes no memory of the machine.

    >>> numbers = Growing(np.float64)
    >>> numbers.append(np.arange(3.0))
    >>> numbers.append(np.array([7.0]))
    >>> numbers.taken().tolist()
    [0.0, 1.0, 2.0, 7.0]
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._array: NDArray[Any] = np.empty(_FIRST, dtype)
        self.used = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self._array.dtype

    def append(self, numbers: NDArray[Any]) -> None:
        """Append numbers; of a wider type, all become numbers of that type."""
        wider = np.result_type(self._array, numbers)
        if wider != self.dtype:
            used = self._array[: self.used].astype(wider)
            self._array = np.empty(len(self._array), wider)
            self._array[: self.used] = used
        end = self.used + len(numbers)
        if end > len(self._array):
            # The allocator moves pages, so that a large array is not copied.
            self._array.resize(max(end, 2 * len(self._array)), refcheck=False)
        self._array[self.used : end] = numbers
        self.used = end

    def taken(self) -> NDArray[_S]:
        """Return the array, which is not appended to any more."""
        self._array.resize(self.used, refcheck=False)
        return self._array


class Held:
    """Rows of a shard, with labels as they were written and columns of its worker."""

    def __init__(self) -> None:
        self._ends: Growing[np.uint64] = Growing(np.uint64)
        self._ends.append(np.zeros(1, np.uint64))
        self._indices: Growing[np.uint32] = Growing(np.uint32)
        self._values: Growing[Any] = Growing(np.float32)
        self._y: Growing[np.float64] = Growing(np.float64)
        self._weight: Growing[np.float64] | None = None
        self._last = np.uint64(0)

    def __len__(self) -> int:
        return self._y.used

    @property
    def dtype(self) -> str:
        """The type of the values: "float32" unless a row had others."""
        return str(self._values.dtype)

    def append(
        self,
        rows: Csr,
        y: Vector,
        weight: Vector | None,
        chosen: NDArray[np.intp] | None = None,
    ) -> None:
        """Append the rows that are `chosen`, None for all; they are copied."""
        if chosen is None:
            used = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
            ends = rows.indptr[1:] - rows.indptr[0]
            indices, values = rows.indices[used], rows.values[used]
        else:
            stops, places = gathered(rows.indptr, chosen)
            ends, indices, values = stops[1:], rows.indices[places], rows.values[places]
            y = y[chosen]
            weight = None if weight is None else weight[chosen]
        if weight is not None and self._weight is None:
            self._weight = Growing(np.float64)
            self._weight.append(np.ones(len(self)))
        if self._weight is not None:
            self._weight.append(np.ones(len(y)) if weight is None else weight)
        self._ends.append(ends + self._last)
        self._last += np.uint64(len(indices))
        self._indices.append(indices)
        self._values.append(values)
        self._y.append(y)

    def block(
        self,
        meant: Callable[[Vector], Vector],
        columns: NDArray[np.uint32] | None,
        width: int,
        weighted: bool,
        dtype: str,
    ) -> Block:
        """Return the rows in the common form; nothing can be appended after that.

        Args:
            meant: returns labels as numbers, infinite for those that are refused.
            columns: the common column of each of the worker's columns, None where they are the
                same.
            width: the number of common columns.
            weighted: whether rows have weights, 1 for those that were given none.
            dtype: the type of the values, "float32" or "float64".
        """
        values = self._values.taken().astype(dtype, copy=False)
        rows = Csr(self._ends.taken(), self._indices.taken(), values)
        y = meant(self._y.taken())
        weight = None
        if weighted:
            weight = np.ones(len(y)) if self._weight is None else self._weight.taken()
        kept = np.flatnonzero(~np.isinf(y))
        if len(kept) < len(y):
            stops, places = gathered(rows.indptr, kept)
            rows = Csr(stops, rows.indices[places], rows.values[places])
            y, weight = y[kept], None if weight is None else weight[kept]
        if columns is not None:
            for begin in range(0, len(rows.indices), _STEP):
                part = rows.indices[begin : begin + _STEP]
                part[:] = columns[part]
            order_rows(*rows)
        return Block._of_parser(rows, bool(in_order(*rows)), y, width, weight)
