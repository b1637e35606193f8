"""Lines of separated values to rows, as a kernel on bytes.

The grammar, RFC 4180 with liberties:
- fields are separated by one separator; a field that begins with a quote ends at the next quote
  that is not doubled, and two quotes inside it mean one; other quotes stand for themselves;
- spaces around a field are no part of it, unless they are inside quotes;
- blank lines are no examples.

What is true or false is 1 or 0 where a number is expected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.jit import byte_at, kernel, text_of
from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    ID,
    LABEL,
    NAMED_LABEL,
    NUMBER,
    TEXT,
    WEIGHT,
)
from noregret.streams.csv_records import quoted_end, record_end
from noregret.streams.moments import read_moment
from noregret.streams.names import NO_ROOM
from noregret.streams.numbers import number

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
_NEWLINE, _RETURN, _SPACE, _QUOTE, _ZERO = (np.uint8(ord(c)) for c in '\n\r "0')

_TRUTHS = np.array(list(b"truefalse"), np.uint8)

#: How a field was written.
PLAIN, QUOTED, DOUBLED, BROKEN = (np.uint8(k) for k in range(4))
#: In place of how it was written: the value was missing.
ABSENT = np.uint8(4)


@kernel(inline=True)
def _field(text, at, stop, separator):  # type: ignore[no-untyped-def]
    """Return begin and end of the field at `at`, where its terminator is, and how it is written.

    Last comes how many lines end inside it.
    """
    while byte_at(text, at) == _SPACE:
        at += _1
    begin = at
    if byte_at(text, at) == _QUOTE:
        begin = at + _1
        end, closed, doubled, breaks = quoted_end(text, begin, stop)
        if not closed:
            return begin, end, at, BROKEN, _0
        style = DOUBLED if doubled else QUOTED
        at = end + _1
        while byte_at(text, at) == _SPACE:
            at += _1
        if byte_at(text, at) == _RETURN and byte_at(text, at + _1) == _NEWLINE:
            at += _1
        if byte_at(text, at) != _NEWLINE and byte_at(text, at) != separator:
            style = BROKEN
        return begin, end, at, style, breaks
    while byte_at(text, at) != separator and byte_at(text, at) != _NEWLINE:
        at += _1
    end = at
    if byte_at(text, at) == _NEWLINE and end > begin and byte_at(text, end - _1) == _RETURN:
        end -= _1
    while end > begin and byte_at(text, end - _1) == _SPACE:
        end -= _1
    return begin, end, at, PLAIN, _0


@kernel(inline=True)
def _means(text, begin, end, doubled, name, first, last):  # type: ignore[no-untyped-def]
    """Return whether text[begin:end], where quotes may be doubled, means name[first:last]."""
    at = begin
    for k in range(first, last):
        if at >= end or byte_at(text, at) != name[k]:
            return False
        at += _2 if doubled and name[k] == _QUOTE else _1
    return at == end


@kernel(inline=True)
def _is_missing(text, begin, end):  # type: ignore[no-untyped-def]
    length = end - begin
    if length == _0:
        return True
    c = byte_at(text, begin)
    if length == _1:
        return c == np.uint8(ord("?"))
    d = byte_at(text, begin + _1)
    if length == _2:
        return c == np.uint8(ord("N")) and d == np.uint8(ord("A"))
    if length != np.uint64(3) or byte_at(text, begin + _2) != c:
        return False
    upper, lower = np.uint8(ord("N")), np.uint8(ord("n"))
    return (c == upper or c == lower) and d == np.uint8(ord("a"))


@kernel(inline=True)
def _truth(text, begin, end):  # type: ignore[no-untyped-def]
    """Return 1 for true, 0 for false, written as programs do, and 2 for anything else."""
    length = end - begin
    if length != np.uint64(4) and length != np.uint64(5):
        return 2.0
    word = _0 if length == np.uint64(4) else np.uint64(4)
    # All letters after the first are of one case, which is upper only if the first is.
    upper = byte_at(text, begin + _1) < np.uint8(97)
    for k in range(length):
        c = byte_at(text, begin + k)
        if c | np.uint8(32) != _TRUTHS[word + k]:
            return 2.0
        lower = c >= np.uint8(97)
        if (k > _0 and lower == upper) or (k == _0 and upper and lower):
            return 2.0
    return 1.0 if length == np.uint64(4) else 0.0


class LineRules(NamedTuple):
    """How lines become rows."""

    separator: np.uint8
    #: Of each field, what it is for and the column of a number.
    roles: NDArray[np.uint8]
    slots: NDArray[np.uint32]
    #: Of each field that is a date, the columns of its features, as `moments.PARTS` counts them.
    parts: NDArray[np.uint32]
    #: The bytes of the two names of labels, one after the other, and the length of the first.
    pair: NDArray[np.uint8]
    negative_length: np.uint64
    #: Whether values and labels may be missing; such a label is NaN.
    indicate: bool
    unlabelled: bool
    #: The largest value that the type of the values can hold.
    largest: float
    #: Value and column of the constant feature of every row; no such feature if 0.
    constant: float
    constant_slot: np.uint32


class Texts(NamedTuple):
    """The values that are texts, in the order in which they are met."""

    #: Where in the row arrays the column belongs (of a class its row), the field, and begin and
    #: end in the buffer.
    refs: NDArray[np.uint32]
    #: How it is written.
    styles: NDArray[np.uint8]


@kernel
def parse_lines(buffer, stop, rules, out, texts):  # type: ignore[no-untyped-def]
    """Read buffer[:stop], which ends with a line end, into `out`, a `Written`, and `Texts`.

    Returns the counts of lines, rows, faults and texts.
    """
    separator, roles, slots, parts, pair, negative_length = rules[:6]
    indicate, unlabelled, largest, constant, constant_slot = rules[6:]
    indptr, indices, values, y, weight, line_of_row, faults = out
    refs, styles = texts
    text = text_of(buffer)
    fields = np.uint64(roles.shape[0])
    at = lines = rows = bad = met = _0
    indptr[0] = _0
    while at < stop:
        start = at
        line = lines
        lines += _1
        at += np.uint64(byte_at(text, at) == _RETURN and byte_at(text, at + _1) == _NEWLINE)
        if byte_at(text, at) == _NEWLINE:
            at += _1
            continue
        sound = True
        n = indptr[rows]
        met_before = met
        if constant != 0.0:
            indices[n] = constant_slot
            values[n] = constant
            n += _1
        y[rows] = np.nan
        weight[rows] = 1.0
        for f in range(fields):
            role = roles[f]
            digit = np.uint8(byte_at(text, at) - _ZERO)
            if role == NUMBER and byte_at(text, at + _1) == separator and digit < np.uint8(10):
                # One digit: most of what tables of zeros and ones hold.
                indices[n] = slots[f]
                values[n] = np.float64(digit)
                n += np.uint64(digit != np.uint8(0))
                at += _1
            elif role == NUMBER or role == LABEL or role == WEIGHT:
                value, end = number(text, at)
                begin, at = at, end
                after = byte_at(text, at)
                missing = False
                if end == begin or (after != separator and after != _NEWLINE):
                    begin, end, at, style, breaks = _field(text, begin, stop, separator)
                    lines += breaks
                    missing = _is_missing(text, begin, end)
                    value, stopped = number(text, begin)
                    if stopped != end and role == NUMBER:
                        value = _truth(text, begin, end)
                        stopped = end if value < 2.0 else begin
                    sound = style != BROKEN and (missing or stopped == end)
                sound = sound and abs(value) < np.inf
                if not sound:
                    break
                if missing and role != NUMBER:
                    sound = role == LABEL and unlabelled
                elif missing:
                    sound = indicate
                    if not sound:
                        # There may be no room for references to texts.
                        break
                    refs[met, 0], refs[met, 1] = n, f
                    styles[met] = ABSENT
                    met += _1
                    values[n] = 1.0
                    n += _1
                elif role == NUMBER:
                    indices[n] = slots[f]
                    values[n] = value
                    n += np.uint64(value != 0.0)
                    sound = abs(value) <= largest
                elif role == LABEL:
                    y[rows] = value
                else:
                    weight[rows] = value
                    sound = value >= 0.0
            else:
                begin, end, at, style, breaks = _field(text, at, stop, separator)
                lines += breaks
                if style == BROKEN:
                    sound = False
                    break
                if role == DATE and not _is_missing(text, begin, end):
                    value, month, weekday, hour, sound = read_moment(text, begin, end)
                    indices[n] = parts[f, 0]
                    values[n] = value
                    n += np.uint64(value != 0.0 and parts[f, 0] != NO_ROOM)
                    for part in (month, weekday, hour):
                        indices[n] = parts[f, part]
                        values[n] = 1.0
                        n += np.uint64(parts[f, part] != NO_ROOM)
                elif role == CATEGORY or role == DATE or role == TEXT:
                    if _is_missing(text, begin, end):
                        style = ABSENT
                        sound = indicate
                    refs[met, 0], refs[met, 1], refs[met, 2], refs[met, 3] = n, f, begin, end
                    styles[met] = style
                    met += _1
                    values[n] = 1.0
                    n += _1
                elif role == CLASS or role == ID:
                    if role == CLASS and _is_missing(text, begin, end):
                        sound = unlabelled
                    else:
                        refs[met, 0], refs[met, 1], refs[met, 2], refs[met, 3] = rows, f, begin, end
                        styles[met] = style
                        met += _1
                elif role == NAMED_LABEL:
                    length = np.uint64(pair.shape[0])
                    doubled = style == DOUBLED
                    if _means(text, begin, end, doubled, pair, _0, negative_length):
                        y[rows] = -1.0
                    elif _means(text, begin, end, doubled, pair, negative_length, length):
                        y[rows] = 1.0
                    else:
                        sound = unlabelled and _is_missing(text, begin, end)
            if (byte_at(text, at) == _NEWLINE) != (f + _1 == fields):
                sound = False
            if not sound:
                break
            at += _1
        if sound:
            line_of_row[rows] = np.uint32(line)
            rows += _1
            indptr[rows] = n
        else:
            met = met_before
            faults[bad] = start
            bad += _1
            at = record_end(text, start, stop, separator, True)
            lines = line
            for k in range(start, at):
                lines += np.uint64(byte_at(text, k) == _NEWLINE)
    return lines, rows, bad, met


@kernel(counted=False)
def spell(buffer, texts, prefixes, prefix_ends, absent, arena, ends):  # type: ignore[no-untyped-def]
    """Write the names "column=value" of categories one after the other, each up to its end."""
    refs, styles = texts
    place = _0
    ends[0] = _0
    for k in range(np.uint64(styles.shape[0])):
        f = np.uint64(refs[k, 1])
        for p in range(prefix_ends[f], prefix_ends[f + _1]):
            arena[place] = prefixes[p]
            place += _1
        if styles[k] == ABSENT:
            for p in range(np.uint64(absent.shape[0])):
                arena[place] = absent[p]
                place += _1
        else:
            at, end = np.uint64(refs[k, 2]), np.uint64(refs[k, 3])
            doubled = styles[k] == DOUBLED
            while at < end:
                c = buffer[at]
                arena[place] = c
                place += _1
                # Of two quotes the first is kept.
                at += _2 if doubled and c == _QUOTE else _1
        ends[k + _1] = place
