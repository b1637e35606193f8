"""The linear predictor that stands for a learner where weights are asked for: shown, explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.experts.mixture import Mixture
from noregret.experts.score_aggregate import ScoreAggregate
from noregret.learners.standardized import Standardized


@dataclass(frozen=True, eq=False)
class LinearPart:
    """Weights and offset of one member of a mixture: it predicts by <weights, x> + offset.

    Of several classes there is a column of weights and an offset for each.
    """

    weights: Vector
    offset: Any
    dimension: int
    #: Which member it is, in words.
    words: str
    #: The largest |x_i| of each feature, None where the mixture does not measure them.
    sizes: Vector | None = None


def linear_part(learner: Any) -> Any:
    """Return what has the weights that are shown for a learner: itself, but for a mixture.

    A mixture is not linear. For it stands the linear member with the largest share; what this
    member predicts of a row is not what the mixture predicts.

    >>> import noregret as nr
    >>> mixture = Mixture(nr.losses.Squared())
    >>> _ = mixture.learn([[1.0], [2.0], [4.0]], [3.0, 5.0, 9.0])
    >>> part = linear_part(mixture)
    >>> part.weights.shape, part.words
    ((1,), 'member 1 of 7, standardized ScaleFree()')
    >>> linear_part(mixture.learners[-1]) is mixture.learners[-1]
    True
    """
    if not isinstance(learner, Mixture | ScoreAggregate):
        return learner
    place, member = learner.representative
    sizes = getattr(learner._book, "sizes", None)
    words = f"member {place + 1} of {len(learner.members)}"
    if isinstance(member, Standardized):
        weights, offset = member.affine()
        words = f"{words}, standardized {member.learner.rate}"
        return LinearPart(weights, offset, member.dimension, words, _fitted(sizes, weights))
    named = getattr(member, "rate", None) or type(member).__name__
    offset = getattr(member, "offset", 0.0)
    weights = member.weights
    return LinearPart(
        weights, offset, member.dimension, f"{words}, {named}", _fitted(sizes, weights)
    )


def _fitted(sizes: Vector | None, weights: Vector) -> Vector | None:
    """Return a size for each feature that has a weight, 0 for one that never occurred."""
    if sizes is None:
        return None
    return np.pad(sizes, (0, max(len(weights) - len(sizes), 0)))[: len(weights)]


def offsets_of(part: Any, outputs: int) -> Vector:
    """Return what the scores of a linear predictor have beside <weights, x>, one a score.

    >>> import noregret as nr
    >>> offsets_of(linear_part(nr.experts.ScoreAggregate()), 3).tolist()
    [0.0, 0.0, 0.0]
    """
    own = np.asarray(getattr(part, "offset", 0.0), np.float64)
    if own.ndim == 0:
        return np.full(outputs, float(own))
    # Scores that were not there yet have none.
    return np.pad(own, (0, outputs - len(own)))


def words_of(learner: Any) -> str | None:
    """Return whose weights are shown where they are not the learner's own, else None.

    >>> import noregret as nr
    >>> words_of(nr.catalogue.ogd(nr.losses.Hinge(), 0.1))
    """
    part = linear_part(learner)
    return part.words if isinstance(part, LinearPart) else None
