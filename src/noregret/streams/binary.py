"""The compact form of a stream: an Arrow file of labels, weights and sparse rows.

Any tool that reads Arrow can read it. Columns: `label` and `weight` (float64), `indices`
(list of uint32) and `values` (list of float32 or float64), with the same lengths in each row;
nothing is null, nothing compressed, so that the arrays can be used where they lie. The schema
is marked with the key `noregret`. A last record batch without rows tells, in its metadata,
what is known only at the end: how many rows and columns there are, whether any weight was
given, what labels became, and the names of the columns.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial

import numpy as np

from noregret.streams.ahead import parts_ahead
from noregret.streams.binary_file import BinaryFile
from noregret.streams.binary_write import write_binary
from noregret.streams.block import Block, Csr
from noregret.streams.errors import StreamError
from noregret.streams.format import Parsed
from noregret.streams.inputs import Inputs, find
from noregret.streams.labelling import are_classes
from noregret.streams.labels import class_name
from noregret.streams.reading import Reading
from noregret.streams.sparse import in_order
from noregret.streams.stream import Stream

__all__ = ["BinaryStream", "open_binary", "write_binary"]


class BinaryStream(Stream):
    """Blocks of one or several files of the compact form, where they lie in memory."""

    def __init__(self, files: list[BinaryFile], reading: Reading):
        labels = reading.labels
        first = files[0]
        for other in files[1:]:
            if other.facts.label_map != first.facts.label_map or other.columns != first.columns:
                raise StreamError(
                    f"{other.name}: labels or columns were not mapped as those of {first.name} "
                    "were; write both from one stream"
                )
        self.files = files
        self._label_map = first.facts.label_map
        if isinstance(labels, tuple) and self._label_map:
            given = {labels[0]: -1.0, labels[1]: 1.0}
            if given != self._label_map:
                raise StreamError(
                    f"{first.name}: found labels that were mapped when it was written, "
                    f"{self._label_map}, expected {labels!r}",
                    "labels",
                )
        several = 0.0 in self._label_map.values()
        if several and labels != "real" and not are_classes(labels):
            raise StreamError(
                f"{first.name}: its labels are classes, numbered when it was written; read "
                "them as classes",
                "labels",
            )
        #: The names of classes in the order of their numbers, where labels have names.
        self._classes: list[str] | None = None
        if are_classes(labels) and self._label_map:
            written = sorted(self._label_map, key=lambda one: self._label_map[one])
            self._classes = [one if isinstance(one, str) else class_name(one) for one in written]
        super().__init__(
            files,
            reading,
            # Labels with a map were mapped when the file was written.
            labels=labels if self._classes or not self._label_map else "real",
            width=max(file.facts.width for file in files),
            names=first.names,
        )

    def _pieces(self) -> Generator[Parsed, None, None]:
        if self._classes is None:
            self.label_map.update(self._label_map)
        numbers = np.sort([*self._label_map.values(), np.inf])
        done = 0
        for file in self.files:
            row = 1
            # A second thread brings the next batch from the disk and looks at it.
            fetch = partial(next, file.blocks(), None)
            with closing(parts_ahead(fetch, _looked_at, threads=1)) as batches:
                for block, end, ordered in batches:
                    y = block.y
                    if self._classes is not None:
                        # The place of each label among the numbers, NaN for none.
                        places, none = np.searchsorted(numbers, y), np.isnan(y)
                        if not np.all(none | (numbers[np.minimum(places, len(numbers) - 1)] == y)):
                            raise StreamError(
                                f"{file.name}: damaged, it holds labels that its description does "
                                "not name"
                            )
                        y = np.where(none, np.nan, places)
                    yield Parsed(
                        rows=Csr(block.indptr, block.indices, block.values),
                        y=y,
                        weight=block.weight,
                        width=block.width,
                        lines=len(block),
                        line_of_row=None,
                        faults=np.empty(0, np.uint64),
                        classes=self._classes,
                        ordered=ordered,
                        name=file.name,
                        unit="row",
                        first=row,
                        position=done + end,
                    )
                    row += len(block)
            done += file.size


def _looked_at(batch: tuple[Block, int]) -> Iterator[tuple[Block, int, bool]]:
    block, end = batch
    yield block, end, bool(in_order(block.indptr, block.indices, block.values))


def open_binary(inputs: Inputs, reading: Reading) -> BinaryStream:
    """Open files of the compact form, as `write_binary` makes them, as a stream of blocks.

    Batches are read into memory that only this process has, then checked: what others do to the
    file meanwhile does no harm. Labels that were mapped when the file was written stay mapped.
    """
    files = []
    for one in find(inputs):
        if one.path is None:
            raise StreamError(
                f"{one.name}: the compact form is read from files of this machine: copy it to one"
            )
        files.append(BinaryFile(one.path))
    return BinaryStream(files, reading)
