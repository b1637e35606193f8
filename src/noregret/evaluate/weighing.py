"""What metrics share: example weights, and how often probabilities came true."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector

Arrays = dict[str, npt.NDArray[Any]]

#: Number of equal parts of [0, 1] by which probabilities are compared with what happened.
PARTS = 10


class Reliability:
    """How often what was predicted with some probability happened, in tenths of [0, 1].

    >>> told = Reliability()
    >>> told.add(np.array([0.91, 0.99, 0.2]), np.array([1.0, 0.0, 0.0]), np.ones(3))
    >>> probability, share, weight = told.table()
    >>> probability.round(2).tolist(), share.tolist(), weight.tolist()
    ([0.2, 0.95], [0.0, 0.5], [1.0, 2.0])
    """

    def __init__(self) -> None:
        #: By tenth: weight, weight of what happened, weight times probability.
        self.sums: Vector = np.zeros((3, PARTS))

    def add(self, probability: Vector, happened: Vector, weight: Vector) -> None:
        """Count predictions; `happened` is the weight's share that came true, 0 to 1."""
        tenth = np.minimum((probability * PARTS).astype(np.intp), PARTS - 1)
        for place, terms in enumerate((weight, weight * happened, weight * probability)):
            # One after the other, so that cutting a stream changes no bit.
            np.add.at(self.sums[place], tenth, terms)

    @classmethod
    def restored(cls, sums: Vector) -> Self:
        """Return the counts with these sums, or refuse what no counts are."""
        result = cls()
        if sums.shape != result.sums.shape:
            raise ValueError(f"reliability has shape {sums.shape}, expected {result.sums.shape}")
        result.sums[...] = sums
        return result

    def table(self) -> tuple[Vector, Vector, Vector]:
        """Return mean probability, share that happened and weight of each tenth with any."""
        weight, happened, probability = self.sums[:, self.sums[0] > 0.0]
        return probability / weight, happened / weight, weight


class Weighed:
    """Whether any example had a weight other than 1: measures are then sums over weights."""

    _is_weighted = False

    def _weigh(self, count: int, weight: Vector | None) -> Vector:
        """Return the weights of `count` examples, 1 by default, and note any other than 1."""
        if weight is None:
            return np.ones(count)
        self._is_weighted = self._is_weighted or bool((weight != 1.0).any())
        return weight

    def _named(self, summary: dict[str, float]) -> dict[str, float]:
        """Return the measures, and beside them `weighted` where they are."""
        return summary | {"weighted": True} if self._is_weighted else summary

    def _flag(self) -> Arrays:
        return {"weighted": np.array([self._is_weighted], np.uint8)}

    def _restore_flag(self, arrays: Arrays) -> None:
        self._is_weighted = bool(arrays["weighted"][0])
