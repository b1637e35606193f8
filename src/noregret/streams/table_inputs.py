"""Where record batches come from: files of Arrow and Parquet, and objects that export them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

from noregret.streams.arrow import arrow, arrow_errors
from noregret.streams.errors import StreamError
from noregret.streams.inputs import COMPRESSIONS, Input
from noregret.streams.labels import LOOK
from noregret.streams.remote import open_remote

#: Rows that are made into a block at once.
BATCH = 1 << 14
#: Number of bytes in which columns of Parquet are read.
_PIECE = 1 << 20
_PARQUET, _ARROW = b"PAR1", b"ARROW1"


class TableInput(Protocol):
    """A table, read in batches."""

    name: str

    @property
    def size(self) -> int | None:
        """How many bytes lie on the disk; None where nobody knows."""

    @property
    def schema(self) -> Any:
        """The names and types of its columns."""

    def head(self, columns: list[str]) -> list[Any]:
        """Return the first batches with these columns, of LOOK rows or all; none is used up."""

    def batches(self, columns: list[str]) -> Iterator[tuple[Any, int]]:
        """Yield batches of at most BATCH rows with these columns, and the bytes read so far."""


def _enough(batches: Iterable[Any]) -> list[Any]:
    """Return the first batches that have LOOK rows together, or all."""
    found: list[Any] = []
    rows = 0
    for batch in batches:
        found.append(batch)
        rows += batch.num_rows
        if rows >= LOOK:
            break
    return found


@dataclass(eq=False)
class TableFile:
    """A file of Parquet or Arrow, the latter also as a stream of messages."""

    file: Input
    name: str = field(init=False)
    magic: bytes = field(init=False)

    def __post_init__(self) -> None:
        """Look at the first bytes, which tell the format."""
        self.name = self.file.name
        try:
            with (
                open_remote(self.name)
                if self.file.path is None
                else self.file.path.open("rb") as file
            ):
                self.magic = file.read(len(_ARROW))
        except OSError as error:
            raise StreamError(f"{self.name}: {error.strerror or error}") from error
        if not self.magic:
            raise StreamError(f"{self.name}: the file is empty")
        if self.file.suffix in COMPRESSIONS and not self.magic.startswith((_PARQUET, _ARROW)):
            raise StreamError(
                f"{self.name}: a table must be a file that can be searched, expected one "
                "that is not compressed as a whole (Parquet and Arrow compress what is in them)"
            )

    @property
    def size(self) -> int | None:
        """How many bytes the file has."""
        return self.file.size

    @property
    def schema(self) -> Any:
        """The names and types of its columns."""
        with arrow_errors(self.name), self._opened() as file:
            if self.magic.startswith(_PARQUET):
                import pyarrow.parquet

                found = pyarrow.parquet.ParquetFile(file).schema_arrow
            else:
                found = self._reader(file).schema
            # Names that are not text are noticed here, when they are looked at.
            if not found.names:
                raise StreamError(f"{self.name}: a table without columns")
            return found

    def head(self, columns: list[str]) -> list[Any]:
        """Return the first batches."""
        with closing(self.batches(columns)) as batches:
            return _enough(batch for batch, _ in batches)

    def batches(self, columns: list[str]) -> Generator[tuple[Any, int], None, None]:
        """Yield batches with these columns."""
        size = self.size or 0
        with arrow_errors(self.name):
            with self._opened() as file:
                if self.magic.startswith(_PARQUET):
                    whole = self._parquet(file, columns)
                else:
                    whole = self._messages(self._reader(file), columns)
                for batch, share in whole:
                    # Offsets in a damaged file may point anywhere.
                    batch.validate(full=True)
                    for start in range(0, batch.num_rows, BATCH):
                        yield batch.slice(start, BATCH), int(share * size)

    def _opened(self) -> Any:
        # Not mapped: a file that is cut short or overwritten meanwhile must not end the program.
        if self.file.path is None:
            return arrow.PythonFile(open_remote(self.name), mode="r")
        return arrow.OSFile(os.fsencode(self.file.path))

    def _reader(self, file: Any) -> Any:
        return (arrow.ipc.open_file if self.magic == _ARROW else arrow.ipc.open_stream)(file)

    def _parquet(self, file: Any, columns: list[str]) -> Iterator[tuple[Any, float]]:
        import pyarrow.parquet

        held = pyarrow.parquet.ParquetFile(file, buffer_size=_PIECE)
        done, rows = 0, max(held.metadata.num_rows, 1)
        for batch in held.iter_batches(batch_size=BATCH, columns=columns):
            done += batch.num_rows
            yield batch.select(columns), min(done / rows, 1.0)

    def _messages(self, reader: Any, columns: list[str]) -> Iterator[tuple[Any, float]]:
        if self.magic == _ARROW:
            count = reader.num_record_batches
            for number in range(count):
                yield reader.get_batch(number).select(columns), (number + 1) / count
        else:
            for batch in reader:
                yield batch.select(columns), 0.0


@dataclass(eq=False)
class TableObject:
    """An object in memory that exports batches: a data frame, a table, a reader of batches."""

    held: Any
    name: str = field(init=False)
    _reader: Any = field(default=None, init=False)
    _begun: list[Any] = field(default_factory=list, init=False)
    _used: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Open it to see its columns."""
        self.name = f"a {type(self.held).__module__.split('.')[0]} {type(self.held).__name__}"
        self._once = isinstance(self.held, arrow.RecordBatchReader)
        self._reader = self._open()

    def _open(self) -> Any:
        with arrow_errors(self.name):
            return arrow.RecordBatchReader.from_stream(self.held)

    @property
    def size(self) -> int | None:
        """Unknown: nothing lies on the disk."""
        return None

    @property
    def schema(self) -> Any:
        """The names and types of its columns."""
        return self._reader.schema

    def head(self, columns: list[str]) -> list[Any]:
        """Return the first batches, which are kept for the full read."""
        with arrow_errors(self.name):
            self._begun += _enough(self._reader)
        return [batch.select(columns) for batch in self._begun]

    def batches(self, columns: list[str]) -> Iterator[tuple[Any, int]]:
        """Yield batches with these columns."""
        if self._used and self._once:
            raise StreamError(f"{self.name} can be read once only; make a table of it to go again")
        whole = self._open() if self._used else itertools.chain(self._begun, self._reader)
        self._begun = []
        self._used = True
        with arrow_errors(self.name):
            for batch in whole:
                chosen = batch.select(columns)
                for start in range(0, chosen.num_rows, BATCH):
                    yield chosen.slice(start, BATCH), 0
