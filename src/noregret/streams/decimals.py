"""Numbers in text, in plain Python: what the kernels of `numbers` must agree with."""

from __future__ import annotations

import math
import re

_DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def decimal(text: bytes) -> float:
    """Return the number that a text writes, nan if it writes none: `float` without its names.

    >>> decimal(b"-1.5e3"), decimal(b"1_000"), decimal(b"inf"), decimal(b"1e999")
    (-1500.0, nan, nan, inf)
    """
    return float(text) if _DECIMAL.fullmatch(text) else math.nan


def finite(text: bytes) -> float | None:
    """Return the number that a text writes, None if it writes none or one too large.

    >>> finite(b".5"), finite(b"1e999")
    (0.5, None)
    """
    value = decimal(text)
    return value if math.isfinite(value) else None
