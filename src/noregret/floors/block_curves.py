"""Floors by lines and parabolas at the same blocks of rows, for curved losses of one score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noregret.floors.block_lines import BlockLines
from noregret.floors.blocks import BLOCK, Arrays
from noregret.floors.lines import Chosen
from noregret.floors.parabolas import WIDEST, Parabolas
from noregret.floors.pending import Held
from noregret.losses import Loss
from noregret.proof.quadratic import Quadratic

#: The names of the arrays of parabolas begin with this.
_CURVES = "curves_"


class BlockCurves(BlockLines):
    """The lines and the parabolas of all rows so far.

    There are no parabolas once rows had more columns than `widest`: they take two numbers for
    every pair of columns.

    Args:
        loss: one with a conjugate and curvature.
        radius: of the class ||u||_2 <= radius, finite and above 0, for which parabolas are made
            [default: not known: 4, 16 and 64 in units of the largest |x_i|].
        size: stored features with which a block is full, at least 1 [default: 262,144].
        widest: the most columns that rows may have for parabolas, 512 or less [default: 512].

    >>> import numpy as np, noregret as nr
    >>> from noregret.rows.examples import as_rows
    >>> floors = BlockCurves(nr.losses.Logistic(), radius=2.0)
    >>> floors.add(as_rows([[1.0], [-0.5]]), np.array([1.0, 1.0]), np.ones(2))
    >>> [one.radius for one in floors.curves()]
    [2.0]
    """

    def __init__(
        self, loss: Loss, radius: float | None = None, size: int = BLOCK, widest: int = WIDEST
    ) -> None:
        super().__init__(loss, size)
        self._loss, self._radius, self._widest = loss, radius, widest
        #: The parabolas, if there are any.
        self.parabolas: Parabolas | None = self._fresh()

    def _fresh(self) -> Parabolas:
        if self._radius is None:
            return Parabolas(self._loss)
        return Parabolas(self._loss, (self._radius,), measured=False)

    def curves(self) -> list[Quadratic]:
        """Return the parabolas of all rows, one sum for each radius; the rows held back stay so."""
        if self.parabolas is None:
            return []
        held = self.pending.held(self.width) if len(self.pending) else None
        return self.parabolas.curves(held)

    def _enter(self, held: Held, chosen: list[Chosen], staying: npt.NDArray[np.bool_]) -> None:
        super()._enter(held, chosen, staying)
        if self.parabolas is not None:
            self.parabolas.enter(held, staying)

    def _widen(self, width: int) -> None:
        super()._widen(width)
        if width > self._widest:
            self.parabolas = None
        elif self.parabolas is not None:
            self.parabolas.widen(width)

    def _entered_arrays(self) -> Arrays:
        curves = {} if self.parabolas is None else self.parabolas.arrays()
        named = {f"{_CURVES}{name}": array for name, array in curves.items()}
        return super()._entered_arrays() | named

    def _restore_entered(self, arrays: Arrays) -> None:
        kept = {
            name.removeprefix(_CURVES): array
            for name, array in arrays.items()
            if name.startswith(_CURVES)
        }
        parabolas = self._fresh() if kept else None
        if parabolas is not None:
            parabolas.restore(kept)
        super()._restore_entered(arrays)
        if parabolas is not None and parabolas.width != self.width:
            raise ValueError(f"parabolas know {parabolas.width} features of {self.width}")
        self.parabolas = parabolas
