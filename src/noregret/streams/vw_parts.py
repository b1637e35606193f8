"""The lines of a text as arrays, and parts of them that do not grow too large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.format import Written

#: At most this many features and products are held at once, unless a single line has more.
PART = 1 << 20


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines as they were read: rows, and where in the text they and their features are."""

    out: Written
    #: Where each row begins, and of each feature what `vw_lines.SPANS` says.
    starts: NDArray[np.uint64]
    spans: NDArray[np.uint32]

    def rows(self, start: int, stop: int) -> Lines:
        """Return rows start to stop (not included), which share the arrays of features."""
        out = self.out._replace(
            indptr=self.out.indptr[start : stop + 1],
            y=self.out.y[start:stop],
            weight=self.out.weight[start:stop],
            line_of_row=self.out.line_of_row[start:stop],
        )
        return Lines(out, self.starts[start:stop], self.spans)

    def rows_of(self, features: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return in which rows some features are."""
        return self.out.indptr.searchsorted(features.astype(np.uint64), side="right") - 1

    def only(self, kept: NDArray[np.bool_]) -> Lines:
        """Return the rows that are kept."""
        lengths = np.diff(self.out.indptr)
        features = np.repeat(kept, lengths.astype(np.intp))
        out = Written(
            indptr=_summed(lengths[kept]),
            indices=self.out.indices[: len(features)][features],
            values=self.out.values[: len(features)][features],
            y=self.out.y[kept],
            weight=self.out.weight[kept],
            line_of_row=self.out.line_of_row[kept],
            faults=self.out.faults,
        )
        return Lines(out, self.starts[kept], self.spans[features])


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


def with_constant(rows: Csr, column: int, constant: float) -> Csr:
    """Return rows that end with a constant feature."""
    lengths, used = np.diff(rows.indptr), int(rows.indptr[-1])
    longer = _summed(lengths + np.uint64(1))
    linear = np.ones(used + len(lengths), np.bool_)
    linear[longer[1:].astype(np.intp) - 1] = False
    indices = np.full(len(linear), column, np.uint32)
    values = np.full(len(linear), constant, rows.values.dtype)
    indices[linear], values[linear] = rows.indices[:used], rows.values[:used]
    return Csr(longer, indices, values)


def _summed(lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.concatenate((np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)))
