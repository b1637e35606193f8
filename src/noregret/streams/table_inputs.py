"""Where record batches come from: files of Arrow and Parquet, and objects that export them.

pyarrow, an optional package, is imported here alone, and its errors become one line each.
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from noregret.streams.errors import StreamError
from noregret.streams.inputs import COMPRESSIONS, Input, open_remote
from noregret.streams.labels import LOOK

try:
    import pyarrow
    import pyarrow.ipc
except ImportError:
    raise StreamError(
        "tables of Arrow and Parquet need the package pyarrow: pip install 'noregret[arrow]'"
    ) from None

arrow: Any = pyarrow


@contextmanager
def arrow_errors(where: str) -> Iterator[None]:
    """Turn what pyarrow raises about a file into one line about that file."""
    try:
        yield
    except StreamError:
        raise
    except (arrow.ArrowException, OSError, MemoryError, ValueError, LookupError) as error:
        # Names that are not text or occur twice, and columns that are not there, are no
        # exceptions of its own.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise StreamError(f"{where}: {reason}") from error


#: Rows that are made into a block at once.
BATCH = 1 << 14
#: Number of bytes in which columns of Parquet are read.
_PIECE = 1 << 20
_PARQUET, _ARROW = b"PAR1", b"ARROW1"


def _enough(batches: Iterable[Any]) -> list[Any]:
    """Return the first batches that have LOOK rows together, or all."""
    found: list[Any] = []
    for batch in batches:
        found.append(batch)
        if sum(one.num_rows for one in found) >= LOOK:
            break
    return found


class Table(ABC):
    """A table, read in batches."""

    name: str
    #: How many bytes lie on the disk; None where nobody knows.
    size: int | None = None
    #: The names and types of its columns.
    schema: Any
    #: Begin and end of the row groups that are read, None for all; and the rows before them.
    groups: tuple[int, int] | None = None
    before = 0

    @abstractmethod
    def head(self, columns: list[str]) -> list[Any]:
        """Return the first batches with these columns, of LOOK rows or all; none is used up."""

    @abstractmethod
    def _whole(self, columns: list[str]) -> Iterator[tuple[Any, float]]:
        """Yield batches of any size with these columns, and the share of the bytes read so far."""

    def batches(self, columns: list[str]) -> Generator[tuple[Any, int], None, None]:
        """Yield batches of at most BATCH rows with these columns, and the bytes read so far."""
        with arrow_errors(self.name):
            for batch, share in self._whole(columns):
                chosen = batch.select(columns)
                for start in range(0, chosen.num_rows, BATCH):
                    yield chosen.slice(start, BATCH), int(share * (self.size or 0))


class TableFile(Table):
    """A file of Parquet or Arrow, the latter also as a stream of messages."""

    def __init__(self, file: Input):
        self._path, self.name, self.size = file.path, file.name, file.size
        try:
            # The first bytes tell the format.
            with open_remote(self.name) if file.path is None else file.path.open("rb") as opened:
                self.magic = opened.read(len(_ARROW))
        except OSError as error:
            raise StreamError(f"{self.name}: {error.strerror or error}") from error
        if not self.magic:
            raise StreamError(f"{self.name}: the file is empty")
        if file.suffix in COMPRESSIONS and not self.magic.startswith((_PARQUET, _ARROW)):
            raise StreamError(
                f"{self.name}: a table must be a file that can be searched, expected one "
                "that is not compressed as a whole (Parquet and Arrow compress what is in them)"
            )
        with arrow_errors(self.name), self._opened() as opened:
            reader = self._reader(opened)
            self.schema = getattr(reader, "schema_arrow", reader.schema)
            # Names that are not text are noticed here, when they are looked at.
            if not self.schema.names:
                raise StreamError(f"{self.name}: a table without columns")

    def head(self, columns: list[str]) -> list[Any]:
        """Return the first batches of the file, whatever row groups are read."""
        groups, self.groups = self.groups, None
        try:
            with closing(self.batches(columns)) as batches:
                return _enough(batch for batch, _ in batches)
        finally:
            self.groups = groups

    def segments(self) -> list[tuple[int, int, int]]:
        """Return begin, end and rows of the runs of row groups that are read together.

        No batch reaches from one into the next. A run has BATCH rows or more, but for the last; a
        file that is not of Parquet has none.
        """
        if not self.magic.startswith(_PARQUET):
            return []
        with arrow_errors(self.name), self._opened() as opened:
            return self._segments(self._reader(opened).metadata)

    def _segments(self, facts: Any) -> list[tuple[int, int, int]]:
        found, begin, rows = [], 0, 0
        for group in range(facts.num_row_groups):
            rows += facts.row_group(group).num_rows
            if rows >= BATCH or group + 1 == facts.num_row_groups:
                found.append((begin, group + 1, rows))
                begin, rows = group + 1, 0
        return found

    def _of_groups(self, reader: Any, columns: list[str]) -> tuple[Iterator[Any], int]:
        """Return the batches of the row groups that are read, and their rows."""
        first, last = self.groups or (0, reader.metadata.num_row_groups)
        runs = [
            one for one in self._segments(reader.metadata) if first <= one[0] and one[1] <= last
        ]
        batches = (
            reader.iter_batches(BATCH, row_groups=[*range(begin, end)], columns=columns)
            for begin, end, _ in runs
        )
        return itertools.chain.from_iterable(batches), sum(rows for *_, rows in runs)

    def _whole(self, columns: list[str]) -> Iterator[tuple[Any, float]]:
        with self._opened() as file:
            reader = self._reader(file)
            batches, total = reader, 0
            if self.magic.startswith(_PARQUET):
                batches, total = self._of_groups(reader, columns)
            elif self.magic == _ARROW:
                batches = map(reader.get_batch, range(reader.num_record_batches))
                total = reader.num_record_batches
            done = 0
            for batch in batches:
                # Offsets in a damaged file may point anywhere.
                batch.validate(full=True)
                done += 1 if self.magic == _ARROW else batch.num_rows
                yield batch, min(done / total, 1.0) if total else 0.0

    def _opened(self) -> Any:
        # Not mapped: a file that is cut short or overwritten meanwhile must not end the program.
        if self._path is None:
            return arrow.PythonFile(open_remote(self.name), mode="r")
        return arrow.OSFile(os.fsencode(self._path))

    def _reader(self, file: Any) -> Any:
        if self.magic.startswith(_PARQUET):
            import pyarrow.parquet

            return pyarrow.parquet.ParquetFile(file, buffer_size=_PIECE)
        return (arrow.ipc.open_file if self.magic == _ARROW else arrow.ipc.open_stream)(file)


class TableObject(Table):
    """An object in memory that exports batches: a data frame, a table, a reader of batches."""

    def __init__(self, held: Any):
        self._held = held
        self.name = f"a {type(held).__module__.split('.')[0]} {type(held).__name__}"
        self._reader = self._open()
        self.schema = self._reader.schema
        self._begun: list[Any] = []
        self._used = False

    def _open(self) -> Any:
        with arrow_errors(self.name):
            return arrow.RecordBatchReader.from_stream(self._held)

    def head(self, columns: list[str]) -> list[Any]:
        """Return the first batches, which are kept for the full read."""
        with arrow_errors(self.name):
            self._begun += _enough(self._reader)
        return [batch.select(columns) for batch in self._begun]

    def _whole(self, columns: list[str]) -> Iterator[tuple[Any, float]]:
        if self._used and isinstance(self._held, arrow.RecordBatchReader):
            raise StreamError(f"{self.name} can be read once only; make a table of it to go again")
        whole = self._open() if self._used else itertools.chain(self._begun, self._reader)
        self._begun, self._used = [], True
        for batch in whole:
            yield batch, 0.0
