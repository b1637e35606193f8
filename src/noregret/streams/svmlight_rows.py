"""The kernel that reads svmlight text; `svmlight.Rules` says the same in plain Python."""

from __future__ import annotations

import numpy as np

from noregret.jit import byte_at, kernel, text_of
from noregret.streams.numbers import any_number, integer
from noregret.streams.pairs import plain_pair

_0, _1 = np.uint64(0), np.uint64(1)
_TAB, _LINE_END, _RETURN, _SPACE, _HASH, _COLON, _PLUS, _Q, _I, _D = (
    np.uint8(ord(c)) for c in "\t\n\r #:+qid"
)
_LARGEST = float(np.finfo(np.float64).max)


@kernel(inline=True)
def is_blank(byte):  # type: ignore[no-untyped-def]
    """Say whether a byte parts the words of a line: tab, vertical tab, feed, return or space."""
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
def _same(text, at, names, begin, count):  # type: ignore[no-untyped-def]
    for k in range(count):
        if byte_at(text, at + k) != names[begin + k]:
            return False
    return True


@kernel
def _named_label(text, at, names, first):  # type: ignore[no-untyped-def]
    """Return -1 or +1 for the first or the second name and where it ends, `at` for neither."""
    end = _word_end(text, at)
    if end - at == first and _same(text, at, names, _0, first):
        return -1.0, end
    second = np.uint64(len(names)) - first
    if end - at == second and _same(text, at, names, first, second):
        return 1.0, end
    return 0.0, at


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


@kernel
def _plain_features(text, at, k, least, last_index, offset, largest, indices, values):  # type: ignore[no-untyped-def]
    """Read features for as long as they are written plainly: a space, digits, a colon, a number.

    Returned are where that ends, how many features there are then, and the least index that may
    follow. A function of its own so that all it works with fits the registers.
    """
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


@kernel
def parse_rows(  # type: ignore[no-untyped-def]
    buffer,
    stop,
    first_index,
    last_index,
    constant,
    largest,
    names,
    first_name,
    indptr,
    indices,
    values,
    y,
    lines_of_rows,
    faults,
):
    """Read buffer[:stop] into the arrays after it.

    Returned are the numbers of rows, nonzeros, columns, lines and refused lines.
    """
    text = text_of(buffer)
    at = row = line = fault = width = k = _0
    before = np.uint64(constant != 0.0)
    # Added to an index, modulo 2^64, this makes a column of it.
    offset = before - first_index
    indptr[_0] = _0
    while at < stop:
        begin = at
        while is_blank(byte_at(text, at)):
            at += _1
        if byte_at(text, at) == _LINE_END or byte_at(text, at) == _HASH:
            at = line_end(text, at) + _1
            line += _1
            continue
        if first_name:
            label, end = _named_label(text, at, names, first_name)
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
            at, k, least = _plain_features(
                text, at, k, least, last_index, offset, largest, indices, values
            )
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
            y[row] = label
            lines_of_rows[row] = np.uint32(line)
            row += _1
            indptr[row] = k
            if k > first:
                width = max(width, np.uint64(indices[k - _1]) + _1)
        else:
            k = first
            faults[fault] = begin
            fault += _1
            at = line_end(text, at)
        at += _1
        line += _1
    return row, k, width, line, fault
