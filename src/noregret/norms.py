"""Norms rounded up: a bound on the rounding error of each result is added to it."""

from __future__ import annotations

import math

import numpy as np

from noregret.arrays import Vector
from noregret.rounding import SMALLEST, grown, rounding_error

_PORTION = 1 << 16


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
