"""All rows of a stream in another order, which a seed decides: the whole of it is in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from noregret.rows.sealed import Seal, Sealed
from noregret.streams.block import Block


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
    ordered = all(block.ordered for block in held)
    lengths = np.concatenate([np.diff(block.indptr) for block in held]).astype(np.int64)
    parts = [slice(int(block.indptr[0]), int(block.indptr[-1])) for block in held]
    indices = np.concatenate([one.indices[part] for one, part in zip(held, parts, strict=True)])
    values = np.concatenate([one.values[part] for one, part in zip(held, parts, strict=True)])
    y = np.concatenate([block.y for block in held])
    weight = None
    if any(block.weight is not None for block in held):
        given = [np.ones(len(one)) if one.weight is None else one.weight for one in held]
        weight = np.concatenate(given)
    ids = [name for block in held for name in block.ids or ()]
    width = held[-1].width
    held.clear()
    order = np.random.default_rng(seed).permutation(len(y))
    begins = np.cumsum(lengths) - lengths
    for start in range(0, len(y), rows):
        chosen = order[start : start + rows]
        counts = lengths[chosen]
        ends = np.zeros(len(chosen) + 1, np.uint64)
        np.cumsum(counts, out=ends[1:])
        # Where each feature of the rows chosen lies among all.
        places = np.repeat(begins[chosen] - ends[:-1].astype(np.int64), counts)
        places += np.arange(int(ends[-1]))
        arrays = ends, indices[places], values[places]
        weights = None if weight is None else weight[chosen]
        named = [ids[k] for k in chosen.tolist()] if ids else None
        if ordered:
            yield Block._of_sealed(Sealed(*arrays, width, Seal()), y[chosen], weights, named)
        else:
            yield Block.sound(*arrays, y[chosen], width, weights, named)
