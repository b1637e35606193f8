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

import numpy as np
from numpy.typing import NDArray

from noregret.rows.soundness import LARGEST_FEATURE
from noregret.streams.columns import given_names
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import largest_of
from noregret.streams.format import Parsed, Slabs, Written, check_text, padded
from noregret.streams.inputs import Inputs
from noregret.streams.numbers import finite
from noregret.streams.reading import Reading
from noregret.streams.source import Source, most_lines
from noregret.streams.stream import TextStream
from noregret.streams.svmlight_rows import LineRules, parse_rows
from noregret.streams.texts import Pair

_COLUMNS = 2**32
_TOKEN = re.compile(rb"[^ \t\r\v\f]+")
_INDEX = re.compile(rb"([+-]?)0*([0-9]+)")


class SvmlightText:
    """The format as `TextStream` takes it."""

    parallel = True

    def __init__(self, reading: Reading):
        constant, self.width = float(reading.constant), reading.width
        #: The number of columns before the first feature.
        self.shift = int(constant != 0.0)
        if self.width and not self.shift < self.width <= _COLUMNS:
            raise StreamError(
                f"width={self.width}: expected the number of features, {1 + self.shift} to "
                f"{_COLUMNS}, 0 if unknown",
                "width",
            )
        largest = min(largest_of(reading.dtype), LARGEST_FEATURE)
        if not abs(constant) <= largest:
            raise StreamError(f"constant={constant}: expected at most {largest:g}", "constant")
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
        check_text(buffer, stop)
        # A row has two bytes at least, and a feature four; the constant feature comes with a row.
        most = len(buffer) // (2 if self.shift else 4)
        rows = most_lines(buffer, stop)
        out = Written.take(self._slabs, rows, most, self._dtype, weights=False)
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
        if token is not tokens[0]:
            # Inside the token its index was read, and is the last one before `least`.
            expected = self._expected(token.group(), least if stopped == token.start() else 0)
        elif self._names is None:
            expected = ("a finite number as label",)
        else:
            expected = (f"{self._names[0]!r} or {self._names[1]!r} as label",)
        return Malformed(token.start(), token.group(), *expected)

    def _expected(self, feature: bytes, least: int) -> tuple[str, ...]:
        """Return what is expected in place of a feature, and the option that changes that."""
        written, colon, value = feature.partition(b":")
        match = _INDEX.fullmatch(written)
        if not colon or not match:
            return ("index:value",)
        # Python refuses to read thousands of digits; twenty are too large as well.
        index = -1 if match[1] == b"-" else int(match[2][:20])
        if index < self.rules.first_index:
            return "an index from 1 (first_index=0 if the file counts from 0)", "first_index"
        if index > self.rules.last_index:
            given = f", since the width was given as {self.width}" if self.width else ""
            return (f"an index up to {self.rules.last_index}{given}",)
        if index < least:
            return (f"an index above {least - 1}, the one before it",)
        if finite(value) is None:
            return ("a finite number after the colon",)
        return (f"a number of size at most {self.rules.largest:g}",)


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
