"""The default rate, as a word, of the command line and of the estimators."""

from __future__ import annotations

from typing import Any

from noregret.vocabulary.presets import MIXTURE

#: The rate that tunes itself, of one learner with the Euclidean map.
SCALE_FREE = "scale-free"
#: That of one learner with any map.
ADAPTIVE = "adaptive"


def usual_rate(loss: Any, *, plain: bool, alone: bool = False) -> str:
    """Return the word of the default rate for a loss.

    Args:
        loss: of one score, or of several.
        plain: whether everything that `ScaleFree` knows in one form only is at its default:
            the Euclidean map, steps of descent, no eta, no average.
        alone: whether something else was chosen that belongs to one learner and not to a mixture
            [default: False].

    >>> from noregret import losses
    >>> usual_rate(losses.Hinge(), plain=True), usual_rate(losses.MulticlassHinge(), plain=True)
    ('mixture', 'scale-free')
    """
    from noregret.losses import Loss, Softmax

    if not plain:
        return ADAPTIVE
    mixes = isinstance(loss, Loss) or type(loss) is Softmax
    return MIXTURE if mixes and not alone else SCALE_FREE
