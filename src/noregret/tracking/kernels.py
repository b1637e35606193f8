"""Positive definite kernels: inner products of points in a space that need not be written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.component import NONNEGATIVE, POSITIVE, Component, allowed, reassociable
from noregret.elementary import exp
from noregret.jit import kernel as compiled
from noregret.passes.frame import block
from noregret.passes.rows import row_of
from noregret.rows.examples import as_rows


class Kernel(Component):
    """K(a, b) as a function of a sum over the features; base for your own, positive definite."""

    @reassociable
    def term(self, a: float, b: float) -> float:
        """Return the term of one feature [default: a b, so that the sum is <a, b>]."""
        return a * b

    def missing(self, square: float) -> float:
        """Return the sum over the features where a is 0, whose b^2 sum to `square`."""
        return 0.0

    def value(self, total: float) -> float:
        """Return K from the sum."""
        raise NotImplementedError

    def power(self, square: float) -> float:
        """Return q where the rounding of K(a, b) is at most q (d + 8) EPSILON sqrt(Kaa Kbb).

        `square` is not below the squares ||a||^2 and ||b||^2 of the features.
        """
        return 1.0

    def __call__(self, a: npt.ArrayLike, b: npt.ArrayLike) -> float:
        """Return K(a, b) of two vectors."""
        rows = [np.atleast_2d(np.asarray(v, np.float64)) for v in (a, b)]
        return float(gram(self, *rows)[0, 0])


@dataclass(frozen=True)
class Linear(Kernel):
    """K(a, b) = <a, b>: the space is that of the features.

    >>> Linear()([1.0, 2.0], [3.0, 4.0])
    11.0
    """

    def value(self, total: float) -> float:
        """Return the sum."""
        return total


@dataclass(frozen=True)
class Polynomial(Kernel):
    """K(a, b) = (offset + <a, b>)^degree, offset >= 0.

    >>> Polynomial(2)([1.0, 2.0], [3.0, 4.0])
    144.0
    """

    degree: int = field(metadata=allowed("must be at least 1", lambda degree: degree >= 1))
    offset: float = field(default=1.0, metadata=NONNEGATIVE)

    def __post_init__(self) -> None:
        """Refuse a degree with a fraction, which the conversion to int would cut off."""
        if isinstance(self.degree, Real) and self.degree % 1:
            raise ValueError(f"Polynomial(degree) must be a whole number, got {self.degree}")
        super().__post_init__()

    def value(self, total: float) -> float:
        """Return (offset + total)^degree."""
        base = self.offset + total
        result = base
        for _ in range(self.degree - 1):
            result *= base
        return result

    def power(self, square: float) -> float:
        """Return the degree: (|a||b| + offset)^2 <= (|a|^2 + offset)(|b|^2 + offset)."""
        return float(self.degree)


@dataclass(frozen=True)
class Gaussian(Kernel):
    """K(a, b) = exp(-gamma ||a - b||^2), so that every point has norm 1.

    >>> Gaussian()([0.0], [0.0])
    1.0
    """

    gamma: float = field(default=1.0, metadata=POSITIVE)

    @reassociable
    def term(self, a: float, b: float) -> float:
        """Return (a - b)^2."""
        return (a - b) * (a - b)

    def missing(self, square: float) -> float:
        """Return the square."""
        return square

    def value(self, total: float) -> float:
        """Return exp(-gamma total)."""
        return exp(-self.gamma * total)

    def power(self, square: float) -> float:
        """Return 1 + 4 gamma square: the exponent of sparse rows is a difference of squares."""
        return 1.0 + 4.0 * self.gamma * square


@compiled(fast=True, inline=True)
def total_of(kernel, points, i, square, row, values):  # type: ignore[no-untyped-def]
    """Return the sum over features for a row and stored point i, whose square is given.

    `values` are those of the row, see `passes.rows`.
    """
    total = 0.0
    if values.ndim == 2:
        for j in range(row.end):
            total += kernel.term(np.float64(values[row.t, j]), points[i, j])
        return total
    else:
        seen = 0.0
        for k in range(row.begin, row.end):
            b = points[i, row.indices[k]]
            total += kernel.term(np.float64(values[k]), b)
            seen += b * b
        return total + kernel.missing(max(square - seen, 0.0))


@compiled(counted=False)
def _gram(kernel, rows, points, result):  # type: ignore[no-untyped-def]
    for t in range(np.uint64(result.shape[0])):
        row = row_of(rows, t)
        for i in range(np.uint64(points.shape[0])):
            result[t, i] = kernel.value(total_of(kernel, points, i, 0.0, row, row.values))


def gram(kernel: Kernel, a: Vector, b: Vector) -> Vector:
    """Return the matrix of K between the rows of a and those of b.

    >>> gram(Linear(), np.eye(2), np.ones((1, 2)))
    array([[1.],
           [1.]])
    """
    result = np.empty((len(a), len(b)))
    _gram(kernel, block(as_rows(a)), b, result)
    return result
