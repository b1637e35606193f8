"""Numbers for print that stay true: floors are rounded down, bounds up, parameters kept exact."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction


def down(value: float, digits: int = 6) -> str:
    """Return the number to `digits` digits, not above its value.

    >>> down(0.99999999)
    '0.999999'
    """
    return _rounded(value, digits, ROUND_FLOOR)


def up(value: float, digits: int = 6) -> str:
    """Return the number to `digits` digits, not below its value.

    >>> up(12.3456701)
    '12.3457'
    """
    return _rounded(value, digits, ROUND_CEILING)


def exact(number: float) -> str:
    """Return all digits of a number: with fewer the statement would be about another one.

    >>> exact(2.0), exact(0.1)
    ('2', '0.1')
    """
    return f"{float(number)!r}".removesuffix(".0")


def down_each(total: float, count: float) -> float:
    """Return total / count, not above it: the division must not round up either.

    >>> Fraction(down_each(0.1, 3)) * 3 <= Fraction(0.1)
    True
    """
    each = total / count
    if math.isfinite(total) and Fraction(each) * Fraction(count) > Fraction(total):
        each = math.nextafter(each, -math.inf)
    return each


def up_each(total: float, count: float) -> float:
    """Return total / count, not below it: the division must not round down either.

    >>> up(up_each(1.125, 3)), up(up_each(math.nextafter(1.125, 2.0), 3))
    ('0.375', '0.375001')
    """
    return -down_each(-total, count)


def up_minus(a: float, b: float) -> float:
    """Return a - b, not below it: the difference of doubles must not round down.

    >>> 1.0 + 1e-17, up_minus(1.0, -1e-17) > 1.0
    (1.0, True)
    """
    apart = a - b
    if math.isfinite(apart) and Fraction(apart) < Fraction(a) - Fraction(b):
        apart = math.nextafter(apart, math.inf)
    return apart


def _rounded(value: float, digits: int, rounding: str) -> str:
    exact = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    return f"{float(exact):.{digits}g}" if exact.is_finite() else str(value)
