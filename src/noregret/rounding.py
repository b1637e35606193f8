"""Bounds on rounding errors in double precision, and numbers rounded outwards by them.

One rounding of a number of absolute size s is wrong by at most EPSILON/2 s. The functions here
count a whole EPSILON for each, so that errors of errors (roundings below 2^25) are covered too.
`two_sum`, `add_twofold` and `add_compensated` are plain functions: kernels call the first two as
they are, and `noregret.jit.add_compensated`, the last one compiled into its caller.

Decimals for print stay true as well: floors are rounded down, bounds up, parameters kept exact.
Nothing here needs numpy, which takes long to load.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float64]

#: The distance from 1 to the next double: one rounding loses at most half of it, relatively.
EPSILON = 2.0**-52
#: The smallest double above 0: one underflow of a product or quotient loses at most half of it.
SMALLEST = 5e-324
#: Upper bound on the error of one underflow after multiplication by features, slopes, weights,
#: norms or radii with a product below 1e123. Added once for each product that can underflow.
UNDERFLOW = 1e-200
#: Upper bound on what up to 2e23 underflowing squares take from the root of their sum.
ROOT_UNDERFLOW = 1e-150
#: Factor that covers the rounding errors of a theorem's closed form.
CLOSED_FORM = 1.0 + 1e-12

_Size = TypeVar("_Size", float, "Vector")


def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return s, e with s = a + b rounded and s + e = a + b exactly, unless s overflows.

    Reference: Knuth, The Art of Computer Programming 2, 4.2.2, Theorem B.

    >>> two_sum(1e16, 1.0)
    (1e+16, 1.0)
    """
    total = a + b
    rounded = total - a
    return total, (a - (total - rounded)) + (b - rounded)


def add_twofold(total: float, low: float, term: float) -> tuple[float, float]:
    """Return total + term rounded, and `low` with what that rounding lost added to it.

    >>> add_twofold(1e16, 0.5, 1.0)
    (1e+16, 1.5)
    """
    total, lost = two_sum(total, term)
    return total, low + lost


def add_compensated(sums: Vector, place: int, term: float) -> None:
    """Add a term to sums[place], and what that rounding lost to sums[place + 1].

    >>> import numpy as np
    >>> sums = np.zeros(2)
    >>> for term in (1e16, 1.0, -1e16):
    ...     add_compensated(sums, 0, term)
    >>> float(sums[0] + sums[1])
    1.0
    """
    sums[place], lost = two_sum(float(sums[place]), term)
    sums[place + 1] += lost


def rounding_error(roundings: float, size: _Size) -> _Size:
    """Return an upper bound on the error of `roundings` roundings of numbers of size `size`.

    >>> rounding_error(2.0, 1.0) == 2.0 * EPSILON
    True
    """
    return roundings * EPSILON * size


def grown(value: float, roundings: float) -> float:
    """Return value (1 + roundings EPSILON), an upper bound on a number >= 0 after `roundings`.

    >>> 0.1 + 0.2 < grown(0.1 + 0.2, 1.0)
    True
    """
    return value * (1.0 + roundings * EPSILON)


def certified_floor(total: float, length: float, slack: float, nonnegative: bool) -> float:
    """Return total - length - slack with its own rounding taken off, minus infinity for NaN.

    `total` is the height at u = 0 of lines under the losses, `length` how far these fall within
    the class of competitors, `slack` what rounding did to both, its own last place included.
    Losses that cannot be negative (`nonnegative`) cannot sum to less than 0 either.

    >>> 0.5 - 1e-12 < certified_floor(2.0, 1.5, 0.0, True) < 0.5
    True
    >>> certified_floor(1.0, 1.5, 0.0, True), certified_floor(math.inf, math.inf, 0.0, False)
    (0.0, -inf)
    """
    own = rounding_error(8.0, abs(total) + abs(length))
    return sound_floor((total - length) - (slack + own), nonnegative)


def sound_floor(value: float, nonnegative: bool) -> float:
    """Return a lower bound, minus infinity where it is NaN: something overflowed.

    >>> sound_floor(1.0, False), sound_floor(-1.0, True), sound_floor(math.nan, False)
    (1.0, 0.0, -inf)
    """
    floor = -math.inf if math.isnan(value) else value
    return max(floor, 0.0) if nonnegative else floor


def certified_ceiling(value: float) -> float:
    """Return an upper bound, infinite where it is NaN: something overflowed, nothing is known.

    >>> certified_ceiling(1.0), certified_ceiling(math.nan)
    (1.0, inf)
    """
    return math.inf if math.isnan(value) else value


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
    """Return the shortest decimal that reads back as this float.

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
    decimal = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    if 0.0 < abs(value) < 2.0**-1022:
        # A denormal float has too few digits to hold the decimal.
        return f"{decimal:.{digits}g}"
    return f"{float(decimal):.{digits}g}" if decimal.is_finite() else str(value)
