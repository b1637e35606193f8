"""The Standard Optimal Algorithm, and the experts that are made of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy.typing as npt

from noregret.classes.littlestone import Littlestone, as_dimension
from noregret.classes.tables import FiniteClass, label, whole
from noregret.classes.version_space import VersionSpaceLearner


class SOA(VersionSpaceLearner):
    """Predict the label that leaves the larger Littlestone dimension: Ldim(H) mistakes at most.

    No deterministic learner has a better guarantee. After t rounds the mistakes are at most
    Ldim(H) - Ldim(V_t). Ties are broken to `tie`; an empty version space has dimension -1.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Lemma 3.3.

    >>> from noregret.classes import thresholds
    >>> learner = SOA(thresholds(7))
    >>> learner.learn([3, 5, 4, 0, 6], [1, 0, 1, 1, 0]).tolist()
    [1, 1, 1, 1, 0]
    """

    def __init__(self, hypotheses: Any, tie: int = 1) -> None:
        dimension = as_dimension(hypotheses)
        super().__init__(dimension.hypotheses)
        #: The dimensions of the version spaces met; pass it on to share what it knows.
        self.dimension = dimension
        self.tie = label(tie, "tie")

    def _label(self, space: int, x: int) -> int:
        return larger_label(self.dimension, space, x, self.tie)

    def _promises(self) -> tuple[tuple[str, str, int], tuple[str, int]]:
        all_of_it = self.dimension()
        before = ("Ldim(H), in advance", "Lemma 3.3", all_of_it)
        return before, ("Ldim(H) - Ldim(V), now", all_of_it - self.dimension(self._space))

    def _settings(self) -> dict[str, Any]:
        return {"tie": self.tie, "limit": self.dimension.limit}

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        dimension = Littlestone(FiniteClass._from_file(arrays), header["limit"])
        learner = cls(dimension, header["tie"])
        learner._resume(header, arrays)
        return learner


def larger_label(dimension: Littlestone, space: int, x: int, tie: int) -> int:
    """Return the label of x whose version space has the larger dimension."""
    ones = space & dimension.hypotheses.columns[x]
    zeros = space ^ ones
    if not (zeros and ones):
        return tie if zeros == ones else int(ones > 0)
    gain = dimension(ones) - dimension(zeros)
    return tie if gain == 0 else int(gain > 0)


class Expert:
    """Follow SOA, as if it were right, but for the rounds i_1 < ... < i_L: there, say the other.

    For each hypothesis h there are L <= Ldim(H) rounds such that the expert gives the labels of
    h on all points presented: those in which SOA with the same `tie` errs on h. A flip that no
    hypothesis agrees with leaves nothing to follow but the tie.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Lemma 3.7.

    >>> from noregret.classes import thresholds
    >>> expert = Expert(thresholds(3), [1, 4], tie=0)
    >>> [expert.next(x) for x in (1, 0, 2, 1, 2)]
    [1, 1, 0, 0, 0]
    """

    def __init__(self, hypotheses: Any, flips: Iterable[int], tie: int = 1) -> None:
        self.dimension = as_dimension(hypotheses)
        self.flips = frozenset(whole("a flip", i) for i in flips)
        self.tie = label(tie, "tie")
        self._space = self.dimension.hypotheses.everything
        self._rounds = 0

    def next(self, x: Any) -> int:
        """Return the label of the coming round's point, and go on as if it were right."""
        point = self.dimension.hypotheses.point(x)
        given = larger_label(self.dimension, self._space, point, self.tie)
        self._rounds += 1
        given ^= self._rounds in self.flips
        self._space = self.dimension.hypotheses.part(self._space, point, given)
        return given
