"""The scorer that an estimator's words stand for: one learner of all classes, or one a class.

And what the dual estimators hold: an optimum with its gap, or dual ascent one row at a time.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from noregret.arguments import ArgumentError
from noregret.arrays import Vector
from noregret.batch import Solution
from noregret.experts import Aggregate, Mixture, ScoreAggregate, rate_grid
from noregret.experts.representative import linear_part
from noregret.learners import DualAscent, MatrixDescent, MirrorDescent
from noregret.learners.base import learn_together
from noregret.learners.dual_certificate import DualCertificate
from noregret.losses import (
    Hinge,
    Logistic,
    Loss,
    MulticlassHinge,
    OneAgainstRest,
    ScoreLoss,
    Softmax,
    SquaredHinge,
)
from noregret.losses.links import logistic, multinomial
from noregret.mirrors import Euclidean, Mirror
from noregret.passes.checks import sound_rows
from noregret.passes.sync import products
from noregret.rates import Rate
from noregret.rows.examples import as_rows
from noregret.scoring.growing import Codes
from noregret.scoring.scorer import Calibrated, Scorer
from noregret.sklearn.several import ClassCertificates, ClassSolutions
from noregret.vocabulary.presets import GRID, MIXTURE
from noregret.vocabulary.usual import usual_rate
from noregret.vocabulary.words import spec

#: Losses that depend on y p alone.
EVEN = (Hinge, Logistic, SquaredHinge)


def settled_rate(rate: Rate | str | None, loss: Loss | ScoreLoss, mirror: Mirror) -> Rate | str:
    """Return the rate, "grid" or "mixture"; None stands for what the command line chooses.

    >>> from noregret.mirrors import Ball
    >>> settled_rate(None, Hinge(), Euclidean()), settled_rate(None, Hinge(), Ball(2.0))
    ('mixture', Adaptive(scale=None))
    """
    if rate is None:
        rate = usual_rate(loss, plain=type(mirror) is Euclidean)
    if isinstance(rate, str) and rate.lower() in (GRID, MIXTURE):
        return rate.lower()
    found: Rate = spec(rate, "rate")
    return found


def new_learner(
    loss: Loss, mirror: Mirror, rate: Rate | str | None, dimension: int, blocks: bool
) -> MirrorDescent | Aggregate:
    """Return a learner of one score that has seen nothing, see `settled_rate`."""
    rate = settled_rate(rate, loss, mirror)
    if rate == GRID:
        return rate_grid(loss, mirror, dimension=dimension, blocks=blocks)
    if isinstance(rate, str):
        require_own_maps(mirror)
        return Mixture(loss, blocks=blocks)
    return MirrorDescent(loss, mirror, rate, dimension=dimension, averaging=False, blocks=blocks)


def require_own_maps(mirror: Mirror) -> None:
    """Refuse a map for a mixture, the members of which have theirs."""
    if not mirror.euclidean():
        raise ArgumentError("mirror", f"rate={MIXTURE!r} has maps of its own", str(mirror))


class Signed:
    """A core learner, or its mirror image: labels and scores with the sign turned."""

    def __init__(self, learner: MirrorDescent | Aggregate | DualAscent, mirror: Mirror) -> None:
        self.learner, self.mirror = learner, mirror
        #: -1 for a learner of the opposite labels.
        self.sign = 1.0

    @property
    def rounds(self) -> int:
        """How many rows were learnt."""
        return self.learner.rounds

    def learn(self, rows: Any, y: Vector, weight: Vector | None) -> Vector:
        """Learn the rows one after the other; return the predictions made before each."""
        return self.sign * self.learner.learn(rows, self.sign * y, weight)

    def predict(self, rows: Any) -> Vector:
        """Return the score of each row."""
        return self.sign * self.learner.predict(rows)

    def weights(self) -> Vector:
        """Return the weights of the score, of a mixture those of one member."""
        return np.asarray(self.sign * linear_part(self.learner).weights)

    def offset(self) -> float:
        """Return what scores have beside <weights, x>."""
        return self.sign * float(getattr(linear_part(self.learner), "offset", 0.0))

    def certificate(self) -> Any:
        """Return what the rounds so far prove about this score."""
        found = self.learner.certificate()
        # A predictor u of the opposite labels is -u: what changes is the gradient alone.
        return found if self.sign > 0.0 else replace(found, gradient=-found.gradient)

    def may_turn(self, begun: bool) -> bool:
        """Tell whether loss and map are the same with the sign turned, or nothing was seen.

        `begun` says whether more rows will have been learnt by then.
        """
        plain = self.mirror.euclidean() and type(self.learner.loss) in EVEN
        return plain or not (begun or self._has_begun())

    def _has_begun(self) -> bool:
        return self.rounds > 0

    def turned(self) -> Self:
        """Return the learner of the opposite labels that has seen the same rows."""
        other = copy.deepcopy(self)
        # One that has seen nothing is that of any labels, whatever its map.
        other.sign = -self.sign if self._has_begun() else self.sign
        return other


class Columns(Calibrated):
    """Learns the scores of classes by one learner each; two classes share one.

    `blank` is a learner that has seen nothing, for classes that appear later.
    """

    def __init__(self, columns: Sequence[Signed], blank: Signed, loss: Loss) -> None:
        self.columns, self.blank = list(columns), blank
        super().__init__(loss, self.outputs)

    @property
    def rounds(self) -> int:
        """How many rows were learnt."""
        return self.columns[0].rounds

    @property
    def outputs(self) -> int:
        """How many classes there is room for."""
        return max(2, len(self.columns))

    def require_room(self, now: int, outputs: int, begun: bool) -> None:
        """Refuse classes that `grow` could not make room for, see `Scorer`."""
        turning = outputs > 2 and len(self.columns) == 1
        if turning and not self.columns[0].may_turn(begun and now <= 2):
            raise ValueError(
                f"y has {outputs} classes, and this learner of 2 cannot go on with more: its map "
                "or loss is not the same with the sign turned; declare the classes in the first "
                "partial_fit"
            )

    def grow(self, outputs: int) -> None:
        """Make room for more classes, whose scores are 0 so far."""
        if outputs <= self.outputs:
            return
        if len(self.columns) == 1:
            if self.platt is not None:
                self.platt.grow(2.0)
            # The first class against the second is the second against the first, turned round.
            self.columns.insert(0, self.columns[0].turned())
        while len(self.columns) < outputs:
            self.columns.append(copy.deepcopy(self.blank))

    def learn(self, rows: Any, codes: Codes, weight: Vector | None) -> None:
        """Learn the classes of the rows, one after the other."""
        first = 1 if len(self.columns) == 1 else 0
        given = as_rows(rows)

        def play(start: int, stop: int) -> None:
            part = slice(start, stop)
            some = rows if stop - start == len(given) else given.part(start, stop).plain()
            scores = [
                column.learn(
                    some,
                    np.where(codes[part] == k, 1.0, -1.0),
                    None if weight is None else weight[part],
                )
                for k, column in enumerate(self.columns, first)
            ]
            if self.platt is not None:
                masses = np.ones(stop - start) if weight is None else weight[part]
                self.platt.learn(joined(scores), codes[part], masses)

        if len(self.columns) == 1 and self.platt is None:
            # One learner alone keeps the rounds before a row that it refuses.
            play(0, len(given))
        else:
            learn_together(self.columns, 0, len(given), play)

    def predict(self, rows: Any) -> Vector:
        """Return the scores: one a row for two classes, else one a row and class."""
        return joined([column.predict(rows) for column in self.columns])

    def weights(self) -> Vector:
        """Return a row of weights a score."""
        return np.vstack([column.weights() for column in self.columns])

    def offsets(self) -> Vector:
        """Return what each score has beside <weights, x>."""
        return np.array([column.offset() for column in self.columns])

    def certificate(self) -> Any:
        """Return what the rounds prove: one certificate for two classes, else one of all."""
        found = tuple(column.certificate() for column in self.columns)
        return found[0] if len(found) == 1 else ClassCertificates(found, tuple(range(len(found))))


def joined(scores: Sequence[Vector]) -> Vector:
    """Return scores side by side, a single one as it is."""
    return scores[0] if len(scores) == 1 else np.column_stack(scores)


def open_scorer(
    loss: Loss,
    multiclass: str | None,
    mirror: Mirror,
    rate: Rate | str | None,
    dimension: int,
    blocks: bool,
    known: int,
) -> Scorer | Columns:
    """Return the scorer of the classes, `known` of which are named beforehand.

    One against the rest is a learner a class. Where the learner of a matrix is the same to the
    bit, it is the one: it is quicker and has one certificate for all. A mixture has one form for
    two classes and another for more, so that the rows must not choose between them: unless two
    classes are named beforehand, it is that for more.
    """
    outputs = max(2, known)
    if multiclass is None:
        mixes = settled_rate(rate, loss, mirror) == MIXTURE and type(loss) is Logistic
        multiclass = "softmax" if mixes and known != 2 else "one_against_rest"
    joint = score_loss(loss, multiclass)
    two = known == 2 and isinstance(joint, OneAgainstRest)
    rate = settled_rate(rate, loss if two else joint, mirror)
    if not isinstance(joint, OneAgainstRest):
        if rate == MIXTURE and isinstance(joint, Softmax):
            require_own_maps(mirror)
            mixture = ScoreAggregate(blocks=blocks)
            mixture.grow(outputs)
            return Scorer(mixture)
        if isinstance(rate, str):
            raise ArgumentError("rate", f"goes with 'one_against_rest', not {multiclass!r}", rate)
        return Scorer(MatrixDescent(joint, mirror, rate, outputs, dimension, blocks=blocks))
    blank = new_learner(loss, mirror, rate, dimension, blocks)
    plain = mirror.euclidean() and type(loss) in EVEN
    if isinstance(rate, str) or not (plain and rate.columnwise()):
        count = 1 if outputs == 2 else outputs
        columns = [Signed(copy.deepcopy(blank), mirror) for _ in range(count)]
        return Columns(columns, Signed(blank, mirror), loss)
    if outputs == 2 and isinstance(blank, MirrorDescent):
        return Scorer(blank)
    return Scorer(MatrixDescent(joint, mirror, rate, outputs, dimension, blocks=blocks))


def score_loss(loss: Loss, multiclass: str) -> ScoreLoss:
    """Return the loss of all scores that a word and a loss of one score stand for.

    >>> score_loss(Hinge(2.0), "crammer_singer"), score_loss(Hinge(2.0), "ovr")
    (MulticlassHinge(margin=2.0), OneAgainstRest(loss=Hinge(margin=2.0)))
    """
    joint = spec(multiclass, "loss", "multiclass")
    if isinstance(joint, OneAgainstRest):
        return OneAgainstRest(loss)
    if isinstance(joint, Softmax) and type(loss) is Logistic:
        return joint
    if isinstance(joint, MulticlassHinge) and type(loss) is Hinge:
        return MulticlassHinge(loss.margin)
    wanted = {Softmax: "logistic", MulticlassHinge: "hinge"}.get(type(joint))
    reason = "expected one_against_rest, softmax or multiclass_hinge"
    if wanted is not None:
        reason = f"goes with loss={wanted!r}, got {loss!r}"
    raise ArgumentError("multiclass", reason, multiclass)


class Optimum:
    """Solutions of the batch problem: one a score, or one that is a matrix with a column a class.

    The last weight of a score is that of the constant. Two classes share one score.
    """

    def __init__(self, solutions: Sequence[Solution], free_bias: bool) -> None:
        self.solutions = tuple(solutions)
        self.joint = solutions[0].weights.ndim == 2
        rows = [np.append(one.weights, one.bias) if free_bias else one.weights for one in solutions]
        if self.joint:
            rows = list(rows[0].T)
            rows = [rows[1] - rows[0]] if len(rows) == 2 else rows
        self._weights = np.vstack(rows)

    def weights(self) -> Vector:
        """Return a row of weights a score, of the caller's own."""
        return self._weights.copy()

    def predict(self, rows: Any) -> Vector:
        """Return the scores: one a row for one solution, else one a row and solution."""
        return joined([_products(weights, rows) for weights in self._weights])

    def probabilities(self, scores: Vector) -> Vector:
        """Return the probabilities of the logistic losses, a row a row."""
        return multinomial(scores) if self.joint else logistic(scores)

    def certificate(self) -> Any:
        """Return the solution, or all of them as one: each has `dual <= minimum <= primal`."""
        count = len(self.solutions)
        if count == 1:
            return self.solutions[0]
        return ClassSolutions(self.solutions, tuple(range(count)))


@dataclass(frozen=True, eq=False)
class AnchoredCertificate(DualCertificate):
    """A statement about the rounds after a `fit`: floors are over balls around its optimum.

    `floor(radius)` is over u with ||u - anchor|| <= radius, `regularized_floor()` and `dual` are
    about ||u - anchor||^2/2, and `regret(u)` is that against u itself, whose predictions are taken
    as those of the optimum, as they were computed, plus <u - anchor, x>.
    """

    #: The weights that the rounds began with, the last that of the constant if there is one.
    anchor: Vector = field(kw_only=True)

    def regret(self, u: Any) -> float:
        """Return an upper bound on the learner's loss minus the loss of the fixed predictor u."""
        vector = np.asarray(u, np.float64)
        if vector.shape != self.anchor.shape:
            raise ValueError(
                f"u has shape {vector.shape}, expected {self.anchor.shape}, a weight a feature"
            )
        return super().regret(vector - self.anchor)

    def describe(self, radius: float | None = None) -> str:
        """Return in words the class that `floor(radius)` speaks about."""
        return f"{super().describe(radius)}, u the distance from the optimum of fit,"

    def _lines(self, radius: float | None = None) -> list[str]:
        return [*super()._lines(radius), "  u is the weights' difference from the optimum of fit"]


class Ascent(Signed):
    """Online dual ascent by exact steps, from an anchor on: the optimum of `fit`, or 0.

    Each step is w <- argmin ||v - w||^2/2 + C f(y, <v, x>); all of them together raise a dual
    that lies below ||u - anchor||^2/2 + C sum_t f(y_t, <u, x_t>) for every u.
    Reference: Crammer et al., Online Passive-Aggressive Algorithms, 2006, section 3.
    """

    learner: DualAscent

    def __init__(self, loss: Loss, C: float, anchor: Vector) -> None:
        mirror = Euclidean()
        super().__init__(DualAscent(loss, mirror, C, dimension=len(anchor)), mirror)
        self.anchor = anchor

    def _offset(self, rows: Any) -> Vector | None:
        return self.sign * _products(self.anchor, rows) if self.anchor.any() else None

    def learn(self, rows: Any, y: Vector, weight: Vector | None) -> Vector:
        """Learn the rows one after the other; return the predictions made before each."""
        return self.sign * self.learner.learn(rows, self.sign * y, weight, self._offset(rows))

    def predict(self, rows: Any) -> Vector:
        """Return <w, x> for each row."""
        return self.sign * self.learner.predict(rows, self._offset(rows))

    def weights(self) -> Vector:
        """Return w."""
        return self.anchor + self.sign * self.learner.weights

    def certificate(self) -> Any:
        """Return what the rounds so far prove about this score."""
        found = super().certificate()
        if not self.anchor.any():
            return found
        known = {one.name: getattr(found, one.name) for one in fields(found)}
        return AnchoredCertificate(**known, anchor=self.anchor.copy())

    def _has_begun(self) -> bool:
        return super()._has_begun() or bool(self.anchor.any())

    def turned(self) -> Self:
        """Return the learner of the opposite labels that has seen the same rows."""
        other = super().turned()
        if other.sign != self.sign:
            other.anchor = -self.anchor
        return other


def _products(weights: Vector, X: Any) -> Vector:
    return products(weights, sound_rows(as_rows(X), 0))
