"""Sparse rows and names as arrays with ends: in order, chosen, features added and left out.

Hashing sends features of a line to columns in any order, two of them perhaps to the same one.
Passes allow neither: they step several features at a time, and ||x|| is that of the merged row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.jit import kernel
from noregret.rows.soundness import bounded, descents
from noregret.streams.block import Block, Csr, Floats, summed
from noregret.streams.names import NO_ROOM

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


def gathered(
    ends: NDArray[np.uint64], chosen: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return where the runs that are chosen end, after a 0, and where each of their items was.

    >>> stops, places = gathered(np.array([0, 2, 2, 5], np.uint64), np.array([2, 0]))
    >>> stops.tolist(), places.tolist()
    ([0, 3, 5], [2, 3, 4, 0, 1])
    """
    begins = ends[:-1][chosen]
    lengths = ends[1:][chosen] - begins
    stops = summed(lengths)
    # Differences may be negative: they are taken modulo 2^64, and so are the sums.
    moved = np.repeat(begins - stops[:-1], lengths.astype(np.intp))
    return stops, moved + np.arange(len(moved), dtype=np.uint64)


def without_unknown(rows: Csr) -> Csr:
    """Return rows without the features whose column is NO_ROOM.

    >>> indptr, indices = np.array([0, 2, 3], np.uint64), np.array([5, NO_ROOM, NO_ROOM], np.uint32)
    >>> parts = without_unknown(Csr(indptr, indices, np.array([1.0, 2.0, 3.0])))
    >>> [part.tolist() for part in parts]
    [[0, 1, 1], [5], [1.0]]
    """
    known = rows.indices != NO_ROOM
    if known.all():
        return rows
    return Csr(summed(known)[rows.indptr], rows.indices[known], rows.values[known])


def with_constant(rows: Csr, column: int, constant: float) -> Csr:
    """Return rows that end with a constant feature."""
    ends = rows.indptr[1:].astype(np.intp)
    longer: Any = rows.indptr + np.arange(len(rows.indptr), dtype=np.uint64)
    values: Any = np.insert(rows.values, ends, constant)
    return Csr(longer, np.insert(rows.indices, ends, np.uint32(column)), values)


def with_names(
    rows: Csr,
    groups: NDArray[np.uint8] | None,
    places: NDArray[np.intp] | NDArray[np.uint32],
    counts: NDArray[np.int64] | list[int],
    columns: NDArray[np.uint32],
) -> tuple[Csr, NDArray[np.uint8] | None]:
    """Return rows in which the feature at each place is replaced by some columns.

    Args:
        rows: the rows; the first of them begins at 0.
        groups: the group of each feature; they stay beside the features. None for none.
        places: where names belong, ascending.
        counts: how many columns belong there: of a category one, of a text as many as it has words.
        columns: the columns of all names, one after the other.

    >>> rows = Csr(np.array([0, 2], np.uint64), np.array([3, 0], np.uint32), np.array([0.5, 1.0]))
    >>> found, _ = with_names(rows, None, np.array([1]), np.array([2]), np.array([7, 8], np.uint32))
    >>> found.indptr.tolist(), found.indices.tolist(), found.values.tolist()
    ([0, 3], [3, 7, 8], [0.5, 1.0, 1.0])
    """
    copies = np.ones(len(rows.indices), np.int64)
    copies[places] = counts
    named = np.zeros(len(rows.indices), np.bool_)
    named[places] = True
    indices = np.repeat(rows.indices, copies)
    indices[np.repeat(named, copies)] = columns
    values: Floats = np.repeat(rows.values, copies)  # type: ignore[assignment]
    ends = summed(copies.astype(np.uint64))[rows.indptr]
    return Csr(ends, indices, values), None if groups is None else np.repeat(groups, copies)


def settled(rows: Csr, column: int = 0, constant: float = 0.0) -> Csr:
    """Return rows as blocks have them: columns known and in order, the constant among them.

    Args:
        rows: features in any order, NO_ROOM for columns that are not known.
        column: the column of the constant feature.
        constant: its value, 0 where the rows have it already or there is none.
    """
    rows = without_unknown(rows)
    if constant:
        rows = with_constant(rows, column, constant)
    order_rows(*rows)
    return rows.first(len(rows.indptr) - 1)


def joined_rows(
    blocks: Sequence[Block],
) -> tuple[Csr, NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows of one block or several as one, their labels and weights, 1 for none."""
    used = [slice(int(block.indptr[0]), int(block.indptr[-1])) for block in blocks]
    rows = Csr(
        summed(np.concatenate([np.diff(block.indptr) for block in blocks])),
        np.concatenate([one.indices[part] for one, part in zip(blocks, used, strict=True)]),
        np.concatenate([one.values[part] for one, part in zip(blocks, used, strict=True)]),
    )
    weights = [np.ones(len(one)) if one.weight is None else one.weight for one in blocks]
    return rows, np.concatenate([block.y for block in blocks]), np.concatenate(weights)


def shuffled(blocks: Iterable[Block], seed: int, rows: int) -> Iterator[Block]:
    """Yield blocks of at most `rows` rows: those of all blocks, shuffled, in every pass alike.

    Args:
        blocks: all blocks of a stream, which are held in memory at once, twice while joined.
        seed: of numpy's default generator, from 0.
        rows: the most rows a block holds, from 1.
    """
    held = list(blocks)
    if not held:
        return
    ordered, width = all(block.ordered for block in held), held[-1].width
    weighted = any(block.weight is not None for block in held)
    joint, y, weight = joined_rows(held)
    ids = [name for block in held for name in block.ids or ()]
    held.clear()
    order = np.random.default_rng(seed).permutation(len(y))
    for start in range(0, len(y), rows):
        chosen = order[start : start + rows]
        indptr, places = gathered(joint.indptr, chosen)
        arrays = Csr(indptr, joint.indices[places], joint.values[places])
        weights = weight[chosen] if weighted else None
        named = [ids[k] for k in chosen.tolist()] if ids else None
        yield Block._of_parser(arrays, ordered, y[chosen], width, weights, named)
