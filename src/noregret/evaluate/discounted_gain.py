"""What an order is worth: discounted gains, group by group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector, real_array, refuse_masked
from noregret.rows.examples import checked


def ndcg(relevance: Any, scores: Any, qid: Any, k: int | None = None) -> float:
    """Return the mean over groups of the discounted gain, over the best one possible.

    The gain of a row is 2^relevance - 1, divided by log2(1 + place); rows with equal scores share
    the mean of their gains, so that no order among them is favoured. Groups without any gain are
    left out; the mean of none is 1. `k` counts the first places only. A group is consecutive
    rows with the same `qid`. Relevances are from 0 to 1000.
    Reference: Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, 2002.

    >>> ndcg([1, 0, 0], [3.0, 2.0, 1.0], [7, 7, 7]), round(ndcg([0, 1], [2.0, 1.0], [7, 7]), 4)
    (1.0, 0.6309)
    """
    if k is not None and not (k == int(k) and k >= 1):
        raise ValueError(f"k must be a whole number >= 1, got {k}")
    refuse_masked("qid", qid)
    ids = np.atleast_1d(np.asarray(qid))
    points = _vector("scores", scores, -math.inf, math.inf)
    # Beyond these 2^relevance is no gain, or no number.
    gains = np.exp2(_vector("relevance", relevance, 0.0, 1000.0)) - 1.0
    if not ids.shape == gains.shape == points.shape:
        raise ValueError(
            f"{len(gains)} relevances, {len(points)} scores, {len(ids)} qid: expected as many each"
        )
    cuts = np.flatnonzero(ids[1:] != ids[:-1]) + 1
    found = []
    for part in np.split(np.arange(len(ids)), cuts):
        best = _discounted(gains[part], gains[part], k)
        if best > 0.0:
            found.append(_discounted(gains[part], points[part], k) / best)
    return float(np.mean(found)) if found else 1.0


def _vector(name: str, given: Any, low: float, high: float) -> Vector:
    vector = np.atleast_1d(real_array(name, given)).astype(np.float64)
    if vector.ndim != 1:
        raise ValueError(f"{name} has shape {vector.shape}, expected one number a row")
    good = (vector >= low) & (vector <= high)
    return checked(name, vector, good, f"expected a number from {low:g} to {high:g}")


def _discounted(gains: Vector, scores: Vector, k: int | None) -> float:
    order = np.argsort(-scores, kind="stable")
    _, tied, counts = np.unique(-scores[order], return_inverse=True, return_counts=True)
    shared = (np.bincount(tied, gains[order]) / counts)[tied]
    discount = 1.0 / np.log2(2.0 + np.arange(len(gains)))
    return float(shared[:k] @ discount[:k])
