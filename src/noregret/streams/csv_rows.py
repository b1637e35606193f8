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
    MISSING_TEXTS,
    NAMED_LABEL,
    NUMBER,
    TRUTHS,
    WEIGHT,
    WORDS,
)
from noregret.streams.csv_records import quoted_end, record_end
from noregret.streams.format import Slabs
from noregret.streams.moments import read_moment
from noregret.streams.names import NO_ROOM
from noregret.streams.numbers import number
from noregret.streams.texts import DOUBLED_TEXT, MISSING, TEXT, Pair, label_among

_0, _1, _5, _8 = (np.uint64(k) for k in (0, 1, 5, 8))
_NEWLINE, _RETURN, _SPACE, _QUOTE, _ZERO, _QUESTION, _N = (np.uint8(ord(c)) for c in '\n\r "0?n')
_LOWER_CASE = np.uint8(32)

#: In place of how a field was written: it cannot be read.
_BROKEN = np.uint8(4)


def _word(text: bytes) -> np.uint64:
    """Return what `_word_of` does."""
    return np.uint64(int.from_bytes(bytes([len(text)]) + text))


_, _ASK, _NA, _NAN, _LOWER_NAN = map(_word, sorted(MISSING_TEXTS))
_TRUTH, _FALSITY = (
    np.array([_word(text) for text, truth in TRUTHS.items() if truth == meant])
    for meant in (1.0, 0.0)
)


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
            return begin, end, at, _BROKEN, _0
        style = DOUBLED_TEXT if doubled else TEXT
        at = end + _1
        while byte_at(text, at) == _SPACE:
            at += _1
        if byte_at(text, at) == _RETURN and byte_at(text, at + _1) == _NEWLINE:
            at += _1
        if byte_at(text, at) != _NEWLINE and byte_at(text, at) != separator:
            style = _BROKEN
        return begin, end, at, style, breaks
    while byte_at(text, at) != separator and byte_at(text, at) != _NEWLINE:
        at += _1
    end = at
    if byte_at(text, at) == _NEWLINE and end > begin and byte_at(text, end - _1) == _RETURN:
        end -= _1
    while end > begin and byte_at(text, end - _1) == _SPACE:
        end -= _1
    return begin, end, at, TEXT, _0


@kernel(inline=True)
def _word_of(text, begin, end):  # type: ignore[no-untyped-def]
    """Return up to five bytes and their number as one word, 0 for more."""
    word = end - begin
    if word > _5:
        return _0
    for k in range(begin, end):
        word = (word << _8) | np.uint64(byte_at(text, k))
    return word


@kernel(inline=True)
def _is_missing(text, begin, end):  # type: ignore[no-untyped-def]
    if begin == end:
        return True
    c = byte_at(text, begin)
    if c != _QUESTION and c | _LOWER_CASE != _N:
        return False
    word = _word_of(text, begin, end)
    return word == _ASK or word == _NA or word == _NAN or word == _LOWER_NAN


@kernel(inline=True)
def _truth(text, begin, end):  # type: ignore[no-untyped-def]
    """Return 1 for true, 0 for false, written as programs do, and 2 for anything else."""
    word = _word_of(text, begin, end)
    if word == _TRUTH[0] or word == _TRUTH[1] or word == _TRUTH[2]:
        return 1.0
    return 0.0 if word == _FALSITY[0] or word == _FALSITY[1] or word == _FALSITY[2] else 2.0


class LineRules(NamedTuple):
    """How lines become rows."""

    separator: np.uint8
    #: Of each field, what it is for and the column of a number.
    roles: NDArray[np.uint8]
    slots: NDArray[np.uint32]
    #: Of each field that is a date, the columns of its features, as `moments.PARTS` counts them.
    parts: NDArray[np.uint32]
    #: The names of labels, where there are two.
    pair: Pair
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
    #: How it is written: TEXT, DOUBLED_TEXT, or MISSING.
    styles: NDArray[np.uint8]

    @classmethod
    def take(cls, slabs: Slabs, most: int) -> Texts:
        """Return arrays for at most this many texts."""
        refs = slabs.take(np.uint32, 4 * most).reshape(most, 4)
        return cls(refs, slabs.take(np.uint8, most))

    def apart(self, chosen: NDArray[np.bool_]) -> tuple[Texts, Texts]:
        """Return the texts of the fields that are chosen, and the others."""
        own = chosen[self.refs[:, 1]]
        return Texts(self.refs[own], self.styles[own]), Texts(self.refs[~own], self.styles[~own])


@kernel
def parse_lines(buffer, stop, rules, out, texts):  # type: ignore[no-untyped-def]
    """Read buffer[:stop], which ends with a line end, into `out`, a `Written`, and `Texts`.

    Returns the counts of lines, rows, faults and texts, and of the last line that was refused which
    field is at fault, the number of fields if all are sound but too few or too many.
    """
    separator, roles, slots, parts, pair = rules[:5]
    indicate, unlabelled, largest, constant, constant_slot = rules[5:]
    (indptr, indices, values), y, weight, line_of_row, faults = out
    refs, styles = texts
    text = text_of(buffer)
    fields = np.uint64(roles.shape[0])
    at = lines = rows = bad = met = fault = _0
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
                    sound = style != _BROKEN and (missing or stopped == end)
                sound = sound and abs(value) < np.inf
                if not sound:
                    break
                if missing and role != NUMBER:
                    sound = role == LABEL and unlabelled
                elif missing:
                    sound = indicate
                    if not sound:
                        # There may be no room for references to texts, here and below.
                        break
                    refs[met, 0], refs[met, 1] = n, f
                    styles[met] = MISSING
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
                if style == _BROKEN:
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
                elif role == CATEGORY or role == DATE or role == WORDS:
                    if _is_missing(text, begin, end):
                        style = MISSING
                        sound = indicate
                        if not sound:
                            break
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
                    y[rows] = label_among(text, begin, end, style == DOUBLED_TEXT, pair)
                    if y[rows] == 0.0:
                        y[rows] = np.nan
                        sound = unlabelled and _is_missing(text, begin, end)
            if not sound:
                break
            if (byte_at(text, at) == _NEWLINE) != (f + _1 == fields):
                sound = False
                f = fields  # type: ignore[assignment]
                break
            at += _1
        if sound:
            line_of_row[rows] = np.uint32(line)
            rows += _1
            indptr[rows] = n
        else:
            met = met_before
            faults[bad] = start
            fault = f  # type: ignore[assignment]
            bad += _1
            at = record_end(text, start, stop, separator, True)
            lines = line
            for k in range(start, at):
                lines += np.uint64(byte_at(text, k) == _NEWLINE)
    return lines, rows, bad, met, fault
