"""Names to columns without a dictionary: the hashing of Vowpal Wabbit, slot for slot.

A feature's hash is the 32-bit murmur of its name, seeded by the hash of its namespace. By the
rule "strings" a name of digits only is that number added to the seed, which keeps numbered
features apart; by the rule "all" every name is mixed. The lowest `bits` of it are the column.
Several features together are hashed from left to right by one multiplication and one
exclusive or each.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import byte_at, kernel
from noregret.streams.reading import FEWEST_BITS, MOST_BITS

#: The hash of the constant feature.
CONSTANT = 11_650_396

_PRIME = 16_777_619
_FIRST, _SECOND = 0xCC9E2D51, 0x1B873593
_SPACE = 0x20

_0, _1, _2, _3, _4 = (np.uint64(k) for k in range(5))
_8, _16, _24, _32 = (np.uint64(k) for k in (8, 16, 24, 32))


def mask(bits: int) -> int:
    """Return the largest column of a space of 2^bits, for `hash & mask`.

    >>> mask(18), CONSTANT & mask(18)
    (262143, 116060)
    """
    if not FEWEST_BITS <= bits <= MOST_BITS:
        raise ValueError(f"bits={bits}: expected {FEWEST_BITS} to {MOST_BITS}")
    return (1 << bits) - 1


@kernel(inline=True)
def _scrambled(word):  # type: ignore[no-untyped-def]
    """Return a word of four bytes, mixed before it enters the state."""
    word = np.uint32(word * np.uint32(_FIRST))
    word = np.uint32((word << np.uint32(15)) | (word >> np.uint32(17)))
    return np.uint32(word * np.uint32(_SECOND))


@kernel(inline=True)
def _four(text, at):  # type: ignore[no-untyped-def]
    # Compiled, this is one load.
    return (
        np.uint64(byte_at(text, at))
        | np.uint64(byte_at(text, at + _1)) << _8
        | np.uint64(byte_at(text, at + _2)) << _16
        | np.uint64(byte_at(text, at + _3)) << _24
    )


@kernel(inline=True)
def murmur(text, begin, end, seed):  # type: ignore[no-untyped-def]
    """Return the 32-bit murmur hash (MurmurHash3, A. Appleby) of text[begin:end]."""
    state = np.uint32(seed)
    place = begin
    while place + _4 <= end:
        state = np.uint32(state ^ _scrambled(np.uint32(_four(text, place))))
        state = np.uint32((state << np.uint32(13)) | (state >> np.uint32(19)))
        state = np.uint32(state * np.uint32(5) + np.uint32(0xE6546B64))
        place += _4
    if place > begin:
        # The bytes left over are the upper ones of the last four: one load without a branch.
        rest = _four(text, end - _4) >> (_32 - ((end - place) << _3))
    else:
        rest = _0
        for k in range(end - begin):
            rest |= np.uint64(byte_at(text, begin + k)) << (k << _3)
    state = np.uint32(state ^ _scrambled(np.uint32(rest)))
    state = np.uint32(state ^ np.uint32(end - begin))
    state = np.uint32((state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    state = np.uint32((state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(state ^ (state >> np.uint32(16)))


@kernel(inline=True)
def feature_hash(text, begin, end, seed, everything):  # type: ignore[no-untyped-def]
    """Return the hash of the name text[begin:end] below a seed; `everything` is the rule "all".

    A namespace is below the seed 0, a feature below its namespace. By the rule "strings" control
    characters around the name do not count either.
    """
    if everything:
        return murmur(text, begin, end, seed)
    while begin < end and byte_at(text, begin) <= np.uint8(_SPACE):
        begin += _1
    while begin < end and byte_at(text, end - _1) <= np.uint8(_SPACE):
        end -= _1
    number = np.uint32(0)
    place = begin
    while place < end:
        digit = np.uint8(byte_at(text, place) - np.uint8(48))
        if digit > np.uint8(9):
            return murmur(text, begin, end, seed)
        number = np.uint32(number * np.uint32(10) + digit)
        place += _1
    return np.uint32(number + np.uint32(seed))


@kernel(inline=True)
def combined(first, second):  # type: ignore[no-untyped-def]
    """Return the hash of two features together; the first may itself be of several."""
    return np.uint32(np.uint32(first * np.uint32(_PRIME)) ^ np.uint32(second))
