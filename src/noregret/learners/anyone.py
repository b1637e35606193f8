"""A certificate for anyone's predictions, against the class of linear predictors."""

from __future__ import annotations

from typing import Any

from noregret.learners.foreign import Certifier
from noregret.learners.foreign_scores import ScoreCertifier
from noregret.losses import Loss, ScoreLoss
from noregret.mirrors import Mirror
from noregret.proof.certificate import Certificate


def certify(
    X: Any,
    y: Any,
    predictions: Any,
    loss: Loss | ScoreLoss,
    weight: Any = None,
    mirror: Mirror | None = None,
    blocks: bool | str = False,
    radius: float | None = None,
) -> Certificate:
    """Return what the predictions of any model prove about every fixed linear predictor.

    The proof uses only that the loss is convex in the prediction: with slopes g_t at the given
    p_t, sum f_t(u) >= sum (f_t(p_t) - g_t p_t) + <u, sum g_t x_t> for every u. With several
    scores p_t and g_t are vectors of K numbers, and predictors are matrices U.

    Args:
        X: the rows, dense or sparse.
        y: their labels, -1 and +1, real numbers or classes from 0 on, as the loss takes them.
        predictions: one finite number a row, or a row of K scores, made by any model.
        loss: one of `nr.losses` or a `Loss` of your own.
        weight: one number >= 0 a row [default: 1].
        mirror: the map whose class `floor(radius)` is about [default: Euclidean()].
        blocks: whether lines under blocks of rows are tried, too. They do not depend on the
            predictions: as a rule the floor is then close to the least loss of the class, for 2
            to 7 us a row, and more where it is read. For the square loss, or with `radius`, and
            up to 128 features there are parabolas besides; "parabolas" makes them without a
            radius and up to 512 features, for 3 to 30 times as much [default: False].
        radius: the largest radius that `floor` will be asked for, finite and above 0, if it is
            known: parabolas are then made for this class alone, and bend as far as it allows
            [default: not known].

    >>> from noregret import losses
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> proof = certify(X, [1.0, 2.0, 3.0], [1.1, 1.9, 3.0], losses.Squared())
    >>> round(proof.loss, 6), round(proof.floor(0.3), 4)
    (0.02, 0.0951)
    >>> best = certify(X, [1.0, 2.0, 3.0], [1.1, 1.9, 3.0], losses.Squared(), blocks=True)
    >>> round(best.floor(0.3), 4)
    10.4257
    >>> proof = certify(X, [0, 1, 2], [[1.0, 0.0, 0.0]] * 3, losses.Softmax())
    >>> round(proof.loss, 4), round(proof.floor(0.5), 4)
    (3.6543, 2.1313)
    """
    several = isinstance(loss, ScoreLoss)
    certifier = (ScoreCertifier if several else Certifier)(loss, mirror, blocks, radius)  # type: ignore[arg-type]
    certifier.add(X, y, predictions, weight)
    return certifier.certificate()
