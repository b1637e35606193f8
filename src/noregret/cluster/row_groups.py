"""Files of Parquet in pieces: runs of row groups, each of which one worker reads.

A piece counts as a file of its own, beside its neighbours in their order: names, labels and rows
are then found in the order in which one process finds them. Rows are cut where one process cuts its
batches, too (`TableFile.segments`), since names are numbered batch by batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from noregret.cluster.dealing import File, shards_of
from noregret.streams.inputs import find

#: A file is read in pieces if the largest of them has at most this many times the mean rows: shards
#: would differ much in size else.
LARGEST_PIECE = 1.25


def in_pieces(files: Sequence[File], shards: int) -> list[File]:
    """Return the files, those that several shards share as a piece a shard where that is fair.

    Args:
        files: of Parquet, fewer than shards.
        shards: number of shards.
    """
    # Import here: it needs pyarrow.
    from noregret.streams.table_inputs import TableFile

    found: list[File] = []
    for file, count in zip(files, shards_of(files, shards), strict=True):
        runs: list[Any] = []
        if count > 1:
            runs = cut(TableFile(find([file.name])[0]).segments(), count)
        found += [file._replace(groups=run) for run in runs] or [file]
    return found


def cut(segments: Sequence[tuple[int, int, int]], count: int) -> list[tuple[int, int, int]]:
    """Return begin and end of the row groups of each piece, and the rows before it; [] if unfair.

    Args:
        segments: begin and end of row groups that are read together, and their rows.
        count: number of pieces.

    >>> cut([(0, 1, 50), (1, 3, 60), (3, 4, 40), (4, 5, 50)], 2)
    [(0, 3, 0), (3, 5, 110)]
    >>> cut([(0, 1, 50), (1, 3, 60), (3, 4, 40), (4, 5, 50)], 3)
    []
    """
    if len(segments) < count:
        return []
    ends = [0, *accumulate(rows for *_, rows in segments)]
    cuts = [0]
    for k in range(1, count):
        # Leave a segment at least for each of the pieces that follow.
        free = range(cuts[-1] + 1, len(segments) - (count - k) + 1)
        cuts.append(min(free, key=lambda at: abs(ends[at] * count - k * ends[-1])))
    cuts.append(len(segments))
    sizes = [ends[b] - ends[a] for a, b in pairwise(cuts)]
    if max(sizes) * count > LARGEST_PIECE * ends[-1]:
        return []
    return [(segments[a][0], segments[b - 1][1], ends[a]) for a, b in pairwise(cuts)]
