"""svmlight / LIBSVM text: `label index:value index:value ...`, one example a line.

The rules, since the format has no standard:
- an optional `qid:n` after the label is skipped; `#` starts a comment; blank lines are skipped;
- indices count from 1 (`first_index=0` for files that count from 0; index 0 is refused
  otherwise, since shifting only some files silently would mix up their features);
- indices ascend strictly within a line, values and labels are finite;
- labels are numbers, or two names where the names are given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.arguments import ArgumentError
from noregret.jit import byte_at, kernel, load_word, text_of
from noregret.rows.soundness import LARGEST_FEATURE
from noregret.streams.columns import given_names, label_expected
from noregret.streams.errors import Malformed
from noregret.streams.features import largest_of
from noregret.streams.format import Parsed, Slabs, Written, padded
from noregret.streams.inputs import Inputs
from noregret.streams.numbers import any_number, finite, integer, plain_pair
from noregret.streams.reading import Reading
from noregret.streams.source import Source, most_lines
from noregret.streams.stream import TextStream
from noregret.streams.texts import Pair, label_among

_0, _1 = np.uint64(0), np.uint64(1)
_TAB, _LINE_END, _RETURN, _SPACE, _HASH, _COLON, _PLUS = (np.uint8(ord(c)) for c in "\t\n\r #:+")
_FOUR, _QID = np.uint64(0xFFFF_FFFF), np.uint64(int.from_bytes(b"qid:", "little"))
_LARGEST = float(np.finfo(np.float64).max)
_COLUMNS = 2**32
_TOKEN = re.compile(rb"[^ \t\r\v\f]+")
_INDEX = re.compile(rb"([+-]?)0*([0-9]+)")


class LineRules(NamedTuple):
    """How lines become rows."""

    #: The smallest and the largest index allowed.
    first_index: np.uint64
    last_index: np.uint64
    #: The value of a feature in column 0 of every row, before the others; 0 for none.
    constant: float
    #: The largest value that a feature may have.
    largest: float
    #: Whether labels are names, and those names.
    named: bool
    pair: Pair


@kernel(inline=True)
def is_blank(byte):  # type: ignore[no-untyped-def]
    """Whether a byte separates words: tab, vertical tab, form feed, return or space."""
    return byte == _SPACE or (_TAB <= byte <= _RETURN and byte != _LINE_END)


@kernel
def line_end(text, at):  # type: ignore[no-untyped-def]
    """Return where the line that `at` is in ends."""
    while byte_at(text, at) != _LINE_END:
        at += _1
    return at


@kernel
def _word_end(text, at):  # type: ignore[no-untyped-def]
    while True:
        byte = byte_at(text, at)
        if is_blank(byte) or byte == _LINE_END or byte == _HASH:
            return at
        at += _1


@kernel(counted=False)
def _plain_features(text, at, k, least, rules, indices, values):  # type: ignore[no-untyped-def]
    """Read features for as long as they are written plainly: a space, digits, a colon, a number.

    The rules are the largest index, what is added to an index, mod 2^64, and the largest value.
    Returned are where that ends, how many features there are then, and the least index that may
    follow. Not inlined, so that its variables fit the registers.
    """
    last_index, offset, largest = rules
    while byte_at(text, at) == _SPACE:
        index, value, end = plain_pair(text, at + _1)
        if end == at + _1 or index < least or index > last_index or not abs(value) <= largest:
            break
        at = end
        indices[k] = np.uint32(index + offset)
        values[k] = value
        k += _1
        least = index + _1
    return at, k, least


@kernel(counted=False)
def parse_rows(buffer, stop, rules, out):  # type: ignore[no-untyped-def]
    """Read buffer[:stop] by `LineRules` into the arrays of `out`, a `Written`.

    Returned are the numbers of rows, columns, lines and refused lines, and of the last line that
    was refused where that happened and the least index that could have followed.
    """
    text = text_of(buffer)
    first_index, last_index, constant, largest, named, pair = rules
    indptr, indices, values = out.rows
    at = row = line = fault = width = k = stopped = least = _0
    before = np.uint64(constant != 0.0)
    offset = before - first_index
    features = last_index, offset, largest
    indptr[_0] = _0
    while at < stop:
        begin = at
        while is_blank(byte_at(text, at)):
            at += _1
        if byte_at(text, at) == _LINE_END or byte_at(text, at) == _HASH:
            at = line_end(text, at) + _1
            line += _1
            continue
        if named:
            end = _word_end(text, at)
            label = label_among(text, at, end, False, pair)
            sound = label != 0.0
        else:
            label, end = any_number(text, at)
            sound = end != at and abs(label) <= _LARGEST
        at = end
        first = k
        if before:
            indices[k] = np.uint32(0)
            values[k] = constant
            k += _1
        least = first_index
        query = False
        while sound:
            at, k, least = _plain_features(text, at, k, least, features, indices, values)
            byte = byte_at(text, at)
            if byte == _LINE_END:
                break
            if byte == _HASH:
                at = line_end(text, at)
                break
            if not is_blank(byte):
                sound = False
                break
            at += _1
            byte = byte_at(text, at)
            if is_blank(byte) or byte == _LINE_END or byte == _HASH:
                continue
            start = at + np.uint64(byte == _PLUS)
            index, end = integer(text, start)
            if end == start and least == first_index and not query:
                query = True
                if load_word(text, at) & _FOUR == _QID:
                    at = _word_end(text, at)
                    continue
            if end == start or byte_at(text, end) != _COLON or index < least or index > last_index:
                sound = False
                break
            value, at = any_number(text, end + _1)
            if at == end + _1 or not abs(value) <= largest:
                sound = False
                break
            indices[k] = np.uint32(index + offset)
            values[k] = value
            k += _1
            least = index + _1
        if sound:
            out.y[row] = label
            out.line_of_row[row] = np.uint32(line)
            row += _1
            indptr[row] = k
            if k > first:
                width = max(width, np.uint64(indices[k - _1]) + _1)
        else:
            k = first
            out.faults[fault] = begin
            fault += _1
            stopped = at
            at = line_end(text, at)
        at += _1
        line += _1
    return row, width, line, fault, stopped, least


class SvmlightText:
    """The format as `TextStream` takes it."""

    parallel = True

    def __init__(self, reading: Reading):
        constant, self.width = float(reading.constant), reading.width
        #: The number of columns before the first feature.
        self.shift = int(constant != 0.0)
        if self.width and not self.shift < self.width <= _COLUMNS:
            raise ArgumentError(
                "width",
                f"expected the number of features, {1 + self.shift} to {_COLUMNS}, 0 if unknown",
                self.width,
            )
        largest = min(largest_of(reading.dtype), LARGEST_FEATURE)
        if not abs(constant) <= largest:
            raise ArgumentError("constant", f"expected at most {largest:g}", constant)
        self._dtype = np.dtype(reading.dtype)
        self._slabs = Slabs()
        self._names = given_names(reading.labels)
        last_index = (self.width or _COLUMNS) - 1 - self.shift + reading.first_index
        self.rules = LineRules(
            first_index=np.uint64(reading.first_index),
            last_index=np.uint64(last_index),
            constant=constant,
            largest=largest,
            named=self._names is not None,
            pair=Pair.of(self._names),
        )

    def _read(self, buffer: NDArray[np.uint8], stop: int) -> tuple[Written, list[int]]:
        """Return what the kernel writes, and its counts."""
        # A row has two bytes at least, and a feature four; the constant feature comes with a row.
        most = len(buffer) // (2 if self.shift else 4)
        rows = most_lines(buffer, stop)
        out = Written.take(self._slabs, buffer, stop, rows, most, self._dtype, weights=False)
        # Interpreted, the parser counts in unsigned numbers.
        return out, list(map(int, parse_rows(buffer, np.uint64(stop), self.rules, out)))

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed:
        """Return the rows of buffer[:stop]."""
        out, (rows, width, lines, refused, _, _) = self._read(buffer, stop)
        return out.parsed(rows, lines, refused, width, ordered=True)

    def explain(self, line: bytes) -> Malformed:
        """Return the reason why a line is refused."""
        *_, stopped, least = self._read(*padded(line))[1]
        tokens = list(_TOKEN.finditer(line.partition(b"#")[0]))
        token = next(one for one in tokens if one.end() >= stopped)
        written, colon, value = token.group().partition(b":")
        match, rules = _INDEX.fullmatch(written), self.rules
        # Python refuses to read thousands of digits; twenty are too large as well.
        index = int(match[2][:20]) if match and match[1] != b"-" else -1
        # Inside the token its index was read, and is the last one before `least`.
        low = index < least and stopped == token.start()
        given = f", since the width was given as {self.width}" if self.width else ""
        expected = {
            label_expected(self._names): token is tokens[0],
            "index:value": not colon or not match,
            "an index from 1 (files that count from 0 can be read)": index < rules.first_index,
            f"an index up to {rules.last_index}{given}": index > rules.last_index,
            f"an index above {least - 1}, the one before it": low,
            "a finite number after the colon": finite(value) is None,
            f"a number of size at most {rules.largest:g}": True,
        }
        first = next(text for text, found in expected.items() if found)
        argument = "first_index" if first.startswith("an index from") else ""
        return Malformed(token.start(), token.group(), first, argument)


@dataclass(frozen=True)
class NumberedColumns:
    """Names of the columns of a svmlight file: their indices."""

    first_index: int
    shift: int
    #: The number of columns where it is known, else 0.
    width: int = 0

    def __len__(self) -> int:
        return self.width or _COLUMNS

    def name(self, column: int) -> str:
        """Return the name of a column.

        >>> NumberedColumns(1, 0).name(0), NumberedColumns(1, 1).name(0)
        ('1', 'intercept')
        """
        if column < self.shift:
            return "intercept"
        return str(column - self.shift + self.first_index)

    def column(self, name: str) -> int | None:
        """Return the column of a name, None if there is none."""
        if name == "intercept" and self.shift:
            return 0
        return int(name) - self.first_index + self.shift if name.isdigit() else None


def open_svmlight(inputs: Inputs, reading: Reading) -> TextStream:
    """Open svmlight text, plain or compressed, as a stream of blocks."""
    text = SvmlightText(reading)
    return TextStream(
        Source(inputs, encoding=reading.encoding),
        text,
        reading,
        width=reading.width,
        names=NumberedColumns(reading.first_index, text.shift, reading.width),
    )
