"""Checks of rows before they are learnt: indices ascend and fit, values are finite and bounded.

Rows are checked in groups, just before a pass reads them: the next group is prefetched while the
last one is learnt, and its indices are compared across row boundaries in one vectorised loop.
Checking all rows beforehand would read the memory twice.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.rows.examples import Rows, canonical
from noregret.rows.soundness import LARGEST_FEATURE as LARGEST_FEATURE
from noregret.rows.soundness import bounded, descents
from noregret.shards import Shards

#: Rows that are checked together.
GROUP = np.uint64(32)

SOUND, INDEX_OUT_OF_RANGE, NOT_FINITE, NOT_CANONICAL = 0, 1, 2, 3

_1 = np.uint64(1)


@kernel(inner=True, counted=True)
def indices_sound_until(indptr, indices, values, dimension, first):  # type: ignore[no-untyped-def]
    """Return the row after the group that begins at `first`, or `first` if it has a fault.

    Indices must be strictly increasing within a row and below `dimension`.
    """
    if values.ndim == 2:
        return np.uint64(values.shape[0])
    else:
        last = min(first + GROUP, np.uint64(indptr.shape[0]) - _1)
        start = indptr[first]
        bound = np.uint64(dimension)
        falls = np.uint64(descents(indices, start, indptr[last]))
        allowed = np.uint64(0)
        begin = start
        for t in range(first, last):
            end = indptr[t + _1]
            if end > begin:
                if indices[end - _1] >= bound:
                    return first
                # From one row to the next the index may fall.
                if begin > start:
                    allowed += np.uint64(indices[begin] <= indices[begin - _1])
            begin = end
        return last if falls == allowed else first


@kernel(inline=True)
def _fault(indptr, indices, values, dimension, t):  # type: ignore[no-untyped-def]
    begin, end = indptr[t], indptr[t + _1]
    if descents(indices, begin, end) > 0:
        return NOT_CANONICAL
    if end > begin and indices[end - _1] >= dimension:
        return INDEX_OUT_OF_RANGE
    return SOUND if bounded(values, begin, end) else NOT_FINITE


@kernel
def check_rows(indptr, indices, values, dimension):  # type: ignore[no-untyped-def]
    """Return (row, fault) of the first row that may not be learnt, or (n, SOUND)."""
    if values.ndim == 2:
        for t in range(values.shape[0]):
            row = values[t]
            if not bounded(row, np.uint64(0), np.uint64(row.shape[0])):
                return t, NOT_FINITE
        return values.shape[0], SOUND
    else:
        count = np.uint64(indptr.shape[0]) - _1
        first = np.uint64(0)
        while first < count:
            last = indices_sound_until(indptr, indices, values, dimension, first)
            if last == first or not bounded(values, indptr[first], indptr[last]):
                for t in range(first, min(first + GROUP, count)):
                    fault = _fault(indptr, indices, values, dimension, t)
                    if fault != SOUND:
                        return np.int64(t), fault
            first = min(first + GROUP, count)
        return np.int64(count), SOUND


def sound_rows(rows: Rows, offset: int) -> Rows:
    """Return rows that a pass may read, their columns sorted and duplicates added up if need be.

    `offset`: number of the first row in error messages.
    """
    while rows.trusted != len(rows):
        rows = sorted_or_refused(rows, offset)
    return rows


def sorted_or_refused(rows: Rows, offset: int) -> Rows:
    """Check rows up to the first that is unsound; refuse it, or sort all rows if it is unsorted.

    Sound rows are returned as trusted. Sorted rows are not: a later row may be unsound.
    """

    def first_fault(begin: int, end: int) -> tuple[int, int]:
        part = rows.part(begin, end)
        row, fault = check_rows(part.indptr, part.indices, part.values, part.width)
        return begin + int(row), fault

    found = Shards.of(rows.stored, len(rows)).each(len(rows), first_fault)
    row, fault = next((one for one in found if one[1]), found[-1])
    if not fault:
        return Rows(rows.indptr, rows.indices, rows.values, rows.width, len(rows))
    if fault == NOT_CANONICAL:
        return canonical(rows)
    if fault == INDEX_OUT_OF_RANGE:
        problem = f"a column index is outside 0 ... {rows.width - 1}"
    else:
        problem = f"a value is not finite or beyond {LARGEST_FEATURE:g}; expected finite numbers"
    raise ValueError(f"X row {offset + row}: {problem}")
