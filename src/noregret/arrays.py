"""Validate numbers, vectors and arrays that a user gives: the checks that all packages share.

numpy converts silently: it drops the mask of a masked array, turns dates into counts of days, and
parses text. Refuse these, so that no unintended number is learnt.
"""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.visible import shown

Floats = npt.NDArray[np.floating[Any]]
Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
ArrayLike = npt.ArrayLike

#: Above this not every whole number is a float: a count kept as a float would stop growing.
LARGEST_COUNT = 2**53

_MUST = "must hold numbers"
#: The requirement in messages about vectors.
VECTOR = "must be a vector of real numbers"
_KINDS = {
    "c": "complex numbers ({}), expected real ones",
    "M": "dates ({}): subtract one and divide by a unit",
    "m": "durations ({}): divide them by a unit",
    "S": "text ({})",
    "U": "text ({})",
    "T": "text ({})",
    "V": "records ({}): give their fields as columns",
}


def refuse_masked(name: str, values: Any, must: str = _MUST) -> None:
    """Refuse a masked array, and a list of masked arrays.

    >>> refuse_masked("y", np.ma.array([1.0, 2.0], mask=[True, False]))
    Traceback (most recent call last):
    ValueError: y must hold numbers: found a masked array; fill or leave out what it masks
    """
    found = isinstance(values, np.ma.MaskedArray)
    if not found and isinstance(values, list | tuple):
        found = any(isinstance(one, np.ma.MaskedArray) for one in values)
    if found:
        raise ValueError(f"{name} {must}: found a masked array; fill or leave out what it masks")


def refuse_kind(name: str, dtype: Any, kinds: str = "".join(_KINDS), must: str = _MUST) -> None:
    """Refuse an array whose dtype is of one of these kinds.

    >>> refuse_kind("X", np.dtype("datetime64[D]"))
    Traceback (most recent call last):
    ValueError: X must hold numbers: found dates (datetime64[D]): subtract one and divide by a unit
    """
    kind = getattr(dtype, "kind", "")
    if kind and kind in kinds:
        raise ValueError(f"{name} {must}: found {_KINDS[kind].format(dtype)}")


def real_array(name: str, values: Any, must: str = _MUST) -> Floats:
    """Return float32 and float64 as they are, other real numbers as float64; refuse the rest.

    `name` and `must` begin the message. Arrays of objects may hold real numbers only.

    >>> real_array("X", [[1, True], [2.5, 0]]).tolist()
    [[1.0, 1.0], [2.5, 0.0]]
    """
    refuse_masked(name, values, must)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} {must}: {error}") from error
    if array.dtype.kind == "f" and array.dtype.itemsize in (4, 8) and array.dtype.isnative:
        return array
    refuse_kind(name, array.dtype, must=must)
    if array.dtype.kind == "O":
        for one in array.flat:
            if not_real(one):
                raise ValueError(f"{name} {must}: found {type(one).__name__}")
    try:
        converted: Floats = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} {must}: {error}") from error
    return converted


def not_real(value: object) -> bool:
    """Tell whether a value is not a real number of Python, numpy or `decimal`.

    >>> [not_real(one) for one in (1, np.float32(1), True, Decimal("0.1"), 1j, "1", None)]
    [False, False, False, False, True, True, True]
    """
    # timedelta64 is a subclass of numpy's signed integers.
    return isinstance(value, np.timedelta64) or not isinstance(value, Real | Decimal | np.bool_)


def first_true(mask: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first entry that is True, () if none is.

    >>> first_true(np.array([[False, False], [True, True]])), first_true(np.zeros(2, bool))
    ((1, 0), ())
    """
    return tuple(np.argwhere(mask)[0].tolist()) if mask.any() else ()


def as_real(name: str, value: Any, must: str = "must be a number") -> float:
    """Return one real number as a float, infinity and NaN included; refuse text.

    Text that reads as a number is most often a column that was not parsed. `name` and `must` begin
    the message.

    >>> as_real("eta", 1), as_real("eta", np.float32(0.5))
    (1.0, 0.5)
    """
    # A 0-d array is judged by what it holds.
    held = value[()] if type(value) is np.ndarray and value.ndim == 0 else value
    text = isinstance(held, str | bytes | np.generic | np.ma.MaskedArray) and not_real(held)
    try:
        if not text and np.ndim(held) == 0:
            return float(held)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} {must}, got {shown(value)}")


def as_number(name: str, value: Any) -> float:
    """Return one finite number as a float.

    >>> as_number("value", [1.0])
    Traceback (most recent call last):
    ValueError: value must be one number, got the shape (1,)
    """
    if np.ndim(value) != 0:
        raise ValueError(f"{name} must be one number, got the shape {np.shape(value)}")
    number = as_real(name, value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {number}")
    return number


def as_positive(name: str, value: Any, most: float = math.inf) -> float:
    """Return a finite number above 0 and not above `most`; refuse True.

    >>> as_positive("alpha", 2, most=1.0)
    Traceback (most recent call last):
    ValueError: alpha must be a finite number above 0 and at most 1, got 2
    """
    limit = "" if most == math.inf else f" and at most {most:g}"
    must = f"must be a finite number above 0{limit}"
    number = as_real(name, value, must)
    if _boolean(value) or not 0.0 < number <= most or number == math.inf:
        raise ValueError(f"{name} {must}, got {shown(value)}")
    return number


def as_whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number from `least` to 2^53; 1e6 is one, 2.5 and True are not.

    >>> as_whole("horizon", 1e3)
    1000
    """
    must = f"must be a whole number >= {least}"
    number = as_real(name, value, must)
    if _boolean(value) or not least <= number < math.inf or number % 1.0:
        raise ValueError(f"{name} {must}, got {shown(value)}")
    if value > LARGEST_COUNT:
        raise ValueError(f"{name} must be a whole number up to 2^53, got {shown(value)}")
    return int(number)


def _boolean(value: Any) -> bool:
    """Tell whether a value is True or False, of Python or numpy."""
    return isinstance(value, bool) or bool(getattr(value, "dtype", None) == np.bool_)


def as_count(name: str, value: Any, least: int = 1) -> int:
    """Return an integer >= `least` that counts things, such as experts or arms; refuse 2.0.

    >>> as_count("arms", np.int64(3))
    3
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {shown(value)}")
    return int(value)


def as_vector(name: str, values: Any, count: int | None = None, finite: bool = True) -> Vector:
    """Return a fresh float64 vector, of `count` components if that is given.

    `finite`: refuse infinities and NaN [default: True].

    >>> as_vector("w", [1, 2], 3)
    Traceback (most recent call last):
    ValueError: w has shape (2,), expected (3,): one number a coordinate
    """
    vector = np.array(real_array(name, values, VECTOR), dtype=np.float64)
    if count is not None and vector.shape != (count,):
        raise ValueError(
            f"{name} has shape {vector.shape}, expected ({count},): one number a coordinate"
        )
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"{name} must be a non-empty vector, got the shape {vector.shape}")
    if finite and not np.isfinite(vector).all():
        i = int(np.argmin(np.isfinite(vector)))
        raise ValueError(f"{name} must be finite, got {vector[i]} at index {i}")
    return vector


def aligned(rows: int, columns: int) -> Vector:
    """Return zeros aligned to 64 bytes, so that few records straddle two cache lines.

    >>> aligned(2, 3)
    array([[0., 0., 0.],
           [0., 0., 0.]])
    """
    storage = np.zeros(rows * columns + 7)
    start = -storage.ctypes.data % 64 // 8
    return storage[start : start + rows * columns].reshape(rows, columns)
