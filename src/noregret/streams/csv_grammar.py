"""Fields of separated values in plain Python: the first lines, and why a line is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noregret.streams.columns import (
    CLASS,
    DATE,
    FEATURES,
    MISSING_TEXTS,
    NUMBER,
    WEIGHT,
)
from noregret.streams.csv_records import LONGEST_QUOTED
from noregret.streams.decimals import finite
from noregret.streams.errors import Malformed
from noregret.streams.features import largest_of
from noregret.streams.reading import Reading

_QUOTE, _SPACE, _RETURN = b'"', b" ", b"\r"


@dataclass(frozen=True)
class Field:
    """What a field holds, quotes and spaces around it aside, and where it begins in its line."""

    start: int
    text: bytes


def split_fields(line: bytes, separator: bytes) -> list[Field]:
    """Return the fields of a line without its end.

    >>> [field.text for field in split_fields(b' a ,"b, ""c"" d" ,', b",")]
    [b'a', b'b, "c" d', b'']
    """
    line = line.removesuffix(_RETURN)
    fields: list[Field] = []
    at = 0
    while True:
        start = at
        while line[at : at + 1] == _SPACE:
            at += 1
        if line[at : at + 1] == _QUOTE:
            text, at = _quoted(line, at, separator)
        else:
            end = line.find(separator, at)
            end = len(line) if end < 0 else end
            text, at = line[at:end].rstrip(_SPACE), end
        fields.append(Field(start, text))
        if at >= len(line):
            return fields
        at += 1


def _quoted(line: bytes, opening: int, separator: bytes) -> tuple[bytes, int]:
    """Return the text of a quoted field and where its separator is, or the end of the line."""
    at = opening + 1
    parts: list[bytes] = []
    while True:
        end = line.find(_QUOTE, at)
        if end < 0 or end - opening > LONGEST_QUOTED:
            expected = f"a closing quote within {LONGEST_QUOTED >> 20} MiB"
            raise Malformed(opening, line[opening:], expected)
        parts.append(line[at:end])
        if line[end + 1 : end + 2] != _QUOTE:
            break
        at = end + 2
    at = end + 1
    while line[at : at + 1] == _SPACE:
        at += 1
    if at < len(line) and line[at : at + 1] != separator:
        raise Malformed(at, line[at:], "a separator after the closing quote")
    return _QUOTE.join(parts), at


@dataclass(frozen=True)
class Grammar:
    """What the fields of a line are for."""

    reading: Reading
    separator: bytes
    #: What each column is for, in the order of the fields.
    roles: Mapping[str, int]
    #: The names of the two labels, if they are names.
    pair: tuple[str, str] | None = None
    #: The columns of dates that have times as well.
    timed: frozenset[str] = frozenset()

    def refusal(self, line: bytes, fault: int) -> Malformed:
        """Return why a line is refused: for the field `fault`, or the number of its fields."""
        try:
            fields = split_fields(line, self.separator)
        except Malformed as reason:
            return reason
        if fault == len(self.roles):
            return Malformed(0, line, f"{fault} fields, there are {len(fields)}")
        name, role = [*self.roles.items()][fault]
        text = fields[fault].text
        missing, argument = text in MISSING_TEXTS, ""
        if role in FEATURES and missing:
            expected, argument = f'a value in column {name!r}, or missing="indicator"', "missing"
        elif role == DATE:
            expected = f"an ISO date in column {name!r}, which has dates by the first lines"
            argument = "categorical"
        elif role == NUMBER and finite(text) is None:
            expected = f"a finite number in column {name!r}, which is numeric by the first lines"
        elif role == NUMBER:
            largest = largest_of(self.reading.dtype)
            expected = f"a number of size at most {largest:g} in column {name!r}"
        elif role == WEIGHT:
            expected = f"a number from 0 as weight in column {name!r}"
        else:
            argument = "labels"
            expected = f"a finite number as label in column {name!r}"
            if role == CLASS:
                expected = f"a class as label in column {name!r}"
            elif self.pair is not None:
                expected = f"{self.pair[0]!r} or {self.pair[1]!r} as label in column {name!r}"
            elif not missing:
                expected += " (read names as two classes, or as several)"
            if missing:
                expected, argument = f"{expected}; lines without one can be skipped", "on_error"
        return Malformed(fields[fault].start, text, expected, argument)
