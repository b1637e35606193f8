"""Text formats: whole lines of bytes in, rows out, and a reason for each refused line."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from noregret.streams.block import Csr
from noregret.streams.errors import Malformed

#: Kernels load whole words, so they may read up to this many bytes beyond the last line.
PADDING = 64
#: How many arrays of a kind are kept, for all who parse, wait and consume.
_KEPT = 12
#: Arrays of more elements are not kept: a line may be a thousand times as long as most.
_LARGEST = 1 << 23


def _references(arrays: list[NDArray[Any]]) -> list[int]:
    return [sys.getrefcount(array) for array in arrays]


#: The reference count of an array that only a list holds; it depends on the interpreter.
(_UNUSED,) = _references([np.empty(0)])


class Slabs:
    """A pool of arrays by type and size.

    An array handed out is a view, and a view of a view refers to the same owner: as long as a
    block or any part of it is alive, its memory is not handed out again.

    >>> slabs = Slabs()
    >>> kept = slabs.take(np.float64, 4)[1:2]
    >>> other = slabs.take(np.float64, 4)
    >>> np.shares_memory(kept, other)
    False
    >>> place = kept.ctypes.data
    >>> del kept
    >>> slabs.take(np.float64, 4)[1:2].ctypes.data == place
    True
    """

    def __init__(self) -> None:
        self._slabs: dict[tuple[np.dtype[Any], int], list[NDArray[Any]]] = {}
        self._guard = threading.Lock()

    def take(self, dtype: DTypeLike, size: int) -> NDArray[Any]:
        """Return an uninitialised array that nobody else has."""
        if size > _LARGEST:
            return np.empty(size, dtype)
        kind = np.dtype(dtype), size
        with self._guard:
            slabs = self._slabs.setdefault(kind, [])
            for place, references in enumerate(_references(slabs)):
                if references == _UNUSED:
                    return slabs[place][:]
            slab = np.empty(size, dtype)
            slabs.append(slab)
            if len(slabs) > _KEPT:
                # A consumer that keeps every block owns the memory: take it out of the pool.
                slabs.pop(0)
            return slab[:]


@dataclass(eq=False)
class Parsed:
    """Rows as they come from an input, labels as they were written, and where they stood."""

    rows: Csr
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    #: One more than the largest column that occurs.
    width: int
    #: How many line ends the chunk holds; 0 in all parts of a chunk but the last.
    lines: int
    #: The line of each row, counted from 0 within the chunk; None where row i is line i.
    line_of_row: NDArray[np.uint32] | None
    #: Where the lines that were refused begin, in bytes from the start; their rows are left out.
    faults: NDArray[np.uint64]
    #: Where labels are names of classes: those of these rows, and `y` holds places among them.
    classes: Sequence[str] | None = None
    #: What tells the rows apart, where that was asked for.
    ids: Sequence[str] | None = None
    #: Remarks about what was met, each in one line.
    notes: tuple[str, ...] = ()
    #: Whether `in_order` holds for the rows, or the format vouches for it.
    ordered: bool = False
    #: Settles the columns of rows that wait for their turn, since they may add names.
    finish: Callable[[], None] | None = None
    #: The input, and what its examples are: "line" in text, "row" in a table.
    name: str = ""
    #: The number of the input, counted from 0.
    number: int = 0
    unit: str = "line"
    #: The number of the first line or row, counted from 1.
    first: int = 0
    #: How many bytes of all inputs were read to get here.
    position: int = 0
    #: The first of the lines refused, counted from 0 within these rows, and why.
    reasons: Sequence[tuple[int, Malformed]] = ()
    #: The line in which the input ends without a line end, counted from 0 within these rows.
    unended: int | None = None

    def line(self, row: int) -> int:
        """Return where a row stands, counted from 0."""
        return row if self.line_of_row is None else int(self.line_of_row[row])

    def rows_before(self, line: int) -> int:
        """Return how many rows stand before a line."""
        lines = self.line_of_row
        return min(line, len(self.y)) if lines is None else int(lines.searchsorted(line))

    def place(self, line: int) -> str:
        """Return the name of the input and the number of a line."""
        return f"{self.name}, {self.unit} {self.first + line}"


class Written(NamedTuple):
    """The arrays that a kernel fills with the rows of a chunk of text."""

    rows: Csr
    y: NDArray[np.float64]
    #: The weight of each row; empty for formats without weights.
    weight: NDArray[np.float64]
    #: The line of each row and, in bytes from the start, where each refused line begins.
    line_of_row: NDArray[np.uint32]
    faults: NDArray[np.uint64]

    @classmethod
    def take(
        cls,
        slabs: Slabs,
        buffer: NDArray[np.uint8],
        stop: int,
        rows: int,
        features: int,
        dtype: np.dtype[Any],
        weights: bool = True,
    ) -> Written:
        """Return arrays for at most this many rows and features of buffer[:stop].

        Text that a kernel would read beyond is refused: no last line end, or no PADDING.
        """
        if stop + PADDING > len(buffer) or (stop and buffer[stop - 1] != ord("\n")):
            raise ValueError(
                f"text of {stop} bytes in a buffer of {len(buffer)}: expected it to end with a "
                f"line end and {PADDING} bytes to follow"
            )
        return cls(
            rows=Csr(
                slabs.take(np.uint64, rows + 1),
                slabs.take(np.uint32, features),
                slabs.take(dtype, features),
            ),
            y=slabs.take(np.float64, rows),
            weight=slabs.take(np.float64, rows if weights else 0),
            line_of_row=slabs.take(np.uint32, rows),
            faults=slabs.take(np.uint64, rows),
        )

    def part(self, start: int, stop: int) -> Written:
        """Return rows start to stop (not included), which share the arrays of features."""
        cut = slice(start, stop)
        return self._replace(
            rows=self.rows._replace(indptr=self.rows.indptr[start : stop + 1]),
            y=self.y[cut],
            weight=self.weight[cut],
            line_of_row=self.line_of_row[cut],
        )

    def parsed(
        self, rows: int, lines: int, refused: int, width: int, weighted: bool = False, **more: Any
    ) -> Parsed:
        """Return the rows written; `weighted` says whether their weights count."""
        return Parsed(
            rows=self.rows.first(rows),
            y=self.y[:rows],
            weight=self.weight[:rows] if weighted else None,
            width=width,
            lines=lines,
            line_of_row=None if rows == lines else self.line_of_row[:rows],
            faults=self.faults[:refused],
            **more,
        )


class TextFormat(Protocol):
    """A format whose examples are lines of text."""

    #: Whether chunks may be parsed at once; a dictionary that grows needs them in order.
    parallel: bool

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed | Iterator[Parsed]:
        """Return the rows of buffer[:stop], which ends with a line end; PADDING bytes follow it.

        They come in parts of bounded size where they may be many times as large as the text. The
        buffer is used again, after the last part: no part must refer to it.
        """

    def explain(self, line: bytes) -> Malformed:
        """Return the reason why a line is refused; called for refused lines only."""


def padded(text: bytes) -> tuple[NDArray[np.uint8], int]:
    r"""Return text as `parse` takes it, with a line end if it has none.

    >>> buffer, stop = padded(b"1 1:2")
    >>> bytes(buffer[:stop]), len(buffer)
    (b'1 1:2\n', 70)
    """
    text = text if not text or text.endswith(b"\n") else text + b"\n"
    return np.frombuffer(text + bytes(PADDING), np.uint8).copy(), len(text)
