"""Numbers in text: kernels that read what Python's `float` reads, to the bit.

`text` is an array of bytes or, much faster, what `text_of` makes of it. It must end in a byte that
belongs to no number (a line end does) and `PADDING` bytes more: eight bytes are looked at at a
time. `nan`, `inf` and underscores are no numbers here, and neither for `decimal`, in plain Python.
"""

from __future__ import annotations

import math
import re

import numpy as np

from noregret.jit import byte_at, kernel, load_word, strangers, trailing_zeros
from noregret.streams.nearest import TENS, WORD_TENS, nearest, nearest_long

_0, _1, _3, _7, _8, _19, _64 = (np.uint64(k) for k in (0, 1, 3, 7, 8, 19, 64))
_PLUS, _MINUS, _POINT, _ZERO, _NINE, _E, _SPACE, _COLON = (np.uint8(ord(c)) for c in "+-.09e :")
_LOWER_CASE = np.uint8(32)
#: Eight times '0'.
ZEROS = np.uint64(0x3030_3030_3030_3030)
_NOT_BELOW_TEN = np.uint64(0x7676_7676_7676_7676)
_TOP_BITS = np.uint64(0x8080_8080_8080_8080)
_PAIRS = np.uint64(0x0000_00FF_0000_00FF)
_LEFT_PAIRS = np.uint64(100 + (1_000_000 << 32))
_RIGHT_PAIRS = np.uint64(1 + (10_000 << 32))
#: Exponents are cut off here: no text has enough digits to make up for a larger one.
_FAR = 10**12
_TEN_TO_8 = np.uint64(10**8)
_DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: The value of integers with more digits than a word holds.
HUGE = np.uint64(2**64 - 1)


@kernel(inline=True)
def digits_at(text, at):  # type: ignore[no-untyped-def]
    """Return eight bytes with '0' taken off each, and how many of the first are digits."""
    word = load_word(text, at) ^ ZEROS
    # A digit plus 0x76 stays below 0x80. What carries out of a byte only spoils those after the
    # first that is no digit.
    strange = ((word + _NOT_BELOW_TEN) | word) & _TOP_BITS
    return word, trailing_zeros(strange) >> _3


@kernel(inline=True)
def eight_digits(word):  # type: ignore[no-untyped-def]
    """Return the number that eight digits write, the first of them in the lowest byte."""
    pairs = word * np.uint64(10) + (word >> _8)
    left = (pairs & _PAIRS) * _LEFT_PAIRS
    right = ((pairs >> np.uint64(16)) & _PAIRS) * _RIGHT_PAIRS
    return (left + right) >> np.uint64(32)


@kernel(inline=True)
def few_digits(word, count):  # type: ignore[no-untyped-def]
    """Return the number that the first 1 to 8 digits write."""
    return eight_digits(word << (_64 - (count << _3)))


@kernel
def _run(text, at, number):  # type: ignore[no-untyped-def]
    """Return `number` with the digits at `at` appended, modulo 2^64, and where they end."""
    while True:
        word, count = digits_at(text, at)
        if count < _8:
            break
        number = number * _TEN_TO_8 + eight_digits(word)
        at += _8
    if count:
        number = number * WORD_TENS[count] + few_digits(word, count)
    return number, at + count


@kernel
def _exponent(text, at):  # type: ignore[no-untyped-def]
    """Return the exponent that follows a mantissa, 0 if there is none, and where it ends."""
    if byte_at(text, at) | _LOWER_CASE != _E:
        return 0, at
    place = at + _1
    negative = byte_at(text, place) == _MINUS
    if negative or byte_at(text, place) == _PLUS:
        place += _1
    first = place
    exponent = np.int64(0)
    while _ZERO <= byte_at(text, place) <= _NINE:
        if exponent < _FAR:
            exponent = exponent * 10 + np.int64(byte_at(text, place) - _ZERO)
        place += _1
    if place == first:
        return 0, at
    return (-exponent if negative else exponent), place


@kernel
def any_number(text, at):  # type: ignore[no-untyped-def]
    """Return the number at `at` and where it ends: at `at` itself if there is none.

    A number too large for a float is infinite.
    """
    first = at
    negative = byte_at(text, at) == _MINUS
    if negative or byte_at(text, at) == _PLUS:
        first += _1
    mantissa, end = _run(text, first, _0)
    digits = end - first
    places = _0
    if byte_at(text, end) == _POINT:
        point = end
        mantissa, end = _run(text, point + _1, mantissa)
        places = end - point - _1
        digits += places
    if digits == _0:
        return 0.0, at
    exponent, after = _exponent(text, end)
    power = exponent - np.int64(places)
    if digits > _19:
        # No further than to the end: another point and more zeros may follow a number of zeros.
        while first < end and (byte_at(text, first) == _ZERO or byte_at(text, first) == _POINT):
            digits -= np.uint64(byte_at(text, first) == _ZERO)
            first += _1
    if digits <= _19:
        value = nearest(mantissa, power)
    else:
        mantissa = _0
        place = first
        taken = _0
        while taken < _19:
            if byte_at(text, place) != _POINT:
                mantissa = mantissa * np.uint64(10) + np.uint64(byte_at(text, place) - _ZERO)
                taken += _1
            place += _1
        scale = power + np.int64(digits - _19)
        value = nearest(mantissa, scale)
        upper = nearest(mantissa + _1, scale)
        if value != upper:
            value = nearest_long(text, first, digits, power, value, upper)
    return (-value if negative else value), after


@kernel(inline=True)
def quick_number(text, at):  # type: ignore[no-untyped-def]
    """Return a number of up to seven digits on each side of the point and where it ends.

    For any other number, or none, the end is `at`: then `any_number` must be asked.
    """
    negative = byte_at(text, at) == _MINUS
    first = at + np.uint64(negative)
    word, whole = digits_at(text, first)
    value = 0.0
    after = at
    if whole - _1 < _7:
        mantissa = few_digits(word, whole)
        end = first + whole
        places = _0
        if byte_at(text, end) == _POINT:
            word, places = digits_at(text, end + _1)
            if places - _1 < _7:
                mantissa = mantissa * WORD_TENS[places] + few_digits(word, places)
                end += _1 + places
            else:
                places = _8
        if places < _8 and byte_at(text, end) | _LOWER_CASE != _E:
            value = np.float64(np.int64(mantissa)) / TENS[places]
            value = -value if negative else value
            after = end
    return value, after


@kernel(inline=True)
def number(text, at):  # type: ignore[no-untyped-def]
    """Do as `any_number`, the quick way where that is possible."""
    value, end = quick_number(text, at)
    if end == at:
        value, end = any_number(text, at)
    return value, end


@kernel
def integer(text, at):  # type: ignore[no-untyped-def]
    """Return the digits at `at` as a word and where they end, at `at` itself if there are none.

    Numbers of more than 19 digits, leading zeros aside, are HUGE.
    """
    value, end = _run(text, at, _0)
    if end - at > _19:
        while byte_at(text, at) == _ZERO:
            at += _1
        if end - at > _19:
            return HUGE, end
    return value, end


@kernel(inline=True)
def plain_pair(text, start):  # type: ignore[no-untyped-def]
    """Return the number before a colon, the one after it, and where that ends.

    The end is `start` for what is not up to eight digits, a colon and a number that a space or
    a control character follows. Where the parts end is seen in their bytes at once, before they
    are read: so the processor can begin with the next feature while it works on this.
    """
    marks = strangers(text, start)
    count = trailing_zeros(marks)
    colon = start + count
    index, value, after = _0, 0.0, start
    if count - _1 < _8 and byte_at(text, colon) == _COLON:
        index = few_digits(load_word(text, start) ^ ZEROS, count)
        marks &= marks - _1
        first = count + _1
        negative = byte_at(text, colon + _1) == _MINUS
        if negative:
            marks &= marks - _1
            first += _1
        end = trailing_zeros(marks)
        whole = end - first
        places = mantissa = _0
        plain = whole - _1 < _7
        if plain:
            mantissa = few_digits(load_word(text, start + first) ^ ZEROS, whole)
            if byte_at(text, start + end) == _POINT:
                point = end
                end = trailing_zeros(marks & (marks - _1))
                places = end - point - _1
                plain = places - _1 < _8
                if plain:
                    fraction = few_digits(load_word(text, start + point + _1) ^ ZEROS, places)
                    mantissa = mantissa * WORD_TENS[places] + fraction
        if plain and byte_at(text, start + end) <= _SPACE:
            # Fifteen digits: the mantissa and the power are floats, and the division rounds once.
            value = np.float64(np.int64(mantissa)) / TENS[places]
            value = -value if negative else value
            after = start + end
        else:
            value, end = any_number(text, colon + _1)
            if end > colon + _1 and byte_at(text, end) <= _SPACE:
                after = end
    return index, value, after


def decimal(text: bytes) -> float:
    """Return the number that a text writes, nan if it writes none: `float` without its names.

    >>> decimal(b"-1.5e3"), decimal(b"1_000"), decimal(b"inf"), decimal(b"1e999")
    (-1500.0, nan, nan, inf)
    """
    return float(text) if _DECIMAL.fullmatch(text) else math.nan


def finite(text: bytes) -> float | None:
    """Return the number that a text writes, None if it writes none or one too large.

    >>> finite(b".5"), finite(b"1e999")
    (0.5, None)
    """
    value = decimal(text)
    return value if math.isfinite(value) else None
