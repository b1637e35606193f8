"""Printed numbers, read exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A number as it stands in a text: its exact value, and how coarse its last digit is."""

    text: str

    @property
    def infinite(self) -> bool:
        return self.text.strip() in ("inf", "-inf", "nan")

    @property
    def value(self) -> Fraction:
        """The exact value of the digits; an infinite one has none."""
        if self.infinite:
            raise ValueError(f"{self.text} has no exact value")
        return Fraction(self.text.strip().replace(",", "").rstrip("%"))

    def unit(self, digits: int) -> Fraction:
        """Return what the last of so many significant digits stands for."""
        value = abs(self.value)
        if value == 0:
            return Fraction(0)
        power = math.floor(_log10(value))
        while Fraction(10) ** power > value:
            power -= 1
        while Fraction(10) ** (power + 1) <= value:
            power += 1
        return Fraction(10) ** (power - digits + 1)

    def __str__(self) -> str:
        return self.text


def _log10(value: Fraction) -> float:
    return math.log10(value.numerator) - math.log10(value.denominator)


def nearest(printed: Figure, true: Any, digits: int = 6, room: Any = 0) -> bool:
    """Tell whether a number is printed as a rounding of the true one, to nearest or outwards.

    `room` is how far the true number itself may be off, rounding of doubles for instance.
    """
    if printed.infinite:
        return False
    away = abs(printed.value - Fraction(true))
    # A number that is printed with fewer digits ends with zeros that are not printed; that of
    # the next power of ten below has a smaller last digit.
    return away <= printed.unit(digits) + Fraction(room)


def at_most(printed: Figure, true: Any, room: Any = 0) -> bool:
    """Tell whether what is printed as a lower bound lies below the true number."""
    if printed.infinite:
        return printed.text.strip() == "-inf"
    return printed.value <= Fraction(true) + Fraction(room)


def at_least(printed: Figure, true: Any, room: Any = 0) -> bool:
    """Tell whether what is printed as an upper bound lies above the true number."""
    if printed.infinite:
        return printed.text.strip() == "inf"
    return printed.value >= Fraction(true) - Fraction(room)


def same_number(printed: Figure, number: Any, digits: int = 6) -> bool:
    """Tell whether a number of the JSON is the printed one with more digits.

    A number that is not finite is null in JSON.
    """
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        return printed.infinite
    return not printed.infinite and nearest(printed, Fraction(number), digits)
