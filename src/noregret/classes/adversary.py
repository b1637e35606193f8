"""Adversaries: lower bounds on the mistakes and the regret of every learner, played out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from noregret.arrays import as_whole
from noregret.classes.littlestone import SearchLimit, ShatteredTree, as_dimension
from noregret.classes.version_space import VersionSpaceLearner

#: Larger binomial coefficients take seconds; a lower bound agrees with them to all digits.
_EXACT = 10_000


class Predictor(Protocol):
    """A player that predicts a label, or the probability of label 1, and then learns the label."""

    def predict(self, x: Any) -> float:
        """Return the prediction for x."""

    def learn(self, x: Any, y: Any) -> object:
        """Take the label of x."""


class Opponent(Protocol):
    """A player that chooses the points and, knowing the prediction, the labels."""

    def instance(self) -> Any:
        """Return the point of the coming round."""

    def answer(self, prediction: float) -> int:
        """Return the label of that point."""


@dataclass(frozen=True)
class Transcript:
    """The rounds of a play."""

    instances: tuple[Any, ...]
    predictions: tuple[float, ...]
    labels: tuple[int, ...]

    @property
    def loss(self) -> float:
        """The mistakes, expected ones for probabilities: the sum of |p_t - y_t|."""
        return math.fsum(abs(p - y) for p, y in zip(self.predictions, self.labels, strict=True))


def play(learner: Predictor, opponent: Opponent, rounds: int) -> Transcript:
    """Let a learner and an opponent play that many rounds.

    >>> from noregret.classes import SOA, thresholds
    >>> h = thresholds(7)
    >>> play(SOA(h), Adversary(h), 3)
    Transcript(instances=(3, 1, 0), predictions=(1, 1, 1), labels=(0, 0, 0))
    """
    played = []
    for _ in range(as_whole("rounds", rounds, 0)):
        x = opponent.instance()
        p = learner.predict(x)
        y = opponent.answer(p)
        learner.learn(x, y)
        played.append((x, p, y))
    return Transcript(*zip(*played, strict=True)) if played else Transcript((), (), ())


class Adversary:
    """Force Ldim(H) mistakes on any deterministic learner, with labels of some hypothesis.

    While the version space has dimension d >= 1, present the first point both halves of which
    have dimension >= d - 1 and answer the other label (0 to a probability >= 1/2, which
    forces an expected loss of Ldim(H) / 2). Then answer with the first hypothesis left.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Lemma 3.2.
    """

    def __init__(self, hypotheses: Any) -> None:
        self.dimension = as_dimension(hypotheses)
        self.space = self.dimension.hypotheses.everything
        self._point: int | None = None

    @property
    def target(self) -> int:
        """A hypothesis that gives all labels so far."""
        return (self.space & -self.space).bit_length() - 1

    def instance(self) -> int:
        """Return the point of the coming round, 0 when all is decided."""
        self._point = self.dimension.split(self.space) or 0
        return self._point

    def answer(self, prediction: float) -> int:
        """Return the label of that point."""
        if self._point is None:
            raise ValueError("ask for the instance before the answer")
        hypotheses, wanted = self.dimension.hypotheses, other_label(prediction)
        part = hypotheses.part(self.space, self._point, wanted)
        if part == 0:
            wanted, part = 1 - wanted, self.space
        self.space, self._point = part, None
        return wanted


class RandomLabels:
    """Random labels down a shattered tree, block by block: no learner can foresee them.

    The T rounds are cut into blocks, one for each level. In a block the same point is presented
    with fair random labels, and their majority (0 on ties) leads to the next point. Every
    learner loses T/2 in expectation, and the hypothesis at the end of the path the minority of
    each block: against any class that shatters the tree, the expected regret of every learner
    is at least `forced_regret`.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 3.6.

    >>> from noregret.classes import dyadic_tree
    >>> opponent = RandomLabels(dyadic_tree(4), 100, seed=1)
    >>> round(opponent.forced_regret, 6)
    8.059013
    """

    def __init__(self, tree: ShatteredTree, rounds: int, seed: int = 0) -> None:
        self.tree = tree
        self.rounds = as_whole("rounds", rounds)
        if not 1 <= tree.depth <= self.rounds:
            raise ValueError(f"{rounds} rounds cannot be cut into {tree.depth} blocks")
        self._ends = [self.rounds * (j + 1) // tree.depth for j in range(tree.depth)]
        self._random = np.random.default_rng(seed)
        self._path: list[int] = []
        self._ones = 0
        self._played = 0

    @property
    def forced_regret(self) -> float:
        """A lower bound on the expected regret of any learner: half of E|S_k| for each block.

        With blocks of k = T/d rounds it is at least sqrt(d T / 8).
        """
        # Each distance is rounded down, the sum to the nearest.
        summed = math.fsum(map(mean_distance, np.diff([0, *self._ends]).tolist()))
        return 0.5 * (math.nextafter(summed, 0.0) if self.tree.depth > 1 else summed)

    @property
    def path(self) -> tuple[int, ...]:
        """The majority labels of the blocks completed."""
        return tuple(self._path)

    def instance(self) -> int:
        """Return the point of the coming round."""
        if self._played == self.rounds:
            raise ValueError(f"all of the {self.rounds} rounds were played")
        return self.tree.instance(self._path)

    def answer(self, prediction: float) -> int:
        """Return a fair random label, independent of the prediction."""
        self.instance()
        label = int(self._random.integers(2))
        self._ones += label
        self._played += 1
        level = len(self._path)
        if self._played == self._ends[level]:
            size = self._ends[level] - (self._ends[level - 1] if level else 0)
            self._path.append(int(2 * self._ones > size))
            self._ones = 0
        return label


def mean_distance(steps: int) -> float:
    """Return E|S_k|, the mean distance of a fair random walk from its start after k steps.

    It is k C(k-1, floor((k-1)/2)) / 2^(k-1), at least sqrt(k/2); the number is rounded down.

    >>> mean_distance(1), mean_distance(2), mean_distance(3)
    (1.0, 1.0, 1.5)
    """
    # E|S_(2m-1)| = E|S_2m| = 2m C(2m, m) / 4^m.
    m = (as_whole("steps", steps) + 1) // 2
    if m > _EXACT:
        # C(2m, m) / 4^m > exp(-1/(8m)) / sqrt(pi m), by less than a part in 192 m^3.
        return 2.0 * math.sqrt(m / math.pi) * math.exp(-1.0 / (8.0 * m)) * (1.0 - 1e-15)
    ways = m * math.comb(2 * m, m)
    # The leading 53 bits, the rest cut off.
    cut = max(ways.bit_length() - 53, 0)
    return math.ldexp(ways >> cut, cut - (2 * m - 1))


class Bisection:
    """Force a mistake in every round on thresholds over [0, 1], or half-spaces without margin.

    The point is the middle v of the interval of those a that give all labels so far with
    1 for v < a, and the label is the one not predicted. As vectors (v, 1) the labels are those of
    the half-space with normal (-1, a): there is no bound without a margin.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Example 3.3.

    >>> opponent = Bisection()
    >>> opponent.instance(), opponent.answer(1), opponent.instance()
    (Fraction(1, 2), 0, Fraction(1, 4))
    """

    def __init__(self) -> None:
        self.low, self.high = Fraction(0), Fraction(1)

    def instance(self) -> Fraction:
        """Return the middle of the interval left."""
        return (self.low + self.high) / 2

    def answer(self, prediction: float) -> int:
        """Return the label that was not predicted."""
        middle, label = self.instance(), other_label(prediction)
        # Label 1 says middle < a.
        self.low, self.high = (middle, self.high) if label else (self.low, middle)
        return label


def worst_mistakes(learner: VersionSpaceLearner, limit: int = 1_000_000) -> int:
    """Return the most mistakes that labels of the class can force, by looking at all plays.

    `limit` bounds the number of version spaces looked at; beyond it a `SearchLimit` is raised.

    >>> from noregret.classes import SOA, Consistent, Halving, singletons
    >>> [worst_mistakes(rule(singletons(6))) for rule in (SOA, Halving, Consistent)]
    [1, 1, 5]
    """
    hypotheses, most = learner.hypotheses, as_whole("limit", limit)

    def splits(space: int) -> Iterator[tuple[int, list[int]]]:
        for x in range(hypotheses.points):
            halves = [hypotheses.part(space, x, y) for y in (0, 1)]
            if all(halves):
                yield x, halves

    reached = {hypotheses.everything: 0}
    waiting = [hypotheses.everything]
    for space in waiting:
        new = {half for _, halves in splits(space) for half in halves} - reached.keys()
        waiting += new
        reached |= dict.fromkeys(new, 0)
        if len(reached) > most:
            raise SearchLimit(f"gave up after {most:,} version spaces of {hypotheses}")
    # The successors of a version space are smaller.
    for space in sorted(waiting, key=int.bit_count):
        for x, halves in splits(space):
            predicted = learner.label(space, x)
            values = (reached[half] + (y != predicted) for y, half in enumerate(halves))
            reached[space] = max(reached[space], *values)
    return reached[hypotheses.everything]


def other_label(prediction: float) -> int:
    """Return the label that costs a prediction more: 0 for a probability >= 1/2, else 1."""
    if not 0.0 <= prediction <= 1.0:
        raise ValueError(f"a prediction must lie in [0, 1], got {prediction!r}")
    return int(prediction < 0.5)
