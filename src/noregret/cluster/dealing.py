"""Which rows belong to which shard: a function of the files and the number of shards alone.

With at least as many files as shards, a shard gets whole neighbouring files. With fewer, each file
has shards of its own, more of them the larger it is, and row r of a file with m shards belongs to
shard r mod m of these: no row count is needed in advance, and however a reader cuts its blocks, the
rows of a shard are the same. A large file of the compact form is dealt by batches in place of rows,
so that a worker reads its own batches only; one of Parquet comes in pieces, each a shard of its own
(`row_groups`). Either way, the files that neighbouring shards read are
neighbours.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from noregret.arguments import ArgumentError

#: Fewest batches a shard by which a file is dealt: with fewer, shards would differ much in size.
FEWEST_BATCHES = 8


class File(NamedTuple):
    """A file of a run."""

    #: Its path or address.
    name: str
    #: How many bytes it has, None if unknown.
    size: int | None
    #: How many batches it has, if it is of the compact form; 0 for all others.
    batches: int = 0
    #: Begin and end of its row groups that one shard has, and the rows before them, if it is a
    #: piece of a file of Parquet; None for a whole file.
    groups: tuple[int, int, int] | None = None


def bytes_of(files: Iterable[File]) -> int:
    """Return how many bytes all files have, those of unknown size left out.

    >>> bytes_of([File("a", 9, groups=(0, 2, 0)), File("a", 9, groups=(2, 3, 40)), File("b", 1)])
    10
    """
    return sum(one.size or 0 for one in files if one.groups is None or one.groups[0] == 0)


class Part(NamedTuple):
    """Rows of a file: those with a number, counted from 0, that is `place` modulo `of`."""

    #: The number of the file, counted from 0.
    file: int
    place: int = 0
    of: int = 1
    #: Whether batches are numbered, not rows.
    batches: bool = False


def deal(files: Iterable[File | tuple[Any, ...]], shards: int) -> list[list[Part]]:
    """Return the parts of files that each shard holds, in the order of the files.

    Args:
        files: (name, size, batches) of each file, size in bytes or None for unknown; where any
            size is unknown, files count as equally large. Batches may be left out.
        shards: number of shards, at least 1.

    >>> [[part[:3] for part in shard] for shard in deal([("a", 90), ("b", 10), ("c", 10)], 2)]
    [[(0, 0, 1)], [(1, 0, 1), (2, 0, 1)]]
    >>> [[part[:3] for part in shard] for shard in deal([("a", 90), ("b", 40)], 3)]
    [[(0, 0, 2)], [(0, 1, 2)], [(1, 0, 1)]]
    """
    given = [File(*one) for one in files]
    if shards < 1:
        raise ArgumentError("shards", "expected at least 1", shards)
    if not given:
        raise ArgumentError("files", "expected at least one")
    if len(given) >= shards:
        return [[*map(Part, range(*group))] for group in _groups(_sizes(given), shards)]
    counts = shards_of(given, shards)
    return [
        [Part(file, place, of, 1 < of <= given[file].batches // FEWEST_BATCHES)]
        for file, of in enumerate(counts)
        for place in range(of)
    ]


def _sizes(files: Sequence[File]) -> list[int]:
    known = [one.size for one in files]
    return [1 if None in known else max(size or 0, 1) for size in known]


def shards_of(files: Sequence[File], shards: int) -> list[int]:
    """Return how many shards each file gets, one for a piece of a file.

    Args:
        files: fewer than shards, or as many pieces.
        shards: number of shards.

    >>> piece = File("a", 90, groups=(0, 1, 0))
    >>> shards_of([piece, piece, File("b", 20), File("c", 10)], 5)
    [1, 1, 2, 1]
    """
    whole = [one for one in files if one.groups is None]
    left = shards - (len(files) - len(whole))
    counts = iter(_proportional(_sizes(whole), left) if whole else [])
    return [next(counts) if one.groups is None else 1 for one in files]


def _groups(sizes: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Return begin and end of `count` runs of files, none empty, of similar size in bytes."""
    ends = [0, *accumulate(sizes)]
    cuts = [0]
    for k in range(1, count):
        # Leave a file at least for each of the groups that follow.
        free = range(cuts[-1] + 1, len(sizes) - (count - k) + 1)
        # Nearest to k/count of all bytes, in integers.
        cuts.append(min(free, key=lambda cut: abs(ends[cut] * count - k * ends[-1])))
    return list(pairwise([*cuts, len(sizes)]))


def _proportional(sizes: Sequence[int], shards: int) -> list[int]:
    """Return how many shards each file gets, at least one: the next goes to the largest share."""
    counts = [1] * len(sizes)
    heap = [(-float(size), file) for file, size in enumerate(sizes)]
    heapq.heapify(heap)
    for _ in range(shards - len(sizes)):
        file = heap[0][1]
        counts[file] += 1
        heapq.heapreplace(heap, (-sizes[file] / counts[file], file))
    return counts


def files_of(parts: Iterable[Sequence[Part]]) -> range:
    """Return the numbers of the files that some neighbouring shards need.

    >>> files_of(deal([("a", 90), ("b", 40)], 3)[1:])
    range(0, 2)
    """
    files = [part.file for several in parts for part in several]
    return range(min(files), max(files) + 1)
