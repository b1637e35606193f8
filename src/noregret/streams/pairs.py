"""Features written plainly, digits, a colon and a number, in as few steps as possible."""

from __future__ import annotations

import numpy as np

from noregret.jit import byte_at, kernel, load_word, strangers, trailing_zeros
from noregret.streams.nearest import TENS, WORD_TENS
from noregret.streams.numbers import ZEROS, any_number, few_digits

_0, _1, _7, _8 = (np.uint64(k) for k in (0, 1, 7, 8))
_SPACE, _COLON, _MINUS, _POINT = (np.uint8(ord(c)) for c in " :-.")


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
