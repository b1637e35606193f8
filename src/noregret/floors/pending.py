"""Rows that are held back until they fill a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.rows.examples import Rows

#: The arrays of a file: the number of features of each row, the features, and what comes with rows.
_OF_FEATURES = {"indices": np.uint32, "values": np.float64}
_OF_ROWS = {"lengths": np.uint64, "y": np.float64, "weight": np.float64, "offset": np.float64}
#: Labels may be rows of numbers.
_MATRICES = {"y"}


class Held(NamedTuple):
    """Rows with labels, weights and offsets: every u predicts <u, x> + offset."""

    rows: Rows
    y: npt.NDArray[Any]
    weight: Vector
    offset: Vector


class Pending:
    """Rows in compressed form. A block ends with the row that fills it, wherever calls end.

    Some rows of a full block may stay for the next one, as its first rows.

    Args:
        size: stored features with which a block is full, at least 1.
        most: rows with which it is full in any case, at least 1 [default: any number].

    >>> from noregret.rows.examples import as_rows
    >>> pending = Pending(3)
    >>> rows = as_rows([[1.0, 0.0], [1.0, 2.0], [0.0, 4.0]])
    >>> [len(full.y) for full in pending.take(rows, np.ones(3), np.ones(3), np.zeros(3))]
    [2]
    >>> len(pending), pending.held(2).rows.values
    (1, array([4.]))
    """

    def __init__(self, size: int, most: int | None = None) -> None:
        self.size, self.most = size, most
        self._count = self._stored = 0
        self._kept: dict[str, npt.NDArray[Any]]
        self._kept = {name: np.empty(0, kind) for name, kind in (_OF_ROWS | _OF_FEATURES).items()}

    def __len__(self) -> int:
        return self._count

    @property
    def stored(self) -> int:
        """How many features are held back."""
        return self._stored

    def take(
        self, rows: Rows, y: npt.NDArray[Any], weight: Vector, offset: Vector
    ) -> Iterator[Held]:
        """Hold rows back; yield each block that they fill.

        It is dropped afterwards, but for the rows that the caller chose to `retain` meanwhile.
        """
        lengths, indices, values = compressed(rows)
        ends = np.cumsum(lengths, dtype=np.int64)
        begin = start = 0
        while begin < len(y):
            full = int(np.searchsorted(ends, start + self.size - self._stored)) + 1
            if self.most is not None:
                full = min(full, begin + self.most - self._count)
            end = min(full, len(y))
            stop = int(ends[end - 1])
            part = slice(begin, end)
            terms = lengths[part], y[part], weight[part], offset[part]
            self._append(_OF_ROWS, self._count, terms)
            self._append(_OF_FEATURES, self._stored, (indices[start:stop], values[start:stop]))
            self._count += end - begin
            self._stored += stop - start
            begin, start = end, stop
            if self._full():
                yield self.held(rows.width)
                if self._full():
                    self.forget()

    def forget(self) -> None:
        """Drop the rows held back."""
        self._count = self._stored = 0

    def _full(self) -> bool:
        return self._stored >= self.size or self._count == self.most

    def retain(self, staying: npt.NDArray[np.bool_]) -> None:
        """Drop all rows but these, in their order; they must leave room for others.

        >>> from noregret.rows.examples import as_rows
        >>> pending, rows = Pending(4), as_rows([[1.0, 2.0], [3.0, 4.0]])
        >>> for full in pending.take(rows, np.ones(2), np.ones(2), np.zeros(2)):
        ...     pending.retain(np.array([False, True]))
        >>> len(pending), pending.held(2).rows.values
        (1, array([3., 4.]))
        """
        count, stored = self._count, self._stored
        features = np.repeat(staying, self._kept["lengths"][:count].astype(np.intp))
        self._count, self._stored = int(staying.sum()), int(features.sum())
        if self._full():
            raise ValueError(f"{self._count} rows with {self._stored} features fill a block")
        for names, old, new, chosen in (
            (_OF_ROWS, count, self._count, staying),
            (_OF_FEATURES, stored, self._stored, features),
        ):
            for name in names:
                self._kept[name][:new] = self._kept[name][:old][chosen]

    def _append(self, names: Any, count: int, parts: tuple[npt.NDArray[Any], ...]) -> None:
        for name, part in zip(names, parts, strict=True):
            room = self._kept[name]
            if count + len(part) > len(room) or part.shape[1:] != room.shape[1:]:
                longer = max(2 * len(room), count + len(part))
                more = np.empty((longer, *part.shape[1:]), room.dtype)
                if count:
                    more[:count] = room[:count]
                self._kept[name] = room = more
            room[count : count + len(part)] = part

    def relabel(self, named: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> None:
        """Replace the labels of the rows held back."""
        self._kept["y"] = named(self._kept["y"])

    def held(self, width: int) -> Held:
        """Return the rows held back, as views."""
        kept = self.arrays()
        indptr = np.zeros(self._count + 1, np.uint64)
        np.cumsum(kept["lengths"], out=indptr[1:])
        rows = Rows(indptr, kept["indices"], kept["values"], width, self._count)
        return Held(rows, kept["y"], kept["weight"], kept["offset"])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of a file, as views; `restore` takes them."""
        counts = dict.fromkeys(_OF_ROWS, self._count) | dict.fromkeys(_OF_FEATURES, self._stored)
        return {name: array[: counts[name]] for name, array in self._kept.items()}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], width: int) -> None:
        """Continue from what `arrays` returned, or refuse what cannot be rows of that width."""
        for names in (_OF_ROWS, _OF_FEATURES):
            for name, kind in names.items():
                found = arrays[name]
                if found.dtype != kind or found.ndim > 1 + (name in _MATRICES) or not found.ndim:
                    raise ValueError(f"{name} of rows held back is {found.dtype}{found.shape}")
                if len(found) != len(arrays[next(iter(names))]):
                    raise ValueError(f"rows held back have {len(found)} entries in {name}")
                if not np.all(np.isfinite(found)):
                    raise ValueError(f"{name} of rows held back must be finite")
        if int(arrays["lengths"].sum()) != len(arrays["values"]):
            raise ValueError("the rows held back are longer or shorter than their features")
        beyond = int(arrays["indices"].max(initial=0)) >= max(width, 1)
        if beyond or arrays["weight"].min(initial=0.0) < 0.0:
            raise ValueError("the rows held back have columns or weights out of range")
        self._kept = {name: arrays[name].copy() for name in self._kept}
        self._count, self._stored = len(arrays["y"]), len(arrays["values"])


def compressed(rows: Rows) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], Vector]:
    """Return the lengths of rows, and the columns and values of their features in one run each.

    >>> from noregret.rows.examples import as_rows
    >>> [one.tolist() for one in compressed(as_rows([[0.0, 2.0], [3.0, 4.0]]))]
    [[1, 2], [1, 0, 1], [2.0, 3.0, 4.0]]
    """
    if rows.dense:
        used = rows.values != 0.0
        lengths, values = used.sum(axis=1), rows.values[used]
        columns: npt.NDArray[Any] = np.nonzero(used)[1]
    else:
        span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
        lengths, values = np.diff(rows.indptr), rows.values[span]
        columns = rows.indices[span]
    return lengths.astype(np.uint64), columns.astype(np.uint32), values.astype(np.float64)
