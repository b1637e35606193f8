"""The compact form of a stream: an Arrow file of labels, weights and sparse rows.

Any tool that reads Arrow can read it. Columns: `label` and `weight` (float64), `indices`
(list of uint32) and `values` (list of float32 or float64), with the same lengths in each row;
nothing is null, nothing compressed, so that the arrays can be used where they lie. The schema
is marked with the key `noregret`. A last record batch without rows tells, in its metadata,
what is known only at the end: how many rows and columns there are, whether any weight was
given, what labels became, and the names of the columns.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, Literal

import numpy as np

from noregret.arguments import ArgumentError
from noregret.files.replacing import replaced
from noregret.streams.ahead import parts_ahead
from noregret.streams.binary_file import MARK, VERSION, BinaryFile, Facts
from noregret.streams.block import Block, Csr
from noregret.streams.errors import StreamError
from noregret.streams.format import Parsed
from noregret.streams.inputs import Inputs, find
from noregret.streams.labels import are_classes, class_name
from noregret.streams.names import FeatureNames, HashedNames
from noregret.streams.reading import Reading
from noregret.streams.sparse import in_order, joined_rows
from noregret.streams.stream import Stream
from noregret.streams.table_inputs import arrow, arrow_errors

#: Largest numbers of nonzeros and rows of a batch: little memory, yet much more than its header.
BATCH_NONZEROS = 1 << 20
BATCH_ROWS = 1 << 16
#: Offsets within a batch are numbers of 31 bits.
_MOST_NONZEROS = 2**31 - 1


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

    def leave_first_out(self) -> None:
        """Leave out the rows of the first file."""
        self.files = self.files[1:]

    def _pieces(self) -> Generator[Parsed, None, None]:
        if self._classes is None:
            self.label_map.update(self._label_map)
        numbers = np.sort([*self._label_map.values(), np.inf])
        done = 0
        for number, file in enumerate(self.files):
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
                        number=number,
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


def write_binary(
    stream: Iterable[Block],
    path: str | os.PathLike[str],
    *,
    dtype: Literal["float32", "float64"] | None = None,
) -> int:
    """Write the blocks of a stream as a file of the compact form; return how many rows.

    What is at `path` is replaced when all is written and on the disk, and stays as it is if
    anything goes wrong before that. Values keep the type of the first block unless `dtype`
    says otherwise.

    >>> import tempfile
    >>> from noregret.streams import read
    >>> block = Block(
    ...     indptr=np.array([0, 2, 3], np.uint64),
    ...     indices=np.array([0, 2, 1], np.uint32),
    ...     values=np.array([0.5, 2.0, 1.0]),
    ...     y=np.array([-1.0, 1.0]),
    ...     width=3,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = write_binary([block], folder + "/tiny.arrow", dtype="float32")
    ...     back = list(read(folder + "/tiny.arrow"))
    >>> rows, back[0].dense().tolist(), back[0].values.dtype
    (2, [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], dtype('float32'))
    """
    if dtype not in (None, "float32", "float64"):
        raise ArgumentError("dtype", "expected 'float32' or 'float64'", dtype)
    where = os.fspath(path)
    try:
        with replaced(path) as temporary, arrow_errors(where):
            with arrow.OSFile(str(temporary.name), "wb") as sink:
                return _write(sink, stream, dtype, where)
    except OSError as error:
        raise StreamError(f"{where}: cannot be written: {error.strerror}") from error


def _write(sink: Any, stream: Iterable[Block], dtype: str | None, where: str) -> int:
    blocks = iter(stream)
    first = [*itertools.islice(blocks, 1)]
    kind = np.dtype(dtype or (first[0].values.dtype if first else np.float64))
    fields = [
        ("label", arrow.float64()),
        ("weight", arrow.float64()),
        ("indices", arrow.list_(arrow.uint32())),
        ("values", arrow.list_(arrow.from_numpy_dtype(kind))),
    ]
    schema = arrow.schema(fields, metadata={MARK: str(VERSION)})
    rows = width = 0
    weighted = False

    def seen() -> Iterator[Block]:
        nonlocal width, weighted
        for block in itertools.chain(first, blocks):
            width = max(width, block.width)
            weighted |= block.weight is not None
            yield block

    with arrow.ipc.new_file(sink, schema) as writer:
        for group in _grouped(seen()):
            writer.write_batch(_batch(schema, group, kind, rows, where))
            rows += sum(map(len, group))
        # The facts, and the names if there are any.
        names = getattr(stream, "names", None)
        hashed = (names.bits, names.limit) if isinstance(names, HashedNames) else ()
        label_map = dict(getattr(stream, "label_map", {}))
        facts = Facts(rows, max(width, getattr(stream, "width", 0)), weighted, label_map, *hashed)
        arrays = names.arrays() if isinstance(names, FeatureNames | HashedNames) else {}
        told = {MARK: facts.to_json()} | {k.encode(): one.tobytes() for k, one in arrays.items()}
        nothing = Block.sound(
            np.zeros(1, np.uint64), np.empty(0, np.uint32), np.empty(0, kind), np.empty(0), 0
        )
        writer.write_batch(_batch(schema, [nothing], kind, rows, where), custom_metadata=told)
    return rows


def _grouped(stream: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield lists of blocks that make a batch each."""
    held: list[Block] = []
    rows = nonzeros = 0
    for block in stream:
        for part in _parts(block):
            if held and (
                rows + len(part) > BATCH_ROWS or nonzeros + part.nonzeros > BATCH_NONZEROS
            ):
                yield held
                held, rows, nonzeros = [], 0, 0
            held.append(part)
            rows += len(part)
            nonzeros += part.nonzeros
    if held:
        yield held


def _parts(block: Block) -> Iterator[Block]:
    """Yield a block in parts that fit a batch, single rows of any length."""
    start = 0
    while start < len(block):
        goal = block.indptr[start] + np.uint64(BATCH_NONZEROS)
        stop = int(np.searchsorted(block.indptr, goal, side="right")) - 1
        stop = min(max(stop, start + 1), start + BATCH_ROWS, len(block))
        yield block.rows(start, stop)
        start = stop


def _batch(schema: Any, blocks: list[Block], kind: np.dtype[Any], before: int, where: str) -> Any:
    rows, y, weight = joined_rows(blocks)
    if int(rows.indptr[-1]) > _MOST_NONZEROS:
        raise StreamError(f"{where}, row {before + 1}: more than {_MOST_NONZEROS} nonzeros")
    with np.errstate(over="ignore"):
        values = rows.values.astype(kind, copy=False)
    if not np.isfinite(values).all():
        fault = int(np.flatnonzero(~np.isfinite(values))[0])
        row = before + int(np.searchsorted(rows.indptr, fault, side="right"))
        raise StreamError(
            f"{where}, row {row}: found {rows.values[fault]}, expected a finite {kind}"
        )
    places = arrow.array(rows.indptr.astype(np.int32))
    return arrow.record_batch(
        [
            arrow.array(y),
            arrow.array(weight),
            arrow.ListArray.from_arrays(places, arrow.array(rows.indices)),
            arrow.ListArray.from_arrays(places, arrow.array(values)),
        ],
        schema=schema,
    )
