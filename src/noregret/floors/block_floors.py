"""Lines and parabolas under the same blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from noregret.arguments import ArgumentError
from noregret.floors.block_lines import BLOCK, STRENGTH, BlockLines
from noregret.floors.parabolas import WIDEST, Parabolas
from noregret.floors.pending import Block
from noregret.losses import Loss, ScoreLoss
from noregret.proof.quadratic import Quadratic

#: The names of the arrays of parabolas begin with this.
_CURVES = "curves_"


def lines_below(loss: Any, radius: float | None = None) -> BlockFloors:
    """Return the floors of blocks for a loss, or refuse one that has no slopes to choose among.

    radius: of the class ||u||_2 <= radius, where it is known in advance [default: it is not].
    """
    if isinstance(loss, ScoreLoss) or loss.foreign or not loss.has_conjugate():
        known = "only losses of noregret with one score and a conjugate"
        raise ArgumentError("blocks", f"{known}, not {type(loss).__name__}", True)
    return BlockFloors(loss, radius=radius)


class BlockFloors(BlockLines):
    """The lines of all rows, and their parabolas where the loss has any.

    There are no parabolas once rows had more than 512 columns: they take two numbers for every
    pair of columns.

    Args:
        loss: one with a conjugate.
        size: stored features with which a block is full, at least 1 [default: 262,144].
        strength: see `BlockLines` [default: 1].
        radius: see `Parabolas` [default: not known].

    >>> import numpy as np, noregret as nr
    >>> from noregret.rows.examples import as_rows
    >>> floors = BlockFloors(nr.losses.Logistic(), radius=2.0)
    >>> floors.add(as_rows([[1.0], [-0.5]]), np.array([1.0, 1.0]), np.ones(2))
    >>> [one.radius for one in floors.curves()]
    [2.0]
    """

    def __init__(
        self,
        loss: Loss,
        size: int = BLOCK,
        strength: float = STRENGTH,
        radius: float | None = None,
    ) -> None:
        super().__init__(loss, size, strength)
        self._radius = radius
        self._parabolas = Parabolas(loss, radius) if loss.has_curvature() else None

    def curves(self) -> list[Quadratic]:
        """Return the parabolas of all rows, one sum for each radius; the rows held back stay so."""
        if self._parabolas is None:
            return []
        held = self.pending.block(self.width) if len(self.pending) else None
        return self._parabolas.curves(held)

    def _fill(self, full: Block) -> None:
        super()._fill(full)
        if self._parabolas is not None:
            self._parabolas.enter(full)

    def _widen(self, width: int) -> None:
        super()._widen(width)
        if width > WIDEST:
            self._parabolas = None
        elif self._parabolas is not None:
            self._parabolas.widen(width)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all state, the rows held back included, for a file."""
        curves = {} if self._parabolas is None else self._parabolas.arrays()
        return super().arrays() | {f"{_CURVES}{name}": array for name, array in curves.items()}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from what `arrays` returned, or refuse what cannot be floors of blocks."""
        kept = {
            name.removeprefix(_CURVES): array
            for name, array in arrays.items()
            if name.startswith(_CURVES)
        }
        parabolas = Parabolas(self.loss, self._radius) if kept else None
        if parabolas is not None:
            parabolas.restore(kept)
        super().restore(arrays)
        self._parabolas = parabolas
