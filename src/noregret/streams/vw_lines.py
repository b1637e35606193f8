"""The kernel that reads the text format of Vowpal Wabbit; `vw_grammar` defines it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.jit import byte_at, kernel, load_word, text_of, trailing_zeros
from noregret.streams.hashing import feature_hash, murmur
from noregret.streams.numbers import digits_at, few_digits, number, plain_pair

_0, _1, _2, _3, _8 = (np.uint64(k) for k in (0, 1, 2, 3, 8))
_NEWLINE, _RETURN, _TAB, _SPACE, _BAR, _COLON, _QUOTE = (np.uint8(ord(c)) for c in "\n\r\t |:'")

_ONES, _TOP_BITS = np.uint64(0x0101_0101_0101_0101), np.uint64(0x8080_8080_8080_8080)
_COLONS, _BARS = _ONES * np.uint64(ord(":")), _ONES * np.uint64(ord("|"))

#: Bytes that end a name or a namespace, or a word before the bar; that a number begins with.
_ENDS, _HEAD_ENDS, _NUMERIC = (
    np.isin(np.arange(256), list(some)) for some in (b" \t\r\n:|", b" \t\r\n|", b"0123456789+-.")
)

#: Columns of the spans of a feature in the text: where its namespace, name and word begin and
#: end. Without a word the last two are 0 and, for a feature without a name, its number.
SPANS = 6


class LineRules(NamedTuple):
    """How lines become rows."""

    #: Whether names of digits are hashed like all others, and whether labels may be missing.
    everything: bool
    unlabelled: bool
    #: The mask of the hashes.
    last: np.uint32
    #: Of each first letter of a namespace, a space for none, whether its features are left out.
    ignored: NDArray[np.uint8]
    #: Value and column of the constant feature of every row; no such feature if 0.
    constant: float
    slot: np.uint32


@kernel(inline=True)
def _line_end(text, at):  # type: ignore[no-untyped-def]
    """Return whether a line ends at `at`."""
    return byte_at(text, at) == _NEWLINE or (
        byte_at(text, at) == _RETURN and byte_at(text, at + _1) == _NEWLINE
    )


@kernel(inline=True)
def _value_end(text, at):  # type: ignore[no-untyped-def]
    """Return whether a word in place of a number may end at `at`."""
    c = byte_at(text, at)
    return c == _SPACE or c == _TAB or c == _BAR or _line_end(text, at)


@kernel(inline=True)
def _any_zero(word):  # type: ignore[no-untyped-def]
    """Return a word whose lowest bit is in the first byte that is zero; higher ones may err."""
    return (word - _ONES) & ~word & _TOP_BITS


@kernel(inline=True)
def _name_end(text, at):  # type: ignore[no-untyped-def]
    """Return where the name at `at` ends, eight bytes at a time."""
    while True:
        word = load_word(text, at)
        # Bytes up to the space, colons and bars; of the first, control characters go on.
        found = (word - _ONES * np.uint64(33)) & ~word & _TOP_BITS
        found |= _any_zero(word ^ _COLONS) | _any_zero(word ^ _BARS)
        if found == _0:
            at += _8
        else:
            at += trailing_zeros(found) >> _3
            if _ENDS[byte_at(text, at)]:
                return at
            at += _1


@kernel
def _head(text, at, unlabelled):  # type: ignore[no-untyped-def]
    """Return where the bar is, label, importance, and whether all is well up to the bar."""
    label, weight = np.nan, 1.0
    numbers = 0
    tagged = False
    while True:
        while byte_at(text, at) == _SPACE:
            at += _1
        begin = at
        while not _HEAD_ENDS[byte_at(text, at)]:
            at += _1
        c = byte_at(text, at)
        if at == begin and c == _BAR:
            return at, label, weight, unlabelled or numbers > 0
        sound = not tagged and (c == _SPACE or c == _BAR)
        if sound and (c == _BAR or byte_at(text, begin) == _QUOTE):
            tagged = True
        elif sound:
            value, end = number(text, begin)
            label = value if numbers == 0 else label
            weight = value if numbers == 1 else weight
            # Label, importance, and an initial prediction, which must be 0.
            sound = end == at and np.isfinite(value) and numbers < 3
            sound = sound and (numbers == 0 or value == 0.0 or (numbers == 1 and value > 0.0))
            numbers += 1
        if not sound:
            return at, label, weight, False


@kernel(inline=True)
def _is(text, begin, end, lower):  # type: ignore[no-untyped-def]
    """Return whether buffer[begin:end] is a word, written small or large."""
    if end - begin != np.uint64(len(lower)):
        return False
    for k in range(len(lower)):
        if byte_at(text, begin + np.uint64(k)) | np.uint8(32) != lower[k]:
            return False
    return True


@kernel
def _word(text, at):  # type: ignore[no-untyped-def]
    """Return where the word at `at` ends: at once if there is none or it is inf or nan."""
    end = at
    while not _value_end(text, end) and byte_at(text, end) != _RETURN:
        end += _1
    if (
        end == at
        or _is(text, at, end, b"inf")
        or _is(text, at, end, b"nan")
        or _is(text, at, end, b"infinity")
    ):
        return at
    # A bar within a word is a letter.
    while byte_at(text, end) == _BAR or not (
        _value_end(text, end) or byte_at(text, end) == _RETURN
    ):
        end += _1
    return end


@kernel
def _word_hash(text, begin, end, seed, everything):  # type: ignore[no-untyped-def]
    # Not inlined: words are rare, and the loop over features is long enough.
    return feature_hash(text, begin, end, seed, everything)


@kernel(counted=False)
def _plain_features(text, at, place, least, space, indices, values):  # type: ignore[no-untyped-def]
    """Read features for as long as they are written plainly.

    Returned are where that ends, how many features there are then, the least column that may
    follow in order, and whether one did not. Not inlined, so that its variables fit the registers.
    """
    seed, last, scale = space
    falls = False
    while byte_at(text, at) == _SPACE:
        index, value, end = plain_pair(text, at + _1)
        values[place] = value * scale
        kept = values[place]
        if end == at + _1 or not np.isfinite(kept):
            break
        at = end
        if kept != 0.0:
            column = np.uint32(np.uint32(seed + np.uint32(index)) & last)
            indices[place] = column
            place += _1
            falls |= bool(column < least)
            least = np.uint64(column) + _1
    return at, place, least, falls


@kernel(counted=False)
def read_lines(buffer, stop, rules, out, spans, starts):  # type: ignore[no-untyped-def]
    """Read buffer[:stop] by `LineRules` into `out`, a `Written`.

    `spans` and `starts` get where in the text each feature and each row is, unless `spans` is
    empty. Returned are the numbers of rows, lines and faults, whether any weight is not 1,
    whether a row's columns do not ascend, and where the last token begins, for `refusal`.
    """
    text = text_of(buffer)
    everything, unlabelled, last, ignored, constant, slot = rules
    indptr, indices, values = out.rows
    detailed = spans.shape[0] > 0
    rows = lines = refused = nonzeros = token = _0
    weighted = falls = False
    at = _0
    indptr[0] = _0
    while at < stop:
        start = at
        if byte_at(text, at) == np.uint8(0xEF) and byte_at(text, at + _1) == np.uint8(0xBB):
            if byte_at(text, at + _2) == np.uint8(0xBF):
                at += _3
        line = lines
        lines += _1
        token = begin = at
        while byte_at(text, at) == _SPACE or byte_at(text, at) == _TAB:
            at += _1
        if _line_end(text, at):
            at += _1 if byte_at(text, at) == _NEWLINE else _2
            continue
        at, label, importance, good = _head(text, begin, unlabelled)
        place = nonzeros
        least = _0
        while good and byte_at(text, at) == _BAR:
            at += _1
            # A namespace, or none.
            token = space = at
            space_end = at = _name_end(text, at)
            seed = np.uint32(0)
            scale = 1.0
            if space_end > space:
                seed = _word_hash(text, space, space_end, np.uint32(0), everything)
            if byte_at(text, at) == _COLON:
                scale, at = number(text, space_end + _1)
                good = space_end > space and at > space_end + _1 and np.isfinite(scale)
            letter = byte_at(text, space) if space_end > space else _SPACE
            left_out = ignored[letter] != np.uint8(0)
            if left_out:
                # Features of value 0 are no features, but must be sound all the same.
                scale = 0.0
            if good and not everything and not detailed:
                # Seed and mask of the hash, factor of the values.
                space_rules = seed, last, scale
                at, place, least, fell = _plain_features(
                    text, at, place, least, space_rules, indices, values
                )
                falls |= fell
            nameless = np.uint32(0)
            # Anything but a space here ends the namespace, or is an error.
            while good and (byte_at(text, at) == _SPACE or byte_at(text, at) == _TAB):
                at += _1
                token = name = at
                digits, count = digits_at(text, at)
                at += count
                if count - _1 < _8 and _ENDS[byte_at(text, at)] and not everything:
                    hashed = np.uint32(seed + np.uint32(few_digits(digits, count)))
                elif count == _0 and _ENDS[byte_at(text, at)] and byte_at(text, at) != _COLON:
                    continue
                else:
                    at = _name_end(text, at)
                    if everything or (
                        count == _0 and min(byte_at(text, name), byte_at(text, at - _1)) > _SPACE
                    ):
                        hashed = murmur(text, name, at, seed)
                    else:
                        hashed = _word_hash(text, name, at, seed, everything)
                name_end = at
                value = scale
                word = word_end = _0
                if byte_at(text, at) == _COLON:
                    begin = at + _1
                    if _NUMERIC[byte_at(text, begin)]:
                        value, at = number(text, begin)
                        value *= scale
                    else:
                        word = begin
                        at = word_end = _word(text, begin)
                        value = 0.0 if left_out else 1.0
                        hashed = _word_hash(text, word, word_end, hashed, everything)
                    if at == begin:
                        good = False
                if word == _0 and name_end == name:
                    hashed = np.uint32(seed + nameless)
                    word_end = np.uint64(nameless)
                    nameless = np.uint32(nameless + np.uint32(1))
                values[place] = value
                kept = values[place]
                good &= bool(np.isfinite(kept))
                if kept != 0.0:
                    column = np.uint32(hashed & last)
                    indices[place] = column
                    if detailed:
                        spans[place, 0] = space
                        spans[place, 1] = space_end
                        spans[place, 2] = name
                        spans[place, 3] = name_end
                        spans[place, 4] = word
                        spans[place, 5] = word_end
                    place += _1
                    falls |= bool(column < least)
                    least = np.uint64(column) + _1
            good &= byte_at(text, at) == _BAR or _line_end(text, at)
        if not good:
            out.faults[refused] = start
            refused += _1
            at = start
        else:
            if constant != 0.0:
                # Rows in order stay in order.
                k = place
                while k > nonzeros and indices[k - _1] > slot:
                    indices[k] = indices[k - _1]
                    values[k] = values[k - _1]
                    k -= _1
                falls |= bool(k > nonzeros and indices[k - _1] == slot)
                indices[k] = slot
                values[k] = constant
                place += _1
            nonzeros = place
            out.y[rows] = label
            out.weight[rows] = importance
            weighted |= importance != 1.0
            out.line_of_row[rows] = line
            if detailed:
                starts[rows] = start
            rows += _1
            indptr[rows] = nonzeros
        while byte_at(text, at) != _NEWLINE:
            at += _1
        at += _1
    return rows, lines, refused, weighted, falls, token
