"""Minimise a quadratic over a ball by Cholesky factors, fast enough for every block of rows.

`trust_region.ball_minimizer` is exact for matrices of any condition, but takes an
eigendecomposition, whose threads cost far more than the work where matrices are small and cores
are busy, and whose bits depend on their number. Here everything is one thread's.
Reference: Moré and Sorensen, Computing a Trust Region Step, 1983.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.jit import kernel
from noregret.rounding import EPSILON

#: Relative distance from the radius at which a multiplier is right, and the most that are tried.
_CLOSE, _MOST = 1e-9, 60


class BallStep:
    """The minimiser of u'Au/2 - b'u over ||u||_2 <= radius, and the last multiplier.

    >>> BallStep(2).solve(np.eye(2), np.array([3.0, 4.0]), 1.0).round(9)
    array([0.6, 0.8])
    """

    def __init__(self, width: int) -> None:
        self._factor, self._work = np.empty((width, width)), np.empty((2, width))
        #: Where the next search begins: multipliers of one Newton step and the next are close.
        self._multiplier = 0.0

    def solve(self, A: Vector, b: Vector, radius: float) -> Vector:
        """Return it for a matrix without negative eigenvalues beyond rounding."""
        found: Any = search(A, b, radius, self._multiplier, self._factor, self._work)
        self._multiplier = float(found) if np.isfinite(found) else 0.0
        found_at: Vector = self._work[0].copy()
        return found_at


@kernel(fast=True, counted=False)
def search(A, b, radius, mu, L, work):  # type: ignore[no-untyped-def]
    """Write (A + mu)^-1 b to work[0] with mu = 0 or the length `radius`; return mu."""
    d = b.shape[0]
    x, z = work[0], work[1]
    trace = square = 0.0
    for j in range(d):
        trace += A[j, j]
        square += b[j] * b[j]
    ridge = EPSILON * d * trace
    low, high = 0.0, np.sqrt(square) / radius
    mu = min(max(mu, 0.0), high)
    for _ in range(_MOST):
        if not factorised(A, mu + ridge, L):
            low = mu
            mu = max(2.0 * mu, 16.0 * ridge)
            if not mu < 2.0 * high + 32.0 * ridge:
                break
            continue
        forward(L, b, z)
        backward(L, z, x)
        length = _length(x)
        if abs(length - radius) <= _CLOSE * radius or (mu == 0.0 and length <= radius):
            return mu
        if length > radius:
            low = mu
        else:
            high = mu
        forward(L, x, z)
        # Newton's step for 1 / ||u|| = 1 / radius, which is nearly linear in mu.
        ratio = length / _length(z)
        new = mu + ratio * ratio * (length - radius) / radius
        if new <= 0.0 and low == 0.0:
            new = 0.0
        elif not low < new < high:
            new = 0.5 * (low + high)
        if new == mu:
            return mu
        mu = new
    length = _length(x)
    part = radius / length if length > radius else 1.0
    for j in range(d):
        x[j] = x[j] * part if length < np.inf else 0.0
    return mu


@kernel(fast=True, inner=True, counted=False)
def factorised(A, mu, L):  # type: ignore[no-untyped-def]
    """Write the lower Cholesky factor of A + mu; return whether there is one."""
    for i in range(A.shape[0]):
        for j in range(i):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / L[j, j]
        total = A[i, i] + mu
        for k in range(i):
            total -= L[i, k] * L[i, k]
        if not total > 0.0:
            return False
        L[i, i] = np.sqrt(total)
    return True


@kernel(fast=True, inner=True, counted=False)
def forward(L, b, z):  # type: ignore[no-untyped-def]
    """Write z with L z = b."""
    for i in range(L.shape[0]):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * z[k]
        z[i] = total / L[i, i]


@kernel(fast=True, inner=True, counted=False)
def backward(L, z, x):  # type: ignore[no-untyped-def]
    """Write x with L'x = z, which may not be the same array."""
    d = L.shape[0]
    for i in range(d):
        x[i] = z[i]
    for back in range(d):
        i = d - 1 - back
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@kernel(fast=True, inner=True, counted=False)
def _length(x):  # type: ignore[no-untyped-def]
    """Return the 2-norm."""
    square = 0.0
    for j in range(x.shape[0]):
        square += x[j] * x[j]
    return np.sqrt(square)


@kernel(fast=True, counted=False)
def multiply(A, x, out):  # type: ignore[no-untyped-def]
    """Write A x."""
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        out[i] = total
