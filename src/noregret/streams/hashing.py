"""Names to columns without a dictionary: the hashing of Vowpal Wabbit, slot for slot.

A feature's hash is the 32-bit murmur of its name, seeded by the hash of its namespace. By the
rule "strings" a name of digits only is that number added to the seed, which keeps numbered
features apart; by the rule "all" every name is mixed. The lowest `bits` of it are the column.
Several features together are hashed from left to right by one multiplication and one
exclusive or each.

Each formula is there twice: for bytes in plain Python, which says what is meant, and as a
kernel on a part of a text, which tests hold to it.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import byte_at, kernel
from noregret.streams.reading import FEWEST_BITS, MOST_BITS, HashRule

#: The hash of the constant feature.
CONSTANT = 11_650_396

_WORD = 0xFFFFFFFF
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


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & _WORD


def _scrambled(word: int) -> int:
    return _rotated(word * _FIRST & _WORD, 15) * _SECOND & _WORD


def uniform_hash(data: bytes, seed: int = 0) -> int:
    """Return the 32-bit murmur hash (MurmurHash3, A. Appleby) of some bytes.

    >>> uniform_hash(b""), uniform_hash(b"hello"), uniform_hash(b"hello", 7)
    (0, 613153351, 3592436587)
    """
    state = seed & _WORD
    whole = len(data) & ~3
    for place in range(0, whole, 4):
        state ^= _scrambled(int.from_bytes(data[place : place + 4], "little"))
        state = (_rotated(state, 13) * 5 + 0xE6546B64) & _WORD
    state ^= _scrambled(int.from_bytes(data[whole:], "little"))
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & _WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & _WORD
    return state ^ state >> 16


def hash_name(name: bytes, seed: int = 0, rule: HashRule = "strings") -> int:
    """Return the hash of a name below a seed: a namespace below 0, a feature below its own.

    By the rule "strings" control characters around the name do not count either.

    >>> [hash_name(name, seed=5) for name in (b"12", b"0012", b"x")], hash_name(b"12", 5, "all")
    ([17, 17, 3083189900], 2024189861)
    """
    if rule == "all":
        return uniform_hash(name, seed)
    name = name.strip(bytes(range(_SPACE + 1)))
    if all(48 <= byte < 58 for byte in name):
        return (int(name or b"0") + seed) & _WORD
    return uniform_hash(name, seed)


def combine(first: int, second: int) -> int:
    """Return the hash of two features together; the first may itself be of several.

    >>> combine(12, 34) == (12 * 16777619 ^ 34)
    True
    """
    return (first * _PRIME ^ second) & _WORD


@kernel(inline=True)
def scrambled(word):  # type: ignore[no-untyped-def]
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
    """Return `uniform_hash` of text[begin:end]."""
    state = np.uint32(seed)
    place = begin
    while place + _4 <= end:
        state = np.uint32(state ^ scrambled(np.uint32(_four(text, place))))
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
    state = np.uint32(state ^ scrambled(np.uint32(rest)))
    state = np.uint32(state ^ np.uint32(end - begin))
    state = np.uint32((state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    state = np.uint32((state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(state ^ (state >> np.uint32(16)))


@kernel(inline=True)
def feature_hash(text, begin, end, seed, everything):  # type: ignore[no-untyped-def]
    """Return `hash_name` of text[begin:end]; `everything` is the rule "all"."""
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
    """Return `combine` of two hashes."""
    return np.uint32(np.uint32(first * np.uint32(_PRIME)) ^ np.uint32(second))
