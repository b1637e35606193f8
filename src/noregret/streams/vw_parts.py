"""The lines of a text as arrays, and parts of them that do not grow too large."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Floats

#: So many features and products are made at once, unless a single line has more.
PART = 1 << 20


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines as they were read: rows, and where in the text they and their features are."""

    indptr: NDArray[np.uint64]
    indices: NDArray[np.uint32]
    values: Floats
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    line_of_row: NDArray[np.uint32]
    #: Where each row begins, and of each feature what `vw_lines.SPANS` says; empty if not wanted.
    starts: NDArray[np.uint64]
    spans: NDArray[np.uint32]

    def rows(self, start: int, stop: int) -> Lines:
        """Return rows start to stop (not included), which share the arrays of features."""
        return replace(
            self,
            indptr=self.indptr[start : stop + 1],
            y=self.y[start:stop],
            weight=None if self.weight is None else self.weight[start:stop],
            line_of_row=self.line_of_row[start:stop],
            starts=self.starts[start:stop],
        )

    def rows_of(self, features: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return in which rows some features are."""
        return self.indptr.searchsorted(features.astype(np.uint64), side="right") - 1

    def only(self, kept: NDArray[np.bool_]) -> Lines:
        """Return the rows that are kept."""
        lengths = np.diff(self.indptr)
        features = np.repeat(kept, lengths.astype(np.intp))
        return Lines(
            _summed(lengths[kept]),
            self.indices[features],
            self.values[features],
            self.y[kept],
            None if self.weight is None else self.weight[kept],
            self.line_of_row[kept],
            self.starts[kept],
            self.spans[features],
        )


def cut_rows(sizes: NDArray[np.uint64], most: int) -> list[int]:
    """Return where to cut rows of these sizes so that no part is larger, or it is one row.

    >>> cut_rows(np.array([3, 1, 1, 9, 2], np.uint64), 4)
    [2, 3, 4, 5]
    >>> cut_rows(np.empty(0, np.uint64), 4)
    [0]
    """
    ends = _summed(sizes)
    stops = [0]
    while stops[-1] < len(sizes):
        begin = stops[-1]
        reached = int(ends.searchsorted(int(ends[begin]) + most, side="right")) - 1
        stops.append(max(reached, begin + 1))
    return stops[1:] or stops


def with_constant(
    indptr: NDArray[np.uint64],
    indices: NDArray[np.uint32],
    values: Floats,
    column: int,
    constant: float,
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], Floats]:
    """Return rows that end with a constant feature."""
    lengths, used = np.diff(indptr), int(indptr[-1])
    longer = _summed(lengths + np.uint64(1))
    linear = np.ones(used + len(lengths), np.bool_)
    linear[longer[1:].astype(np.intp) - 1] = False
    new_indices = np.full(len(linear), column, np.uint32)
    new_values = np.full(len(linear), constant, values.dtype)
    new_indices[linear], new_values[linear] = indices[:used], values[:used]
    return longer, new_indices, new_values


def _summed(lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.concatenate((np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)))
