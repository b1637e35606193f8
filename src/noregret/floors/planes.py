"""Planes under blocks of rows with several scores, whose slopes depend on one another.

As `lines`, with a row of K slopes g_i for each row: Z = sum_i c_i x_i g_i^T, and the slopes of a
block maximise -sum_i c_i f*(g_i) - (1/(2b)) sum_jk (Z_jk / m_j)^2.

Rows stay for the next block as there, those with the largest
c_i ||x_i / m||^2 sum_k |g_ik| (1 - |g_ik|): the diagonal of the second derivative of softmax, and 0
where a hinge is straight.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.floors.lines import CLOSE, EPOCHS, STRENGTH, Chosen, Lines
from noregret.floors.pending import Held
from noregret.losses import ScoreLoss
from noregret.passes.dual import dual, dual_matrix, held_rows
from noregret.passes.frame import Labels, block
from noregret.proof.ledger import Entry
from noregret.rounding import two_sum
from noregret.rows.examples import Rows

#: A conjugate rounds by up to 64 + 40 K units of `dual_sums`' magnitude, where certificates count
#: 32 + 4 K.
ROUNDINGS = 10.0


class Planes(Lines):
    """The ledger, Z and the leader of the planes of all blocks so far, for K scores.

    Args:
        loss: one of several scores with a conjugate.
        outputs: K, at least 1.
        strength: b, above 0; it counts example weights of 1 [default: 1].
    """

    loss: ScoreLoss  # type: ignore[assignment]

    def __init__(self, loss: ScoreLoss, outputs: int, strength: float = STRENGTH) -> None:
        super().__init__(loss, strength)  # type: ignore[arg-type]
        self.slopes = np.zeros((0, outputs))
        self.sums, self.theta = np.zeros((0, outputs, 2)), np.zeros((0, outputs))

    @property
    def outputs(self) -> int:
        """Number of scores K."""
        return self.theta.shape[-1]

    def grow(self, outputs: int) -> None:
        """Add scores, which belong to the losses of later rows only."""
        more = outputs - self.outputs
        self.sums = np.pad(self.sums, ((0, 0), (0, more), (0, 0)))
        self.theta = np.pad(self.theta, ((0, 0), (0, more)))
        self.slopes = np.pad(self.slopes, ((0, 0), (0, more)))

    def gradient(self) -> Vector:
        """Return Z, score after score."""
        total: Vector = self.sums[: self.width].sum(axis=2).T.ravel()
        return total

    def choose(self, held: Held, slopes: Vector | None = None, close: float = CLOSE) -> Chosen:
        """Choose the slopes of a block, beginning with these."""
        rows, y, weight, _ = held
        units = Rows(rows.indptr, rows.indices, np.empty(rows.stored), rows.width, len(rows))
        held_rows.measure_scores(block(rows), weight, self.sizes, self.theta, units.values)
        scale, squares = weight / self.strength, np.empty(len(y))
        dual.squares(block(units), squares)
        if slopes is None:
            slopes = np.zeros((len(y), self.outputs))
            slopes[: len(self.slopes)] = self.slopes
        order = np.flatnonzero(weight).astype(np.uint32)
        memory = dual_matrix.Memory(scale, scale * squares, slopes, self.theta, order)
        dual_matrix.gather(block(units), memory)
        count = np.uint64(len(order))
        for _ in range(EPOCHS):
            self.random = np.uint64(dual.shuffle(order, count, self.random))
            count, lost, apart = dual_matrix.ascend(self.loss, block(units), y, memory, count)
            if apart <= close * lost or count == 0:
                break
        steep = np.abs(slopes)
        # No slope is larger than 1: where all are near 0 or 1, the loss is nearly flat.
        bends = weight * squares * (steep * (1.0 - steep)).sum(axis=1)
        return Chosen(units, slopes, bends)

    def enter(self, held: Held, chosen: Chosen, staying: npt.NDArray[np.bool_]) -> None:
        """Enter the planes of a block, but for those of rows that are in the next one, too."""
        rows, y, weight, _ = held
        units, slopes, _ = chosen
        labels = Labels(y, np.where(staying, 0.0, weight))
        self._enter_slopes(rows, labels, slopes, units)
        # What stays belongs to the next block.
        scale = np.where(staying, weight / self.strength, 0.0)
        order = np.zeros(0, np.uint32)
        memory = dual_matrix.Memory(scale, scale, -slopes, self.theta, order)
        dual_matrix.gather(block(units), memory)
        self.slopes = slopes[staying]

    def _enter_slopes(self, rows: Rows, labels: Labels, slopes: Vector, units: Rows) -> None:
        """Enter the planes of all rows in the ledger and in Z."""
        total, magnitude, travel = dual_matrix.dual_sums(
            self.loss, block(rows), labels, slopes, self.sums
        )
        ledger, places = self.ledger, [Entry.INTERCEPT, Entry.INTERCEPT_LOW]
        whole, lost = two_sum(ledger[Entry.INTERCEPT], total)
        ledger[places] = whole, ledger[Entry.INTERCEPT_LOW] + lost
        ledger[Entry.MAGNITUDE] += ROUNDINGS * magnitude
        ledger[Entry.TRAVEL] += travel
        lengths = np.diff(rows.indptr).astype(np.intp)
        steep = np.repeat(labels.weight * np.abs(slopes).sum(axis=1), lengths)
        ledger[Entry.SCALED_TRAVEL] += float(steep @ np.abs(units.values))
