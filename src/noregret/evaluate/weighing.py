"""What metrics share: example weights, how often probabilities came true, repeated labels."""

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


class Repeats:
    """Mistakes of a predictor that repeats the label before; its first prediction is one.

    >>> repeats = Repeats()
    >>> for y in ([1.0, 1.0], [1.0, -1.0]):
    ...     repeats.add(np.array(y), np.ones(2))
    >>> repeats.wrong
    2.0
    """

    #: In place of a label before anything was seen.
    _NONE = -2.0

    def __init__(self, wrong: float = 0.0, last: float = _NONE) -> None:
        #: Weight of the examples whose label is not that of the example before.
        self.wrong = wrong
        self._last = last

    def add(self, y: Vector, weight: Vector) -> None:
        """Count examples in their order, each as often as its weight says."""
        differ = y != np.append(self._last, y[:-1])
        # One after the other, so that cutting a stream changes no bit.
        self.wrong = float(np.add.accumulate(np.append(self.wrong, weight[differ]))[-1])
        self._last = float(y[-1]) if len(y) else self._last

    def array(self) -> Vector:
        """Return all that is needed to go on later: the arguments of the constructor."""
        return np.array([self.wrong, self._last])


class Weighed:
    """Whether any example had a weight other than 1: measures are then sums over weights."""

    _is_weighted = False
    #: None where labels are numbers, and for a run whose first part did not count repeats.
    _repeats: Repeats | None = None

    def _weigh(self, count: int, weight: Vector | None) -> Vector:
        """Return the weights of `count` examples, 1 by default, and note any other than 1."""
        if weight is None:
            return np.ones(count)
        self._is_weighted = self._is_weighted or bool((weight != 1.0).any())
        return weight

    def _named(self, summary: dict[str, float]) -> dict[str, float]:
        """Return the measures, and beside them `weighted` where they are."""
        if self._repeats is not None and summary["weight"] > 0.0:
            summary["repeat_error"] = self._repeats.wrong / summary["weight"]
        return summary | {"weighted": True} if self._is_weighted else summary

    def _shared(self) -> Arrays:
        repeats = {} if self._repeats is None else {"repeats": self._repeats.array()}
        return {"weighted": np.array([self._is_weighted], np.uint8), **repeats}

    def _restore_shared(self, arrays: Arrays) -> None:
        self._is_weighted = bool(arrays["weighted"][0])
        # Model files of earlier versions do not hold them.
        kept = arrays.get("repeats")
        self._repeats = None if kept is None else Repeats(*kept.reshape(2).tolist())
