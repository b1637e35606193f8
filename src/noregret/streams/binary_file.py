"""A file of the compact form, read batch by batch and checked before it is used.

Arrow reads it into memory of this process, so that nobody can change what was read. A mapped file
is shared: cut short by somebody else it ends the program (SIGBUS), and an index that is overwritten
after it was checked is used unchecked.
"""

from __future__ import annotations

import io
import json
import math
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Block
from noregret.streams.errors import StreamError
from noregret.streams.format import Slabs
from noregret.streams.labels import LabelMap
from noregret.streams.names import FeatureNames, HashedNames, Names
from noregret.streams.table_inputs import arrow, arrow_errors

MARK = b"noregret"
VERSION = 1
NAME_ARRAYS = {"name_text": "u1", "name_offsets": "<u8", "name_slots": "<u4"}
_COLUMNS = ("label", "weight", "indices", "values")
_LISTS = _COLUMNS[2:]
#: Which of the buffers of a list hold offsets and content.
_OFFSETS, _CONTENT = 1, 3
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
#: Buffers are multiples of this many words, so that batches of similar size reuse them.
_STEP = 1 << 16


class PrivateFile(io.FileIO):
    """A file as `pyarrow.PythonFile` wants it; each read returns an array of its own.

    It stays open and the same file whatever its name becomes. One thread at a time.
    """

    def __init__(self, path: Path) -> None:
        #: The text that error messages begin with.
        self.where = str(path)
        #: What was read since it was cleared; memory that nobody refers to is used again.
        self.held: list[NDArray[np.uint8]] = []
        self._slabs = Slabs()
        try:
            descriptor = os.open(path, _FLAGS)
            # Closed with the last reference: Arrow closes what it was given, and reads go on.
            weakref.finalize(self, os.close, descriptor)
            super().__init__(descriptor, closefd=False)
        except OSError as error:
            raise StreamError(f"{path}: {error.strerror or error}") from error
        self.size = os.fstat(descriptor).st_size
        if self.size == 0:
            raise StreamError(f"{path}: the file is empty")

    def close(self) -> None:
        """Do nothing: the file may be read again."""

    def require_whole(self) -> None:
        """Refuse a file that has become shorter."""
        if os.fstat(self.fileno()).st_size < self.size:
            raise self._cut()

    def _cut(self) -> StreamError:
        return StreamError(f"{self.where}: the file was cut short while it was read")

    def read(self, count: int = -1) -> NDArray[np.uint8]:  # type: ignore[override]
        """Return the next bytes, as far as the file had any when it was opened."""
        left = max(self.size - self.tell(), 0)
        # A damaged file may ask for any number.
        count = left if count < 0 else min(count, left)
        words = -(-count // (8 * _STEP)) * _STEP
        bytes_read = self._slabs.take(np.uint64, words).view(np.uint8)[:count]
        view = memoryview(bytes_read)  # type: ignore[arg-type]
        done = 0
        while done < count:
            more = self.readinto(view[done:])
            if not more:
                raise self._cut()
            done += more
        self.held.append(bytes_read)
        return bytes_read

    def array(self, buffer: Any, kind: Any, count: int) -> NDArray[Any]:
        """Return the content of a buffer of Arrow as a view of the bytes that were read here."""
        if count == 0:
            return np.empty(0, kind)
        size = count * np.dtype(kind).itemsize
        for held in self.held:
            begin = buffer.address - held.ctypes.data
            if 0 <= begin <= len(held) - size and begin % 8 == 0:
                part: NDArray[Any] = held[begin : begin + size].view(kind)
                return part
        raise StreamError(f"{self.where}: compressed or damaged, expected arrays as they are used")


@dataclass(frozen=True)
class Facts:
    """The metadata in the last record batch of a file."""

    rows: int
    width: int
    weighted: bool
    label_map: LabelMap
    #: The number of bits of hashed columns, None for a dictionary.
    bits: int | None = None
    #: How many hashed names were to be remembered.
    limit: int = 0

    def to_json(self) -> bytes:
        """Return the facts as text."""
        held = vars(self) | {"label_map": list(self.label_map.items())}
        return json.dumps(held).encode()

    @classmethod
    def from_json(cls, text: bytes, where: str) -> Facts:
        """Return the facts that a file tells; refuse what no file of ours would."""
        try:
            held = json.loads(text)
            pairs = [(written, float(value)) for written, value in held.pop("label_map")]
            facts = cls(**held, label_map=dict(pairs))
            sound = (
                type(facts.rows) is int
                and type(facts.width) is int
                and 0 <= facts.rows
                and 0 <= facts.width <= 1 << 32
                and type(facts.weighted) is bool
                and all(isinstance(written, str | int | float) for written, _ in pairs)
                and all(math.isfinite(value) for _, value in pairs)
                and (facts.bits is None or (type(facts.bits) is int and 1 <= facts.bits <= 31))
                and type(facts.limit) is int
                and facts.limit >= 0
            )
        except (ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError):
            sound = False
        if not sound:
            raise StreamError(f"{where}: damaged, its description cannot be read")
        return facts


class BinaryFile:
    """A file of the compact form, which is read batch by batch."""

    def __init__(self, path: Path) -> None:
        self.name = where = str(path)
        self._names: Names | None = None
        self._file = PrivateFile(path)
        self._guard = threading.Lock()
        with arrow_errors(where):
            self._reader = arrow.ipc.open_file(arrow.PythonFile(self._file, mode="r"))
            schema = self._reader.schema
            self.batches: int = self._reader.num_record_batches - 1
            _check_schema(schema, where)
            if self.batches < 0:
                raise StreamError(f"{where}: damaged, it has no description")
            last, told = self._reader.get_batch_with_custom_metadata(self.batches)
        self._told: dict[bytes, bytes] = dict(told or {})
        if last.num_rows or MARK not in self._told:
            raise StreamError(f"{where}: damaged, its last batch is not a description")
        self.facts = Facts.from_json(self._told[MARK], where)
        self._file.held.clear()
        self.size = self._file.size
        self._weighted = self.facts.weighted and "weight" in schema.names
        #: The batches that `blocks` reads, counted from 0 [default: all].
        self.wanted: Sequence[int] = range(self.batches)

    @property
    def names(self) -> Names | None:
        """The names of the columns, if they were kept; read when asked for."""
        if self._names is None and b"name_text" in self._told:
            try:
                arrays = {
                    key: np.frombuffer(self._told[key.encode()], kind).copy()
                    for key, kind in NAME_ARRAYS.items()
                    if key.encode() in self._told
                }
                if self.facts.bits is None:
                    self._names = FeatureNames.from_arrays(arrays)
                else:
                    self._names = HashedNames.from_arrays(arrays, self.facts.bits, self.facts.limit)
            except (ValueError, KeyError) as error:
                raise StreamError(f"{self.name}: damaged, {error}") from error
        return self._names

    @property
    def columns(self) -> list[Any]:
        """What the file tells about its columns: bits, or names."""
        named = NAME_ARRAYS if self.facts.bits is None else ()
        return [self.facts.bits, *(self._told.get(key.encode()) for key in named)]

    def blocks(self) -> Iterator[tuple[Block, int]]:
        """Yield each wanted batch as a block, and the bytes of the file up to its end."""
        rows = 0
        for number in self.wanted:
            block, end = self.batch(number)
            rows += len(block)
            yield block, end
        if rows != self.facts.rows and len(self.wanted) == self.batches:
            raise StreamError(
                f"{self.name}: damaged, found {rows} rows, expected {self.facts.rows}"
            )

    def batch(self, number: int) -> tuple[Block, int]:
        """Return a batch as a block, and the bytes of the file up to its end."""
        with self._guard:
            self._file.where = f"{self.name}, batch {number + 1} of {self.batches}"
            self._file.require_whole()
            try:
                return self._checked(number)
            finally:
                self._file.held.clear()

    def _checked(self, number: int) -> tuple[Block, int]:
        """Return a batch, the arrays of which lie in memory that nobody else has."""
        where = self._file.where
        with arrow_errors(where):
            batch = self._reader.get_batch(number)
            # Buffers that are not read here must lie within the file, too.
            batch.validate(full=True)
            label, lists = batch.column("label"), [batch.column(name) for name in _LISTS]
            weights = [batch.column("weight")] if self._weighted else []
            parts = [label, *weights, *lists, *(column.values for column in lists)]
        if any(part.null_count or part.offset for part in parts):
            raise StreamError(f"{where}: found nulls, expected none")
        rows = len(label)
        if not rows:
            raise StreamError(f"{where}: damaged, found no rows")
        y = self._file.array(label.buffers()[1], np.float64, rows)
        weight = self._file.array(weights[0].buffers()[1], np.float64, rows) if weights else None
        offsets, others = (
            self._file.array(
                column.buffers()[_OFFSETS],
                np.int64 if str(column.type).startswith("large") else np.int32,
                rows + 1,
            )
            for column in lists
        )
        used = min(int(offsets[-1]), int(others[-1]))
        indices, values = (
            self._file.array(
                column.buffers()[_CONTENT], column.type.value_type.to_pandas_dtype(), used
            )
            for column in lists
        )
        held, sizes = indices[int(offsets[0]) :], np.zeros(1) if weight is None else weight
        sound = {
            "a row has more indices than values or fewer": (offsets == others).all(),
            "expected finite labels, and weights from 0": np.isfinite(y).all()
            and ((sizes >= 0.0) & (sizes < np.inf)).all(),
            "a column index is beyond the width": not len(held) or held.max() < self.facts.width,
        }
        for complaint, holds in sound.items():
            if not holds:
                raise StreamError(f"{where}: damaged, {complaint}")
        indptr = offsets.astype(np.uint64)
        block = Block.sound(indptr, indices, values, y, self.facts.width, weight)
        return block, self._file.tell()


def is_binary(schema: Any) -> bool:
    """Return whether a schema of Arrow is that of the compact form."""
    return MARK in (schema.metadata or {})


def _check_schema(schema: Any, where: str) -> None:
    if not is_binary(schema):
        raise StreamError(f"{where}: an Arrow file, but not one that noregret has written")
    if schema.metadata[MARK] != str(VERSION).encode():
        version = schema.metadata[MARK].decode("utf-8", "backslashreplace")
        raise StreamError(f"{where}: found version {version:.20}, expected {VERSION}")
    lists = (arrow.list_, arrow.large_list)
    kinds = {
        "label": [arrow.float64()],
        "weight": [arrow.float64()],
        "indices": [kind(arrow.uint32()) for kind in lists],
        "values": [kind(x) for kind in lists for x in (arrow.float32(), arrow.float64())],
    }
    names = list(schema.names)
    if [*filter(lambda name: name != "weight", names)] != ["label", "indices", "values"]:
        found = f"{names!s:.200}"
        raise StreamError(f"{where}: found the columns {found}, expected {list(_COLUMNS)}")
    for name in names:
        if schema.field(name).type not in kinds[name]:
            raise StreamError(
                f"{where}: column {name} is {schema.field(name).type}, expected {kinds[name][0]}"
            )
