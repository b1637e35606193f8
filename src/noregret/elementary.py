"""Elementary functions that mean the same interpreted and compiled, at extreme points too.

Machine code goes on with infinity or NaN where Python's own functions and its division raise.
A formula that may overflow, divide by 0 or leave the domain of a function therefore calls these,
so that both forms refuse the same rows. Compiled, `exp` and `log1p_unit` are a few instructions
without a call, so that a loop over features computes several of them at a time. `log_sum_exp` is
for arrays, interpreted only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: Below the first e^x is 0, above the second infinite.
LEAST_EXPONENT, LARGEST_EXPONENT = -708.0, 709.782712893384


def exp(x: float) -> float:
    """Return e^x, compiled to one unit in the last place; 0 below -708, where `math` is denormal.

    >>> exp(0.0), exp(-709.0), exp(1000.0)
    (1.0, 0.0, inf)
    """
    if x < LEAST_EXPONENT:
        return 0.0
    return math.inf if x > LARGEST_EXPONENT else math.exp(x)


def log(x: float) -> float:
    """Return ln x, minus infinity at 0 and NaN below.

    >>> log(1.0), log(0.0), log(-1.0)
    (0.0, -inf, nan)
    """
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def log1p_unit(x: float) -> float:
    """Return ln(1 + x) for 0 <= x <= 1, compiled to one unit in the last place.

    >>> log1p_unit(0.0)
    0.0
    """
    return math.log1p(x)


def sqrt(x: float) -> float:
    """Return the square root, NaN below 0.

    >>> sqrt(4.0), sqrt(-4.0)
    (2.0, nan)
    """
    return math.nan if x < 0.0 else math.sqrt(x)


def power(x: float, y: float) -> float:
    """Return x^y, infinite where it overflows or 0 is raised to less than 0, as C's pow does.

    >>> power(2.0, 3.0), power(1e200, 2.0), power(0.0, -1.0), power(-1.0, 0.5)
    (8.0, inf, inf, nan)
    """
    try:
        return math.pow(x, y)
    except (OverflowError, ValueError):
        if x < 0.0 and y % 1.0 != 0.0:
            return math.nan
        # Odd powers keep the sign, that of -0 too.
        return math.copysign(math.inf, x) if y % 2.0 == 1.0 else math.inf


def divide(x: float, y: float) -> float:
    """Return x / y, infinite for y = 0 and NaN for 0 / 0.

    >>> divide(1.0, 4.0), divide(-1.0, 0.0), divide(0.0, 0.0)
    (0.25, -inf, nan)
    """
    if y != 0.0:
        return x / y
    # 0 times infinity is NaN.
    return x * math.copysign(math.inf, y)


def log_sum_exp(terms: Any) -> Any:
    """Return ln sum_i e^(terms_i) along the last axis, minus infinity for a sum without terms.

    Each sum is taken from its own largest term, so that it neither overflows nor vanishes.

    >>> round(float(log_sum_exp([1000.0, 1000.0])) - 1000.0, 12), float(log_sum_exp([]))
    (0.69314718056, -inf)
    """
    array = np.asarray(terms, np.float64)
    top = array.max(axis=-1, initial=-np.inf)
    # With minus infinity for every term the differences would be NaN.
    shift = np.where(top == -np.inf, 0.0, top)
    parts = np.exp(array - shift[..., None])
    # A single sum is rounded once only: learners feed it back round after round.
    total = parts.sum(axis=-1) if array.ndim > 1 else math.fsum(parts)
    with np.errstate(divide="ignore"):
        return shift + np.log(total)
