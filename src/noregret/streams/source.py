"""Whole lines from files: the text of one or many inputs, in pieces of bounded size."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noregret.streams.errors import StreamError
from noregret.streams.format import PADDING
from noregret.streams.inputs import Input, Inputs, Tap, find

#: Bytes of text parsed at once: enough that the time in Python between chunks is negligible.
CHUNK = 1 << 22
#: A line that is longer than this is an error, not an example.
LONGEST_LINE = 1 << 28
#: A file with a NUL among this many first bytes is not text.
_TEXT = 8000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_END = b"\n"
#: The first bytes of files that are not text.
_KNOWN = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"PK\x03\x04": "a zip archive",
    b"BZh": "bzip2-compressed",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy file",
}


@dataclass(frozen=True, eq=False)
class Chunk:
    """Whole lines: memory[:stop], which ends with a line end and is followed by PADDING bytes."""

    memory: bytearray
    stop: int
    name: str
    #: The number of the first line where a new input begins, 0 where one goes on.
    line: int
    #: How many bytes of all inputs, as they lie on the disk, were read to get here.
    position: int
    #: Whether the input ended without a line end, which was added to its last line.
    unended: bool = False
    #: The number of the input, counted from 0.
    number: int = 0

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The bytes as an array."""
        return np.frombuffer(self.memory, np.uint8)


def most_lines(buffer: NDArray[np.uint8], stop: int) -> int:
    """Return how many lines buffer[:stop] may hold that are not blank: they have two bytes.

    That is the same for chunks of the usual size, so that what is made for them can be used
    again; what a long line has made larger is looked at, since it may hold few.
    """
    if len(buffer) <= CHUNK:
        return len(buffer) // 2
    return int(np.count_nonzero(buffer[:stop] == _LINE_END[0]))


class Lines:
    """Where examples end: at line ends."""

    def last_end(self, memory: bytearray, searched: int, filled: int, ended: bool) -> int:
        """Return where the last whole example of memory[:filled] ends, after its line end.

        Before `searched` there is none, and nothing follows if the input has `ended`.
        """
        return memory.rfind(_LINE_END, searched, filled) + 1

    def first_end(self, memory: bytearray, start: int, stop: int) -> int:
        """Return where the line end of the example at `start` is, in memory[:stop]."""
        return memory.index(_LINE_END, start, stop)


class Source:
    """The text of some inputs; `open` it as often as it can be read.

    With a `header` the first line of every input, the same of all, is no part of the chunks.
    `lines` tells where examples end, and `encoding` what the bytes mean: text in another one than
    UTF-8 is recoded.
    """

    def __init__(
        self,
        inputs: Inputs,
        header: bool = False,
        lines: Lines | None = None,
        encoding: str = "utf-8",
    ):
        self.inputs: list[Input] = find(inputs)
        self.header = header
        self.lines = lines or Lines()
        self.encoding = encoding
        #: The header that all inputs must have and the input that it is of, where it is known.
        self.heading: tuple[bytes, str] | None = None
        self._used = False
        self._begun: Reader | None = None

    def open(self) -> Reader:
        """Start at the first input; the caller closes what this opens."""
        if self._begun is not None:
            reader, self._begun = self._begun, None
            return reader
        for one in self.inputs:
            # What came through a pipe is gone.
            if self._used and (one.standard or (one.path is not None and one.path.is_fifo())):
                raise StreamError(
                    f"{one.name} can be read once only; save it to a file to go again"
                )
        self._used = True
        return Reader(self)

    def peek(self) -> Reader:
        """Return the reader that the next `open` will return, to look at the first lines."""
        self._begun = self._begun or self.open()
        return self._begun

    def leave_first_out(self) -> None:
        """Leave out the lines of the first input; the others must have its header nevertheless."""
        self.heading = b"", self.inputs[0].name
        if self._begun is not None:
            self.heading = self._begun.heading or self.heading
            self._begun.close()
            self._begun = None
        self.inputs = self.inputs[1:]


class Reader:
    """One pass over a source; `next` may be called by one thread at a time."""

    def __init__(self, source: Source):
        self._source = source
        self._opened = 0
        self._tap: Tap | None = None
        #: Bytes on the disk of the inputs that are done with.
        self._done = 0
        self._carried = b""
        #: The first line of all, once it was read, and the input that it is of.
        self.heading = source.heading
        #: The number of the next line where no chunk of the input was returned yet, else 0.
        self._line = 1
        #: Whether the first line of the input has yet to be looked at.
        self._fresh = True
        self._peeked: Chunk | None = None
        self._spare: list[bytearray] = []
        self._guard = threading.Lock()
        self._woken = False

    def close(self) -> None:
        """Close the file that is open."""
        with self._guard:
            if self._tap is not None:
                self._tap.close()
                self._tap = None

    def wake(self) -> None:
        """Let a `next` that waits for a pipe in another thread return None."""
        with self._guard:
            self._woken = True
            if self._tap is not None:
                self._tap.wake()

    def give_back(self, chunk: Chunk) -> None:
        """Say that the memory of a chunk may be used for another."""
        if len(chunk.memory) == CHUNK:
            self._spare.append(chunk.memory)

    def first_line(self) -> bytes:
        """Return the first line of all, without its end."""
        if self._peeked is None:
            self._peeked = self.next()
        return self.heading[0] if self.heading else b""

    def head(self, lines: int | None = None) -> list[bytes]:
        """Return the first lines, those that `header` takes left out, as `next` will return them.

        They are so many, or as many as fit into a chunk, or all of the first input: what a slow
        pipe has not delivered yet is waited for, so that nothing depends on its speed.
        """
        self.first_line()
        if self._peeked is not None and self._tap is not None:
            # The same chunk once more, from an input that may have more by now.
            peeked, self._peeked = self._peeked, None
            self._carried = bytes(peeked.memory[: peeked.stop]) + self._carried
            self._line = peeked.line
            self.give_back(peeked)
            self._peeked = self._lines(CHUNK if lines is None else lines)
        found: list[bytes] = []
        at = 0
        while self._peeked and at < self._peeked.stop and len(found) != lines:
            found.append(self.line_at(self._peeked, at))
            at += len(found[-1]) + 1
        return found

    def line_at(self, chunk: Chunk, start: int) -> bytes:
        """Return the example that begins at `start` of a chunk, without its line end."""
        end = self._source.lines.first_end(chunk.memory, start, chunk.stop)
        return bytes(chunk.memory[start:end])

    def next(self) -> Chunk | None:
        """Return the next lines, or None at the end."""
        if self._peeked is not None:
            chunk, self._peeked = self._peeked, None
            return chunk
        while not self._woken:
            if self._tap is None and not self._advance():
                return None
            chunk = self._lines()
            if chunk.stop and not self._woken:
                return chunk
            self.give_back(chunk)
        return None

    def _advance(self) -> bool:
        """Open the next input; say whether there is one."""
        inputs = self._source.inputs
        if self._opened == len(inputs):
            if self.heading is None:
                more = f" and {len(inputs) - 1} more: nothing is in any of them"
                what = ": nothing is there" if len(inputs) == 1 else more
                raise StreamError(f"{inputs[0].name}{what}, expected lines of text")
            return False
        tap = Tap(inputs[self._opened], self._source.encoding)
        with self._guard:
            self._tap = tap
            if self._woken:
                tap.wake()
        self._opened += 1
        self._line, self._fresh = 1, True
        return True

    def _lines(self, least: int = 1) -> Chunk:
        """Return whole lines of the input that is open; none if it has come to its end."""
        assert self._tap is not None
        memory, filled, cut, ended = self._fill(self._tap, least)
        name = self._source.inputs[self._opened - 1].name
        position = self._done + self._tap.position
        unended = ended and filled > cut
        if ended:
            self._done = position
            self.close()
            memory[filled] = _LINE_END[0]
            filled += unended
            cut = filled
        if self._fresh and cut:
            self._fresh = False
            start = self._begin(memory, cut, name)
            memory[: filled - start] = memory[start:filled]
            filled, cut = filled - start, cut - start
        self._carried = bytes(memory[cut:filled])
        number = self._opened - 1
        chunk = Chunk(memory, cut, name, self._line, position, unended, number)
        self._line = self._line if cut == 0 else 0
        return chunk

    def _fill(self, tap: Tap, least: int) -> tuple[bytearray, int, int, bool]:
        """Read until there are `least` whole lines and nothing more to be had without waiting.

        A full chunk is enough in any case, if a whole line is in it.

        Returned are the memory, how much of it is filled, where its last line ends, and whether
        the input has ended.
        """
        memory = self._spare.pop() if self._spare else bytearray(CHUNK)
        filled = len(self._carried)
        # Room for the padding, and for the end that the last line may lack.
        while filled >= len(memory) - PADDING - 1:
            memory = bytearray(2 * len(memory))
        memory[:filled] = self._carried
        searched = 0
        while True:
            room = len(memory) - PADDING - 1
            count = 1
            while count and filled < room:
                with memoryview(memory) as view:
                    count = tap.readinto(view[filled:room])
                filled += count
                if count and tap.waiting() and memory.count(_LINE_END, 0, filled) >= least:
                    break
            cut = self._source.lines.last_end(memory, searched, filled, not count)
            if cut or not count:
                return memory, filled, cut, not count
            searched = filled
            if filled == room:
                if filled >= LONGEST_LINE:
                    raise StreamError(
                        f"{self._source.inputs[self._opened - 1].name}: a line of more than "
                        f"{LONGEST_LINE >> 20} MiB, expected examples, one a line"
                    )
                memory = memory + bytearray(len(memory))

    def _begin(self, memory: bytearray, stop: int, name: str) -> int:
        """Look at the first lines of an input; return where its examples begin."""
        head = bytes(memory[: min(stop, _TEXT)])
        for magic, what in _KNOWN.items():
            if head.startswith(magic):
                raise StreamError(f"{name}: the content is {what}, expected lines of text")
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise StreamError(
                f"{name}: the content is UTF-16: name its encoding, utf-16", "encoding"
            )
        if b"\0" in head:
            raise StreamError(
                f"{name}: the content is binary (byte {head.index(0) + 1} is zero), expected "
                "lines of text"
            )
        start = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
        end = self._source.lines.first_end(memory, start, stop)
        line = bytes(memory[start:end]).removesuffix(b"\r")
        heading = self.heading = self.heading or (line, name)
        if not self._source.header:
            return start
        if line != heading[0]:
            found = line.decode("utf-8", "backslashreplace")
            raise StreamError(
                f"{name}, line 1: found the header {found!r:.60}, expected that of {heading[1]}"
            )
        self._line = 2
        return end + 1
