"""Hashing: kernels equal plain Python, plain Python equals known values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noregret.jit import kernel
from noregret.streams.hashing import CONSTANT, combined, feature_hash, mask, murmur
from tests.streams.plain_hashing import combine, hash_name, uniform_hash

SEEDS = st.integers(0, 2**32 - 1)
RULES = ("strings", "all")
NAMES = st.one_of(
    st.binary(max_size=40),
    st.from_regex(rb"\A[0-9]{1,25}\Z"),
    st.from_regex(rb"\A[\x00-\x20]{0,3}[0-9a-z]{0,9}[\x00-\x20]{0,3}\Z"),
)


@kernel
def _murmur(buffer, begin, end, seed):
    return murmur(buffer, begin, end, seed)


@kernel
def _feature_hash(buffer, begin, end, seed, everything):
    return feature_hash(buffer, begin, end, seed, everything)


@kernel
def _combined(first, second):
    return combined(first, second)


def kernel_hash(name: bytes, seed: int, rule: str) -> int:
    # Bytes on both sides must not count.
    buffer = np.frombuffer(bytearray(b"7x" + name + b"9y"), np.uint8)
    begin, end = np.uint64(2), np.uint64(2 + len(name))
    return int(_feature_hash(buffer, begin, end, np.uint32(seed), rule == "all"))


# The published test vectors of MurmurHash3_x86_32.
@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [
        (b"", 0, 0),
        (b"", 1, 0x514E28B7),
        (b"", 0xFFFFFFFF, 0x81F16F39),
        (b"\xff\xff\xff\xff", 0, 0x76293B50),
        (b"!Ce\x87", 0, 0xF55B516B),
        (b"!Ce\x87", 0x5082EDEE, 0x2362F9DE),
        (b"!Ce", 0, 0x7E4A8634),
        (b"!C", 0, 0xA0F7B07A),
        (b"!", 0, 0x72661CF4),
        (b"\0\0\0\0", 0, 0x2362F9DE),
        (b"\0\0\0", 0, 0x85F0B427),
        (b"\0\0", 0, 0x30F4C306),
        (b"\0", 0, 0x514E28B7),
    ],
)
def test_murmur_gives_the_published_values(data: bytes, seed: int, expected: int) -> None:
    assert uniform_hash(data, seed) == expected
    buffer = np.frombuffer(bytearray(data), np.uint8)
    assert _murmur(buffer, np.uint64(0), np.uint64(len(data)), np.uint32(seed)) == expected


@given(NAMES, SEEDS)
@example(b"", 5)
@example(b"18446744073709551617", 0)
@example(b"\x00\x01", 9)
@settings(max_examples=400)
def test_kernels_equal_plain_python(name: bytes, seed: int) -> None:
    for rule in RULES:
        assert kernel_hash(name, seed, rule) == hash_name(name, seed, rule)


@given(SEEDS, SEEDS)
@settings(max_examples=100)
def test_combinations_equal_plain_python(first: int, second: int) -> None:
    assert _combined(np.uint32(first), np.uint32(second)) == combine(first, second)


@given(st.integers(0, 2**70), st.integers(1, 31), SEEDS)
@settings(max_examples=100)
def test_a_number_is_itself_above_its_namespace(number: int, bits: int, seed: int) -> None:
    name = b"%d" % number
    assert hash_name(name, seed) & mask(bits) == (number + seed) % 2**bits
    assert hash_name(b"00" + name, seed) == hash_name(name, seed)


def test_the_constant_is_where_vowpal_wabbit_has_it() -> None:
    assert CONSTANT & mask(18) == 116060
    assert CONSTANT & mask(24) == 11650396


@pytest.mark.parametrize("bits", [0, -1, 32, 64])
def test_bits_that_make_no_sense_are_refused(bits: int) -> None:
    with pytest.raises(ValueError, match=f"bits={bits}: expected 1 to 31"):
        mask(bits)
