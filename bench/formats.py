"""The generated set as text: svmlight and Vowpal Wabbit files from a CSR matrix, quickly."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bench.data import Data
from noregret.jit import kernel

TextName = Literal["svmlight", "vw"]

#: Significant digits of a value.
DIGITS = 6
#: Rows written at once.
PORTION = 20_000
#: The most bytes of one feature: " 4294967295:-1.23457e-308", and of a label with its bar.
_WIDEST_FEATURE, _WIDEST_LABEL = 26, 32

_SMALLEST = 1e-290
#: 10^(k - 330), and 10^k as whole numbers.
_TENS = np.array([float(f"1e{k - 330}") for k in range(640)])
_WHOLE_TENS = 10 ** np.arange(19)

_POINT, _MINUS, _ZERO, _E = (np.uint8(ord(c)) for c in ".-0e")


@kernel
def _write_integer(text, at, number):  # type: ignore[no-untyped-def]
    digits = 1
    while number >= _WHOLE_TENS[digits]:
        digits += 1
    for k in range(digits - 1, -1, -1):
        text[at + k] = _ZERO + np.uint8(number % 10)
        number //= 10
    return at + digits


@kernel
def _write_number(text, at, value):  # type: ignore[no-untyped-def]
    """Write a number as "%.6g" does, but for a last digit that is a tie."""
    if value < 0.0:
        text[at] = _MINUS
        at += 1
        value = -value
    if value == 0.0:
        text[at] = _ZERO
        return at + 1
    exponent = -1
    while value < _TENS[exponent + 330]:
        exponent -= 1
    while value >= _TENS[exponent + 331]:
        exponent += 1
    mantissa = int(np.rint(value * _TENS[330 + DIGITS - 1 - exponent]))
    if mantissa == 10**DIGITS:
        exponent += 1
        mantissa = 10 ** (DIGITS - 1)
    digits = DIGITS
    while mantissa % 10 == 0:
        mantissa //= 10
        digits -= 1
    plain = -5 < exponent < DIGITS
    # How many of the digits stand before the point.
    whole = exponent + 1 if plain else 1
    if whole <= 0:
        text[at] = _ZERO
        text[at + 1] = _POINT
        at += 2
        for _ in range(-whole):
            text[at] = _ZERO
            at += 1
    # From the last digit to the first; zeros before the point that were taken off come back.
    shown = max(digits, whole)
    end = at + shown + int(0 < whole < shown)
    place = end
    for k in range(shown - 1, -1, -1):
        place -= 1
        text[place] = _ZERO + np.uint8(mantissa % 10 if k < digits else 0)
        mantissa = mantissa // 10 if k < digits else mantissa
        if k == whole and k > 0:
            place -= 1
            text[place] = _POINT
    at = end
    if not plain:
        text[at] = _E
        text[at + 1] = _MINUS if exponent < 0 else np.uint8(ord("+"))
        at += 2
        if abs(exponent) < 10:
            text[at] = _ZERO
            at += 1
        at = _write_integer(text, at, abs(exponent))
    return at


@kernel
def _write_rows(text, indptr, indices, values, y, start, stop, first, bar):  # type: ignore[no-untyped-def]
    at = 0
    for row in range(start, stop):
        at = _write_number(text, at, y[row])
        for k in range(bar.shape[0]):
            text[at] = bar[k]
            at += 1
        for k in range(indptr[row], indptr[row + 1]):
            text[at] = np.uint8(32)
            at = _write_integer(text, at + 1, np.int64(indices[k]) + first)
            text[at] = np.uint8(58)
            at = _write_number(text, at + 1, np.float64(values[k]))
        text[at] = np.uint8(10)
        at += 1
    return at


def as_text(X: Any, y: npt.NDArray[np.float64], name: TextName) -> bytes:
    """Return rows as text: columns counted from 1, in the namespace f of a .vw file."""
    for numbers in (X.data, y):
        size = np.abs(numbers[numbers != 0].astype(np.float64))
        if not np.all((size >= _SMALLEST) & (size <= 1.0 / _SMALLEST)):
            raise ValueError("expected values of size 1e-290 to 1e290, or 0")
    text = np.empty(X.nnz * _WIDEST_FEATURE + len(y) * _WIDEST_LABEL, np.uint8)
    bar = np.frombuffer(bytearray(b" |f" if name == "vw" else b""), np.uint8)
    size = _write_rows(text, X.indptr, X.indices, X.data, y, 0, len(y), 1, bar)
    return text[:size].tobytes()


def write(data: Data, path: Path, name: TextName) -> int:
    """Write a whole set as text; return how many bytes that were."""
    size = 0
    with path.open("wb") as file:
        for start in range(0, len(data.y), PORTION):
            part = slice(start, start + PORTION)
            size += file.write(as_text(data.X[part], data.y[part], name))
    return size
