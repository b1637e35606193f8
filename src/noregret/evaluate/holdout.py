"""Examples that are predicted and measured but never learnt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from noregret.scoring.growing import stacked
from noregret.streams import Block

#: The golden ratio in 64 bits and the two factors of the SplitMix64 generator.
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class Holdout:
    """Which examples of a stream are not learnt: every k-th, a share, and all after the n-th.

    Examples count from 0 at the beginning of the stream; 0 and None switch a rule off. Whether
    an example belongs to the random share follows from its number and the seed alone, so that a
    run that is taken up again, or another pass, holds out the same ones.

    >>> Holdout(every=3).held(0, 7).tolist()
    [False, False, True, False, False, True, False]
    >>> int(Holdout(share=0.1).held(0, 100_000).sum())
    9909
    """

    every: int = 0
    after: int | None = None
    share: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.every != 0 and self.every < 2:
            raise ValueError(f"every {self.every}-th example held out leaves nothing to learn")
        if self.after is not None and self.after < 1:
            raise ValueError(f"holding out all after {self.after} leaves nothing to learn")
        if not 0.0 <= self.share < 1.0:
            raise ValueError(f"a share of {self.share} held out, expected one between 0 and 1")

    def __bool__(self) -> bool:
        return self.every > 0 or self.after is not None or self.share > 0.0

    def held(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Tell for the examples start to stop - 1 whether they are held out."""
        numbers = np.arange(start, stop)
        held = np.zeros(len(numbers), np.bool_)
        if self.every:
            held |= numbers % self.every == self.every - 1
        if self.after is not None:
            held |= numbers >= self.after
        if self.share:
            held |= mixed(numbers, self.seed) < np.uint64(self.share * 2.0**64)
        return held


def mixed(numbers: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.uint64]:
    """Return 64 bits for each number that look random: SplitMix64 at that place of its course.

    Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, Figure 16.
    """
    # The seed is mixed as well, or neighbouring seeds would hold out neighbouring examples.
    start = int(_finalized(np.array([(seed * _STEP + _STEP) & _WORD], np.uint64))[0])
    return _finalized(numbers.astype(np.uint64) * np.uint64(_STEP) + np.uint64(start))


def _finalized(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    # Products of integer arrays wrap around without a warning.
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(_FIRST)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(_SECOND)
    return bits ^ (bits >> np.uint64(31))


def in_turn(
    block: Block,
    held: npt.NDArray[np.bool_],
    learn: Callable[[Block], npt.NDArray[np.float64]],
    measure: Callable[[Block], npt.NDArray[np.float64]],
) -> npt.NDArray[np.float64]:
    """Return a prediction for every row, made with what was learnt from the rows before it.

    Rows that are `held` out go to `measure`, the others to `learn`, in runs of either kind: how
    a stream is cut into blocks does not show.
    """
    made = []
    turns = (np.flatnonzero(held[1:] != held[:-1]) + 1).tolist()
    for start, stop in pairwise([0, *turns, len(block)]):
        part = block.rows(start, stop)
        made.append(measure(part) if held[start] else learn(part))
    return stacked(made)


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
    places = int(block.indptr[0]) + np.flatnonzero(np.repeat(chosen, lengths))
    return Block(
        indptr=np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.uint64),
        indices=block.indices[places],
        values=block.values[places],
        y=block.y[chosen],
        width=block.width,
        weight=None if block.weight is None else block.weight[chosen],
    )
