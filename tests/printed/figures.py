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
        return unit_of(self.value, digits)

    @property
    def place(self) -> Fraction:
        """What the last digit stands for that is written, zeros included."""
        digits, _, power = self.text.strip().rstrip("%").lower().partition("e")
        decimals = len(digits.partition(".")[2])
        return Fraction(10) ** (int(power or 0) - decimals)

    def __str__(self) -> str:
        return self.text


def _log10(value: Fraction) -> float:
    return math.log10(value.numerator) - math.log10(value.denominator)


def unit_of(value: Any, digits: int) -> Fraction:
    """Return what the last of so many significant digits of a number stands for."""
    size = abs(Fraction(value))
    if size == 0:
        return Fraction(0)
    power = math.floor(_log10(size))
    while Fraction(10) ** power > size:
        power -= 1
    while Fraction(10) ** (power + 1) <= size:
        power += 1
    return Fraction(10) ** (power - digits + 1)


def nearest(printed: Figure, true: Any, digits: int = 6, room: Any = 0) -> bool:
    """Tell whether a measured number is printed within half a unit of its last digit.

    `room` is how far the true number itself may be off, rounding of doubles for instance.
    """
    if printed.infinite:
        return False
    half = unit_of(true, digits) / 2
    return abs(printed.value - Fraction(true)) <= half + Fraction(room)


def rounded_down(printed: Figure, true: Any, digits: int = 6, room: Any = 0) -> bool:
    """Tell whether a number is printed not above the true one, and less than a unit below it.

    `room` is how far below it may lie beside: nothing excuses a number above.
    """
    if printed.infinite:
        return False
    below = Fraction(true) - printed.value
    return 0 <= below <= unit_of(true, digits) + Fraction(room)


def rounded_up(printed: Figure, true: Any, digits: int = 6, room: Any = 0) -> bool:
    """Tell whether a number is printed not below the true one, and less than a unit above it."""
    if printed.infinite:
        return False
    above = printed.value - Fraction(true)
    # One just below a power of ten is printed as that power, the unit of which is larger.
    unit = max(unit_of(true, digits), unit_of(printed.value, digits) if _is_power(printed) else 0)
    return 0 <= above <= unit + Fraction(room)


def _is_power(printed: Figure) -> bool:
    return unit_of(printed.value, 1) == abs(printed.value) != 0


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


#: How a number of the JSON becomes the printed one: measured, a lower bound, an upper bound.
WAYS = {"nearest": nearest, "down": rounded_down, "up": rounded_up}


def same_number(printed: Figure, number: Any, digits: int = 6, way: str = "nearest") -> bool:
    """Tell whether a number of the JSON is the printed one with more digits, rounded that way.

    A number that is not finite is null in JSON.
    """
    if number is None or (isinstance(number, float) and not math.isfinite(number)):
        return printed.infinite
    return not printed.infinite and WAYS[way](printed, Fraction(number), digits)
