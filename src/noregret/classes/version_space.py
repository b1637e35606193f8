"""Learners that keep the hypotheses which agree with all labels so far: Consistent, Halving, SOA.

They make few mistakes if some hypothesis of the class gives all labels, and no promise else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from noregret.arrays import as_whole
from noregret.classes.littlestone import Littlestone, SearchField, as_dimension
from noregret.classes.tables import (
    ClassField,
    CountedMistakes,
    FiniteClass,
    as_class,
    bits_of,
    flags_of,
    label,
    mistake_bound,
    pairs,
)
from noregret.files.fields import Arrays, Count, Field, Fields, Header, Saved, Setting
from noregret.turns import one_at_a_time


@dataclass(frozen=True, kw_only=True)
class MistakeCertificate(CountedMistakes):
    """Bounds on a learner's mistakes from its version space, in exact whole numbers.

    `broken` is the round whose label left no hypothesis, 0 if there is none: from then on it
    is proved that no hypothesis of the class gives all labels, and no bound applies.
    """

    rule: str
    mistakes: int
    hypotheses: int
    remaining: int
    broken: int

    @property
    def realizable(self) -> bool:
        """Whether some hypothesis of the class gives all labels so far."""
        return self.broken == 0

    def _lines(self) -> list[str]:
        left = (
            f"no hypothesis agrees with every label since round {self.broken:,}" if self.broken
            else f"{self.remaining:,} of {self.hypotheses:,} hypotheses agree with every label"
        )  # fmt: skip
        return [
            f"{self.rule} after {self.rounds:,} rounds",
            f"  {'mistakes':<41}{self.mistakes:,}",
            f"  {left}",
            *self._bound_lines(),
        ]


class SpaceField(Field):
    """The version space of a learner, as flags in a file."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the flags."""
        arrays["space"] = flags_of(owner.space, owner.hypotheses.size)

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Set the version space."""
        if arrays["space"].shape != (owner.hypotheses.size,):
            raise ValueError(f"its version space is not one of {owner.hypotheses}")
        owner.space = bits_of(arrays["space"])


_COUNTS = Count("rounds", "rounds"), Count("mistakes", "mistakes"), Count("broken")


class VersionSpaceLearner(Saved):
    """A deterministic learner whose state is the set of hypotheses that were never wrong."""

    _KIND = "learner"
    #: The bounds in advance and so far, in words, and the reference.
    _BOUNDS: ClassVar[tuple[str, str, str]]
    _FIELDS: ClassVar[Fields] = (*_COUNTS, ClassField("hypotheses"), SpaceField("space"))

    def __init__(self, hypotheses: Any) -> None:
        self.hypotheses: FiniteClass = as_class(hypotheses)
        #: The hypotheses that agree with every label so far, as bits.
        self.space = self.hypotheses.everything
        #: The number of labels seen.
        self.rounds = 0
        #: The number of labels that were not predicted.
        self.mistakes = 0
        self._broken = 0

    def predict(self, x: Any) -> int:
        """Return the label that the learner would give to point x now."""
        self._require_hypotheses()
        return self._label(self.space, self.hypotheses.point(x))

    @one_at_a_time
    def learn(self, x: Any, y: Any) -> npt.NDArray[np.int64]:
        """Return the predictions made for a point, or several in turn, before each label.

        A label that leaves no hypothesis is accepted and certified; nothing can be
        predicted after it. Nothing is learnt if anything is wrong with x or y.
        """
        examples = pairs(self.hypotheses, x, y)
        if examples:
            self._require_hypotheses()
        space, predictions = self.space, []
        for t, (point, answer) in enumerate(examples):
            if space == 0:
                raise ValueError(f"y[{t - 1}] leaves no hypothesis, nothing can be predicted after")
            predictions.append(self._label(space, point))
            space = self.hypotheses.part(space, point, answer)
        self.space = space
        self.rounds += len(examples)
        self.mistakes += sum(p != y for p, (_, y) in zip(predictions, examples, strict=True))
        if space == 0 and examples:
            self._broken = self.rounds
        return np.array(predictions, dtype=np.int64)

    def label(self, space: int, x: int) -> int:
        """Return the label that the rule gives to x when these hypotheses are left."""
        return self._label(self.hypotheses.space(space), self.hypotheses.point(x))

    def _require_hypotheses(self) -> None:
        if self.space == 0:
            raise ValueError(f"no hypothesis agrees with every label since round {self._broken}")

    def _label(self, space: int, x: int) -> int:
        raise NotImplementedError

    def _most(self, space: int) -> int:
        """Return the most mistakes there can have been when these hypotheses are left."""
        raise NotImplementedError

    def certificate(self) -> MistakeCertificate:
        """Return the mistakes so far beside the bounds on them."""
        reason = (
            f"no hypothesis agrees with every label since round {self._broken}"
            if self._broken
            else ""
        )
        before, now, reference = self._BOUNDS
        bounds = (
            # No more mistakes can follow once a single hypothesis, such as the first, is left.
            mistake_bound(f"{before}, in advance", reference, self._most(1), reason),
            mistake_bound(f"{now}, now", f"proof of {reference}", self._most(self.space), reason),
        )
        return MistakeCertificate(
            rule=type(self).__name__,
            rounds=self.rounds,
            mistakes=self.mistakes,
            hypotheses=self.hypotheses.size,
            remaining=self.space.bit_count(),
            broken=self._broken,
            bounds=bounds,
        )

    def _check_loaded(self) -> None:
        """Refuse counts that no learner has."""
        rounds, mistakes, broken = self.rounds, self.mistakes, self._broken
        if mistakes > rounds or (broken > 0) != (self.space == 0) or broken not in (0, rounds):
            raise ValueError(
                f"it counts {mistakes} mistakes in {rounds} rounds, no hypothesis left in {broken}"
            )


class Consistent(VersionSpaceLearner):
    """Predict with the first hypothesis that was never wrong: at most |H| - 1 mistakes.

    After t rounds the mistakes are at most |H| - |V_t|, V_t the hypotheses left.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Corollary 1.1.

    >>> from noregret.classes import singletons
    >>> learner = Consistent(singletons(5).table[::-1])
    >>> learner.learn([4, 3, 2, 1], [0, 0, 0, 0]).tolist()
    [1, 1, 1, 1]
    >>> learner.mistakes
    4
    """

    _BOUNDS = ("|H| - 1", "|H| - |V|", "Corollary 1.1")

    def _label(self, space: int, x: int) -> int:
        first = space & -space
        return int(self.hypotheses.columns[x] & first != 0)

    def _most(self, space: int) -> int:
        return self.hypotheses.size - space.bit_count()


class Halving(VersionSpaceLearner):
    """Predict with the majority of the hypotheses never wrong, 1 on ties: log2 |H| mistakes.

    After t rounds the mistakes are at most log2(|H| / |V_t|), V_t the hypotheses left.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 1.2.

    >>> from noregret.classes import thresholds
    >>> learner = Halving(thresholds(7))
    >>> learner.learn([3, 5, 4, 0, 6], [1, 0, 1, 1, 0]).tolist()
    [1, 1, 1, 1, 0]
    >>> print(learner.certificate())
    Halving after 5 rounds
      mistakes                                 1
      1 of 8 hypotheses agree with every label
      log2 |H|, in advance                     mistakes <= 3
      log2(|H| / |V|), now                     mistakes <= 3
    """

    _BOUNDS = ("log2 |H|", "log2(|H| / |V|)", "Theorem 1.2")

    def _label(self, space: int, x: int) -> int:
        return int(2 * (space & self.hypotheses.columns[x]).bit_count() >= space.bit_count())

    def _most(self, space: int) -> int:
        # floor(log2(a / b)) for whole a >= b is that of floor(a / b).
        return (self.hypotheses.size // max(space.bit_count(), 1)).bit_length() - 1


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

    _BOUNDS = ("Ldim(H)", "Ldim(H) - Ldim(V)", "Lemma 3.3")
    _FIELDS = (*_COUNTS, Setting("tie"), SearchField("limit"), SpaceField("space"))

    def __init__(self, hypotheses: Any, tie: int = 1) -> None:
        dimension = as_dimension(hypotheses)
        super().__init__(dimension.hypotheses)
        #: The known dimensions of version spaces; pass it to other learners to share them.
        self.dimension = dimension
        self.tie = label(tie, "tie")

    def _label(self, space: int, x: int) -> int:
        return larger_label(self.dimension, space, x, self.tie)

    def _most(self, space: int) -> int:
        return self.dimension() - self.dimension(space)


def larger_label(dimension: Littlestone, space: int, x: int, tie: int) -> int:
    """Return the label of x whose version space has the larger dimension."""
    ones = space & dimension.hypotheses.columns[x]
    gain = dimension(ones) - dimension(space ^ ones)
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
        self.flips = frozenset(as_whole("a flip", i) for i in flips)
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
