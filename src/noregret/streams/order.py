"""Rows in order: columns ascending, each of them once.

Hashing sends features of a line to columns in any order, two of them perhaps to the same one.
Passes allow neither: they step several features at a time, and ||x|| is that of the merged row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noregret.jit import kernel
from noregret.rows.soundness import bounded, descents
from noregret.streams.block import Floats

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)

#: Length of the runs that are sorted by insertion, then merged.
_RUN = np.uint64(24)


@kernel
def in_order(indptr, indices, values):  # type: ignore[no-untyped-def]
    """Tell whether columns ascend within every row and no value is beyond LARGEST_FEATURE."""
    last = np.uint64(indptr.shape[0]) - _1
    begin, stop = indptr[0], indptr[last]
    falls = np.uint64(descents(indices, begin, stop))
    # From one row to the next the column may fall.
    allowed = _0
    for t in range(_1, last):
        start = indptr[t]
        if begin < start < stop and start != indptr[t - _1]:
            allowed += np.uint64(indices[start] <= indices[start - _1])
    return falls == allowed and bounded(values, begin, stop)


@kernel
def _insert(keys, begin, end):  # type: ignore[no-untyped-def]
    """Sort keys[begin:end] by insertion."""
    for k in range(begin + _1, end):
        key = keys[k]
        place = np.uint64(k)
        while place > begin and keys[place - _1] > key:
            keys[place] = keys[place - _1]
            place -= _1
        keys[place] = key


@kernel
def _merge(keys, spare, begin, middle, end):  # type: ignore[no-untyped-def]
    """Merge the sorted keys[begin:middle] and keys[middle:end] into spare[begin:end]."""
    left, right = begin, middle
    for place in range(begin, end):
        take_left = right >= end or (left < middle and keys[left] <= keys[right])
        if take_left:
            spare[place] = keys[left]
            left += _1
        else:
            spare[place] = keys[right]
            right += _1


@kernel
def _sort(keys, spare, count):  # type: ignore[no-untyped-def]
    """Sort keys[:count] and return the array, of the two, that holds them then."""
    for begin in range(_0, count, _RUN):
        _insert(keys, begin, min(begin + _RUN, count))
    length = _RUN
    while length < count:
        for begin in range(_0, count, _2 * length):
            middle = min(begin + length, count)
            _merge(keys, spare, begin, middle, min(middle + length, count))
        keys, spare = spare, keys
        length *= _2
    return keys


@kernel
def _order(indptr, indices, values, keys, spare, old):  # type: ignore[no-untyped-def]
    """Order the rows where they are; rows that lose a feature move up."""
    rows = np.uint64(indptr.shape[0]) - _1
    begin = indptr[0]
    place = begin
    for t in range(rows):
        end = indptr[t + _1]
        count = end - begin
        if descents(indices, begin, end) == np.uint32(0):
            if place < begin:
                for k in range(count):
                    indices[place + k] = indices[begin + k]
                    values[place + k] = values[begin + k]
            place += count
        else:
            for k in range(count):
                # The position below the column keeps the order of features in one column.
                keys[k] = (np.uint64(indices[begin + k]) << _HALF) | k
                old[k] = values[begin + k]
            ordered = _sort(keys, spare, count)
            rank = _0
            while rank < count:
                column = ordered[rank] >> _HALF
                total = np.float64(old[ordered[rank] & _LOW])
                rank += _1
                while rank < count and ordered[rank] >> _HALF == column:
                    total += np.float64(old[ordered[rank] & _LOW])
                    rank += _1
                indices[place] = np.uint32(column)
                values[place] = total
                place += _1
        indptr[t + _1] = place
        begin = end


def order_rows(indptr: NDArray[np.uint64], indices: NDArray[np.uint32], values: Floats) -> None:
    """Sort each row by column where it is, and add up features that share a column.

    Rows that get shorter close up, so `indptr` changes with them. The sum of a column is
    rounded once for every feature in double precision, and then to the type of the values.

    >>> indptr = np.array([0, 3, 5], np.uint64)
    >>> indices = np.array([7, 2, 7, 1, 4], np.uint32)
    >>> values = np.array([1.0, 5.0, 0.5, 3.0, 9.0])
    >>> order_rows(indptr, indices, values)
    >>> indptr.tolist(), indices[:4].tolist(), values[:4].tolist()
    ([0, 2, 4], [2, 7, 1, 4], [5.0, 1.5, 3.0, 9.0])
    """
    longest = int(np.diff(indptr).max(initial=0))
    keys, spare = np.empty((2, longest), np.uint64)
    _order(indptr, indices, values, keys, spare, np.empty(longest, values.dtype))
