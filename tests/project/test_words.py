"""Words and bytes: the compiled functions do as the interpreted ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

from noregret.jit import (
    byte_at,
    float_of,
    high_product,
    kernel,
    leading_zeros,
    load_word,
    low_product,
    ones,
    span_above,
    strangers,
    text_of,
    trailing_zeros,
)
from noregret.jit.words import SPAN


@kernel
def on_words(a, b):  # type: ignore[no-untyped-def]
    return (
        trailing_zeros(a),
        leading_zeros(a),
        ones(a),
        high_product(a, b),
        low_product(a, b),
        float_of(a),
    )


@kernel
def on_array(array, k, byte):  # type: ignore[no-untyped-def]
    return (
        byte_at(array, k),
        load_word(array, k),
        span_above(array, k, byte),
        strangers(array, k),
    )


@kernel
def on_text(array, k, byte):  # type: ignore[no-untyped-def]
    text = text_of(array)
    return byte_at(text, k), load_word(text, k), span_above(text, k, byte), strangers(text, k)


def bits(results: Any) -> list[bytes]:
    return [np.asarray(result).tobytes() for result in results]


words = st.integers(0, 2**64 - 1) | st.integers(0, 63).map(lambda k: 1 << k) | st.just(0)


@pytest.mark.compiled
@given(words, words)
def test_words(a: int, b: int) -> None:
    pair = np.uint64(a), np.uint64(b)
    assert bits(on_words(*pair)) == bits(on_words.py_func(*pair))
    high, low = on_words(*pair)[3:5]
    assert (high << 64) + low == a * b


@pytest.mark.compiled
@given(
    st.binary(min_size=SPAN + 20, max_size=SPAN + 20)
    | st.text("0123456789:. ", min_size=SPAN + 20, max_size=SPAN + 20).map(str.encode),
    st.integers(0, 20),
    st.integers(0, 255),
)
def test_bytes(data: bytes, k: int, byte: int) -> None:
    array = np.frombuffer(data, np.uint8)
    for given_array in (array, array.copy()):
        arguments = given_array, np.uint64(k), np.uint8(byte)
        expected = tuple(map(int, on_text.py_func(*arguments)))
        assert on_text(*arguments) == on_array(*arguments) == expected
    assert on_text(*arguments)[3] == sum(
        1 << j for j in range(SPAN) if not data[k + j : k + j + 1].isdigit()
    )


@pytest.mark.compiled
@pytest.mark.parametrize("array", [np.zeros(64), np.zeros(64, np.uint8)[::2]])
def test_what_is_no_text_is_refused(array: np.ndarray) -> None:
    with pytest.raises(TypingError, match="takes contiguous bytes"):
        on_array(array, np.uint64(0), np.uint8(0))
