"""The yardstick: plain stochastic gradient descent as fast as numba can be made to run it.

No ledger, no average, no checks, no predictions kept: what is left is the work that every
logistic pass must do. Indices are unsigned, so that no test for negative ones is compiled;
weights are float64; one exponential a row. Four sums side by side hide the latency of an
addition: left to regroup them itself (`reassoc`), the compiler makes loops that are a third
slower, because they leave up to fifteen features of every row over.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

_1, _2, _3, _4 = (np.uint64(k) for k in (1, 2, 3, 4))


@numba.njit(fastmath={"contract"}, error_model="numpy", nogil=True)
def sgd(indptr: Any, indices: Any, values: Any, y: Any, weights: Any, eta: float) -> None:
    """Run one pass of w <- w - eta * slope * x for the logistic loss, in place."""
    for t in range(np.uint64(y.shape[0])):
        begin, end = indptr[t], indptr[t + _1]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        k = begin
        while end - k >= _4:
            a += weights[indices[k]] * values[k]
            b += weights[indices[k + _1]] * values[k + _1]
            c += weights[indices[k + _2]] * values[k + _2]
            d += weights[indices[k + _3]] * values[k + _3]
            k += _4
        while k < end:
            a += weights[indices[k]] * values[k]
            k += _1
        p = (a + b) + (c + d)
        step = eta * y[t] / (1.0 + math.exp(y[t] * p))
        k = begin
        while end - k >= _4:
            weights[indices[k]] += step * values[k]
            weights[indices[k + _1]] += step * values[k + _1]
            weights[indices[k + _2]] += step * values[k + _2]
            weights[indices[k + _3]] += step * values[k + _3]
            k += _4
        while k < end:
            weights[indices[k]] += step * values[k]
            k += _1
