"""Objectives of batch problems and their duals, written again from the definitions.

Everything is computed in 100 decimal digits from the doubles at hand, so that a statement of
the solver is judged by what it says and not by the judge's own rounding.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from mpmath import mpf

from noregret import losses, mirrors
from noregret.batch import Problem

Vector = npt.NDArray[np.float64]
Numbers = list[Any]

DIGITS = 100
#: Below this, a function that is even is its second derivative, to twice as many digits.
TINY = 1e-25


def numbers(values: Any) -> Numbers:
    """Return the exact values of doubles."""
    return [mpf(float(v)) for v in values]


def loss_at(loss: losses.Loss, y: Any, p: Any) -> Any:
    """Return the loss of a prediction."""
    if isinstance(loss, losses.WinnowHinge):
        return max(1 - y * (2 * p - 1), 0)
    if isinstance(loss, losses.Logistic):
        return mpmath.log1p(mpmath.exp(-abs(y * p))) + max(-y * p, 0)
    if isinstance(loss, losses.Exponential):
        return mpmath.exp(-y * p)
    if isinstance(loss, losses.NegativeLog):
        return -mpmath.log(p) if p > 0 else mpmath.inf
    if isinstance(loss, losses.Squared):
        return (p - y) ** 2
    if isinstance(loss, losses.Absolute):
        return abs(p - y)
    if isinstance(loss, losses.EpsilonInsensitive):
        excess = max(abs(p - y) - mpf(loss.epsilon), 0)
        return excess**2 / 2 if isinstance(loss, losses.SquaredEpsilonInsensitive) else excess
    if isinstance(loss, losses.Quantile):
        return max(mpf(loss.level) * (y - p), (1 - mpf(loss.level)) * (p - y))
    if isinstance(loss, losses.Huber):
        reach = min(abs(p - y), mpf(loss.delta))
        return reach * (abs(p - y) - reach / 2)
    excess = max(mpf(loss.margin) - y * p, 0)  # type: ignore[attr-defined]
    if isinstance(loss, losses.Hinge):
        return excess
    if isinstance(loss, losses.SquaredHinge):
        return excess**2 / 2
    if isinstance(loss, losses.OneSidedHuber):
        return min(excess, 2) * (excess - min(excess, 2) / 2)
    assert isinstance(loss, losses.PowerHinge)
    return excess ** mpf(loss.r) / mpf(loss.r) if excess > 0 else mpf(0)


def conjugate_at(loss: losses.Loss, y: Any, s: Any) -> Any:
    """Return sup_p s p - f(p), infinite outside the slopes of the loss."""
    size = abs(s)
    if isinstance(loss, losses.Squared):
        return s * s / 4 + s * y
    if isinstance(loss, losses.NegativeLog):
        return -1 - mpmath.log(-s) if s < 0 else mpmath.inf
    if isinstance(loss, losses.SquaredEpsilonInsensitive):
        return s * s / 2 + s * y + mpf(loss.epsilon) * size
    if loss.labels == "real":
        low, high = mpf(-1), mpf(1)
        if isinstance(loss, losses.Quantile):
            low, high = -mpf(loss.level), 1 - mpf(loss.level)
        if isinstance(loss, losses.Huber):
            low, high = -mpf(loss.delta), mpf(loss.delta)
        if not low <= s <= high:
            return mpmath.inf
        if isinstance(loss, losses.Huber):
            return s * s / 2 + s * y
        return s * y + (mpf(loss.epsilon) * size if hasattr(loss, "epsilon") else 0)
    if s * y > 0:
        return mpmath.inf
    if isinstance(loss, losses.Exponential):
        return size * mpmath.log(size) - size if size > 0 else mpf(0)
    if isinstance(loss, losses.Logistic):
        if not 0 < size < 1:
            return mpf(0) if size in (0, 1) else mpmath.inf
        return size * mpmath.log(size) + (1 - size) * mpmath.log1p(-size)
    if isinstance(loss, losses.WinnowHinge):
        return s * (1 + y) / 2 if size <= 2 else mpmath.inf
    margin = mpf(loss.margin)  # type: ignore[attr-defined]
    if isinstance(loss, losses.Hinge):
        return -margin * size if size <= 1 else mpmath.inf
    if isinstance(loss, losses.PowerHinge):
        t = mpf(loss.r) / (mpf(loss.r) - 1)
        return (size**t / t if size > 0 else 0) - margin * size
    if isinstance(loss, losses.OneSidedHuber) and size > 2:
        return mpmath.inf
    return size * size / 2 - margin * size


def placed(mirror: mirrors.Mirror, w: Numbers) -> Numbers:
    """Return the nearest multiple of the weights that lies in the set of the map."""
    if isinstance(mirror, mirrors.Entropy):
        total = mpmath.fsum(w)
        return [v * mpf(mirror.scale) / total for v in w]
    if isinstance(mirror, mirrors.Ball):
        length = mpmath.sqrt(mpmath.fsum(v * v for v in w))
        return [v * mpf(mirror.radius) / max(length, mpf(mirror.radius)) for v in w]
    if isinstance(mirror, mirrors.SignedEntropy):
        length = mpmath.fsum(abs(v) for v in w)
        return [v * mpf(mirror.radius) / max(length, mpf(mirror.radius)) for v in w]
    return w


def regularizer_at(mirror: mirrors.Mirror, w: Numbers) -> Any:
    """Return F(w), with minimum 0."""
    if isinstance(mirror, mirrors.Entropy | mirrors.UnnormalizedEntropy):
        entropy = isinstance(mirror, mirrors.Entropy)
        start = mpf(mirror.scale) / len(w) if entropy else mpf(mirror.start)
        return mpmath.fsum((v * mpmath.log(v / start) if v > 0 else 0) - v + start for v in w)
    if isinstance(mirror, mirrors.SignedEntropy):
        return _two_sided([abs(v) / mpf(mirror.radius) for v in w])
    if isinstance(mirror, mirrors.PNorm):
        q = mpf(mirror.p) / (mpf(mirror.p) - 1)
        total = mpmath.fsum(abs(v) ** q for v in w if v)
        return total ** (2 / q) / 2 if total > 0 else mpf(0)
    if isinstance(mirror, mirrors.Power):
        return mpmath.fsum(abs(v) ** mpf(mirror.p) for v in w if v) / mpf(mirror.p)
    if isinstance(mirror, mirrors.Hypentropy):
        scale = 2 * mpf(mirror.beta)
        # Without the difference of hypot and scale, of which tiny weights would leave nothing.
        return mpmath.fsum(
            v * mpmath.asinh(v / scale) - v * v / (mpmath.hypot(v, scale) + scale) for v in w
        )
    if isinstance(mirror, mirrors.Box):
        low, high = mpf(mirror.low), mpf(mirror.high)
        if not all(low <= v <= high for v in w):
            return mpmath.inf
        return mpmath.fsum(v * v - min(max(0, low), high) ** 2 for v in w) / 2
    half = mpmath.fsum(v * v for v in w) / 2
    l1 = mpf(getattr(mirror, "l1", 0.0))
    return half + l1 * mpmath.fsum(abs(v) for v in w)


def _two_sided(a: Numbers) -> Any:
    """Return sup over theta of <theta, a> - ln(mean cosh theta) for a >= 0 with sum at most 1."""
    total, n = mpmath.fsum(a), len(a)
    if total < TINY:
        return n * mpmath.fsum(v * v for v in a) / 2
    if total >= 1:
        return mpmath.fsum(v * mpmath.log(v) for v in a if v > 0) + mpmath.log(2 * n)
    low, high = mpf(n), n / (1 - total)
    for _ in range(int(4 * DIGITS)):
        middle = (low + high) / 2
        if mpmath.fsum(mpmath.hypot(1, middle * v) for v in a) > middle:
            low = middle
        else:
            high = middle
    return mpmath.fsum(v * mpmath.asinh(high * v) for v in a) - mpmath.log(high / n)


def potential_at(mirror: mirrors.Mirror, theta: Numbers) -> Any:
    """Return G(theta), the conjugate of F."""
    d = len(theta)
    if isinstance(mirror, mirrors.Entropy):
        top = max(theta)
        total = mpmath.fsum(mpmath.exp(t - top) for t in theta)
        return mpf(mirror.scale) * (top + mpmath.log(total / d))
    if isinstance(mirror, mirrors.UnnormalizedEntropy):
        return mpf(mirror.start) * mpmath.fsum(mpmath.expm1(t) for t in theta)
    if isinstance(mirror, mirrors.SignedEntropy):
        size = [mpf(mirror.radius) * abs(t) for t in theta]
        top = max(size)
        if top < TINY:
            return mpmath.fsum(t * t for t in size) / (2 * d)
        total = mpmath.fsum(mpmath.exp(t - top) + mpmath.exp(-t - top) for t in size)
        return top + mpmath.log(total / (2 * d))
    if isinstance(mirror, mirrors.PNorm):
        total = mpmath.fsum(abs(t) ** mpf(mirror.p) for t in theta if t)
        return total ** (2 / mpf(mirror.p)) / 2 if total > 0 else mpf(0)
    if isinstance(mirror, mirrors.Power):
        q = mpf(mirror.p) / (mpf(mirror.p) - 1)
        return mpmath.fsum(abs(t) ** q for t in theta if t) / q
    if isinstance(mirror, mirrors.Hypentropy):
        return 4 * mpf(mirror.beta) * mpmath.fsum(mpmath.sinh(t / 2) ** 2 for t in theta)
    if isinstance(mirror, mirrors.Box):
        low, high = mpf(mirror.low), mpf(mirror.high)
        first = min(max(0, low), high)
        best = [min(max(t, low), high) for t in theta]
        return mpmath.fsum(w * (t - w / 2) + first**2 / 2 for w, t in zip(best, theta, strict=True))
    if isinstance(mirror, mirrors.Ball):
        length = mpmath.sqrt(mpmath.fsum(t * t for t in theta))
        reach = min(length, mpf(mirror.radius))
        return reach * (length - reach / 2)
    l1 = mpf(getattr(mirror, "l1", 0.0))
    return mpmath.fsum(max(abs(t) - l1, 0) ** 2 for t in theta) / 2


class Objective:
    """A batch problem in exact numbers."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        mirror = problem.mirror
        if isinstance(mirror, mirrors.SoftThreshold):
            mirror = mirrors.ElasticNet(mirror.l1)
        self.mirror = mirrors.Ball(problem.radius) if problem.radius is not None else mirror
        self.strength = mpf(problem.strength)
        self.y, self.weight, self.offset = map(numbers, (problem.y, problem.weight, problem.offset))
        self.rows = [self._row(i) for i in range(len(problem.rows))]

    def _row(self, i: int) -> list[tuple[int, Any]]:
        rows = self.problem.rows
        if rows.dense:
            return [(j, mpf(float(x))) for j, x in enumerate(rows.values[i]) if x != 0.0]
        span = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
        pairs = zip(rows.indices[span], rows.values[span], strict=True)
        return [(int(j), mpf(float(x))) for j, x in pairs]

    def primal(self, weights: Vector, bias: float = 0.0) -> Any:
        """Return P(w), w brought into the set of the map where rounding has put it outside."""
        w = placed(self.mirror, numbers(weights))
        total = mpf(0)
        for row, y, c, o in zip(self.rows, self.y, self.weight, self.offset, strict=True):
            if c > 0:
                p = mpmath.fsum(w[j] * x for j, x in row) + o + mpf(bias)
                total += c * loss_at(self.problem.loss, y, p)
        return total + (self.strength * regularizer_at(self.mirror, w) if self.strength else 0)

    def dual(self, slopes: Vector) -> Any:
        """Return D(s), minus infinity where a slope is none of the loss."""
        return self._dual(numbers(slopes))

    def balanced_dual(self, slopes: Vector) -> Any:
        """Return the largest D(s) where one row takes all of sum c_i s_i, so that it is 0."""
        exact = numbers(slopes)
        excess = mpmath.fsum(c * s for c, s in zip(self.weight, exact, strict=True))
        several = (
            self._dual([*exact[:t], exact[t] - excess / c, *exact[t + 1 :]])
            for t, c in enumerate(self.weight)
            if c > 0
        )
        return max(several, default=-mpmath.inf)

    def _dual(self, slopes: Numbers) -> Any:
        g = [mpf(0)] * self.problem.rows.width
        total = mpf(0)
        for row, y, c, o, s in zip(
            self.rows, self.y, self.weight, self.offset, slopes, strict=True
        ):
            if c > 0:
                total += c * (s * o - conjugate_at(self.problem.loss, y, s))
                for j, x in row:
                    g[j] += c * s * x
        if self.problem.radius is not None:
            return total - mpf(self.problem.radius) * mpmath.sqrt(mpmath.fsum(v * v for v in g))
        theta = [-v / self.strength for v in g]
        return total - self.strength * potential_at(self.mirror, theta)
