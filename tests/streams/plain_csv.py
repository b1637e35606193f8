"""Lines of separated values in plain Python: what the kernel must agree with, word for word."""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass

from noregret.streams.column_features import Words
from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    FEATURES,
    LABEL,
    MISSING_TEXTS,
    NAMED_LABEL,
    TRUTHS,
    WEIGHT,
    WORDS,
)
from noregret.streams.csv_grammar import Field, Grammar, split_fields
from noregret.streams.errors import Malformed
from noregret.streams.features import largest_of
from noregret.streams.moments import HOURS, WEEKDAYS, part_names
from noregret.streams.numbers import decimal

_RETURN = b"\r"
_DAY = 86400.0
_ISO = re.compile(
    rb"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?"
)


def moment(text: bytes) -> tuple[float, int, int, int] | None:
    """Return days since 1970 and the places of month, weekday and hour; None for no moment.

    >>> moment(b"1970-01-02"), moment(b"2024-02-29T18:00:00+02:00"), moment(b"2023-02-29")
    ((1.0, 1, 17, 20), (19782.666666666668, 2, 16, 38), None)
    """
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    *date, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    fraction, zone = found[7] or b"", found[8] or b"Z"
    try:
        day = datetime.date(*date)
    except ValueError:
        return None
    ahead = 0
    if zone != b"Z":
        hours, minutes = int(zone[1:3]), int(zone[-2:])
        ahead = (hours * 60 + minutes) * 60 * (-1 if zone[:1] == b"-" else 1)
        if hours > 23 or minutes > 59:
            return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    seconds = float((hour * 60 + minute) * 60 + second - ahead)
    seconds += int(fraction or b"0") / 10.0 ** len(fraction)
    days = day.toordinal() - datetime.date(1970, 1, 1).toordinal()
    return days + seconds / _DAY, day.month, WEEKDAYS + day.weekday(), HOURS + hour


@dataclass(frozen=True)
class Row:
    """The content of a line: label (of a class its name), weight, and features by name."""

    label: float | bytes
    weight: float
    features: list[tuple[bytes, float]]


class Plain:
    """The grammar of lines, field by field."""

    def __init__(self, grammar: Grammar) -> None:
        reading = grammar.reading
        self.separator, self.pair, self.timed = grammar.separator, grammar.pair, grammar.timed
        self.names, self.roles = [*grammar.roles], [*grammar.roles.values()]
        self.indicate = reading.missing == "indicator"
        self.unlabelled = reading.unlabelled == "keep"
        self.largest = largest_of(reading.dtype)
        self.words = Words(reading.ngram, reading.skips)

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
        if role == WORDS:
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
