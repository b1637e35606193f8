"""svmlight / LIBSVM text: `label index:value index:value ...`, one example a line.

The rules, since the format has no standard:
- an optional `qid:n` after the label is skipped; `#` starts a comment; blank lines are skipped;
- indices count from 1 (`first_index=0` for files that count from 0; index 0 is refused
  otherwise, since shifting only some files silently would mix up their features);
- indices ascend strictly within a line, values and labels are finite;
- labels are numbers, or two names where the names are given.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from noregret.rows.soundness import LARGEST_FEATURE
from noregret.streams.decimals import decimal
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import largest_of
from noregret.streams.format import Parsed, Written, check_text, explained
from noregret.streams.inputs import Inputs
from noregret.streams.reading import Reading
from noregret.streams.slabs import Slabs
from noregret.streams.source import Source, most_lines
from noregret.streams.stream import TextStream
from noregret.streams.svmlight_rows import LineRules, parse_rows

_COLUMNS = 2**32
_TOKEN = re.compile(rb"[^ \t\r\v\f]+")
_INDEX = re.compile(rb"\+?0*([0-9]+)")


@dataclass(frozen=True)
class Rules:
    """The grammar of a line in plain Python: slow, and the reference for tests of the kernel."""

    first_index: int = 1
    #: The number of columns where it is known, else 0.
    width: int = 0
    #: The value of a feature in column 0 of every row, before the others; 0 for none.
    constant: float = 0.0
    #: The largest value that the type of the values holds.
    largest: float = float(np.finfo(np.float64).max)
    #: The two labels where they are names.
    names: tuple[str, str] | None = None

    @property
    def shift(self) -> int:
        """The number of columns before the first feature."""
        return int(self.constant != 0.0)

    @property
    def last_index(self) -> int:
        """The largest index allowed."""
        return (self.width or _COLUMNS) - 1 - self.shift + self.first_index

    def parse_line(self, line: bytes) -> tuple[float, list[int], list[float]] | None:
        """Return label, columns and values of a line, None if it is blank; raise Malformed.

        >>> Rules().parse_line(b"+1 qid:7 1:0.5 4:-2  # a comment")
        (1.0, [0, 3], [0.5, -2.0])
        """
        tokens = [
            (match.start(), match.group()) for match in _TOKEN.finditer(line.partition(b"#")[0])
        ]
        if not tokens:
            return None
        label = self._label(*tokens[0])
        columns = [0] * self.shift
        values = [self.constant] * self.shift
        least = self.first_index
        skipped = 2 if len(tokens) > 1 and tokens[1][1].startswith(b"qid:") else 1
        for column, token in tokens[skipped:]:
            index, value = self._feature(column, token, least)
            columns.append(index - self.first_index + self.shift)
            values.append(value)
            least = index + 1
        return label, columns, values

    def _label(self, column: int, token: bytes) -> float:
        if self.names is not None:
            written = [name.encode() for name in self.names]
            if token not in written:
                negative, positive = self.names
                raise Malformed(column, token, f"{negative!r} or {positive!r} as label")
            return -1.0 if token == written[0] else 1.0
        label = decimal(token)
        if not math.isfinite(label):
            raise Malformed(column, token, "a finite number as label")
        return label

    def _feature(self, column: int, token: bytes, least: int) -> tuple[int, float]:
        index_text, colon, value_text = token.partition(b":")
        match = _INDEX.fullmatch(index_text)
        if not colon or not (match or re.fullmatch(rb"-[0-9]+", index_text)):
            raise Malformed(column, token, "index:value")
        # Python refuses to read thousands of digits; twenty are too large as well.
        index = int(match[1][:20]) if match else -1
        if index < self.first_index:
            raise Malformed(
                column,
                token,
                "an index from 1 (first_index=0 if the file counts from 0)",
                "first_index",
            )
        if index > self.last_index:
            given = f", since the width was given as {self.width}" if self.width else ""
            raise Malformed(column, token, f"an index up to {self.last_index}{given}")
        if index < least:
            raise Malformed(column, token, f"an index above {least - 1}, the one before it")
        value = decimal(value_text)
        if not math.isfinite(value):
            raise Malformed(column, token, "a finite number after the colon")
        if abs(value) > self.largest:
            raise Malformed(column, token, f"a number of size at most {self.largest:g}")
        return index, value


class SvmlightText:
    """The format as `TextStream` takes it."""

    parallel = True

    def __init__(self, rules: Rules, dtype: Literal["float32", "float64"] = "float64"):
        self.rules = rules
        self._dtype = np.dtype(dtype)
        self._slabs = Slabs()
        written = [name.encode() for name in rules.names or ()]
        self._line_rules = LineRules(
            first_index=np.uint64(rules.first_index),
            last_index=np.uint64(rules.last_index),
            constant=rules.constant,
            largest=rules.largest,
            names=np.frombuffer(b"".join(written), np.uint8),
            first_name=np.uint64(len(written[0]) if written else 0),
        )

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed:
        """Return the rows of buffer[:stop]."""
        check_text(buffer, stop)
        most_rows = most_lines(buffer, stop)
        # A row has two bytes at least, and a feature four; the constant feature comes with a row.
        most = len(buffer) // (2 if self.rules.shift else 4)
        out = Written.take(self._slabs, most_rows, most, self._dtype, weights=False)
        counts = parse_rows(buffer, np.uint64(stop), self._line_rules, out)
        # Interpreted, the parser counts in unsigned numbers.
        rows, width, lines, refused = map(int, counts)
        return out.parsed(
            rows, lines, refused, width, ordered=self.rules.largest <= LARGEST_FEATURE
        )

    def explain(self, line: bytes) -> Malformed:
        """Return the reason why a line is refused."""
        return explained(self.rules.parse_line, line)


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
    constant, width = float(reading.constant), reading.width
    least = 1 + int(constant != 0.0)
    if width and not least <= width <= _COLUMNS:
        raise StreamError(
            f"width={width}: expected the number of features, {least} to {_COLUMNS}, 0 if unknown",
            "width",
        )
    largest = min(largest_of(reading.dtype), LARGEST_FEATURE)
    if not abs(constant) <= largest:
        raise StreamError(f"constant={constant}: expected at most {largest:g}", "constant")
    labels = reading.labels
    names = labels if isinstance(labels, tuple) and isinstance(labels[0], str) else None
    rules = Rules(reading.first_index, width, constant, largest, names)
    return TextStream(
        Source(inputs, encoding=reading.encoding),
        SvmlightText(rules, reading.dtype),
        reading,
        width=width,
        names=NumberedColumns(reading.first_index, rules.shift, width),
    )
