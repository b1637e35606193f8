"""Examples that are predicted and measured but never learnt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noregret.streams import Block


@dataclass(frozen=True)
class Holdout:
    """Which examples of a stream are kept from the learner: every k-th, and all after the n-th.

    Examples count from 0 at the beginning of the stream; 0 and None switch a rule off.

    >>> Holdout(every=3).held(0, 7).tolist()
    [False, False, True, False, False, True, False]
    """

    every: int = 0
    after: int | None = None

    def __post_init__(self) -> None:
        if self.every != 0 and self.every < 2:
            raise ValueError(f"every {self.every}-th example held out leaves nothing to learn")
        if self.after is not None and self.after < 1:
            raise ValueError(f"holding out all after {self.after} leaves nothing to learn")

    def __bool__(self) -> bool:
        return self.every > 0 or self.after is not None

    def held(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Tell for the examples start to stop - 1 whether they are held out."""
        numbers = np.arange(start, stop)
        held = np.zeros(len(numbers), np.bool_)
        if self.every:
            held |= numbers % self.every == self.every - 1
        if self.after is not None:
            held |= numbers >= self.after
        return held


def select(block: Block, chosen: npt.NDArray[np.bool_]) -> Block:
    """Return the chosen rows as a block of their own.

    >>> block = Block(np.array([0, 2, 3, 4], np.uint64), np.array([0, 1, 0, 2], np.uint32),
    ...     np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, -1.0, 1.0]), width=3)
    >>> select(block, np.array([True, False, True])).dense().tolist()
    [[1.0, 2.0, 0.0], [0.0, 0.0, 4.0]]
    """
    if chosen.all():
        return block
    lengths = np.diff(block.indptr).astype(np.intp)
    first, last = int(block.indptr[0]), int(block.indptr[-1])
    places = first + np.flatnonzero(np.repeat(chosen, lengths))
    assert last - first == lengths.sum()
    return Block(
        indptr=np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.uint64),
        indices=block.indices[places],
        values=block.values[places],
        y=block.y[chosen],
        width=block.width,
        weight=None if block.weight is None else block.weight[chosen],
    )
