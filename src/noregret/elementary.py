"""Elementary functions of which compiled loops have a form of their own.

Interpreted they are those of `math`. Compiled they are a few instructions without a call, so
that a loop over features computes several of them at a time.
"""

from __future__ import annotations

import math


def exp(x: float) -> float:
    """Return e^x, compiled to one unit in the last place; 0 below -708, where `math` is denormal.

    >>> exp(0.0)
    1.0
    """
    return math.exp(x)


def log1p_unit(x: float) -> float:
    """Return ln(1 + x) for 0 <= x <= 1, compiled to one unit in the last place.

    >>> log1p_unit(0.0)
    0.0
    """
    return math.log1p(x)


def sqrt(x: float) -> float:
    """Return the square root.

    >>> sqrt(4.0)
    2.0
    """
    return math.sqrt(x)
