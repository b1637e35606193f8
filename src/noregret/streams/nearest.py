"""The float64 nearest to a decimal number, ties to even: what Python's `float` returns.

Three ways, each exact where it is taken. A mantissa below 2^53 and a power of ten up to 10^22
are floats themselves, and one division rounds once. Any mantissa of 64 bits is multiplied by
128 bits of the power of five, which is enough to round w 10^q for every w and q (Lemire,
"Number Parsing at a Gigabyte per Second", 2021; Mushtak and Lemire, "Fast Number Parsing
Without Fallback", 2023). Longer mantissas lie between w 10^q and (w + 1) 10^q: where these round
differently, the digits are compared with the point half way between, in integers as long as
it takes.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import byte_at, float_of, high_product, kernel, leading_zeros, low_product

_0, _1, _2, _10 = (np.uint64(k) for k in (0, 1, 2, 10))
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_MANTISSA_BITS = np.uint64(52)
_HIDDEN = np.uint64(1 << 52)
_WHOLE = np.uint64(1 << 53)

#: Powers of ten that are floats, and as many that are words.
_EXACT = 22
TENS = np.array([float(10**k) for k in range(_EXACT + 1)])
WORD_TENS = np.array([10**k for k in range(20)], np.uint64)

#: Below the smallest of these powers every mantissa of a word is 0, above the largest infinite.
_LEAST, _MOST = -342, 308


def _power_of_five(q: int) -> tuple[int, int]:
    """Return 128 leading bits of 5^q, rounded down for q >= 0 and up below, as two words."""
    if q >= 0:
        power = 5**q
        bits = power.bit_length()
        leading = power << (128 - bits) if bits <= 128 else power >> (bits - 128)
    else:
        power = 5**-q
        leading = (1 << (power.bit_length() + 127)) // power + 1
    return leading >> 64, leading & (2**64 - 1)


_FIVES = np.array([_power_of_five(q) for q in range(_LEAST, _MOST + 1)], np.uint64)

#: Powers of ten and of two that are below 2^32.
_TENS, _TWOS = WORD_TENS[:10].copy(), np.array([1 << k for k in range(32)], np.uint64)
_LIMB = np.uint64(32)
_LOW_LIMB = np.uint64(0xFFFF_FFFF)
#: Room for 801 digits, or for a point half way times a power of ten: 4,000 bits at most.
_LIMBS = 160
#: A point half way between floats has at most 767 digits; more than that only break ties.
_DIGITS = np.uint64(800)
_ZERO, _NINE = np.uint8(48), np.uint8(57)


@kernel
def nearest(mantissa, power):  # type: ignore[no-untyped-def]
    """Return mantissa 10^power, rounded once; the mantissa is a word, the power signed."""
    if mantissa <= _WHOLE and -_EXACT <= power <= _EXACT:
        if power < 0:
            return np.float64(mantissa) / TENS[np.uint64(-power)]
        return np.float64(mantissa) * TENS[np.uint64(power)]
    if mantissa == _0 or power < _LEAST:
        return 0.0
    if power > _MOST:
        return np.inf
    shift = leading_zeros(mantissa)
    word = mantissa << shift
    row = np.uint64(power - _LEAST)
    high = high_product(word, _FIVES[row, _0])
    low = low_product(word, _FIVES[row, _0])
    # The bits below those kept are all ones: what was left out of the power might carry.
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        carry = high_product(word, _FIVES[row, _1])
        low = low + carry
        if low < carry:
            high = high + _1
    top = high >> np.uint64(63)
    # Two bits more than a float has: one to round by, and what lies below is known.
    kept = high >> (top + np.uint64(9))
    # floor(q log2(10)) + 63 + 1023, and a place less for each zero shifted out.
    exponent = ((217706 * power) >> 16) + 1086 + np.int64(top) - np.int64(shift)
    if exponent <= 0:
        if exponent <= -63:
            return 0.0
        kept >>= np.uint64(1 - exponent)
        # Half way is impossible here: 5^-q does not divide a word for q as small as this.
        kept = (kept + (kept & _1)) >> _1
        # If rounding made it the smallest normal number, its hidden bit is the exponent's.
        return float_of(kept)
    # Half way between two floats exactly, possible for small powers only: to the even one.
    if low <= _1 and -4 <= power <= 23 and kept & np.uint64(3) == _1:
        if kept << (top + np.uint64(9)) == high:
            kept = kept - _1
    kept = (kept + (kept & _1)) >> _1
    if kept >= _WHOLE:
        kept = _HIDDEN
        exponent += 1
    if exponent >= 2047:
        return np.inf
    return float_of((kept & (_HIDDEN - _1)) | (np.uint64(exponent) << _MANTISSA_BITS))


@kernel
def _times_plus(limbs, count, factor, addend):  # type: ignore[no-untyped-def]
    """Multiply a long integer and add to it, both by less than 2^32; return its new length."""
    carry = addend
    for k in range(count):
        carry = carry + limbs[k] * factor
        limbs[k] = carry & _LOW_LIMB
        carry >>= _LIMB
    if carry:
        limbs[count] = carry
        count += _1
    return count


@kernel
def _times_power(limbs, count, times, powers):  # type: ignore[no-untyped-def]
    """Multiply a long integer `times` times by the base of the powers; return its new length."""
    most = np.uint64(powers.shape[0]) - _1
    while times >= most:
        count = _times_plus(limbs, count, powers[most], _0)
        times -= most
    return _times_plus(limbs, count, powers[times], _0)


@kernel
def nearest_long(text, at, digits, power, lower, upper):  # type: ignore[no-untyped-def]
    """Return which of two neighbouring floats is nearest to a decimal of many digits.

    The first digit, not 0, is at `at`; there are `digits` of them, with a point among them or
    not, and the last one counts 10^power.
    """
    left = np.zeros(_LIMBS, np.uint64)
    right = np.zeros(_LIMBS, np.uint64)
    long = _0
    seen = _0
    rest = False
    while seen < digits:
        byte = byte_at(text, at)
        at += _1
        if _ZERO <= byte <= _NINE:
            if seen < _DIGITS:
                long = _times_plus(left, long, _10, np.uint64(byte - _ZERO))
            elif byte != _ZERO:
                rest = True
            seen += _1
    if digits > _DIGITS:
        power += np.int64(digits - _DIGITS)
    if rest:
        long = _times_plus(left, long, _10, _1)
        power -= 1
    bits = np.float64(lower).view(np.uint64)
    exponent = np.int64(bits >> _MANTISSA_BITS)
    mantissa = bits & (_HIDDEN - _1)
    if exponent:
        mantissa |= _HIDDEN
    else:
        exponent = np.int64(1)
    # lower = mantissa 2^(exponent - 1075), and half way above it is:
    middle = (mantissa << _1) + _1
    right[_0] = middle & _LOW_LIMB
    right[_1] = middle >> _LIMB
    wide = _2 if right[_1] else _1
    exponent -= 1076
    if power >= 0:
        long = _times_power(left, long, np.uint64(power), _TENS)
    else:
        wide = _times_power(right, wide, np.uint64(-power), _TENS)
    if exponent >= 0:
        wide = _times_power(right, wide, np.uint64(exponent), _TWOS)
    else:
        long = _times_power(left, long, np.uint64(-exponent), _TWOS)
    place = np.uint64(_LIMBS - 1)
    while place > _0 and left[place] == right[place]:
        place -= _1
    if left[place] > right[place] or (left[place] == right[place] and mantissa & _1):
        return upper
    return lower
