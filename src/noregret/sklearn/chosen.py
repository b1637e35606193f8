"""What an estimator's words stand for: a learner of one score, or the scorer of classes."""

from __future__ import annotations

import copy

from noregret.arguments import ArgumentError
from noregret.experts import Aggregate, Mixture, ScoreAggregate, rate_grid
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
from noregret.mirrors import Euclidean, Mirror
from noregret.rates import Rate
from noregret.scoring.scorer import Scorer
from noregret.sklearn.columns import EVEN, Columns, Signed
from noregret.vocabulary.presets import GRID, MIXTURE
from noregret.vocabulary.usual import usual_rate
from noregret.vocabulary.words import spec


def settled_rate(rate: Rate | str | None, loss: Loss | ScoreLoss, mirror: Mirror) -> Rate | str:
    """Return the rate, "grid" or "mixture"; None stands for what the command line chooses.

    >>> from noregret.mirrors import Ball
    >>> settled_rate(None, Hinge(), Euclidean()), settled_rate(None, Hinge(), Ball(2.0))
    ('mixture', Adaptive(scale=None))
    """
    if rate is None:
        rate = usual_rate(loss, plain=mirror == Euclidean())
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
