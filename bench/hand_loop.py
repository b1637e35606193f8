"""The yardstick: plain stochastic gradient descent as fast as numba can be made to run it.

No ledger, no average, no checks, no predictions kept: what is left is the work that every
logistic pass must do. Indices are unsigned, so that no test for negative ones is compiled;
dot products may be regrouped; weights are float64; one exponential a row.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np


@numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy", nogil=True)
def sgd(indptr: Any, indices: Any, values: Any, y: Any, weights: Any, eta: float) -> None:
    """Run one pass of w <- w - eta * slope * x for the logistic loss, in place."""
    one = np.uint64(1)
    for t in range(np.uint64(y.shape[0])):
        begin, end = indptr[t], indptr[t + one]
        p = 0.0
        for k in range(begin, end):
            p += weights[indices[k]] * values[k]
        step = eta * y[t] / (1.0 + math.exp(y[t] * p))
        for k in range(begin, end):
            weights[indices[k]] += step * values[k]
