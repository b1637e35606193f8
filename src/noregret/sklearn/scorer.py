"""The scores of the classes: one learner for two of them, one of a matrix for more."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arguments import ArgumentError
from noregret.learners import MatrixDescent, MirrorDescent
from noregret.learners.base import Diverged
from noregret.losses import (
    Hinge,
    Logistic,
    Loss,
    MulticlassHinge,
    OneAgainstRest,
    ScoreLoss,
    Softmax,
)
from noregret.losses.links import logistic, multinomial
from noregret.mirrors import Mirror
from noregret.rates import Rate
from noregret.sklearn.calibration import Platt
from noregret.sklearn.columns import EVEN, Columns, Signed, new_learner
from noregret.sklearn.labels import Codes
from noregret.vocabulary.words import spec

Vector = npt.NDArray[np.float64]

#: The labels of the first and of the second class.
_SIGNS = np.array([-1.0, 1.0])


def open_scorer(
    loss: Loss, multiclass: str, mirror: Mirror, rate: Rate | None, dimension: int, outputs: int
) -> Scorer | Columns:
    """Return the scorer of `outputs` classes.

    One against the rest is a learner a class. Where the learner of a matrix is the same to the
    bit, it is the one: it is quicker and has one certificate for all.
    """
    joint = score_loss(loss, multiclass)
    if not isinstance(joint, OneAgainstRest):
        if rate is None:
            raise ArgumentError("rate", f"goes with 'one_against_rest', not {multiclass!r}", "grid")
        return Scorer(MatrixDescent(joint, mirror, rate, outputs, dimension))
    blank = new_learner(loss, mirror, rate, dimension)
    plain = mirror.euclidean() and type(loss) in EVEN
    if rate is None or not (plain and rate.columnwise()):
        count = 1 if outputs == 2 else outputs
        columns = [Signed(copy.deepcopy(blank), mirror) for _ in range(count)]
        return Columns(columns, Signed(blank, mirror), loss)
    if outputs == 2 and isinstance(blank, MirrorDescent):
        return Scorer(blank)
    return Scorer(MatrixDescent(joint, mirror, rate, outputs, dimension))


class Scorer:
    """Learns the scores of classes 0 ... K - 1, and what they mean as probabilities.

    Two classes share one score, that of the second against the first.
    """

    def __init__(self, learner: MirrorDescent | MatrixDescent) -> None:
        self.learner: Any = learner
        loss = learner.loss.loss if type(learner.loss) is OneAgainstRest else learner.loss
        self.platt = None if type(loss) in (Logistic, Softmax) else Platt(self.outputs)

    @property
    def binary(self) -> bool:
        """Whether the learner is that of labels -1 and +1."""
        return isinstance(self.learner, MirrorDescent)

    @property
    def rounds(self) -> int:
        """How many rows were learnt."""
        return int(self.learner.rounds)

    @property
    def outputs(self) -> int:
        """How many classes there is room for."""
        return 2 if self.binary else int(self.learner.outputs)

    def require_room(self, now: int, outputs: int, begun: bool) -> None:
        """Refuse classes that `grow` could not make room for, see `Columns`."""
        mirror = self.learner.mirror
        late = outputs > max(now, self.outputs) and (begun or self.learner.rounds)
        late = late or (now > self.outputs and self.learner.rounds)
        if late and not mirror.grows():
            raise ValueError(
                f"y has {outputs} classes, and a learner of {self.outputs} with {mirror} cannot go "
                "on with more: declare them in the first partial_fit"
            )

    def grow(self, outputs: int) -> None:
        """Make room for more classes, whose scores are 0 so far."""
        if outputs <= self.outputs:
            return
        if self.platt is not None:
            self.platt.grow(2.0 if self.binary else 1.0)
        if self.binary:
            self.learner = MatrixDescent.from_binary(self.learner)
        self.learner.grow(outputs)

    def learn(self, rows: Any, codes: Codes, weight: Vector | None) -> None:
        """Learn the classes of the rows, one after the other."""
        targets = _SIGNS.take(codes) if self.binary else codes
        try:
            self._calibrate(self.learner.learn(rows, targets, weight), codes, weight)
        except Diverged as refusal:
            self._calibrate(refusal.predictions, codes, weight)
            raise

    def _calibrate(self, made: Vector, codes: Codes, weight: Vector | None) -> None:
        """Fit the probabilities to the scores made before each row that was learnt."""
        if self.platt is not None:
            learnt = slice(0, len(made))
            masses = np.ones(len(made)) if weight is None else weight[learnt]
            self.platt.learn(self._shared(made), codes[learnt], masses)

    def predict(self, rows: Any) -> Vector:
        """Return the scores: one a row for two classes, else one a row and class."""
        return self._shared(self.learner.predict(rows))

    def probabilities(self, scores: Vector) -> Vector:
        """Return the probabilities that the scores stand for, a row a row."""
        if self.platt is not None:
            return self.platt.probabilities(scores)
        if self.binary or isinstance(self.learner.loss, OneAgainstRest):
            return logistic(scores)
        return multinomial(scores)

    def weights(self) -> Vector:
        """Return a row of weights a score."""
        weights = self._shared(np.atleast_2d(self.learner.weights.T).T)
        return np.atleast_2d(weights.T)

    def certificate(self) -> Any:
        """Return what the rounds so far prove."""
        return self.learner.certificate()

    def _shared(self, scores: Vector) -> Vector:
        if scores.ndim == 1 or scores.shape[1] > 2:
            return scores
        return scores[:, -1] if self.binary else scores[:, 1] - scores[:, 0]


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
