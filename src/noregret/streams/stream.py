"""A stream of blocks: labels mapped, bad lines accounted for; and the kind that reads text."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from noregret.rows.sealed import Seal, Sealed
from noregret.streams.ahead import parts_ahead
from noregret.streams.block import Block
from noregret.streams.errors import CutShort, Malformed, StreamError
from noregret.streams.format import Deferred, Parsed, TextFormat
from noregret.streams.labelling import Labels
from noregret.streams.labels import LabelMap, LabelReader, class_name
from noregret.streams.reading import OnError, Reading
from noregret.streams.source import Chunk, Reader, Source

if TYPE_CHECKING:
    from noregret.streams.names import Names

#: How many messages about lines left out are kept.
KEPT = 10
#: Largest number of values and refused lines held back until the meaning of labels is known.
HELD = 1 << 23


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows as they come from a file, and where in it they stood."""

    parsed: Parsed
    #: The input, and what its examples are: "line" in text, "row" in a table.
    name: str
    unit: str
    #: The number of the first line or row, counted from 1.
    first: int
    #: How many bytes of all inputs were read to get here.
    position: int
    #: The first of the lines refused, counted from 0 within the piece, and why.
    reasons: Sequence[tuple[int, Malformed]] = ()
    #: Whether `in_order` has found the rows so.
    ordered: bool = False
    #: The line in which the input ends without a line end, counted from 0 within the piece.
    unended: int | None = None

    def line(self, row: int) -> int:
        """Return where a row stands, counted from 0 within the piece."""
        lines = self.parsed.line_of_row
        return row if lines is None else int(lines[row])

    def rows_before(self, line: int) -> int:
        """Return how many rows stand before a line of the piece."""
        lines = self.parsed.line_of_row
        return min(line, len(self.parsed.y)) if lines is None else int(lines.searchsorted(line))

    def place(self, line: int) -> str:
        """Return the name and number of a line of the piece."""
        return f"{self.name}, {self.unit} {self.first + line}"


class Stream(ABC):
    """Blocks of at most `rows` rows; iterate over it as often as its inputs can be read.

    Attributes:
        name: what is read, and `reading`, how.
        label_map: labels as they were written and what they became; empty for real labels.
        width: the number of columns known so far.
        names: what the columns are called, where the format knows.
        size: how many bytes lie on the disk, None where nobody knows.
        bytes_read: how many of them have been read for the blocks seen so far.
        notes: remarks that a user should see, each in one line, as they turn up.
        refused: how many lines were left out, and `complaints`, why the first of them were.
    """

    def __init__(
        self,
        name: str,
        reading: Reading,
        *,
        labels: Labels | None = None,
        width: int = 0,
        size: int | None = None,
        names: Names | None = None,
        notes: Iterable[str] = (),
    ):
        self.name = name
        self.reading = reading
        #: The rule for labels: that of the reading, or the one that the first rows imply.
        self.labels = reading.labels if labels is None else labels
        self.rows = reading.rows
        self.on_error = reading.on_error
        self.size = size
        self.names = names
        self.label_map: LabelMap = {}
        self.width = self._given_width = width
        self.bytes_read = 0
        self.refused = 0
        self.complaints: list[str] = []
        self.notes = list(notes)

    @abstractmethod
    def _pieces(self) -> Generator[Piece, None, None]:
        """Read everything from the beginning."""

    def __iter__(self) -> Iterator[Block]:
        blocks = self._in_order()
        if self.reading.shuffle is not None:
            # Import here: a stream in its own order needs no joining.
            from noregret.streams.shuffle import shuffled

            blocks = shuffled(blocks, self.reading.shuffle, self.rows)
        return blocks

    def _in_order(self) -> Iterator[Block]:
        self.width = self._given_width
        self.bytes_read = self.refused = 0
        self.complaints = []
        reader = LabelReader(self.labels, self.label_map)
        with closing(self._pieces()) as pieces:
            for piece in _looked_at(pieces, reader, self.on_error):
                self.bytes_read = piece.position
                yield from self._blocks(piece, reader)

    def _blocks(self, piece: Piece, reader: LabelReader) -> Iterator[Block]:
        parsed = piece.parsed
        self.notes += [note for note in parsed.notes if note not in self.notes]
        y, strange = reader.read(parsed.y, parsed.classes)
        self.width = max(self.width, parsed.width)
        arrays = parsed.indptr, parsed.indices, parsed.values
        if piece.ordered:
            rows = Sealed(*arrays, self.width, Seal())
            block = Block._of_sealed(rows, y, parsed.weight, parsed.ids)
        else:
            block = Block.sound(*arrays, y, self.width, parsed.weight, parsed.ids)
        if not len(parsed.faults) and not len(strange):
            yield from self._parts(block, 0, len(block))
            return
        # Bad lines in their order, each with its message.
        bad: list[tuple[int, str, str]] = []
        wanted = self._wanted
        target = getattr(getattr(self, "format", None), "target", None)
        column = "" if target is None else f" in column {target!r}"
        for line, reason in piece.reasons[:wanted]:
            bad.append((line, f"{piece.place(line)}, {reason}", reason.argument))
        for row in strange[:wanted].tolist():
            line = piece.line(row)
            label = parsed.y[row]
            found = class_name(label) if parsed.classes is None else parsed.classes[int(label)]
            complaint = f"found label {found!r}{column}, expected {reader.expected(parsed.y[:row])}"
            bad.append((line, f"{piece.place(line)}: {complaint}", "labels"))
        bad.sort()
        if self.on_error == "stop":
            line, complaint, argument = bad[0]
            yield from self._parts(block, 0, piece.rows_before(line))
            if line == piece.unended:
                raise CutShort(f"{complaint}; the input ends inside this line", argument)
            raise StreamError(complaint, argument)
        self.refused += len(parsed.faults) + len(strange)
        self.complaints += [complaint for _, complaint, _ in bad][:wanted]
        start = 0
        for row in (*strange.tolist(), len(block)):
            yield from self._parts(block, start, row)
            start = row + 1

    @property
    def _wanted(self) -> int:
        """How many messages are still wanted."""
        match self.on_error:
            case "stop":
                return 1
            case "skip":
                return 0
        return KEPT - len(self.complaints)

    def _parts(self, block: Block, start: int, stop: int) -> Iterator[Block]:
        for first in range(start, stop, self.rows):
            yield block.rows(first, min(first + self.rows, stop))


def _looked_at(pieces: Iterable[Piece], reader: LabelReader, on_error: OnError) -> Iterator[Piece]:
    """Hold pieces back until the meaning of their labels is known or must be decided."""
    held: list[Piece] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        faults = len(piece.parsed.faults)
        size += len(piece.parsed.values) + faults
        known = reader.look(piece.parsed.y)
        if not known and (size > HELD or (faults and on_error == "stop")):
            reader.decide()
            known = True
        if known:
            yield from held
            held.clear()
    reader.decide()
    yield from held


#: Rows of a chunk of text: the name of the input, the number of the first line of the chunk where
#: the input begins, the position, the rows and whether they are in order (or what finishes them),
#: why lines were refused, and which line lacks its end.
_Rows: TypeAlias = tuple[Parsed, bool]
_Part: TypeAlias = tuple[
    str,
    int | None,
    int,
    _Rows | Callable[[], _Rows],
    list[tuple[int, Malformed]],
    int | None,
]


class TextStream(Stream):
    """Blocks of text: a source of lines and the format that reads them."""

    def __init__(self, source: Source, text_format: TextFormat, reading: Reading, **facts: Any):
        super().__init__(source.name, reading, size=source.size, **facts)
        self.source = source
        self.format = text_format
        threads = reading.threads
        self.threads = min(2, os.cpu_count() or 1) if threads is None else threads

    def _pieces(self) -> Generator[Piece, None, None]:
        reader = self.source.open()
        try:
            following = 1
            parts = parts_ahead(
                reader.next,
                lambda chunk: self._parse(reader, chunk),
                threads=self.threads,
                ordered=not self.format.parallel,
                wake=reader.wake,
            )
            with closing(parts):
                for name, line, position, found, reasons, unended in parts:
                    parsed, ordered = found() if callable(found) else found
                    first = following if line is None else line
                    following = first + parsed.lines
                    yield Piece(parsed, name, "line", first, position, reasons, ordered, unended)
        finally:
            reader.close()

    def _parse(self, reader: Reader, chunk: Chunk) -> Iterator[_Part]:
        place = chunk.name, chunk.line, chunk.position
        unended = chunk.last_line if chunk.unended else None
        found = self.format.parse(chunk.buffer, chunk.stop)
        for parsed in (found,) if isinstance(found, Parsed | Deferred) else found:
            reasons = []
            for offset in parsed.faults[: self._wanted].tolist():
                reason = self.format.explain(reader.line_at(chunk, offset))
                reasons.append((chunk.memory.count(b"\n", 0, offset), reason))
            if isinstance(parsed, Deferred):
                yield *place, partial(_finished, parsed), reasons, unended
            else:
                yield *place, _checked(parsed), reasons, unended
        reader.give_back(chunk)


def _finished(deferred: Deferred) -> tuple[Parsed, bool]:
    return _checked(deferred.finish())


def _checked(parsed: Parsed) -> tuple[Parsed, bool]:
    """Return rows and whether they are in order."""
    if parsed.ordered:
        return parsed, True
    # Import here: opening a stream without reading it should not wait for the compiler.
    from noregret.streams.order import in_order

    return parsed, bool(in_order(parsed.indptr, parsed.indices, parsed.values))
