"""A stream in memory at once, for the commands that solve a batch problem."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from noregret.runs.progress import Watched
from noregret.streams import Block, Stream


def whole(stream: Stream) -> Block:
    """Return all rows of a stream as one block."""
    return joined(Watched(stream))


def margins(block: Block, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return <w, x> for every row; features without a weight count nothing."""
    first, last = int(block.indptr[0]), int(block.indptr[-1])
    columns, values = block.indices[first:last], block.values[first:last]
    known = np.pad(weights, (0, max(0, block.width - len(weights))))
    of_row = np.repeat(np.arange(len(block)), np.diff(block.indptr).astype(np.intp))
    totals = np.bincount(of_row, values * known[columns], len(block))
    return np.asarray(totals, np.float64)


def joined(blocks: Iterable[Block]) -> Block:
    """Return the rows of several blocks, one after the other."""
    parts = list(blocks)
    spans = [slice(int(part.indptr[0]), int(part.indptr[-1])) for part in parts]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    weighted = any(part.weight is not None for part in parts)
    return Block(
        indptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64),
        indices=np.concatenate([part.indices[s] for part, s in zip(parts, spans, strict=True)]),
        values=np.concatenate([part.values[s] for part, s in zip(parts, spans, strict=True)]),
        y=np.concatenate([part.y for part in parts]),
        width=max(part.width for part in parts),
        weight=np.concatenate(
            [np.ones(len(part)) if part.weight is None else part.weight for part in parts]
        )
        if weighted
        else None,
    )
