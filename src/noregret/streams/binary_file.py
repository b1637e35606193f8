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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.jit import kernel
from noregret.streams.arrow import arrow, arrow_errors
from noregret.streams.block import Block
from noregret.streams.errors import StreamError
from noregret.streams.format import Slabs
from noregret.streams.labels import LabelMap
from noregret.streams.names import FeatureNames, HashedNames, Names

MARK = b"noregret"
VERSION = 1
NAME_ARRAYS = {"name_text": "u1", "name_offsets": "<u8", "name_slots": "<u4"}
_COLUMNS = ("label", "weight", "indices", "values")
_LISTS = _COLUMNS[2:]
#: Which of the buffers of a list hold offsets and content.
_OFFSETS, _CONTENT = 1, 3
_FAULTS = (
    "",
    "a row has more indices than values or fewer",
    "expected finite labels, and weights from 0",
    "a column index is beyond the width",
)
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
        #: What was read since `forget`: where in the file, and the bytes.
        self.held: list[tuple[int, NDArray[np.uint8]]] = []
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

    def forget(self) -> None:
        """Drop what was read; memory that nobody refers to is used again."""
        self.held.clear()

    def require_whole(self) -> None:
        """Refuse a file that has become shorter."""
        if os.fstat(self.fileno()).st_size < self.size:
            raise self._cut()

    def _cut(self) -> StreamError:
        return StreamError(f"{self.where}: the file was cut short while it was read")

    def read(self, count: int = -1) -> NDArray[np.uint8]:  # type: ignore[override]
        """Return the next bytes, as far as the file had any when it was opened."""
        place = self.tell()
        left = max(self.size - place, 0)
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
        self.held.append((place, bytes_read))
        return bytes_read

    def array(self, buffer: Any, kind: Any, count: int) -> NDArray[Any] | None:
        """Return the content of a buffer of Arrow as an array, None if it was not read here."""
        size = count * np.dtype(kind).itemsize
        for _, held in self.held:
            begin = buffer.address - held.ctypes.data
            if 0 <= begin <= len(held) - size and begin % 8 == 0:
                part: NDArray[Any] = held[begin : begin + size].view(kind)
                return part
        return None

    def end_of(self, array: NDArray[Any]) -> int:
        """Return where in the file an array ends, 0 for none."""
        for place, held in self.held:
            begin = array.ctypes.data - held.ctypes.data
            if len(array) and 0 <= begin < len(held):
                return int(place + begin + array.nbytes)
        return 0


@kernel
def _check(offsets, others, indices, y, weight, weighted, width, indptr):  # type: ignore[no-untyped-def]
    """Fill indptr; return which of the faults a batch has."""
    for row in range(np.uint64(indptr.shape[0])):
        if offsets[row] != others[row]:
            return 1
        indptr[row] = np.uint64(offsets[row])
    for row in range(np.uint64(y.shape[0])):
        if not np.isfinite(y[row]) or (weighted and not 0.0 <= weight[row] < np.inf):
            return 2
    largest = np.uint32(0)
    for k in range(indptr[0], np.uint64(indices.shape[0])):
        largest = max(largest, indices[k])
    return 0 if largest < width or indptr[0] == np.uint64(indices.shape[0]) else 3


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
        self.path, where = path, str(path)
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
        self._file.forget()
        self.size = self._file.size
        self._weighted = self.facts.weighted and "weight" in schema.names

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
                raise StreamError(f"{self.path}: damaged, {error}") from error
        return self._names

    def same_columns(self, other: BinaryFile) -> bool:
        """Return whether columns mean the same in both files, as far as they tell."""
        kept = [key.encode() for key in NAME_ARRAYS if self.facts.bits is None]
        return self.facts.bits == other.facts.bits and all(
            self._told.get(key) == other._told.get(key) for key in kept
        )

    def blocks(self) -> Iterator[tuple[Block, int]]:
        """Yield each batch as a block, and the bytes of the file up to its end."""
        rows = 0
        for number in range(self.batches):
            with self._guard:
                self._file.where = f"{self.path}, batch {number + 1} of {self.batches}"
                self._file.require_whole()
                try:
                    block, end = self._checked(number, self._file.where)
                finally:
                    self._file.forget()
            rows += len(block)
            yield block, end
        if rows != self.facts.rows:
            raise StreamError(
                f"{self.path}: damaged, found {rows} rows, expected {self.facts.rows}"
            )

    def _checked(self, number: int, where: str) -> tuple[Block, int]:
        """Return a batch, the arrays of which lie in memory that nobody else has."""
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
        y = self._array(label.buffers()[1], np.float64, rows, where)
        weight = self._array(weights[0].buffers()[1], np.float64, rows, where) if weights else None
        offsets, others = (
            self._array(
                column.buffers()[_OFFSETS],
                np.int64 if str(column.type).startswith("large") else np.int32,
                rows + 1,
                where,
            )
            for column in lists
        )
        used = min(int(offsets[-1]), int(others[-1]))
        indices, values = (
            self._array(
                column.buffers()[_CONTENT], column.type.value_type.to_pandas_dtype(), used, where
            )
            for column in lists
        )
        indptr = np.empty(rows + 1, np.uint64)
        arrays = offsets, others, indices, y, y if weight is None else weight
        fault = _check(*arrays, weight is not None, np.uint64(self.facts.width), indptr)
        if fault:
            raise StreamError(f"{where}: damaged, {_FAULTS[fault]}")
        block = Block.sound(indptr, indices, values, y, self.facts.width, weight)
        return block, self._file.end_of(values)

    def _array(self, buffer: Any, kind: Any, count: int, where: str) -> NDArray[Any]:
        """Return the content of a buffer as a view of the bytes that were read."""
        if count == 0:
            return np.empty(0, kind)
        array = self._file.array(buffer, kind, count)
        if array is None:
            raise StreamError(f"{where}: compressed or damaged, expected arrays as they are used")
        return array


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
