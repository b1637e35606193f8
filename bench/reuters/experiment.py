"""The ten binary problems and the learners of Zhang's section 5, with what they scored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

import noregret as nr
from bench.reuters import baselines, features, measures, text
from noregret import hindsight
from noregret.batch.problem import Solution

Vector = npt.NDArray[np.float64]

#: Words chosen; strength of the regularisers a row (lambda); margin of regularised Winnow.
COUNT, WINNOW_STRENGTH, SVM_STRENGTH, WINNOW_MARGIN = 1000, 1e-4, 1e-3, 0.1
#: Certified relative duality gap at which the library's learners stop.
TOLERANCE = 1e-4
#: Rows learned before the clock starts.
COMPILED_ROWS = 100


@dataclass(frozen=True)
class Protocol:
    """What the paper leaves open; how the defaults were chosen is told in `variants`."""

    #: One of text.RULES.
    rule: str = "letters"
    #: One of text.TITLES.
    titles: str = "both"
    stemming: bool = True
    #: Gain of a word: about one "category", each its own words; about "all" sets of topics.
    gain: str = "category"
    #: Loss of regularised Winnow.
    winnow_loss: str = "squared hinge"
    #: Whether the Perceptron has a feature that is always 1.
    constant: bool = True


@dataclass(frozen=True, eq=False)
class Problem:
    """One category: rows to learn and rows to rank."""

    category: str
    X: csr_array
    y: Vector
    X_test: csr_array
    y_test: Vector


@dataclass(frozen=True)
class Score:
    """One learner on one category."""

    hits: float
    positives: int
    seconds: float
    passes: int
    #: The certified relative duality gap, None for the baselines.
    gap: float | None = None

    @property
    def break_even(self) -> float:
        """Return the break-even point in per cent."""
        return 100.0 * self.hits / self.positives


def words(documents: Sequence[text.Document], protocol: Protocol) -> csr_array:
    """Return which word occurs in which document."""
    stem = None if protocol.stemming else str
    return text.occurrences(documents, protocol.rule, protocol.titles, stem).X


def problems(
    documents: Sequence[text.Document], X: csr_array, protocol: Protocol, training: int
) -> Iterator[Problem]:
    """Yield the problems of the ten categories; the first rows are for training."""
    known = X[:training]
    if protocol.gain == "all":
        classes = [" ".join(sorted(document.topics)) for document in documents[:training]]
        shared = features.best(features.information_gain(known, np.array(classes)), COUNT)
    for category in text.CATEGORIES:
        y = text.labels(documents, category)
        if protocol.gain == "all":
            columns = shared
        else:
            gain = features.information_gain(known, y[:training])
            columns = features.best(gain, COUNT)
        chosen = csr_array(X[:, columns])
        yield Problem(category, chosen[:training], y[:training], chosen[training:], y[training:])


@dataclass(frozen=True, eq=False)
class Learned:
    """Weights, those of added columns last; passes over the rows; the certified relative gap."""

    weights: Vector
    passes: int
    gap: float | None = None

    @classmethod
    def solved(cls, solution: Solution) -> Learned:
        """Return what the library found; a gap is relative to max(1, |objective|)."""
        gap = solution.gap / max(1.0, abs(solution.primal))
        return cls(solution.weights, solution.passes, gap)


Learner = Callable[[csr_array, Vector], Learned]


def learners(protocol: Protocol) -> dict[str, Learner]:
    """Return the learners of both tables by name."""
    squared = protocol.winnow_loss == "squared hinge"
    loss = (nr.losses.SquaredHinge if squared else nr.losses.Hinge)(WINNOW_MARGIN)
    return {
        "winnow": lambda X, y: winnow(X, y, 0.1),
        "regularised winnow": lambda X, y: regularised_winnow(X, y, loss, 0.1),
        "winnow 0.3": lambda X, y: winnow(X, y, 0.3),
        "regularised winnow 0.3": lambda X, y: regularised_winnow(X, y, loss, 0.3),
        "perceptron": lambda X, y: perceptron(with_constant(X) if protocol.constant else X, y),
        "svm": svm,
        "squared hinge": squared_hinge,
    }


def winnow(X: csr_array, y: Vector, threshold: float) -> Learned:
    """Run the baseline of Table 1."""
    return Learned(baselines.winnow(X, y, threshold)[0], baselines.PASSES)


def perceptron(X: csr_array, y: Vector) -> Learned:
    """Run the baseline of Table 2."""
    return Learned(baselines.perceptron(X, y)[0], baselines.PASSES)


def regularised_winnow(X: csr_array, y: Vector, loss: nr.losses.Loss, threshold: float) -> Learned:
    """Minimise the mean loss at <w,x> - threshold + lambda KL(w, uniform) on the simplex."""
    rows = X.shape[0]
    solution = hindsight(
        X, y, loss, mirror=nr.mirrors.Entropy(), strength=WINNOW_STRENGTH * rows,
        offset=np.full(rows, -threshold), tol=TOLERANCE,
    )  # fmt: skip
    return Learned.solved(solution)


def svm(X: csr_array, y: Vector) -> Learned:
    """Minimise the mean hinge loss + lambda/2 ||w||^2, the bias free: Zhang's Algorithm 2."""
    strength = SVM_STRENGTH * X.shape[0]
    loss = nr.losses.Hinge(1.0)
    return Learned.solved(hindsight(X, y, loss, strength=strength, bias=True, tol=TOLERANCE))


def squared_hinge(X: csr_array, y: Vector) -> Learned:
    """Minimise the mean squared hinge loss + lambda/2 ||w||^2, a constant feature for the bias."""
    strength = SVM_STRENGTH * X.shape[0]
    loss = nr.losses.SquaredHinge(1.0)
    return Learned.solved(hindsight(with_constant(X), y, loss, strength=strength, tol=TOLERANCE))


def with_constant(X: csr_array) -> csr_array:
    """Return the rows with a last feature that is 1 in all of them."""
    return csr_array(hstack([X, np.ones((X.shape[0], 1))], format="csr"))


def score(problem: Problem, learner: Learner) -> Score:
    """Learn, rank the test rows, count; seconds are of learning only.

    The weight of a constant feature, and any bias, move all scores alike and no rank.
    """
    begin = time.perf_counter()
    learned = learner(problem.X, problem.y)
    seconds = time.perf_counter() - begin
    scores = problem.X_test @ learned.weights[: problem.X_test.shape[1]]
    positives = int(np.count_nonzero(problem.y_test > 0))
    hits = measures.hits(scores, problem.y_test)
    return Score(hits, positives, seconds, learned.passes, learned.gap)


def compile_ahead(problem: Problem, protocol: Protocol) -> None:
    """Run every learner on a few rows, so that no seconds of compiling are counted."""
    for learner in learners(protocol).values():
        learner(problem.X[:COMPILED_ROWS], problem.y[:COMPILED_ROWS])


def micro_average(scores: Iterator[Score] | Sequence[Score]) -> float:
    """Return the micro-average of one learner over its categories."""
    return measures.micro_average([(each.hits, each.positives) for each in scores])
