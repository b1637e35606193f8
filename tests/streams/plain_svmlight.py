"""The rules of svmlight text in plain Python: what the kernel must agree with, word for word."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from noregret.streams import Reading
from noregret.streams.errors import Malformed
from noregret.streams.numbers import decimal
from noregret.streams.svmlight import SvmlightText

_COLUMNS = 2**32
_TOKEN = re.compile(rb"[^ \t\r\v\f]+")
_INDEX = re.compile(rb"\+?0*([0-9]+)")


@dataclass(frozen=True)
class Rules:
    """The grammar of a line."""

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

    def compiled(self, dtype: str = "float64") -> SvmlightText:
        """Return the format that must agree with these rules."""
        text = SvmlightText(
            Reading(
                format="svmlight",
                labels=self.names or "real",
                first_index=self.first_index,
                width=self.width,
                constant=self.constant,
                dtype=dtype,  # type: ignore[arg-type]
            )
        )
        # Values beyond what learners take are numbers like any others.
        text.rules = text.rules._replace(largest=self.largest)
        return text
