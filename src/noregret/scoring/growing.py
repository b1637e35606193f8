"""Several classes: learners that grow where one appears, and the classes that scores stand for.

A class is the number of a column of the scores. Where a class was not known when a prediction
was made, its score is -inf.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.scoring.labels import Codes
from noregret.streams import Block


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
    codes = block.y.astype(np.intp)
    width = max(int(codes.max()) + 1, learner.outputs)
    scores = np.full((len(block), width), -np.inf)
    for start, stop in segments(codes, learner.outputs):
        known = learner.outputs
        if codes[start] >= known:
            learner.grow(int(codes[start]) + 1)
        part = block.rows(start, stop)
        made = learner.learn(part, part.y, part.weight)
        scores[start:stop, : made.shape[1]] = made
        scores[start, known:] = -np.inf
    return scores


def segments(codes: Codes, known: int) -> Iterable[tuple[int, int]]:
    """Return (start, stop) of parts in which only the first row may bring a class that is new.

    codes: the class of each row; known: how many classes were known before.

    >>> list(segments(np.array([0, 1, 0, 2, 3]), 2))
    [(0, 3), (3, 4), (4, 5)]
    """
    highest = np.maximum.accumulate(np.maximum(codes, known - 1))
    starts = (np.flatnonzero(np.diff(highest)) + 1).tolist()
    return pairwise([0, *starts, len(codes)]) if len(codes) else ()


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
