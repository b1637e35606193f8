"""Numbers for print that stay true: floors are rounded down, bounds up."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def down(value: float, digits: int = 6) -> str:
    """Return the number to so many digits, not above its value.

    >>> down(0.99999999)
    '0.999999'
    """
    return _rounded(value, digits, ROUND_FLOOR)


def up(value: float, digits: int = 6) -> str:
    """Return the number to so many digits, not below its value.

    >>> up(12.3456701)
    '12.3457'
    """
    return _rounded(value, digits, ROUND_CEILING)


def _rounded(value: float, digits: int, rounding: str) -> str:
    exact = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    return f"{float(exact):.{digits}g}" if exact.is_finite() else str(value)
