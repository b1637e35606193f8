"""Numbers in text are read as Python's `float` reads them, to the bit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.jit import kernel
from noregret.streams.format import padded
from noregret.streams.numbers import HUGE, any_number, integer, number
from tests.streams.decimals import decimal

_1 = np.uint64(1)
_LINE_END = np.uint8(10)


@kernel
def read_all(buffer, stop, values, lengths, quick):  # type: ignore[no-untyped-def]
    """Read one number a line; a length of 0 says that there is none."""
    at = row = np.uint64(0)
    while at < stop:
        if quick:
            value, end = number(buffer, at)
        else:
            value, end = any_number(buffer, at)
        values[row] = value
        lengths[row] = end - at
        while buffer[at] != _LINE_END:
            at += _1
        at += _1
        row += _1


def read_texts(texts: list[str], quick: bool) -> tuple[np.ndarray, np.ndarray]:
    buffer, stop = padded("\n".join(texts).encode() + b"\n")
    values, lengths = np.empty(len(texts)), np.empty(len(texts), np.uint64)
    read_all(buffer, np.uint64(stop), values, lengths, quick)
    return values, lengths


def check(texts: list[str]) -> None:
    expected = np.array([float(text) for text in texts])
    for quick in (True, False):
        values, lengths = read_texts(texts, quick)
        wrong = np.flatnonzero(values.view(np.uint64) != expected.view(np.uint64))
        assert not len(wrong), [(texts[k], values[k], expected[k]) for k in wrong[:3]]
        assert lengths.tolist() == list(map(len, texts))


def test_known_numbers() -> None:
    halves = ["9007199254740993", "9007199254740992.5", "1.00000000000000011102230246251565", "0.5"]
    edges = ["1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e400"]
    small = ["4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324"]
    normal = ["2.2250738585072014e-308", "2.2250738585072011e-308", "1e-400", "0e400", "-0", "-0.0"]
    plain = ["+1.", ".5", "1e+05", "1e-5", "1E5", "00012", "12345678", "123456789", "0.12345678"]
    more = ["1e0000000000000000005", "1e-99999999999999999999", "0e99999999999999999999"]
    long = ["1." + "0" * 800 + "1", "0." + "0" * 400 + "1", "9" * 800, "1" * 400 + "e-400"]
    far = ["0." + "0" * 5000 + "1e5001", "1" + "0" * 5000 + "e-5000"]
    check(halves + edges + small + normal + plain + more + long + far)


@pytest.mark.compiled
def test_random_numbers_of_every_shape() -> None:
    rng = random.Random(1)
    check([decimal(rng) for _ in range(20_000)])


@pytest.mark.fuzz
def test_a_million_numbers_of_every_shape() -> None:
    rng = random.Random(2)
    for _ in range(50):
        check([decimal(rng) for _ in range(20_000)])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_what_python_writes_is_read_back(values: list[float]) -> None:
    check([repr(value) for value in values] + [f"{value:.17e}" for value in values])


@settings(max_examples=300)
@given(st.text(alphabet="0123456789+-.eE_xnai ", min_size=1, max_size=30))
def test_where_a_number_ends(text: str) -> None:
    """The longest beginning that is a number is taken, and nothing where there is none."""
    length = max((k for k in range(len(text) + 1) if is_number(text[:k])), default=0)
    for quick in (True, False):
        values, lengths = read_texts([text], quick)
        assert lengths[0] == length
        assert not length or values[0] == float(text[:length])


@pytest.mark.parametrize("zeros", ["0." + "0" * 30, "0" * 30, "." + "0" * 30, "0" * 30 + "."])
@pytest.mark.parametrize("tail", [".", ".00.5", "..5", "x", ".0e5", ""])
def test_zeros_end_where_they_end(zeros: str, tail: str) -> None:
    text = zeros + tail
    length = max(k for k in range(len(text) + 1) if is_number(text[:k]))
    for quick in (True, False):
        values, lengths = read_texts([text], quick)
        assert (values[0], lengths[0]) == (0.0, length)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text and not set(text) & set("_nai")


@pytest.mark.compiled
@pytest.mark.parametrize(
    "text", ["1.5", "-12.25e3", "0.1", "123456789012345678901234567890.5", "x"]
)
def test_interpreted_kernels_agree(text: str) -> None:
    buffer, _ = padded(text.encode())
    with np.errstate(over="ignore"):
        value, end = number.py_func(buffer, np.uint64(0))
    values, lengths = read_texts([text], quick=True)
    assert (value, end) == (values[0], lengths[0])


@pytest.mark.parametrize(
    "text", ["", "x", "0", "7x", "12345678", "123456789:", "9" * 19, "0" * 30 + "5", "9" * 20]
)
def test_integers(text: str) -> None:
    digits = text.rstrip("x:")
    value, end = integer(padded(text.encode() + b"\n")[0], np.uint64(0))
    assert end == len(digits)
    assert value == (int(HUGE) if len(digits) == 20 else int(digits or "0"))
