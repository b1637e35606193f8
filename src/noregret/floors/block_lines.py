"""Floors by lines at blocks of rows, for losses of one score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noregret.floors.blocks import BLOCK, Arrays, Blocks
from noregret.floors.lines import STRENGTH, Chosen, Lines, Proved
from noregret.floors.pending import Held
from noregret.losses import Loss


class BlockLines(Blocks):
    """The lines of all rows so far, those of the last block for the time being only.

    Args:
        loss: one with a conjugate.
        size: stored features with which a block is full, at least 1 [default: 262,144].
        strength: b, above 0; it counts example weights of 1 [default: 1].

    >>> import numpy as np, noregret as nr
    >>> from noregret.proof.ledger import Entry
    >>> from noregret.rows.examples import as_rows
    >>> lines = BlockLines(nr.losses.Logistic())
    >>> lines.add(as_rows([[1.0], [-0.5]]), np.array([1.0, 1.0]), np.ones(2))
    >>> floors = [one[Entry.INTERCEPT] - 0.2 * abs(Z[0]) for one, Z in lines.proved()]
    >>> best = nr.hindsight([[1.0], [-0.5]], [1, 1], nr.losses.Logistic(), radius=0.2)
    >>> bool(0.99 * best.primal < max(floors) <= best.primal)
    True
    """

    def __init__(self, loss: Loss, size: int = BLOCK, strength: float = STRENGTH) -> None:
        super().__init__(size)
        self.lines = Lines(loss, strength)

    def _widen(self, width: int) -> None:
        self.lines.widen(width)

    def _choose(self, held: Held) -> list[Chosen]:
        return [self.lines.choose(held)]

    def _enter(self, held: Held, chosen: list[Chosen], staying: npt.NDArray[np.bool_]) -> None:
        self.lines.enter(held, chosen[0], staying)

    def _retained(self) -> int:
        return len(self.lines.slopes)

    def _proved(self, held: Held | None, thorough: bool) -> list[Proved]:
        return self.lines.proved(held, thorough)

    def _entered_arrays(self) -> Arrays:
        return self.lines.arrays()

    def _restore_entered(self, arrays: Arrays) -> None:
        self.lines.restore(arrays)
        self.width = self.lines.width
