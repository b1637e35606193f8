"""The kernel that reads svmlight text; `svmlight` has the rules."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.jit import byte_at, kernel, text_of
from noregret.streams.numbers import any_number, integer, plain_pair
from noregret.streams.texts import Pair, label_among

_0, _1 = np.uint64(0), np.uint64(1)
_TAB, _LINE_END, _RETURN, _SPACE, _HASH, _COLON, _PLUS, _Q, _I, _D = (
    np.uint8(ord(c)) for c in "\t\n\r #:+qid"
)
_LARGEST = float(np.finfo(np.float64).max)


class LineRules(NamedTuple):
    """How lines become rows."""

    #: The smallest and the largest index allowed.
    first_index: np.uint64
    last_index: np.uint64
    #: The value of a feature in column 0 of every row, before the others; 0 for none.
    constant: float
    #: The largest value that a feature may have.
    largest: float
    #: Whether labels are names, and those names.
    named: bool
    pair: Pair


class FeatureRules(NamedTuple):
    """What indices and values of features may be; an index plus `offset` mod 2^64 is a column."""

    last_index: np.uint64
    offset: np.uint64
    largest: float


@kernel(inline=True)
def is_blank(byte):  # type: ignore[no-untyped-def]
    """Whether a byte separates words: tab, vertical tab, form feed, return or space."""
    return byte == _SPACE or (_TAB <= byte <= _RETURN and byte != _LINE_END)


@kernel
def line_end(text, at):  # type: ignore[no-untyped-def]
    """Return where the line that `at` is in ends."""
    while byte_at(text, at) != _LINE_END:
        at += _1
    return at


@kernel
def _word_end(text, at):  # type: ignore[no-untyped-def]
    while True:
        byte = byte_at(text, at)
        if is_blank(byte) or byte == _LINE_END or byte == _HASH:
            return at
        at += _1


@kernel
def _query(text, at):  # type: ignore[no-untyped-def]
    """Return the end of a `qid:` word at `at`, `at` if it is none."""
    if (
        byte_at(text, at) == _Q
        and byte_at(text, at + _1) == _I
        and byte_at(text, at + np.uint64(2)) == _D
        and byte_at(text, at + np.uint64(3)) == _COLON
    ):
        return _word_end(text, at)
    return at


@kernel(counted=False)
def _plain_features(text, at, k, least, rules, indices, values):  # type: ignore[no-untyped-def]
    """Read features for as long as they are written plainly: a space, digits, a colon, a number.

    Returned are where that ends, how many features there are then, and the least index that may
    follow. Not inlined, so that its variables fit the registers.
    """
    last_index, offset, largest = rules
    while byte_at(text, at) == _SPACE:
        index, value, end = plain_pair(text, at + _1)
        if end == at + _1 or index < least or index > last_index or not abs(value) <= largest:
            break
        at = end
        indices[k] = np.uint32(index + offset)
        values[k] = value
        k += _1
        least = index + _1
    return at, k, least


@kernel(counted=False)
def parse_rows(buffer, stop, rules, out):  # type: ignore[no-untyped-def]
    """Read buffer[:stop] by `LineRules` into the arrays of `out`, a `Written`.

    Returned are the numbers of rows, columns, lines and refused lines, and of the last line that
    was refused where that happened and the least index that could have followed.
    """
    text = text_of(buffer)
    first_index, last_index, constant, largest, named, pair = rules
    indptr, indices, values = out.indptr, out.indices, out.values
    at = row = line = fault = width = k = stopped = least = _0
    before = np.uint64(constant != 0.0)
    offset = before - first_index
    features = FeatureRules(last_index, offset, largest)
    indptr[_0] = _0
    while at < stop:
        begin = at
        while is_blank(byte_at(text, at)):
            at += _1
        if byte_at(text, at) == _LINE_END or byte_at(text, at) == _HASH:
            at = line_end(text, at) + _1
            line += _1
            continue
        if named:
            end = _word_end(text, at)
            label = label_among(text, at, end, False, pair)
            sound = label != 0.0
        else:
            label, end = any_number(text, at)
            sound = end != at and abs(label) <= _LARGEST
        at = end
        first = k
        if before:
            indices[k] = np.uint32(0)
            values[k] = constant
            k += _1
        least = first_index
        query = False
        while sound:
            at, k, least = _plain_features(text, at, k, least, features, indices, values)
            byte = byte_at(text, at)
            if byte == _LINE_END:
                break
            if byte == _HASH:
                at = line_end(text, at)
                break
            if not is_blank(byte):
                sound = False
                break
            at += _1
            byte = byte_at(text, at)
            if is_blank(byte) or byte == _LINE_END or byte == _HASH:
                continue
            start = at + np.uint64(byte == _PLUS)
            index, end = integer(text, start)
            if end == start and least == first_index and not query:
                query = True
                end = _query(text, at)
                if end != at:
                    at = end
                    continue
            if end == start or byte_at(text, end) != _COLON or index < least or index > last_index:
                sound = False
                break
            value, at = any_number(text, end + _1)
            if at == end + _1 or not abs(value) <= largest:
                sound = False
                break
            indices[k] = np.uint32(index + offset)
            values[k] = value
            k += _1
            least = index + _1
        if sound:
            out.y[row] = label
            out.line_of_row[row] = np.uint32(line)
            row += _1
            indptr[row] = k
            if k > first:
                width = max(width, np.uint64(indices[k - _1]) + _1)
        else:
            k = first
            out.faults[fault] = begin
            fault += _1
            stopped = at
            at = line_end(text, at)
        at += _1
        line += _1
    return row, width, line, fault, stopped, least
