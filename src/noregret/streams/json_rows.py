"""Flat JSON records to rows, as a kernel on bytes; whatever is not plain is left to `records`.

Plain are objects of strings without escapes, numbers, true, false and null, each key once. A line
with anything else (nested objects, lists, escapes, errors, labels of an unusual type) is handed
back as odd, and read by the exact path in plain Python: so this kernel decides nothing that the
exact path would decide otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.jit import byte_at, kernel, load_word, text_of
from noregret.streams.format import Slabs
from noregret.streams.hashing import murmur
from noregret.streams.names import NO_ROOM, Dictionary, find_or_add
from noregret.streams.numbers import number
from noregret.streams.texts import KEY, MISSING, TEXT, Pair, label_among

#: What a key is for.
FEATURE, LEFT_OUT, TARGET, WEIGHT, ID, CATEGORY, EXACT = (np.uint8(k) for k in range(7))

_0, _1, _4 = (np.uint64(k) for k in (0, 1, 4))
_NEWLINE, _RETURN, _TAB, _SPACE, _QUOTE, _ESCAPE = (np.uint8(ord(c)) for c in '\n\r\t "\\')
_OPEN, _CLOSE, _COMMA, _COLON, _MINUS, _ZERO, _POINT = (np.uint8(ord(c)) for c in "{},:-0.")
#: Kinds of values.
_STRING, _NUMBER, _TRUE, _FALSE, _NULL, _ODD = range(6)
#: Longer numbers are odd: Python refuses to read thousands of digits.
_LONGEST_NUMBER = np.uint64(300)
#: Places to note the keys of a line, and how many of them are used at most.
SEEN, _MOST_KEYS = 1024, np.uint64(512)
_FOUR, _FIVE = np.uint64(0xFFFF_FFFF), np.uint64(0xFF_FFFF_FFFF)
_TRUE_TEXT, _FALSE_TEXT, _NULL_TEXT = (
    np.uint64(int.from_bytes(text, "little")) for text in (b"true", b"false", b"null")
)


class RecordRules(NamedTuple):
    """How records become rows."""

    #: Keys with a role of their own, and the role of each and of all others.
    keys: Dictionary
    roles: NDArray[np.uint8]
    other: np.uint8
    #: The names of labels, where there are two.
    pair: Pair
    #: Whether labels are names of the pair, or of classes; whether they may be missing.
    named: bool
    classes: bool
    unlabelled: bool
    #: Whether a missing value is a feature, whether a weight must be there, the largest number.
    indicate: bool
    weighted: bool
    largest: float


class Spans(NamedTuple):
    """Where names are in the text."""

    #: Of each feature begin and end of its key and of its text, and how it is called.
    features: NDArray[np.uint32]
    styles: NDArray[np.uint8]
    #: Of each row begin and end of the label, if that is a text, and of the id.
    rows: NDArray[np.uint32]

    @classmethod
    def take(cls, slabs: Slabs, rows: int, most: int) -> Spans:
        """Return arrays for at most this many rows and features."""
        features = slabs.take(np.uint32, 4 * most).reshape(most, 4)
        of_row = slabs.take(np.uint32, 4 * rows).reshape(rows, 4)
        return cls(features, slabs.take(np.uint8, most), of_row)


@kernel(inline=True)
def _blank(text, at):  # type: ignore[no-untyped-def]
    """Return where what is no blank begins."""
    while byte_at(text, at) == _SPACE or byte_at(text, at) == _TAB or byte_at(text, at) == _RETURN:
        at += _1
    return at


@kernel(inline=True)
def _string(text, at):  # type: ignore[no-untyped-def]
    """Return where the string that begins at `at`, after its quote, is closed; `at` - 1 if odd."""
    begin = at
    while True:
        c = byte_at(text, at)
        if c == _QUOTE:
            return at
        if c == _ESCAPE or c < _SPACE:
            return begin - _1
        at += _1


@kernel(inline=True)
def _digit(text, at):  # type: ignore[no-untyped-def]
    return np.uint8(byte_at(text, at) - _ZERO) < np.uint8(10)


@kernel
def _number(text, at):  # type: ignore[no-untyped-def]
    """Return a number, where it ends, and whether it is an integer as Python writes it.

    The end is `at` for what JSON does not take for a number.
    """
    first = at + np.uint64(byte_at(text, at) == _MINUS)
    if not _digit(text, first) or (byte_at(text, first) == _ZERO and _digit(text, first + _1)):
        return 0.0, at, False
    value, end = number(text, at)
    if end <= first or end - at > _LONGEST_NUMBER:
        return 0.0, at, False
    whole = not (first > at and byte_at(text, first) == _ZERO)
    for k in range(first, end):
        if not _digit(text, k):
            whole = False
            if byte_at(text, k) == _POINT and not _digit(text, k + _1):
                return 0.0, at, False
    if not _digit(text, end - _1):
        return 0.0, at, False
    return value, end, whole


@kernel
def read_records(buffer, stop, rules, out, spans, seen):  # type: ignore[no-untyped-def]
    """Read buffer[:stop] by `RecordRules` into `out`, a `Written`, and `Spans`.

    `seen` has SEEN places for a line number and a hash. Returned are the numbers of rows, of
    lines and of odd lines, whose begins are in out.faults.
    """
    keys, roles, other, pair, named, classes = rules[:6]
    unlabelled, indicate, weighted, largest = rules[6:]
    (indptr, _, values), y, weight, line_of_row, faults = out
    features, styles, of_row = spans
    text = text_of(buffer)
    last_place = np.uint64(SEEN - 1)
    rows = lines = odd = at = _0
    indptr[0] = _0
    while at < stop:
        start = at
        lines += _1
        at = _blank(text, at)
        if byte_at(text, at) == _NEWLINE:
            at += _1
            continue
        n = indptr[rows]
        count = _0
        y[rows] = np.nan
        weight[rows] = 1.0
        has_label = has_weight = False
        of_row[rows, 0] = of_row[rows, 1] = of_row[rows, 2] = of_row[rows, 3] = np.uint32(0)
        plain = byte_at(text, at) == _OPEN
        at = _blank(text, at + _1)
        closed = plain and byte_at(text, at) == _CLOSE
        while plain and not closed:
            key = at + _1
            key_end = _string(text, key)
            plain = byte_at(text, at) == _QUOTE and key_end >= key
            at = _blank(text, key_end + _1)
            plain = plain and byte_at(text, at) == _COLON
            if not plain:
                break
            at = _blank(text, at + _1)
            # The same hash twice is the same key twice, or nearly never another.
            hashed = murmur(text, key, key_end, np.uint32(0))
            place = np.uint64(hashed) & last_place
            count += _1
            while seen[place, 0] == np.uint32(lines) and seen[place, 1] != hashed:
                place = (place + _1) & last_place
            plain = seen[place, 0] != np.uint32(lines) and count <= _MOST_KEYS
            if not plain:
                break
            seen[place, 0] = np.uint32(lines)
            seen[place, 1] = hashed
            role = other
            if roles.shape[0] > 0:
                known = find_or_add(keys, buffer, key, key_end, False)
                if known != NO_ROOM:
                    role = roles[known]
            # The value.
            begin = end = at
            value = 0.0
            whole = False
            kind = _ODD
            c = byte_at(text, at)
            if c == _QUOTE:
                begin = at + _1
                end = _string(text, begin)
                if end >= begin:
                    kind = _STRING
                    at = end + _1
            elif c == np.uint8(ord("t")) and load_word(text, at) & _FOUR == _TRUE_TEXT:
                kind, value = _TRUE, 1.0
                at += _4
            elif c == np.uint8(ord("f")) and load_word(text, at) & _FIVE == _FALSE_TEXT:
                kind = _FALSE
                at += np.uint64(5)
            elif c == np.uint8(ord("n")) and load_word(text, at) & _FOUR == _NULL_TEXT:
                kind = _NULL
                at += _4
            else:
                value, end, whole = _number(text, at)
                if end > at:
                    kind = _NUMBER
                    at = end
            plain = kind != _ODD and role != EXACT
            number_like = kind == _NUMBER or kind == _TRUE or kind == _FALSE
            if role == FEATURE or role == CATEGORY:
                style = KEY
                if kind == _STRING or (role == CATEGORY and kind == _NUMBER):
                    plain = plain and (kind == _STRING or whole)
                    value = 1.0
                    style = TEXT
                elif kind == _NULL:
                    plain = plain and indicate
                    value = 1.0
                    style = MISSING
                elif role == CATEGORY or not abs(value) <= largest:
                    plain = False
                features[n, 0], features[n, 1] = np.uint32(key), np.uint32(key_end)
                features[n, 2], features[n, 3] = np.uint32(begin), np.uint32(end)
                styles[n] = style
                values[n] = value
                n += np.uint64(value != 0.0)
            elif role == TARGET:
                has_label = True
                y[rows] = value
                if kind == _STRING and classes:
                    of_row[rows, 0], of_row[rows, 1] = np.uint32(begin), np.uint32(end)
                elif kind == _STRING and named:
                    y[rows] = label_among(text, begin, end, False, pair)
                    plain = plain and y[rows] != 0.0
                elif classes:
                    plain = plain and kind == _NUMBER and np.isfinite(value)
                else:
                    plain = plain and number_like and not named and np.isfinite(value)
            elif role == WEIGHT:
                has_weight = True
                weight[rows] = value
                plain = plain and number_like and value >= 0.0 and np.isfinite(value)
            elif role == ID:
                of_row[rows, 2], of_row[rows, 3] = np.uint32(begin), np.uint32(end)
                plain = plain and (kind == _STRING or (kind == _NUMBER and whole))
            if not plain:
                break
            at = _blank(text, at)
            closed = byte_at(text, at) == _CLOSE
            if not closed:
                plain = byte_at(text, at) == _COMMA
                at = _blank(text, at + _1)
        if plain:
            at = _blank(text, at + _1)
            plain = byte_at(text, at) == _NEWLINE and (has_label or unlabelled)
            plain = plain and (has_weight or not weighted)
        if plain:
            line_of_row[rows] = np.uint32(lines - _1)
            rows += _1
            indptr[rows] = n
        else:
            faults[odd] = start
            odd += _1
            at = start
            while byte_at(text, at) != _NEWLINE:
                at += _1
        at += _1
    return rows, lines, odd
