"""Separated values in plain Python: fields, what the first lines tell, why a line is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    FEATURES,
    LOOK,
    MISSING_TEXTS,
    NAMED_LABEL,
    NUMBER,
    TRUTHS,
    UNKNOWN,
    WEIGHT,
    distinct_note,
    given_names,
    is_numeric,
    named_pair,
    roles_of,
    target_of,
)
from noregret.streams.csv_records import LONGEST_QUOTED
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import largest_of
from noregret.streams.labelling import Labels, are_classes
from noregret.streams.moments import has_time, is_moment
from noregret.streams.numbers import finite
from noregret.streams.reading import Reading

_DATA = "if the first line is data, say that there is no header: columns are then 0, 1, ..."
_DECIMAL_COMMA = re.compile(rb"[+-]?[0-9]{1,3}(?:[.' ][0-9]{3})*,[0-9]+|[+-]?[0-9]+,[0-9]+")

#: Returns at most this many of the first lines, or as many as can be read ahead.
Head = Callable[[int | None], Sequence[bytes]]
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


def column_names(line: bytes, separator: bytes, header: bool, where: str) -> list[str]:
    """Return the names of the columns by the first line; numbers from 0 if it is no header."""
    try:
        fields = split_fields(line, separator)
        texts = [field.text.decode() for field in fields]
    except Malformed as error:
        raise StreamError(f"{where}, line 1, {error}") from None
    except UnicodeDecodeError as error:
        raise StreamError(
            f"{where}, line 1: the header is not UTF-8 ({error.reason}): name its encoding, as "
            "latin-1 or cp1252",
            "encoding",
        ) from None
    numbers = [str(k) for k in range(len(fields) + 1)]
    if len(fields) == 1:
        raise StreamError(
            f"{where}, line 1: found the one field {texts[0]!r:.60}, expected several, separated "
            f"by {separator.decode()!r}; or name another separator",
            "separator",
        )
    if not header:
        return numbers[:-1]
    # Data frames without names are written with numbers in their place.
    if all(finite(field.text) is not None for field in fields):
        if texts not in (numbers[1:], numbers[:-1]):
            raise StreamError(
                f"{where}, line 1: found numbers only, expected the names of the columns; {_DATA}",
                "header",
            )
    names = [text or f"column {k + 1}" for k, text in enumerate(texts)]
    if twice := next((one for k, one in enumerate(names) if one in names[:k]), None):
        hint = f"; {_DATA}" if any(finite(field.text) is not None for field in fields) else ""
        raise StreamError(
            f"{where}, line 1: two columns are called {twice!r}, expected different names{hint}",
            "header",
        )
    return names


def learn_grammar(
    names: list[str], head: Head, separator: bytes, reading: Reading, where: str
) -> tuple[Grammar, list[str]]:
    """Return the grammar of a file by its first lines, the header not among them, and remarks."""
    roles = roles_of(names, reading, where)
    notes: list[str] = []
    if reading.header and (found := [name for name in names if finite(name.encode()) is not None]):
        if len(found) < len(names):
            notes.append(f"line 1: {found[0]!r} is taken for the name of a column; {_DATA}")
    timed: set[str] = set()
    unknown = [f for f, role in enumerate(roles.values()) if role in (UNKNOWN, DATE)]
    # Lines are asked for only where something is to be found out from them.
    rows = [*sound_rows(head(LOOK), separator, unknown, len(roles))] if unknown else []
    for k, f in enumerate(unknown):
        name = names[f]
        column = [row[k] for row in rows if row[k] not in MISSING_TEXTS]
        if roles[name] == UNKNOWN:
            roles[name] = _kind_of(name, column, where)
        if roles[name] == DATE and any(map(has_time, column)):
            timed.add(name)
        if roles[name] == CATEGORY:
            notes.append(distinct_note(name, len({*column}), len(column)))
    pair, target = None, target_of(roles)
    if target is not None:
        pair = _label_names(reading.labels, head, separator, names.index(target), len(names), where)
        if pair is not None:
            roles[target] = NAMED_LABEL
        elif are_classes(reading.labels):
            roles[target] = CLASS
    return Grammar(reading, separator, roles, pair, frozenset(timed)), [*filter(None, notes)]


def sound_rows(
    lines: Sequence[bytes], separator: bytes, fields: list[int], width: int
) -> Iterator[list[bytes]]:
    """Yield what these fields hold in the lines that have as many fields as they should.

    The others are refused when their turn comes, or left out, as the user wants it.
    """
    for line in lines:
        if b'"' not in line:
            # Fast path with the meaning of `split_fields`: thousands of lines are read here.
            plain = line.removesuffix(b"\r").split(separator)
            if len(plain) == width:
                yield [plain[f].strip(b" ") for f in fields]
            continue
        try:
            found = split_fields(line, separator)
        except Malformed:
            continue
        if len(found) == width:
            yield [found[f].text for f in fields]


def _kind_of(name: str, texts: list[bytes], where: str) -> int:
    """Return what a column is, by the values of the first lines that are not missing."""
    others = [text for text in texts if finite(text) is None and text not in TRUTHS]
    if is_numeric(len(texts) - len(others), len(others)):
        return NUMBER
    dates = sum(map(is_moment, others))
    if dates and is_numeric(dates, len(texts) - dates):
        return DATE
    commas = [text for text in others if _DECIMAL_COMMA.fullmatch(text)]
    if commas and is_numeric(len(texts) - len(others) + len(commas), len(others) - len(commas)):
        raise StreamError(
            f"{where}: column {name!r} holds {commas[0].decode()!r}, a number with a comma; write "
            f"{commas[0].decode().replace(',', '.')!r}, or say categorical={name!r} for names",
            "categorical",
        )
    return CATEGORY


def _label_names(
    labels: Labels, head: Head, separator: bytes, field: int, width: int, where: str
) -> tuple[str, str] | None:
    """Return the names of the two labels, None if labels are numbers."""
    if labels != "binary":
        return given_names(labels)
    found: set[bytes] = set()
    for count in (LOOK, None):
        # If the first lines have one label only, look for the other in more of them.
        if len(found) < 2:
            texts = sound_rows(head(count), separator, [field], width)
            found = {text for (text,) in texts} - MISSING_TEXTS
    if all(finite(text) is not None for text in found):
        return None
    try:
        names = [text.decode() for text in found]
    except UnicodeDecodeError as error:
        raise StreamError(
            f"{where}: found the label {error.object!r:.60}, expected labels in UTF-8; or name "
            "their encoding",
            "encoding",
        ) from None
    return named_pair(names, where)
