"""Where the examples of separated values end: quoted fields may hold line ends.

A field that begins with a quote goes on to the next quote that is not doubled. One that is not
closed within LONGEST_QUOTED bytes, or before the input ends, is a stray quote: its example is
refused, and ends with its line, so that one stray quote does not swallow the rest of a file.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import byte_at, kernel, text_of
from noregret.streams.source import Lines

#: Bytes within which a quoted field must be closed.
LONGEST_QUOTED = 1 << 20

_0, _1 = np.uint64(0), np.uint64(1)
_LONGEST = np.uint64(LONGEST_QUOTED)
_NEWLINE, _SPACE, _QUOTE = (np.uint8(ord(c)) for c in '\n "')


@kernel(inline=True)
def quoted_end(text, at, stop):  # type: ignore[no-untyped-def]
    """Return where the quote is that closes the field whose text begins at `at`.

    Returned is `stop`, or `at` + LONGEST_QUOTED if that is less, for none; then whether quotes
    are doubled, and how many lines end inside.
    """
    limit = min(stop, at + _LONGEST)
    doubled = False
    breaks = _0
    while at < limit:
        c = byte_at(text, at)
        if c == _QUOTE:
            if byte_at(text, at + _1) != _QUOTE:
                return at, True, doubled, breaks
            doubled = True
            at += _1
        breaks += np.uint64(c == _NEWLINE)
        at += _1
    return limit, False, doubled, breaks


@kernel
def record_end(text, at, stop, separator, whole):  # type: ignore[no-untyped-def]
    """Return where the example at `at` ends, after its line end; `at` itself if it is cut.

    Unless `whole`, text may follow text[:stop], so that a quote may still be closed.
    """
    begin = at
    while at < stop:
        while at < stop and byte_at(text, at) == _SPACE:
            at += _1
        if at < stop and byte_at(text, at) == _QUOTE:
            end, closed, _, _ = quoted_end(text, at + _1, stop)
            if closed:
                at = end + _1
            elif not whole and end < at + _1 + _LONGEST:
                return begin
        while at < stop and byte_at(text, at) != separator and byte_at(text, at) != _NEWLINE:
            at += _1
        if at < stop and byte_at(text, at) == _NEWLINE:
            return at + _1
        at += _1
    return begin


@kernel
def _last_end(buffer, stop, separator, whole):  # type: ignore[no-untyped-def]
    text = text_of(buffer)
    at = _0
    while True:
        end = record_end(text, at, stop, separator, whole)
        if end == at:
            return at
        at = end


class QuotedLines(Lines):
    """Examples end at line ends outside quotes."""

    def __init__(self, separator: bytes):
        self._separator = np.uint8(separator[0])

    def last_end(self, memory: bytearray, searched: int, filled: int, ended: bool) -> int:
        """Return where the last whole example of memory[:filled] ends."""
        if memory.find(b'"', 0, filled) < 0:
            return memory.rfind(b"\n", searched, filled) + 1
        buffer = np.frombuffer(memory, np.uint8)
        return int(_last_end(buffer, np.uint64(filled), self._separator, ended))

    def first_end(self, memory: bytearray, start: int, stop: int) -> int:
        """Return where the line end of the example at `start` is."""
        line_end = memory.index(b"\n", start, stop)
        if memory.find(b'"', start, line_end) < 0:
            return line_end
        buffer = np.frombuffer(memory, np.uint8)
        place, end = np.uint64(start), np.uint64(stop)
        return int(record_end(buffer, place, end, self._separator, True)) - 1
