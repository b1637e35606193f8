"""A stream of blocks: labels mapped, bad lines accounted for; and the kind that reads text."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn

from noregret.streams.ahead import parts_ahead
from noregret.streams.block import Block
from noregret.streams.errors import CutShort, StreamError
from noregret.streams.format import Parsed, TextFormat
from noregret.streams.labels import LabelMap, LabelReader, Labels, class_name
from noregret.streams.reading import OnError, Reading
from noregret.streams.source import Chunk, Reader, Source

if TYPE_CHECKING:
    from noregret.streams.binary_file import BinaryFile
    from noregret.streams.inputs import Input
    from noregret.streams.names import Names
    from noregret.streams.table_inputs import Table

#: How many messages about lines left out are kept.
KEPT = 10
#: Largest number of values and refused lines held back until the meaning of labels is known.
HELD = 1 << 23


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
        inputs: Sequence[Input | Table | BinaryFile],
        reading: Reading,
        *,
        labels: Labels | None = None,
        width: int = 0,
        names: Names | None = None,
        notes: Iterable[str] = (),
    ):
        more = len(inputs) - 1
        self.name = inputs[0].name + (f" and {more} more" if more else "")
        sizes = [one.size for one in inputs]
        self.size = None if None in sizes else sum(size or 0 for size in sizes)
        self.reading = reading
        #: The rule for labels: that of the reading, or the one that the first rows imply.
        self.labels = reading.labels if labels is None else labels
        self.names = names
        self.label_map: LabelMap = {}
        self.width = self._given_width = width
        self.bytes_read = self.refused = 0
        self.complaints: list[str] = []
        self.notes = list(notes)

    def leave_first_out(self) -> None:
        """Leave out the rows of the first input, which still decides what columns and labels are.

        The readers of a cluster open their own files after the first file of all.
        """
        raise NotImplementedError

    @abstractmethod
    def _pieces(self) -> Generator[Parsed, None, None]:
        """Read everything from the beginning."""

    def __iter__(self) -> Iterator[Block]:
        blocks = self._in_order()
        if self.reading.shuffle is not None:
            # Import here: a stream in its own order needs no joining.
            from noregret.streams.sparse import shuffled

            blocks = shuffled(blocks, self.reading.shuffle, self.reading.rows)
        return blocks

    def parts(self) -> Iterator[Parsed]:
        """Yield rows in order with labels as they were written, in parts of any size.

        Lines that the format refuses raise or are counted; labels are not looked at.
        """
        self._begin()
        with closing(self._pieces()) as pieces:
            for piece in pieces:
                self.bytes_read = piece.position
                self._note(piece)
                if len(piece.faults):
                    bad = self._bad_lines(piece)
                    if self.reading.on_error == "stop":
                        self._stop(piece, *bad[0])
                    self.refused += len(piece.faults)
                    self.complaints += [complaint for _, complaint, _ in bad]
                yield piece

    def _begin(self) -> None:
        self.width = self._given_width
        self.bytes_read = self.refused = 0
        self.complaints = []

    def _in_order(self) -> Iterator[Block]:
        self._begin()
        reader = LabelReader(self.labels, self.label_map)
        with closing(self._pieces()) as pieces:
            for piece in _looked_at(pieces, reader, self.reading.on_error):
                self.bytes_read = piece.position
                yield from self._blocks(piece, reader)

    def _blocks(self, parsed: Parsed, reader: LabelReader) -> Iterator[Block]:
        self._note(parsed)
        y, strange = reader.read(parsed.y, parsed.classes)
        facts = y, self.width, parsed.weight, parsed.ids
        block = Block._of_parser(parsed.rows, parsed.ordered, *facts)
        if not len(parsed.faults) and not len(strange):
            yield from self._parts(block, 0, len(block))
            return
        # Bad lines in their order, each with its message.
        wanted = self._wanted
        target = getattr(getattr(self, "format", None), "target", None)
        column = "" if target is None else f" in column {target!r}"
        bad = self._bad_lines(parsed)
        for row in strange[:wanted].tolist():
            line, label = parsed.line(row), parsed.y[row]
            found = class_name(label) if parsed.classes is None else parsed.classes[int(label)]
            complaint = f"found label {found!r}{column}, expected {reader.expected(parsed.y[:row])}"
            bad.append((line, f"{parsed.place(line)}: {complaint}", "labels"))
        bad.sort()
        if self.reading.on_error == "stop":
            line, complaint, argument = bad[0]
            yield from self._parts(block, 0, parsed.rows_before(line))
            self._stop(parsed, line, complaint, argument)
        self.refused += len(parsed.faults) + len(strange)
        self.complaints += [complaint for _, complaint, _ in bad][:wanted]
        start = 0
        for row in (*strange.tolist(), len(block)):
            yield from self._parts(block, start, row)
            start = row + 1

    def _note(self, parsed: Parsed) -> None:
        """Enter the remarks and the width of some rows."""
        self.notes += [note for note in parsed.notes if note not in self.notes]
        self.width = max(self.width, parsed.width)

    def _bad_lines(self, parsed: Parsed) -> list[tuple[int, str, str]]:
        """Return the first lines refused, as many as are wanted: line, message and argument."""
        return [
            (line, f"{parsed.place(line)}, {reason}", reason.argument)
            for line, reason in parsed.reasons[: self._wanted]
        ]

    @staticmethod
    def _stop(parsed: Parsed, line: int, complaint: str, argument: str) -> NoReturn:
        if line == parsed.unended:
            raise CutShort(f"{complaint}; the input ends inside this line", argument)
        raise StreamError(complaint, argument)

    @property
    def _wanted(self) -> int:
        """How many messages are still wanted."""
        return {"stop": 1, "skip": 0}.get(self.reading.on_error, KEPT - len(self.complaints))

    def _parts(self, block: Block, start: int, stop: int) -> Iterator[Block]:
        for first in range(start, stop, self.reading.rows):
            yield block.rows(first, min(first + self.reading.rows, stop))


def _looked_at(
    pieces: Iterable[Parsed], reader: LabelReader, on_error: OnError
) -> Iterator[Parsed]:
    """Hold rows back until the meaning of their labels is known or must be decided."""
    held: list[Parsed] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece.rows.values) + len(piece.faults)
        known = reader.look(piece.y)
        if known or size > HELD or (len(piece.faults) and on_error == "stop"):
            reader.decide()
            yield from held
            held.clear()
    reader.decide()
    yield from held


class TextStream(Stream):
    """Blocks of text: a source of lines and the format that reads them."""

    def __init__(self, source: Source, text_format: TextFormat, reading: Reading, **facts: Any):
        super().__init__(source.inputs, reading, **facts)
        self.source = source
        self.format = text_format
        threads = reading.threads
        self.threads = min(2, os.cpu_count() or 1) if threads is None else threads

    def leave_first_out(self) -> None:
        """Leave out the lines of the first input."""
        self.source.leave_first_out()

    def _pieces(self) -> Generator[Parsed, None, None]:
        reader = self.source.open()
        following = 1
        parts = parts_ahead(
            reader.next,
            lambda chunk: self._parse(reader, chunk),
            threads=self.threads,
            ordered=not self.format.parallel,
            wake=reader.wake,
        )
        with closing(reader), closing(parts):
            for parsed in parts:
                if parsed.finish is not None:
                    parsed.finish()
                    # What refers to itself would keep its memory from being used again.
                    parsed.finish = None
                    _check_order(parsed)
                parsed.first = parsed.first or following
                following = parsed.first + parsed.lines
                yield parsed

    def _parse(self, reader: Reader, chunk: Chunk) -> Iterator[Parsed]:
        found = self.format.parse(chunk.buffer, chunk.stop)
        for parsed in (found,) if isinstance(found, Parsed) else found:
            parsed.name, parsed.first, parsed.position = chunk.name, chunk.line, chunk.position
            parsed.number = chunk.number
            if chunk.unended:
                parsed.unended = chunk.memory.count(b"\n", 0, chunk.stop) - 1
            starts = parsed.faults[: self._wanted].tolist()
            reasons = [self.format.explain(reader.line_at(chunk, start)) for start in starts]
            lines = [chunk.memory.count(b"\n", 0, start) for start in starts]
            parsed.reasons = [*zip(lines, reasons, strict=True)]
            if parsed.finish is None:
                _check_order(parsed)
            yield parsed
        reader.give_back(chunk)


def _check_order(parsed: Parsed) -> None:
    """Look whether rows are in order, unless the format vouches for that."""
    # Import here: opening a stream without reading it should not wait for the compiler.
    from noregret.streams.sparse import in_order

    parsed.ordered = parsed.ordered or bool(in_order(*parsed.rows))
