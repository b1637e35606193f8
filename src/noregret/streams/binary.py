"""The compact form of a stream: an Arrow file of labels, weights and sparse rows.

Any tool that reads Arrow can read it. Columns: `label` and `weight` (float64), `indices`
(list of uint32) and `values` (list of float32 or float64), with the same lengths in each row;
nothing is null, nothing compressed, so that the arrays can be used where they lie. The schema
is marked with the key `noregret`. A last record batch without rows tells, in its metadata,
what is known only at the end: how many rows and columns there are, whether any weight was
given, what labels became, and the names of the columns.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from noregret.streams.ahead import ahead
from noregret.streams.binary_file import BinaryFile
from noregret.streams.binary_write import write_binary
from noregret.streams.block import Block
from noregret.streams.errors import StreamError
from noregret.streams.format import Parsed
from noregret.streams.inputs import Inputs, find
from noregret.streams.labels import Labels
from noregret.streams.order import in_order
from noregret.streams.stream import OnError, Piece, Stream

__all__ = ["BinaryStream", "open_binary", "write_binary"]


class BinaryStream(Stream):
    """Blocks of one or several files of the compact form, where they lie in memory."""

    def __init__(self, files: list[BinaryFile], labels: Labels, **options: Any):
        first = files[0]
        for other in files[1:]:
            if other.facts.label_map != first.facts.label_map or not other.same_columns(first):
                raise StreamError(
                    f"{other.path}: labels or columns were not mapped as those of {first.path} "
                    "were; write both from one stream"
                )
        self.files = files
        self._label_map = first.facts.label_map
        if isinstance(labels, tuple) and self._label_map:
            given = {labels[0]: -1.0, labels[1]: 1.0}
            if given != self._label_map:
                raise StreamError(
                    f"{first.path}: labels={labels!r}, but they were mapped when it was written: "
                    f"{self._label_map}"
                )
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        super().__init__(
            f"{first.path}{more}",
            # What is mapped already is taken as it is.
            labels="real" if self._label_map else labels,
            width=max(file.facts.width for file in files),
            size=sum(file.size for file in files),
            names=first.names,
            **options,
        )

    def _pieces(self) -> Generator[Piece, None, None]:
        self.label_map.update(self._label_map)
        none = np.empty(0, np.uint64)
        done = 0
        for file in self.files:
            row = 1
            # A second thread brings the next batch from the disk and looks at it.
            fetch = partial(next, file.blocks(), None)
            with closing(ahead(fetch, _looked_at, threads=1)) as batches:
                for block, end, ordered in batches:
                    parsed = Parsed(
                        indptr=block.indptr,
                        indices=block.indices,
                        values=block.values,
                        y=block.y,
                        weight=block.weight,
                        width=block.width,
                        lines=len(block),
                        line_of_row=None,
                        faults=none,
                    )
                    yield Piece(parsed, str(file.path), "row", row, done + end, (), ordered)
                    row += len(block)
            done += file.size


def _looked_at(batch: tuple[Block, int]) -> tuple[Block, int, bool]:
    block, end = batch
    return block, end, bool(in_order(block.indptr, block.indices, block.values))


def open_binary(
    inputs: Inputs, *, labels: Labels = "real", rows: int = 8192, on_error: OnError = "stop"
) -> BinaryStream:
    """Open files of the compact form, as `write_binary` makes them, as a stream of blocks.

    The files are mapped into memory, nothing is copied. Labels that were mapped when the file
    was written stay mapped.
    """
    files = []
    for one in find(inputs):
        if one.path is None:
            raise StreamError("the compact form is mapped into memory, expected a file, found '-'")
        files.append(BinaryFile(one.path))
    return BinaryStream(files, labels, rows=rows, on_error=on_error)
