"""Bytes of a text and words of 64 bits: loads, counts of zeros, full products, bits of a float.

Interpreted, each is the same function on `np.uint64`. A text is an array of bytes, or what
`text_of` makes of one.
"""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import errors
from numba.core import types as nb

from noregret.jit.lanes import DOUBLE, WORD, data, filled, register, register_scalar

_DOUBLE_WORD = ir.IntType(128)
_BYTES = nb.Array(nb.uint8, 1, "C")
# Zero is a word like any other here, so the counts must not leave it undefined.
_DEFINED = ir.IntType(1)(0)


def text_of(array: Any) -> Any:
    """Return bytes as a text that kernels hand on for free.

    Compiled, that is their address: arrays that cross a call, inlined or not, are
    reference-counted, atomically, which takes as long as reading a number. The caller of the
    kernel holds the array. Interpreted, it is the array.
    """
    return array


def byte_at(text: Any, k: Any) -> Any:
    """Return byte k of a text.

    >>> int(byte_at(text_of(np.arange(9, dtype=np.uint8)), 5))
    5
    """
    return text[k]


def load_word(text: Any, k: Any) -> np.uint64:
    """Return bytes k to k + 7 as one number, the first byte the lowest.

    >>> hex(load_word(np.arange(16, dtype=np.uint8), 3))
    '0xa09080706050403'
    """
    return np.uint64(int.from_bytes(text[int(k) : int(k) + 8].tobytes(), "little"))


#: How many bytes `span_above` and `strangers` look at.
SPAN = 32


def span_above(text: Any, k: Any, byte: Any) -> np.uint64:
    """Return how many bytes from k on are all above a given one, SPAN at most.

    >>> int(span_above(np.frombuffer(b"some words" + bytes(SPAN), np.uint8), 5, np.uint8(32)))
    5
    """
    above = text[int(k) : int(k) + SPAN] > byte
    return np.uint64(SPAN if above.all() else int(above.argmin()))


def strangers(text: Any, k: Any) -> np.uint64:
    """Return which of the SPAN bytes from k on are no digits, byte k as the lowest bit.

    >>> bin(strangers(np.frombuffer(b"12:3.5" + b"0" * SPAN, np.uint8), 0))
    '0b10100'
    """
    # Below '0' the difference is large, too, because it is taken modulo 256.
    strange = text[int(k) : int(k) + SPAN] - np.uint8(48) > 9
    return np.uint64(int("".join("01"[int(bit)] for bit in strange[::-1]), 2))


def trailing_zeros(word: Any) -> np.uint64:
    """Return how many of the lowest bits are zero, 64 for zero.

    >>> int(trailing_zeros(np.uint64(40))), int(trailing_zeros(np.uint64(0)))
    (3, 64)
    """
    return np.uint64((int(word) & -int(word)).bit_length() - 1 if word else 64)


def leading_zeros(word: Any) -> np.uint64:
    """Return how many of the highest bits are zero, 64 for zero.

    >>> int(leading_zeros(np.uint64(1))), int(leading_zeros(np.uint64(0)))
    (63, 64)
    """
    return np.uint64(64 - int(word).bit_length())


def ones(word: Any) -> np.uint64:
    """Return how many bits are set.

    >>> int(ones(np.uint64(0b1011)))
    3
    """
    return np.uint64(int(word).bit_count())


def high_product(a: Any, b: Any) -> np.uint64:
    """Return the upper 64 bits of the product of two words.

    >>> int(high_product(np.uint64(2**63), np.uint64(6)))
    3
    """
    return np.uint64(int(a) * int(b) >> 64)


def low_product(a: Any, b: Any) -> np.uint64:
    """Return the lower 64 bits of the product of two words.

    >>> int(low_product(np.uint64(2**63), np.uint64(3))) == 2**63
    True
    """
    return np.uint64(int(a) * int(b) & 0xFFFF_FFFF_FFFF_FFFF)


def float_of(word: Any) -> np.float64:
    """Return the float64 that has these bits.

    >>> float(float_of(np.uint64(0x3FF8_0000_0000_0000)))
    1.5
    """
    return np.uint64(word).view(np.float64)


def _place(name: str, text: Any) -> Callable[[Any, Any, Any], Any]:
    """Return the code for the address of byte k of a text; refuse what is none."""
    if text == nb.uint64:
        byte = ir.IntType(8).as_pointer()
        return lambda context, builder, args: builder.inttoptr(builder.add(*args[:2]), byte)
    if text not in (_BYTES, _BYTES.copy(readonly=True)):
        raise errors.TypingError(f"{name} takes contiguous bytes, got {text}")
    return lambda context, builder, args: builder.gep(
        data(context, builder, text, args[0]), [args[1]]
    )


@register(text_of)
def _type_text_of(array: Any) -> Any:
    _place("text_of", array)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(data(context, builder, array, args[0]), WORD)

    return nb.uint64(array), generate


def _register_reader(
    function: Callable[..., Any], result: Any, build: Callable[..., Any], *more: Any
) -> None:
    """Register a function of a text, a place in it and arguments of the types `more`.

    build(builder, place, *args) generates it from the address of that place.
    """

    @register(function)
    def typed(text: Any, k: Any, *rest: Any) -> Any:
        place = _place(function.__name__, text)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return build(builder, place(context, builder, args), *args[2:])

        return result(text, nb.uint64, *more), generate


def _load_word(builder: Any, place: Any) -> Any:
    word = builder.load(builder.bitcast(place, WORD.as_pointer()), align=1)
    return word if sys.byteorder == "little" else builder.bswap(word)


def _mask(builder: Any, place: Any, judge: Callable[[Any], Any]) -> Any:
    """Return the judgement of SPAN bytes as bits of a word, that of the first as the lowest."""
    lanes = ir.VectorType(ir.IntType(8), SPAN)
    found = builder.load(builder.bitcast(place, lanes.as_pointer()), align=1)
    mask = builder.zext(builder.bitcast(judge(found), ir.IntType(SPAN)), WORD)
    if sys.byteorder == "big":
        mask = builder.lshr(builder.bitreverse(mask), WORD(64 - SPAN))
    return mask


def _span_above(builder: Any, place: Any, byte: Any) -> Any:
    bound = filled(builder, *(byte,) * SPAN)
    mask = _mask(builder, place, lambda found: builder.icmp_unsigned("<=", found, bound))
    return builder.cttz(builder.or_(mask, WORD(1 << SPAN)), _DEFINED)


def _strangers(builder: Any, place: Any) -> Any:
    zeros, nines = (filled(builder, *(ir.IntType(8)(c),) * SPAN) for c in (48, 9))
    return _mask(
        builder,
        place,
        lambda found: builder.icmp_unsigned(">", builder.sub(found, zeros), nines),
    )


def _high(builder: Any, *words: Any) -> Any:
    a, b = (builder.zext(word, _DOUBLE_WORD) for word in words)
    return builder.trunc(builder.lshr(builder.mul(a, b), _DOUBLE_WORD(64)), WORD)


_register_reader(byte_at, nb.uint8, lambda builder, place: builder.load(place))
_register_reader(load_word, nb.uint64, _load_word)
_register_reader(span_above, nb.uint64, _span_above, nb.uint8)
_register_reader(strangers, nb.uint64, _strangers)
for function, result, build in (
    (trailing_zeros, nb.uint64, lambda builder, word: builder.cttz(word, _DEFINED)),
    (leading_zeros, nb.uint64, lambda builder, word: builder.ctlz(word, _DEFINED)),
    (ones, nb.uint64, lambda builder, word: builder.ctpop(word)),
    (high_product, nb.uint64, _high),
    (low_product, nb.uint64, lambda builder, a, b: builder.mul(a, b)),
    (float_of, nb.float64, lambda builder, word: builder.bitcast(word, DOUBLE)),
):
    register_scalar(function, nb.uint64, build, result)
