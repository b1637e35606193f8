"""The hashing of Vowpal Wabbit in plain Python: what the kernels of `hashing` must agree with."""

from __future__ import annotations

_WORD = 0xFFFFFFFF
_PRIME = 16_777_619
_FIRST, _SECOND = 0xCC9E2D51, 0x1B873593
_SPACE = 0x20


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


def hash_name(name: bytes, seed: int = 0, rule: str = "strings") -> int:
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
