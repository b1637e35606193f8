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
    INDICATED,
    LABEL,
    LOOK,
    MISSING_TEXTS,
    NAMED_LABEL,
    NAMES_READ,
    NUMBER,
    TRUTHS,
    UNKNOWN,
    WEIGHT,
    distinct_note,
    given_names,
    is_numeric,
    label_expected,
    named_pair,
    roles_of,
    target_of,
)
from noregret.streams.csv_records import LONGEST_QUOTED
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import largest_of
from noregret.streams.labels import Labels, are_classes
from noregret.streams.moments import is_moment
from noregret.streams.numbers import finite
from noregret.streams.reading import Reading

_DATA = "if the first line is data, say that there is no header: columns are then 0, 1, ..."
_DECIMAL_COMMA = re.compile(rb"[+-]?[0-9]{1,3}(?:[.' ][0-9]{3})*,[0-9]+|[+-]?[0-9]+,[0-9]+")

#: Returns at most this many of the first lines, or as many as can be read ahead.
Head = Callable[[int | None], Sequence[bytes]]
#: A quoted field: the quote that closes it is not doubled.
_QUOTED = re.compile(rb' *"((?:[^"]+|"")*+)" *')


def split_fields(line: bytes, separator: bytes) -> list[tuple[int, bytes]]:
    """Return where the fields of a line without its end begin, and what they hold.

    Quotes and spaces around a field are no part of it.

    >>> [text for _, text in split_fields(b' a ,"b, ""c"" d" ,', b",")]
    [b'a', b'b, "c" d', b'']
    """
    line = line.removesuffix(b"\r")
    fields: list[tuple[int, bytes]] = []
    at = 0
    while True:
        start, match = at, _QUOTED.match(line, at)
        if match and match.end(1) - match.start(1) < LONGEST_QUOTED:
            text, at = match[1].replace(b'""', b'"'), match.end()
            if line[at : at + 1] not in (b"", separator):
                raise Malformed(at, line[at:], "a separator after the closing quote")
        else:
            at = line.find(separator, start)
            at = len(line) if at < 0 else at
            text = line[start:at].strip(b" ")
            if text.startswith(b'"'):
                opening = line.index(b'"', start)
                expected = f"a closing quote within {LONGEST_QUOTED >> 20} MiB"
                raise Malformed(opening, line[opening:], expected)
        fields.append((start, text))
        if at >= len(line):
            return fields
        at += 1


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
        start, text = fields[fault]
        missing, more, argument = text in MISSING_TEXTS, "", ""
        if role in FEATURES and missing:
            expected, more, argument = "a value", INDICATED, "missing"
        elif role == DATE:
            expected, argument = "an ISO date", "categorical"
            more = ", which has dates by the first lines"
        elif role == NUMBER and finite(text) is None:
            expected, more = "a finite number", ", which is numeric by the first lines"
        elif role == NUMBER:
            expected = f"a number of size at most {largest_of(self.reading.dtype):g}"
        elif role == WEIGHT:
            expected = "a number from 0 as weight"
        else:
            expected, argument = label_expected(self.pair, role == CLASS), "labels"
            more = NAMES_READ if role == LABEL and not missing else ""
            if missing:
                more, argument = "; lines without one can be skipped", "on_error"
        expected = f"{expected} in column {name!r}{more}"
        return Malformed(start, text, expected, argument)


def column_names(line: bytes, separator: bytes, header: bool, where: str) -> list[str]:
    """Return the names of the columns by the first line; numbers from 0 if it is no header."""
    try:
        fields = split_fields(line, separator)
        texts = [text.decode() for _, text in fields]
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
    if all(finite(text) is not None for _, text in fields):
        if texts not in (numbers[1:], numbers[:-1]):
            raise StreamError(
                f"{where}, line 1: found numbers only, expected the names of the columns; {_DATA}",
                "header",
            )
    names = [text or f"column {k + 1}" for k, text in enumerate(texts)]
    if twice := next((one for k, one in enumerate(names) if one in names[:k]), None):
        hint = f"; {_DATA}" if any(finite(text) is not None for _, text in fields) else ""
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
        if roles[name] == DATE and any(len(text) > len(b"1970-01-01") for text in column):
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
            yield [found[f][1] for f in fields]


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
            f"{commas[0].decode().replace(',', '.')!r}, or read the column as categories",
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
