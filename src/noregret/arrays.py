"""From what a user holds to an array of real numbers; what only looks like one is refused.

numpy converts without a word: it drops the mask of a masked array, turns dates into counts of
days, and parses text. A number that nobody meant would be learnt.
"""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]

_MUST = "must hold numbers"
#: What is said of a vector instead.
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
    """Refuse a masked array, and a list of such.

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
    """Refuse an array by its type, if that is one of these kinds of numpy.

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
    """Tell whether something is not a real number of Python, numpy or the like.

    >>> [not_real(one) for one in (1, np.float32(1), True, Decimal("0.1"), 1j, "1", None)]
    [False, False, False, False, True, True, True]
    """
    # A duration of numpy is one of its integers.
    return isinstance(value, np.timedelta64) or not isinstance(value, Real | Decimal | np.bool_)
