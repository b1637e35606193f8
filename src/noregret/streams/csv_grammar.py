"""Lines of separated values in plain Python: what the kernel reads, and why a line is refused."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    FEATURES,
    LABEL,
    MISSING_TEXTS,
    NAMED_LABEL,
    TEXT,
    TRUTHS,
    WEIGHT,
)
from noregret.streams.csv_records import LONGEST_QUOTED
from noregret.streams.decimals import decimal
from noregret.streams.errors import Malformed
from noregret.streams.moments import moment, part_names
from noregret.streams.words import Words

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
class Row:
    """The content of a line: label (of a class its name), weight, and features by name."""

    label: float | bytes
    weight: float
    features: list[tuple[bytes, float]]


@dataclass(frozen=True)
class Grammar:
    """What the fields of a line are for."""

    separator: bytes
    names: Sequence[str]
    roles: Sequence[int]
    #: The names of the two labels, if they are names.
    pair: tuple[str, str] | None = None
    #: Whether a missing value is a feature of its own, and whether labels may be missing.
    indicate: bool = False
    unlabelled: bool = False
    #: The largest number that a feature may be.
    largest: float = sys.float_info.max
    #: The columns of dates that have times as well.
    timed: frozenset[str] = frozenset()
    words: Words = Words()  # noqa: RUF009 (frozen)

    def columns(self, role: int) -> list[str]:
        """Return the names of the columns with a role."""
        pairs = zip(self.names, self.roles, strict=True)
        return [name for name, its_role in pairs if its_role == role]

    def read(self, line: bytes) -> Row | None:
        """Return what a line without its end says, None if it is blank; raise Malformed."""
        if line in (b"", _RETURN):
            return None
        fields = split_fields(line, self.separator)
        label: float | bytes = math.nan
        weight = 1.0
        features: list[tuple[bytes, float]] = []
        # Report the first fault of the line: fields are read in order.
        for field, name, role in zip(fields, self.names, self.roles, strict=False):
            if role in FEATURES:
                found = self._features(field, name, role)
                features += [(feature, value) for feature, value in found if value != 0.0]
            elif role == WEIGHT:
                weight = decimal(field.text)
                if not 0.0 <= weight < math.inf:
                    expected = f"a number from 0 as weight in column {name!r}"
                    raise Malformed(field.start, field.text, expected)
            elif role == CLASS and field.text not in MISSING_TEXTS:
                label = field.text
            elif role in (LABEL, NAMED_LABEL, CLASS):
                label = self._label(field, name, role)
        if len(fields) != len(self.names):
            raise Malformed(0, line, f"{len(self.names)} fields, there are {len(fields)}")
        return Row(label, weight, features)

    def _features(self, field: Field, name: str, role: int) -> list[tuple[bytes, float]]:
        if field.text in MISSING_TEXTS:
            if self.indicate:
                return [(f"{name}=missing".encode(), 1.0)]
            expected = f'a value in column {name!r}, or missing="indicator"'
            raise Malformed(field.start, field.text, expected, "missing")
        if role == CATEGORY:
            return [(f"{name}=".encode() + field.text, 1.0)]
        if role == TEXT:
            words = self.words.names(name, field.text.decode("utf-8", "replace"))
            return [(word.encode(), 1.0) for word in words]
        if role == DATE:
            found = moment(field.text)
            if found is None:
                expected = f"an ISO date in column {name!r}, which has dates by the first lines"
                raise Malformed(field.start, field.text, expected, "categorical")
            names = [one.encode() for one in part_names(name, name in self.timed)]
            days, *parts = found
            return [(names[0], days)] + [(names[k], 1.0) for k in parts if k < len(names)]
        value = TRUTHS.get(field.text, decimal(field.text))
        if not math.isfinite(value):
            expected = f"a finite number in column {name!r}, which is numeric by the first lines"
            raise Malformed(field.start, field.text, expected)
        if abs(value) > self.largest:
            expected = f"a number of size at most {self.largest:g} in column {name!r}"
            raise Malformed(field.start, field.text, expected)
        return [(name.encode(), value)]

    def _label(self, field: Field, name: str, role: int) -> float:
        if role == CLASS:
            expected = f"a class as label in column {name!r}"
        elif self.pair is None:
            value = decimal(field.text)
            if math.isfinite(value):
                return value
            expected = f"a finite number as label in column {name!r}"
            if field.text not in MISSING_TEXTS:
                expected += " (read names as two classes, or as several)"
        else:
            written = [name.encode() for name in self.pair]
            if field.text in written:
                return -1.0 if field.text == written[0] else 1.0
            expected = f"{self.pair[0]!r} or {self.pair[1]!r} as label in column {name!r}"
        # Compare with the names of the labels first: one of them may look like a missing value.
        if field.text not in MISSING_TEXTS:
            raise Malformed(field.start, field.text, expected, "labels")
        if self.unlabelled:
            return math.nan
        expected += "; lines without one can be skipped"
        raise Malformed(field.start, field.text, expected, "on_error")
