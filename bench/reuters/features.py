"""Words chosen by information gain (natural logarithm)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import entr

Vector = npt.NDArray[np.float64]


def information_gain(X: csr_array, classes: npt.NDArray[Any]) -> Vector:
    """Return H(class) - P(w) H(class | w) - P(not w) H(class | not w) for every column w.

    X tells which word occurs in which document (values 0 and 1); `classes` gives every document
    one class. Two classes make the gain of one category, many the gain over all of them.

    >>> X = csr_array([[1, 1], [1, 0], [0, 1], [0, 0]])
    >>> information_gain(X, np.array([1, 1, 0, 0])).round(6).tolist()
    [0.693147, 0.0]
    """
    names, codes = np.unique(classes, return_inverse=True)
    rows = X.shape[0]
    member = csr_array((np.ones(rows), (codes, np.arange(rows))), (len(names), rows))
    present = (member @ X).toarray()
    size = np.bincount(codes, minlength=len(names)).astype(np.float64)
    absent = size[:, None] - present
    prior = float(entr(size / rows).sum())
    return prior - _conditional(present, rows) - _conditional(absent, rows)


def _conditional(counts: Vector, rows: int) -> Vector:
    """Return P(event) H(class | event) = sum of entr(P(class, event)) - entr(P(event))."""
    joint = entr(counts / rows).sum(axis=0)
    return np.asarray(joint - entr(counts.sum(axis=0) / rows))


def best(gain: Vector, count: int) -> npt.NDArray[np.intp]:
    """Return the columns of the largest gains, in the order of columns; the earlier wins a tie."""
    return np.sort(np.argsort(-gain, kind="stable")[:count])
