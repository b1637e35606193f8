"""The minimiser of a convex quadratic over a ball."""

from __future__ import annotations

import math

import numpy as np

from noregret.arrays import Vector
from noregret.rounding import rounding_error


def ball_minimizer(A: Vector, b: Vector, radius: float) -> Vector:
    """Return argmin of u'Au/2 - b'u over ||u||_2 <= radius, as well as floating point finds it.

    A: symmetric, without negative eigenvalues beyond rounding. It is u = (A + mu)^-1 b with mu = 0
    or ||u|| = radius. Zeros come back where a number is not finite.
    Reference: Moré and Sorensen, Computing a Trust Region Step, 1983.

    >>> ball_minimizer(np.eye(2), np.array([3.0, 4.0]), 1.0).round(12)
    array([0.6, 0.8])
    """
    # Takes long to load, and most programs never come here.
    from scipy.optimize import brentq

    size = max(float(np.trace(A)), 0.0)
    if not 0.0 < size < math.inf or not (np.all(np.isfinite(A)) and np.all(np.isfinite(b))):
        return np.zeros(len(b))
    values, vectors = np.linalg.eigh(A / size)
    # Eigenvalues below the rounding of the largest are not known: raise them to it.
    values = np.maximum(values, rounding_error(len(values), 1.0))
    goal = vectors.T @ (b / size)
    # In units of the largest, so that squares neither overflow nor vanish.
    unit = float(np.abs(goal).max(initial=0.0)) or 1.0
    ratio = radius / unit
    goal /= unit
    most = float(np.linalg.norm(goal)) / ratio if ratio > 0.0 else math.inf
    if not 2.0 * most < math.inf:
        # The radius is negligible.
        return np.zeros(len(b))

    def excess(mu: float) -> float:
        # Times 1 + mu, so that squares of small numbers do not vanish.
        return float(np.linalg.norm(goal * ((1.0 + mu) / (values + mu)))) - ratio * (1.0 + mu)

    mu = 0.0
    if excess(0.0) > 0.0:
        # ||goal|| / (1 + mu) <= ||goal / (values + mu)|| <= ||goal|| / mu, since the values
        # sum to 1; a factor of two at either end covers the rounding.
        low, high = max(0.5 * most - 2.0, 0.0), 2.0 * most
        mu = float(brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=500))
    return np.asarray(vectors @ (goal / (values + mu))) * unit
