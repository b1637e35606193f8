"""Sparse rows and names as arrays with ends: runs of them chosen, features added and left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Block, Csr, Floats
from noregret.streams.names import NO_ROOM
from noregret.streams.order import order_rows


def summed(lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return where runs of these lengths end, after a 0.

    >>> summed(np.array([2, 0, 3], np.uint64)).tolist()
    [0, 2, 2, 5]
    """
    ends = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=ends[1:])
    return ends


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
    used = int(rows.indptr[-1])
    known = rows.indices[:used] != NO_ROOM
    if known.all():
        return rows
    return Csr(summed(known)[rows.indptr], rows.indices[:used][known], rows.values[:used][known])


def with_constant(rows: Csr, column: int, constant: float) -> Csr:
    """Return rows that end with a constant feature."""
    ends, used = rows.indptr[1:].astype(np.intp), int(rows.indptr[-1])
    longer = rows.indptr + np.arange(len(rows.indptr), dtype=np.uint64)
    indices = np.insert(rows.indices[:used], ends, np.uint32(column))
    return Csr(longer, indices, np.insert(rows.values[:used], ends, constant))


def with_names(
    rows: Csr,
    groups: NDArray[np.uint8] | None,
    places: NDArray[np.intp],
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
    used = int(rows.indptr[-1])
    copies = np.ones(used, np.int64)
    copies[places] = counts
    named = np.zeros(used, np.bool_)
    named[places] = True
    indices = np.repeat(rows.indices[:used], copies)
    indices[np.repeat(named, copies)] = columns
    values: Floats = np.repeat(rows.values[:used], copies)  # type: ignore[assignment]
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
    used = int(rows.indptr[-1])
    return Csr(rows.indptr, rows.indices[:used], rows.values[:used])


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
    ends = summed(np.concatenate([np.diff(block.indptr) for block in held]))
    used = [slice(int(block.indptr[0]), int(block.indptr[-1])) for block in held]
    indices = np.concatenate([one.indices[part] for one, part in zip(held, used, strict=True)])
    values = np.concatenate([one.values[part] for one, part in zip(held, used, strict=True)])
    y = np.concatenate([block.y for block in held])
    weight = None
    if any(block.weight is not None for block in held):
        given = [np.ones(len(one)) if one.weight is None else one.weight for one in held]
        weight = np.concatenate(given)
    ids = [name for block in held for name in block.ids or ()]
    held.clear()
    order = np.random.default_rng(seed).permutation(len(y))
    for start in range(0, len(y), rows):
        chosen = order[start : start + rows]
        indptr, places = gathered(ends, chosen)
        arrays = Csr(indptr, indices[places], values[places])
        weights = None if weight is None else weight[chosen]
        named = [ids[k] for k in chosen.tolist()] if ids else None
        yield Block._of_parser(arrays, ordered, y[chosen], width, weights, named)
