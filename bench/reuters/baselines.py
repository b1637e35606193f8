"""Winnow and the Perceptron as Zhang ran them: 100 passes, rate 0.001, own normalisations.

Both change their weights on mistakes only. They are not the library's `winnow` and `perceptron`
(those keep no norm fixed), so they live here. Rows hold the values 0 and 1, `indices` their ones.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

PASSES, RATE = 100, 0.001

Vector = npt.NDArray[np.float64]


def winnow(
    X: csr_array, y: Vector, threshold: float, rate: float = RATE, passes: int = PASSES
) -> tuple[Vector, int]:
    """Return the weights and the number of mistakes: w_j <- w_j exp(rate y x_j) / sum.

    Weights are positive and sum to one, at first all alike; in class iff <w,x> >= threshold.
    """
    weights = np.full(X.shape[1], 1.0 / X.shape[1])
    mistakes = _winnow(*_ones(X), y, weights, threshold, rate, passes)
    return weights, mistakes


def perceptron(
    X: csr_array, y: Vector, rate: float = RATE, passes: int = PASSES
) -> tuple[Vector, int]:
    """Return the weights and the number of mistakes: w <- w + rate y x, ||w|| = 1 after a pass.

    In class iff <w,x> >= 0; the weights start at zero.
    """
    weights = np.zeros(X.shape[1])
    mistakes = _perceptron(*_ones(X), y, weights, rate, passes)
    return weights, mistakes


def _ones(X: csr_array) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    if not np.all(X.data == 1.0):
        raise ValueError("X: the baselines know the values 0 and 1 only")
    return X.indptr.astype(np.uint64), X.indices.astype(np.uint32)


@numba.njit(error_model="numpy", nogil=True)
def _winnow(
    indptr: Any, indices: Any, y: Any, weights: Any, threshold: float, rate: float, passes: int
) -> int:
    # Weights are w = v / total: a renormalisation costs one number, not one a word.
    total, mistakes = weights.sum(), 0
    for _ in range(passes):
        for t in range(np.uint64(y.shape[0])):
            begin, end = indptr[t], indptr[t + np.uint64(1)]
            mass = 0.0
            for k in range(begin, end):
                mass += weights[indices[k]]
            if (mass >= threshold * total) != (y[t] > 0.0):
                mistakes += 1
                factor = math.exp(rate * y[t])
                total += mass * (factor - 1.0)
                for k in range(begin, end):
                    weights[indices[k]] *= factor
        total = weights.sum()
        weights /= total
        total = weights.sum()
    return mistakes


@numba.njit(error_model="numpy", nogil=True)
def _perceptron(indptr: Any, indices: Any, y: Any, weights: Any, rate: float, passes: int) -> int:
    mistakes = 0
    for turn in range(passes):
        # The weights of the first pass are rate times whole numbers, and then normalised: whole
        # numbers do as well, and a score of zero is zero however it is summed.
        step = rate if turn > 0 else 1.0
        for t in range(np.uint64(y.shape[0])):
            begin, end = indptr[t], indptr[t + np.uint64(1)]
            score = 0.0
            for k in range(begin, end):
                score += weights[indices[k]]
            if (score >= 0.0) != (y[t] > 0.0):
                mistakes += 1
                for k in range(begin, end):
                    weights[indices[k]] += step * y[t]
        norm = math.sqrt((weights * weights).sum())
        if norm > 0.0:
            weights /= norm
    return mistakes
