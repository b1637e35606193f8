"""The scorer that an estimator's words stand for: one learner of all classes, or one a class."""

from __future__ import annotations

import copy

from noregret.arguments import ArgumentError
from noregret.learners import MatrixDescent, MirrorDescent
from noregret.losses import (
    Hinge,
    Logistic,
    Loss,
    MulticlassHinge,
    OneAgainstRest,
    ScoreLoss,
    Softmax,
)
from noregret.mirrors import Mirror
from noregret.rates import Rate
from noregret.scoring.scorer import Scorer
from noregret.sklearn.columns import EVEN, Columns, Signed, new_learner
from noregret.vocabulary.words import spec


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
