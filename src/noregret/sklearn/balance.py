"""Weights of rows by their classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noregret.jit import kernel
from noregret.scoring.labels import Codes

Vector = npt.NDArray[np.float64]


@kernel
def _balance(codes, weight, counts, totals, result):  # type: ignore[no-untyped-def]
    for t in range(codes.shape[0]):
        k = codes[t]
        if counts[k] == 0.0:
            totals[1] += 1.0
        counts[k] += weight[t]
        totals[0] += weight[t]
        result[t] = weight[t] * (totals[0] / (totals[1] * counts[k]))


class Balance:
    """Balanced weights on the run: n / (K n_k) for a row of class k, itself counted.

    n is the weight of all rows so far, n_k that of its class, K the number of classes among
    them, as in scikit-learn's rule for all rows at once.

    >>> Balance().learn(np.array([0, 0, 1, 0]), np.ones(4), 2).tolist()
    [1.0, 1.0, 1.5, 0.6666666666666666]
    """

    def __init__(self) -> None:
        self.counts = np.zeros(0)
        self.totals = np.zeros(2)

    def learn(self, codes: Codes, weight: Vector, classes: int) -> Vector:
        """Count the rows; return the weight of each."""
        self.counts = np.concatenate([self.counts, np.zeros(classes - len(self.counts))])
        result = np.empty(len(codes))
        _balance(codes, weight, self.counts, self.totals, result)
        return result

    def copy(self) -> Balance:
        """Return one that counts on from here."""
        other = Balance()
        other.counts, other.totals = self.counts.copy(), self.totals.copy()
        return other


class Weighed(NamedTuple):
    """Rows with the weights of their classes, and all rows counted by class, these included."""

    #: The weights that were given, None for 1 each.
    given: Vector | None
    #: Those multiplied by the weights of the classes, None for 1 each.
    weight: Vector | None
    balance: Balance

    def place(self, learnt: int) -> int:
        """Return the place of the row after `learnt` learnt ones, rows of weight 0 left out.

        >>> Weighed(None, np.array([1.0, 0.0, 1.0]), Balance()).place(1)
        2
        """
        return learnt if self.weight is None else int(np.flatnonzero(self.weight)[learnt])
