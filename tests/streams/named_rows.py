"""Rows of a stream by the names of their features, for comparison with what a file says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noregret.streams.block import Block

Example = tuple[float, float, dict[str, float]]


def examples_of(stream: Any) -> list[Example]:
    """Return (label, weight, {name: value}) of every row of a stream."""
    return examples_in(stream, stream.names)


def examples_in(blocks: Iterable[Block], names: Any) -> list[Example]:
    """Return the same of some blocks; columns of a row must ascend."""
    rows = []
    for block in blocks:
        for t in range(len(block)):
            part = slice(int(block.indptr[t]), int(block.indptr[t + 1]))
            columns = block.indices[part].tolist()
            assert sorted(set(columns)) == columns and all(c < block.width for c in columns)
            features = zip(map(names.name, columns), block.values[part].tolist(), strict=True)
            weight = 1.0 if block.weight is None else float(block.weight[t])
            rows.append((float(block.y[t]), weight, dict(features)))
    return rows
