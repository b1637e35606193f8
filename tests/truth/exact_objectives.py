"""Both sides of a duality gap in exact fractions, for losses and maps that are rational.

A second judge beside `tests.truth.objectives`, which works in 100 decimal digits: here nothing is
rounded, so that rows of 1e100 may cancel rows of 1e-150.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from noregret import losses, mirrors
from noregret.batch import Problem
from tests.truth.referee import exact_loss

LOSSES = (
    losses.Hinge,
    losses.SquaredHinge,
    losses.WinnowHinge,
    losses.OneSidedHuber,
    losses.Squared,
    losses.Absolute,
    losses.EpsilonInsensitive,
    losses.SquaredEpsilonInsensitive,
    losses.Huber,
    losses.Quantile,
)
MAPS = (
    mirrors.Euclidean,
    mirrors.Ball,
    mirrors.ElasticNet,
    mirrors.SoftThreshold,
    mirrors.Box,
)
#: Square roots are exact to this part.
ROOT = 10**60


def rational(problem: Problem) -> bool:
    """Return whether this judge knows the loss and the map."""
    return type(problem.loss) in LOSSES and type(problem.mirror) in MAPS


def fractions(values: Any) -> list[Fraction]:
    """Return the exact values of doubles."""
    return [Fraction(float(v)) for v in values]


def root_bounds(square: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on the root, relatively 1 / ROOT apart.

    >>> low, high = root_bounds(Fraction(2))
    >>> low * low <= 2 <= high * high
    True
    """
    if square == 0:
        return Fraction(0), Fraction(0)
    # a / b = a b / b^2, with a and b enlarged until the whole part of the root has enough digits.
    product = square.numerator * square.denominator * ROOT**2
    low = math.isqrt(product)
    unit = square.denominator * ROOT
    return Fraction(low, unit), Fraction(low + 1, unit)


def conjugate(loss: losses.Loss, y: Fraction, s: Fraction) -> Fraction | None:
    """Return sup_p s p - f(p), None where it is infinite."""
    size = abs(s)
    if isinstance(loss, losses.Squared):
        return s * s / 4 + s * y
    if isinstance(loss, losses.SquaredEpsilonInsensitive):
        return s * s / 2 + s * y + Fraction(loss.epsilon) * size
    if isinstance(loss, losses.Huber):
        return s * s / 2 + s * y if size <= Fraction(loss.delta) else None
    if isinstance(loss, losses.Quantile):
        level = Fraction(loss.level)
        return s * y if -level <= s <= 1 - level else None
    if isinstance(loss, losses.EpsilonInsensitive):
        return s * y + Fraction(loss.epsilon) * size if size <= 1 else None
    if isinstance(loss, losses.Absolute):
        return s * y if size <= 1 else None
    if s * y > 0:
        return None
    if isinstance(loss, losses.WinnowHinge):
        return s * (1 + y) / 2 if size <= 2 else None
    margin = Fraction(loss.margin)  # type: ignore[attr-defined]
    if isinstance(loss, losses.Hinge):
        return -margin * size if size <= 1 else None
    if isinstance(loss, losses.OneSidedHuber) and size > 2:
        return None
    return size * size / 2 - margin * size


def potential(mirror: mirrors.Mirror, theta: list[Fraction]) -> Fraction:
    """Return G(theta), the conjugate of the regulariser; of the ball a number not below it."""
    if isinstance(mirror, mirrors.Ball):
        radius = Fraction(mirror.radius)
        square = sum((t * t for t in theta), Fraction(0))
        if square <= radius * radius:
            return square / 2
        return radius * (root_bounds(square)[1] - radius / 2)
    if isinstance(mirror, mirrors.Box):
        low, high = Fraction(mirror.low), Fraction(mirror.high)
        first = min(max(Fraction(0), low), high)
        best = [min(max(t, low), high) for t in theta]
        return sum(
            (w * (t - w / 2) + first**2 / 2 for w, t in zip(best, theta, strict=True)), Fraction(0)
        )
    l1 = Fraction(getattr(mirror, "l1", 0.0))
    return sum((max(abs(t) - l1, Fraction(0)) ** 2 / 2 for t in theta), Fraction(0))


class ExactObjective:
    """A batch problem in fractions."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.y, self.weight, self.offset = map(
            fractions, (problem.y, problem.weight, problem.offset)
        )
        self.rows = [self._row(i) for i in range(len(problem.rows))]

    def _row(self, i: int) -> list[tuple[int, Fraction]]:
        rows = self.problem.rows
        if rows.dense:
            return [(j, Fraction(float(x))) for j, x in enumerate(rows.values[i]) if x != 0.0]
        span = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
        pairs = zip(rows.indices[span], rows.values[span], strict=True)
        return [(int(j), Fraction(float(x))) for j, x in pairs]

    def primal(self, weights: Any, bias: float = 0.0) -> Fraction:
        """Return P(w); of weights outside a ball or a box, that of the nearest multiple inside."""
        problem, w = self.problem, fractions(weights)
        mirror = problem.mirror
        square = sum((v * v for v in w), Fraction(0))
        radius = getattr(mirror, "radius", problem.radius)
        if radius is not None and square > Fraction(radius) ** 2:
            # Rounded towards 0, so that the weights certainly lie inside.
            shorter = Fraction(radius) / root_bounds(square)[1]
            w = [shorter * v for v in w]
            square *= shorter * shorter
        total = Fraction(0)
        for row, y, c, o in zip(self.rows, self.y, self.weight, self.offset, strict=True):
            if c > 0:
                p = sum((w[j] * x for j, x in row), o + Fraction(bias))
                total += c * exact_loss(problem.loss, y, p)[0]
        if problem.radius is not None:
            return total
        half = square / 2 + Fraction(getattr(mirror, "l1", 0.0)) * sum(map(abs, w), Fraction(0))
        if isinstance(mirror, mirrors.Box):
            low, high = Fraction(mirror.low), Fraction(mirror.high)
            assert all(low <= v <= high for v in w)
            half -= len(w) * min(max(Fraction(0), low), high) ** 2 / 2
        return total + Fraction(problem.strength) * half

    def dual(self, slopes: Any) -> Fraction | None:
        """Return D(s), of a ball a number at most 1e-60 below it; None where a slope is none."""
        return self._dual(fractions(slopes))

    def balanced_dual(self, slopes: Any) -> Fraction | None:
        """Return the largest D(s) where one row takes all of sum c_i s_i, so that it is 0."""
        exact = fractions(slopes)
        excess = sum((c * s for c, s in zip(self.weight, exact, strict=True)), Fraction(0))
        if excess == 0:
            return self._dual(exact)
        several = (
            self._dual([*exact[:t], exact[t] - excess / c, *exact[t + 1 :]])
            for t, c in enumerate(self.weight)
            if c > 0
        )
        return max((one for one in several if one is not None), default=None)

    def _dual(self, slopes: list[Fraction]) -> Fraction | None:
        problem = self.problem
        g = [Fraction(0)] * problem.rows.width
        total = Fraction(0)
        for row, y, c, o, s in zip(
            self.rows, self.y, self.weight, self.offset, slopes, strict=True
        ):
            if c > 0:
                found = conjugate(problem.loss, y, s)
                if found is None:
                    return None
                total += c * (s * o - found)
                for j, x in row:
                    g[j] += c * s * x
        if problem.radius is not None:
            square = sum((v * v for v in g), Fraction(0))
            return total - Fraction(problem.radius) * root_bounds(square)[1]
        b = Fraction(problem.strength)
        return total - b * potential(problem.mirror, [-v / b for v in g])
