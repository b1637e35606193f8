"""Several learners on the same rows: all of them learn a row, or none does."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class Diverged(OverflowError):
    """A row whose loss or gradient overflows was refused; the rows before it were learnt.

    `predictions` are those made for the rows before it, each before its update.

    >>> Diverged("round 3 overflows", np.zeros(2)).predictions.size
    2
    """

    def __init__(self, message: str, predictions: npt.NDArray[np.float64]) -> None:
        """Take the message and the predictions of the rows that were learnt."""
        super().__init__(message)
        self.predictions = predictions


def learn_together(
    learners: Sequence[Any], start: int, stop: int, play: Callable[[int, int], None]
) -> None:
    """Call play(start, stop), which has all learners learn these rows, and undo what is refused.

    ValueError refuses all of the rows: the learners are as they were. After OverflowError they are
    as they were before the first row that one of them refuses, the rows before it are kept, and
    the error of that row is raised.
    The learners are copied beforehand: time and memory are those of their own sizes.

    >>> import noregret as nr
    >>> one = nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.Constant(1))
    >>> rows = [[1.0], [2.0], [1e99]]
    >>> try:
    ...     learn_together([one], 0, 3, lambda a, b: one.learn(rows[a:b], [0.0, 1.0, 1e99][a:b]))
    ... except OverflowError:
    ...     one.rounds
    2
    """
    # Copy learners, not their attributes: arrays of one learner may be views of one another.
    before = [copy.deepcopy(learner) for learner in learners]
    try:
        play(start, stop)
    except (OverflowError, ValueError) as refusal:
        for learner, kept in zip(learners, before, strict=True):
            vars(learner).clear()
            vars(learner).update(vars(kept))
        if isinstance(refusal, ValueError) or stop - start <= 1:
            raise
        middle = (start + stop) // 2
        learn_together(learners, start, middle, play)
        learn_together(learners, middle, stop, play)
