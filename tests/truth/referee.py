"""An independent judge of losses: exact arithmetic where a statement is close, fast elsewhere.

Losses are written here again from their definitions. Every sum is first computed in extended
precision with a generous error margin; only if a statement is not settled by that margin is
it computed exactly, in fractions (logistic loss: 60 decimal digits, rounded in the learner's
favour). So the referee's own rounding can neither hide a violation nor invent one.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret import losses
from noregret.losses import SquaredEpsilonInsensitive

Vector = npt.NDArray[np.float64]
Long = npt.NDArray[np.longdouble]

#: Relative margin of the fast sums: thousands of roundings of a 64-bit mantissa, or hundreds
#: of a 53-bit one where long doubles are no longer than doubles.
MARGIN = 1e-15 if np.finfo(np.longdouble).nmant > 60 else 1e-12

_DIGITS = decimal.Context(prec=60, Emin=-(10**6), Emax=10**6)
_ROUNDED = Fraction(1, 10**50)
_SMALLEST = Fraction(1, 10**300)


def hinge(excess: Any, zero: Any) -> Any:
    """Return [excess]+ for numbers of any kind."""
    return excess if excess > zero else zero


def exact_loss(loss: losses.Loss, y: Fraction, p: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on the loss from below and above, equal where the loss is rational."""
    if isinstance(loss, losses.Exponential):
        return _exponential(-y * p)
    value = _exact_rational(loss, y, p)
    return (value, value) if value is not None else _logistic(y * p)


def _exact_rational(loss: losses.Loss, y: Fraction, p: Fraction) -> Fraction | None:
    zero, half = Fraction(0), Fraction(1, 2)
    if isinstance(loss, losses.Hinge):
        return Fraction(hinge(Fraction(loss.margin) - y * p, zero))
    if isinstance(loss, losses.SquaredHinge):
        return half * hinge(Fraction(loss.margin) - y * p, zero) ** 2
    if isinstance(loss, losses.PowerHinge):
        # Whole powers only: the others are not rational.
        return hinge(Fraction(loss.margin) - y * p, zero) ** int(loss.r) / Fraction(loss.r)
    if isinstance(loss, losses.OneSidedHuber):
        excess = hinge(Fraction(loss.margin) - y * p, zero)
        return half * excess**2 if excess <= 2 else 2 * excess - 2
    if isinstance(loss, losses.WinnowHinge):
        return Fraction(hinge(1 - y * (2 * p - 1), zero))
    if isinstance(loss, losses.Squared):
        return (p - y) ** 2
    if isinstance(loss, losses.Absolute):
        return abs(p - y)
    if isinstance(loss, losses.EpsilonInsensitive):
        excess = Fraction(hinge(abs(p - y) - Fraction(loss.epsilon), zero))
        return half * excess**2 if isinstance(loss, SquaredEpsilonInsensitive) else excess
    if isinstance(loss, losses.Quantile):
        level = Fraction(loss.level)
        return max(level * (y - p), (1 - level) * (p - y))
    if isinstance(loss, losses.Huber):
        delta, size = Fraction(loss.delta), abs(p - y)
        return half * size**2 if size <= delta else delta * (size - half * delta)
    if hasattr(loss, "depth"):
        return half * (p - y) ** 2 - Fraction(loss.depth)
    return None


def _logistic(margin: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on ln(1 + exp(-margin))."""
    size, linear = abs(margin), max(-margin, Fraction(0))
    if size > 10**5:
        return linear, linear + Fraction(1, 10**40000)
    tail = _DIGITS.exp(-_DIGITS.divide(Decimal(size.numerator), Decimal(size.denominator)))
    if tail < Decimal("1e-25"):
        # ln(1 + e) lies between e - e^2 and e.
        e = Fraction(tail)
        return linear + e * (1 - e - _ROUNDED), linear + e * (1 + _ROUNDED)
    curved = Fraction(_DIGITS.ln(_DIGITS.add(Decimal(1), tail)))
    # Digits of 1 + tail after the 60th are lost, hence the absolute error.
    error = Fraction(1, 10**55) + curved * _ROUNDED
    return linear + curved - error, linear + curved + error


def _exponential(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on exp(exponent)."""
    if exponent < -(10**5):
        return Fraction(0), Fraction(1, 10**40000)
    if exponent > 10**5:
        # Beyond any double: a lower bound will do.
        return Fraction(10**40000), Fraction(10**40000)
    e = Fraction(
        _DIGITS.exp(_DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
    )
    return e * (1 - _ROUNDED), e * (1 + _ROUNDED)


def _fast(loss: losses.Loss, y: Long, p: Long) -> tuple[Long, Callable[[Long], Long]]:
    """Return the losses in extended precision, and a bound on how much an error of p costs."""
    one = np.ones_like(p)
    zero = np.zeros_like(p)
    if isinstance(loss, losses.Hinge):
        return np.maximum(loss.margin - y * p, zero), lambda e: e
    if isinstance(loss, losses.SquaredHinge):
        excess = np.maximum(loss.margin - y * p, zero)
        return excess**2 / 2, lambda e: (excess + e) * e
    if isinstance(loss, losses.PowerHinge):
        excess = np.maximum(loss.margin - y * p, zero)
        return excess**loss.r / loss.r, lambda e: (excess + e) ** (loss.r - 1) * e
    if isinstance(loss, losses.OneSidedHuber):
        excess = np.maximum(loss.margin - y * p, zero)
        reach = np.minimum(excess, 2 * one)
        return reach * (excess - reach / 2), lambda e: (reach + e) * e
    if isinstance(loss, losses.Exponential):
        value = np.exp(-y * p)
        return value, lambda e: value * np.expm1(e)
    if isinstance(loss, losses.WinnowHinge):
        return np.maximum(1 - y * (2 * p - 1), zero), lambda e: 2 * e
    if isinstance(loss, losses.Squared):
        return (p - y) ** 2, lambda e: 2 * (abs(p - y) + e) * e
    if isinstance(loss, losses.Absolute):
        return abs(p - y), lambda e: e
    if isinstance(loss, losses.EpsilonInsensitive):
        excess = np.maximum(abs(p - y) - loss.epsilon, zero)
        if isinstance(loss, SquaredEpsilonInsensitive):
            return excess**2 / 2, lambda e: (excess + e) * e
        return excess, lambda e: e
    if isinstance(loss, losses.Quantile):
        level = np.longdouble(loss.level)
        return np.maximum(level * (y - p), (1 - level) * (p - y)), lambda e: e
    if isinstance(loss, losses.Huber):
        reach = np.minimum(abs(p - y), loss.delta * one)
        return reach * (abs(p - y) - reach / 2), lambda e: (reach + e) * e
    if isinstance(loss, losses.Logistic):
        margin = y * p
        return np.log1p(np.exp(-abs(margin))) + np.maximum(-margin, zero), lambda e: e
    if hasattr(loss, "depth"):
        return (p - y) ** 2 / 2 - loss.depth, lambda e: (abs(p - y) + e) * e
    raise ValueError(f"the referee does not know {type(loss).__name__}")


def in_doubles(loss: losses.Loss, y: Vector, p: Vector) -> Vector:
    """Return each loss in plain doubles, for solvers."""
    value, _ = _fast(loss, y, p)  # type: ignore[arg-type]
    return np.asarray(value, np.float64)


def slopes(loss: losses.Loss, y: Vector, p: Vector) -> Vector:
    """Return a subgradient of each loss, for solvers."""
    if isinstance(loss, losses.Hinge):
        return np.where(y * p < loss.margin, -y, 0.0)
    if isinstance(loss, losses.SquaredHinge):
        return -y * np.maximum(loss.margin - y * p, 0.0)
    if isinstance(loss, losses.PowerHinge):
        return -y * np.maximum(loss.margin - y * p, 0.0) ** (loss.r - 1.0)
    if isinstance(loss, losses.OneSidedHuber):
        return -y * np.clip(loss.margin - y * p, 0.0, 2.0)
    if isinstance(loss, losses.Exponential):
        return -y * np.exp(-y * p)
    if isinstance(loss, losses.WinnowHinge):
        return np.where(y * (2.0 * p - 1.0) < 1.0, -2.0 * y, 0.0)
    if isinstance(loss, losses.Squared):
        return 2.0 * (p - y)
    if isinstance(loss, losses.Absolute):
        return np.sign(p - y)
    if isinstance(loss, SquaredEpsilonInsensitive):
        return np.sign(p - y) * np.maximum(abs(p - y) - loss.epsilon, 0.0)
    if isinstance(loss, losses.EpsilonInsensitive):
        return np.where(abs(p - y) > loss.epsilon, np.sign(p - y), 0.0)
    if isinstance(loss, losses.Quantile):
        return np.where(p > y, 1.0 - loss.level, -loss.level)
    if isinstance(loss, losses.Huber):
        return np.clip(p - y, -loss.delta, loss.delta)
    if isinstance(loss, losses.Logistic):
        return -y * np.exp(-np.logaddexp(0.0, y * p))
    return p - y


def relative_entropy(u: list[Fraction], base: Fraction) -> Fraction:
    """Return sum u_i ln(u_i / base) - u_i + base, rounded up."""
    total = Fraction(0)
    for v in u:
        total += base - v
        if v > 0:
            ratio = v / base
            parts = (_DIGITS.ln(Decimal(n)) for n in (ratio.numerator, ratio.denominator))
            top, bottom = map(Fraction, parts)
            total += v * (top - bottom + (abs(top) + abs(bottom)) * _ROUNDED)
    return total


def fractions(vector: Any) -> list[Fraction]:
    """Return the exact values of a vector."""
    return [Fraction(float(value)) for value in vector]


def _dyadic(value: float) -> tuple[int, int]:
    """Return n and k with value = n / 2^k."""
    numerator, denominator = value.as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def _dot(row: list[tuple[int, int, int]], u: list[tuple[int, int]]) -> Fraction:
    """Return <x, u>: shifted integers need no common divisor at every sum, as fractions do."""
    products = [(n * u[j][0], k + u[j][1]) for j, n, k in row]
    deepest = max((k for _, k in products), default=0)
    return Fraction(sum(n << (deepest - k) for n, k in products), 1 << deepest)


def _in_range(number: Any) -> float:
    """Return a float, infinite where a fraction is beyond the largest of them."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


class Referee:
    """Knows a stream and judges statements about the losses of fixed predictors on it."""

    def __init__(
        self,
        loss: losses.Loss,
        X: Vector,
        y: Vector,
        weight: Vector,
        sigma: float = 0.0,
        offset: Vector | None = None,
    ) -> None:
        self.loss = loss
        self.X, self.y, self.weight = X, y, weight
        #: What the prediction of each row has beside <u, x>.
        self.offset = np.zeros(len(X)) if offset is None else offset
        #: Every round carries (sigma/2)||u||^2 as well.
        self.sigma = sigma
        self._X, self._y = X.astype(np.longdouble), y.astype(np.longdouble)
        self._sizes = abs(self._X)
        self._weight = weight.astype(np.longdouble)
        self._rows: list[list[tuple[int, int, int]]] | None = None
        #: Losses by the bytes of u: floor, regret and every theorem ask about the same u.
        self._approximate: dict[bytes, tuple[np.longdouble, np.longdouble]] = {}
        self._exact: dict[bytes, tuple[Fraction, Fraction]] = {}
        self.exact_answers = 0

    def part(self, rounds: int) -> Referee:
        """Return the judge of the first rounds."""
        part = slice(0, rounds)
        return Referee(
            self.loss,
            self.X[part],
            self.y[part],
            self.weight[part],
            self.sigma,
            self.offset[part],
        )

    def approximate(self, u: Vector) -> tuple[np.longdouble, np.longdouble]:
        """Return the loss of u and a margin that its rounding stays within."""
        known = self._approximate.get(u.tobytes())
        if known is not None:
            return known
        long = u.astype(np.longdouble)
        with np.errstate(all="ignore"):
            p, size = self._X @ long + self.offset, self._sizes @ abs(long) + abs(self.offset)
            found = self._summed(p, size, 0.5 * len(self.X) * self.sigma * (long @ long))
        self._approximate[u.tobytes()] = found
        return found

    def at(self, predictions: Vector) -> tuple[np.longdouble, np.longdouble]:
        """Return the loss of given predictions and a margin, without any regulariser."""
        p = predictions.astype(np.longdouble)
        with np.errstate(all="ignore"):
            return self._summed(p, abs(p), np.longdouble(0))

    def _summed(self, p: Long, size: Long, square: Any) -> tuple[np.longdouble, np.longdouble]:
        value, cost = _fast(self.loss, self._y, p)
        error = cost(MARGIN * (size + abs(self._y) + self._constant())) + MARGIN * abs(value)
        total = (self._weight * value).sum() + square
        return total, (self._weight * error).sum() + MARGIN * (abs(total) + square) + 1e-300

    def _constant(self) -> float:
        parameters = [abs(float(v)) for v in vars(self.loss).values()]
        return max([1.0, *parameters])

    def exact(self, u: Vector) -> tuple[Fraction, Fraction]:
        """Return the loss of u, from below and from above."""
        known = self._exact.get(u.tobytes())
        if known is not None:
            return known
        if self._rows is None:
            self._rows = [
                [(j, *_dyadic(float(x))) for j, x in enumerate(row) if x != 0.0] for row in self.X
            ]
        parts = [_dyadic(float(v)) for v in u]
        predictions = [
            Fraction(float(offset)) + _dot(row, parts)
            for row, offset in zip(self._rows, self.offset, strict=True)
        ]
        low, high = self._exact_sum(predictions)
        if self.sigma:
            square = sum((v * v for v in fractions(u)), start=Fraction(0))
            square *= Fraction(self.sigma) * len(self.X) / 2
            low, high = low + square, high + square
        self._exact[u.tobytes()] = low, high
        return low, high

    def exact_at(self, predictions: Vector) -> tuple[Fraction, Fraction]:
        """Return the loss of given predictions, from below and from above."""
        return self._exact_sum(fractions(predictions))

    def _exact_sum(self, predictions: list[Fraction]) -> tuple[Fraction, Fraction]:
        low = high = Fraction(0)
        for p, y, weight in zip(
            predictions, fractions(self.y), fractions(self.weight), strict=True
        ):
            bounds = exact_loss(self.loss, y, p)
            low += weight * bounds[0]
            high += weight * bounds[1]
        self.exact_answers += 1
        return low, high

    def exceeds(
        self, u: Vector, claims: list[Any], extra: Any = 0.0, factor: float = 1.0
    ) -> tuple[bool, float]:
        """Tell whether factor * loss(u) + extra >= sum of the claims, and how far it is above.

        Claims are floats or fractions whose sum is meant exactly.
        """
        numbers, extra_float = [_in_range(c) for c in claims], _in_range(extra)
        if any(math.isnan(c) for c in numbers):
            return False, -math.inf
        if any(c == -math.inf for c in numbers) or extra_float == math.inf:
            return True, math.inf
        if any(c == math.inf for c in numbers):
            return False, -math.inf
        value, margin = self.approximate(u)
        claim = sum((np.longdouble(c) for c in numbers), start=np.longdouble(0))
        size = sum((abs(np.longdouble(c)) for c in numbers), start=np.longdouble(0))
        extra_long = np.longdouble(extra_float)
        distance = factor * value + extra_long - claim
        margin = factor * margin + MARGIN * (size + abs(extra_long) + abs(factor * value))
        scale = max(abs(value), size, np.longdouble(1e-300))
        if distance > margin:
            return True, float(distance / scale)
        _, high = self.exact(u)
        gap = Fraction(factor) * high + Fraction(extra) - sum(map(Fraction, claims), Fraction(0))
        relative = gap / Fraction(max(abs(high), *map(abs, map(Fraction, claims)), _SMALLEST))
        return gap >= 0, float(max(min(relative, Fraction(10**9)), Fraction(-(10**9))))
