"""Rounding: what double precision can lose, and numbers rounded outwards by that much.

One rounding of a number of absolute size s is wrong by at most EPSILON/2 s. The functions here
count a whole EPSILON for each, so that errors of errors (roundings below 2^25) are covered too.
`two_sum`, `add_twofold` and `add_compensated` are plain functions: kernels call the first two as
they are, and `noregret.jit.add_compensated`, the last one compiled into its caller.

A function whose name ends in `_upper` returns a number that is not below the true one: it adds
what its own rounding can have lost. Decimals for print stay true as well: floors are rounded down,
bounds up, parameters kept exact.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

#: The distance from 1 to the next double: one rounding loses at most half of it, relatively.
EPSILON = 2.0**-52
#: The smallest double above 0: one underflow of a product or quotient loses at most half of it.
SMALLEST = 5e-324
#: What one underflow can cost after it was multiplied, at most: by features, slopes, weights,
#: norms or radii whose product is below 1e123. Added once for each product that can underflow.
UNDERFLOW = 1e-200
#: What the root of a sum of squares can lose where squares underflow, for up to 2e23 of them.
ROOT_UNDERFLOW = 1e-150
#: What rounding can do to the closed form of a theorem, as a factor.
CLOSED_FORM = 1.0 + 1e-12
_PORTION = 1 << 16

Vector = npt.NDArray[np.float64]
_Size = TypeVar("_Size", float, Vector)


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


def norm_upper(z: Vector, p: float) -> float:
    """Return ||z||_p, rounded up.

    >>> 5.0 <= norm_upper(np.array([3.0, 4.0]), 2.0) < 5.0 + 1e-13
    True
    """
    largest = max(float(z.max(initial=0.0)), -float(z.min(initial=0.0)))
    if largest == 0.0 or p == math.inf:
        return largest
    total = 0.0
    # A portion at a time: vectors of millions of weights need no second one beside them.
    for start in range(0, len(z), _PORTION):
        ratio = np.abs(z[start : start + _PORTION]) / largest
        total += float(np.sum(ratio * ratio if p == 2.0 else ratio**p))
    value = largest * (math.sqrt(total) if p == 2.0 else math.pow(total, 1.0 / p))
    # Every term carries a few roundings (p of them through the power), the sum one a term;
    # ratios that underflow lose less than one smallest number each.
    return grown(value, len(z) + 8.0 + 4.0 * p) + len(z) * SMALLEST


def columns_upper(z: Vector) -> float:
    """Return the sum of the 2-norms of the rows of z, rounded up.

    >>> 7.0 <= columns_upper(np.array([[3.0, 4.0], [0.0, 2.0]])) < 7.0 + 1e-13
    True
    """
    return grown(math.fsum(norm_upper(row, 2.0) for row in z), 2.0)


def spectral_upper(z: Vector) -> float:
    """Return the largest singular value of a matrix, rounded up.

    It is the root of the largest eigenvalue of G = a a^T, a = z / max |z|. Whatever l and q came
    out as eigenvalues and eigenvectors, it is at most max l ||q||^2 + ||G - q l q^T||_F, with
    ||q||^2 <= 1 + ||q^T q - 1||_F: nothing is left to trust but sums of products.

    >>> 2.0 <= spectral_upper(np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])) < 2.0 + 1e-12
    True
    """
    frobenius = norm_upper(z.ravel(), 2.0)
    largest = max(float(z.max(initial=0.0)), -float(z.min(initial=0.0)))
    if not 0.0 < largest < math.inf:
        return frobenius
    a = (z if z.shape[0] <= z.shape[1] else z.T) / largest
    n, terms = a.shape
    gram = a @ a.T
    level, q = np.linalg.eigh(gram)
    square = float(np.sum(a * a))
    top = float(np.abs(level).max())
    off = float(np.linalg.norm(q.T @ q - np.eye(n)))
    off += rounding_error(2.0 * n * (n + 4.0), 1.0 + off)
    residual = float(np.linalg.norm(gram - (q * level) @ q.T))
    residual += rounding_error(2.0 * n * (n + 4.0), top) * (1.0 + off)
    residual += rounding_error(2.0 * (terms + 4.0), square)
    bound = grown(largest * math.sqrt(top * (1.0 + off) + residual), 32.0)
    # Entries of a are rounded, and may underflow.
    bound += rounding_error(1.0, frobenius) + n * terms * SMALLEST
    return float(min(bound, frobenius))


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
