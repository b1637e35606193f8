"""Several classes: learners that grow where one appears, and what their scores say.

A class is the number of a column of the scores. Where a class was not known when a prediction
was made, its score is -inf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.losses.links import log_against_rest, log_multinomial

if TYPE_CHECKING:
    from noregret.streams import Block

#: Scores to logarithms of probabilities, a row a class.
Link = Callable[[Vector], Vector]


def learn_block(learner: Any, block: Block) -> Vector:
    """Let a learner learn the rows; return the predictions made before each.

    One that can grow does so at the row where a class first appears, however the stream is cut.
    Nobody can have predicted that class there, whatever score of 0 it then began with.

    >>> import noregret as nr
    >>> from noregret.streams import Block
    >>> learner = nr.MatrixDescent(nr.losses.MulticlassHinge(), rate=nr.rates.Constant(1))
    >>> block = Block(np.arange(4, dtype=np.uint64), np.zeros(3, np.uint32), np.ones(3),
    ...     np.array([0.0, 1.0, 0.0]), width=1)
    >>> learn_block(learner, block)
    array([[-inf, -inf],
           [  0., -inf],
           [ -1.,   1.]])
    """
    if not hasattr(learner, "grow") or not len(block):
        made: Vector = learner.learn(block, block.y, block.weight)
        return made
    known = learner.outputs
    highest = np.maximum(np.maximum.accumulate(block.y), known - 1.0).astype(np.intp)
    before = np.concatenate(([known - 1], highest[:-1]))
    starts = np.flatnonzero(highest > before).tolist()
    scores = np.full((len(block), int(highest[-1]) + 1), -np.inf)
    for start, stop in pairwise(sorted({0, *starts, len(block)})):
        if highest[start] >= learner.outputs:
            learner.grow(int(highest[start]) + 1)
        part = block.rows(start, stop)
        made = learner.learn(part, part.y, part.weight)
        scores[start:stop, : made.shape[1]] = made
        scores[start, int(before[start]) + 1 :] = -np.inf
    return scores


def stacked(parts: Sequence[Vector]) -> Vector:
    """Return predictions one after the other, unknown classes with a score of -inf.

    >>> stacked([np.zeros((1, 1)), np.ones((1, 2))])
    array([[  0., -inf],
           [  1.,   1.]])
    """
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    return np.concatenate([widened(part, width) for part in parts])


def widened(scores: Vector, width: int) -> Vector:
    """Return scores of `width` classes, those that are not known -inf."""
    unknown = ((0, 0), (0, width - scores.shape[1]))
    return np.pad(scores, unknown, constant_values=-np.inf)


def predicted(scores: Vector) -> npt.NDArray[np.intp]:
    """Return the class of the largest score of each row, the first of equals; -1 for none.

    >>> predicted(np.array([[0.0, 1.0, 1.0], [-np.inf, -np.inf, -np.inf]])).tolist()
    [1, -1]
    """
    if not scores.shape[1]:
        return np.full(len(scores), -1, np.intp)
    best: npt.NDArray[np.intp] = scores.argmax(axis=1)
    best[np.isneginf(scores[np.arange(len(scores)), best])] = -1
    return best


def link_of(loss: Any) -> Link | None:
    """Return how scores become logarithms of probabilities, None where the loss means none.

    Those of `Softmax` are exp(s_k) / sum_j exp(s_j); those of `OneAgainstRest` with the logistic
    loss 1 / (1 + exp(-s_k)), divided by their sum.

    >>> from noregret.losses import MulticlassHinge, Softmax
    >>> link_of(MulticlassHinge()) is None
    True
    >>> np.exp(link_of(Softmax())(np.log([[1.0, 3.0]]))).round(12)
    array([[0.25, 0.75]])
    """
    from noregret.losses import Logistic, OneAgainstRest, Softmax

    if type(loss) is Softmax:
        return log_multinomial
    if type(loss) is OneAgainstRest and type(loss.loss) is Logistic:
        return log_against_rest
    return None
