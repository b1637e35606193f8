"""Disjunctions of few variables, learnt by elimination on points with few ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import as_whole, refuse_masked
from noregret.classes.tables import CountedMistakes, mistake_bound
from noregret.files.fields import Array, Count, Saved, Setting
from noregret.turns import one_at_a_time

Flags = npt.NDArray[np.bool_]

_FLAGS = "its candidates are not flags of {0.dimension} variables"


@dataclass(frozen=True, kw_only=True)
class EliminationCertificate(CountedMistakes):
    """Mistakes beside their bounds, if the labels are those of a disjunction of k variables.

    `broken` is the first round that proved they are not, 0 if none did. Not all that is wrong
    can be seen without keeping the points, so the promise is taken on trust.
    """

    mistakes: int
    k: int
    most_ones: int
    broken: int

    @property
    def assumption(self) -> str:
        """The promise that is taken on trust."""
        return f"the labels are those of a disjunction of at most {self.k} variables"

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return super().as_dict() | {"assumption": self.assumption}

    def describe(self) -> str:
        """Return the competitors in words."""
        return f"any disjunction of at most {self.k} variables"

    def _lines(self) -> list[str]:
        return [
            f"Elimination after {self.rounds:,} rounds, points of at most {self.most_ones} ones",
            f"  {'mistakes':<41}{self.mistakes:,}",
            *self._bound_lines(),
            f"  assumption: {self.assumption}",
        ]


class Elimination(Saved):
    """Predict 1 if a candidate variable is on; a missed 1 adds candidates, a false 1 drops them.

    Each missed 1 brings one of the k true variables, which are never dropped, and at most r - 1
    others if a point has at most r ones; each false 1 drops one of these at least. So there are
    at most k + k (r - 1) = r k mistakes, and at most as many as variables were added.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Example 3.4.

    >>> learner = Elimination(4, k=1)
    >>> learner.learn([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1]], [1, 0, 1]).tolist()
    [0, 1, 1]
    >>> np.flatnonzero(learner.candidates).tolist()
    [0]
    """

    _KIND = "learner"
    _FIELDS = (
        Setting("dimension"),
        Setting("k"),
        *map(Count, ("rounds", "mistakes", "missed", "added", "ones", "broken")),
        Array("candidates", words=_FLAGS),
        Array("excluded", words=_FLAGS),
    )

    def __init__(self, dimension: int, k: int) -> None:
        self.dimension = as_whole("dimension", dimension)
        self.k = as_whole("k", k)
        self._candidates: Flags = np.zeros(self.dimension, dtype=bool)
        self._excluded: Flags = np.zeros(self.dimension, dtype=bool)
        self._rounds = self._mistakes = self._missed = self._added = 0
        self._ones = self._broken = 0

    @property
    def candidates(self) -> Flags:
        """Which variables may be among the true ones, a copy."""
        return self._candidates.copy()

    def predict(self, x: Any) -> int:
        """Return the label that the learner would give to the point x now."""
        points = self._points(x)
        if len(points) != 1:
            raise ValueError(f"x must be one point, got {len(points)}")
        return int(np.any(self._candidates & points[0]))

    @one_at_a_time
    def learn(self, x: Any, y: Any) -> npt.NDArray[np.int64]:
        """Return the predictions made for a point, or rows of them, before each label."""
        refuse_masked("y", y)
        points, labels = self._points(x), np.atleast_1d(np.asarray(y))
        if labels.shape != (len(points),):
            raise ValueError(f"y must have {len(points)} labels, got the shape {labels.shape}")
        if not np.all((labels == 0) | (labels == 1)):
            raise ValueError("y must hold labels 0 and 1")
        predicted = [self._round(row, int(y)) for row, y in zip(points, labels, strict=True)]
        return np.array(predicted, dtype=np.int64)

    def _round(self, on: Flags, y: int) -> int:
        predicted = int(np.any(self._candidates & on))
        self._rounds += 1
        self._ones = max(self._ones, int(on.sum()))
        self._mistakes += predicted != y
        if y == 0:
            self._excluded |= on
            self._candidates &= ~on
        elif predicted == 0:
            self._missed += 1
            self._added += int(on.sum())
            self._candidates |= on
        # A true variable must be on, and none of those seen in a point of label 0 is true.
        wrong = y == 1 and not np.any(on & ~self._excluded)
        if not self._broken and (wrong or self._missed > self.k):
            self._broken = self._rounds
        return predicted

    def _points(self, x: Any) -> Flags:
        refuse_masked("x", x)
        rows = np.atleast_2d(np.asarray(x))
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise ValueError(f"a point has {self.dimension} variables, got the shape {rows.shape}")
        if rows.dtype.kind not in "biuf" or not np.all((rows == 0) | (rows == 1)):
            raise ValueError("a point must hold 0 and 1")
        return rows.astype(bool)

    def certificate(self) -> EliminationCertificate:
        """Return the mistakes so far beside the bounds on them."""
        reason = (
            f"round {self._broken} cannot be of a disjunction of {self.k} variables"
            if self._broken
            else ""
        )
        bounds = tuple(
            mistake_bound(name, "Example 3.4", value, reason)
            for name, value in (("r k", self._ones * self.k), ("variables added, now", self._added))
        )
        return EliminationCertificate(
            rounds=self._rounds,
            mistakes=self._mistakes,
            k=self.k,
            most_ones=self._ones,
            broken=self._broken,
            bounds=bounds,
        )

    def _check_loaded(self) -> None:
        """Refuse counts that no learner has."""
        if max(self._mistakes, self._broken) > self._rounds:
            raise ValueError(f"it counts {self._mistakes} mistakes in {self._rounds} rounds")
