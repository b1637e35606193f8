"""Lines under blocks of rows that were held back, chosen to raise the floor.

Any slope s of a loss proves a line below it, f(<u, x>) >= s <u, x> - f*(s) for every u, whoever
predicted what. With Z = sum_i c_i s_i x_i the lines of all rows prove

    sum_i c_i f_i(<u, x_i>) >= -sum_i c_i f_i*(s_i) + <u, Z>.

Rows are held back until a block is full. The slopes of its rows then maximise, with those of all
rows before fixed,

    -sum_i c_i f_i*(s_i) - (1/(2b)) sum_j (Z_j / m_j)^2,

by a few epochs of dual coordinate ascent, m_j the largest |x_j| so far. A line of the block touches
its loss near where the leader w_j = -Z_j / (b m_j^2) of all rows up to the end of the block
predicts, which is later than any player knew. Every slope is right, so that the epochs and b only
decide how high the floor is. With one block of all rows it is the dual of the best in hindsight.
Reference: Shalev-Shwartz, Singer, A Primal-Dual Perspective of Online Learning Algorithms, 2007,
for lines whose slopes are raised after the rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.floors.pending import Block, Pending
from noregret.losses import Loss
from noregret.mirrors import Euclidean
from noregret.passes.dual import dual, gap, held_rows
from noregret.passes.frame import block
from noregret.proof.ledger import SIZE, Entry, new_ledger
from noregret.rows.examples import Rows

#: Stored features of a block: about 3 MB.
BLOCK = 1 << 18
#: b, in units of the loss.
STRENGTH = 1.0
#: What b is multiplied by in turn, for the rows that are entered for the time being.
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
#: Above this many features one b is enough: each takes two numbers a feature more at a print.
WIDE = 1 << 20
#: Most epochs of ascent over a block.
EPOCHS = 20
#: An epoch whose visits found a gap below this part of the loss is the last.
CLOSE = 0.02
#: No row is put aside, and every visit is sampled: both are for other users of the kernel.
NEVER, EVERY = 1e300, np.uint64(1)

#: Entries of the ledger that lines enter.
_SUMS = [
    *(Entry.ROUNDS, Entry.INTERCEPT, Entry.INTERCEPT_LOW),
    *(Entry.MAGNITUDE, Entry.TRAVEL, Entry.SCALED_TRAVEL),
]

_EUCLIDEAN = Euclidean()
_NO_ENDS, _NO_OFFSET = np.zeros(1, np.uint64), np.zeros(1)


class BlockLines:
    """The lines of all rows so far, those of the last block for the time being only.

    Args:
        loss: one with a conjugate.
        size: stored features with which a block is full, at least 1 [default: 262,144].
        strength: b, above 0; it counts example weights of 1 [default: 1].

    >>> import noregret as nr
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
        self.loss, self.size, self.strength = loss, size, strength
        self.ledger = new_ledger()
        #: State of the generator that orders the visits.
        self.random = np.uint64(1)
        #: Z as twofold sums, theta = -Z / (b m), and m; with room for more features.
        self.sums, self.theta, self.sizes = np.zeros((0, 2)), np.zeros(0), np.zeros(0)
        self.width = 0
        self.pending = Pending(size)

    @property
    def rounds(self) -> int:
        """How many rows there were, those held back included."""
        return int(self.ledger[Entry.ROUNDS]) + len(self.pending)

    def add(self, rows: Rows, y: Vector, weight: Vector, offset: float | Vector = 0.0) -> None:
        """Hold back rows that are known to be sound; enter each block that they fill.

        Every u predicts <u, x> + offset.
        """
        self._widen(rows.width)
        given = np.broadcast_to(offset, len(y))
        for start, stop in rows.chunks():
            part = slice(start, stop)
            for full in self.pending.take(
                rows.part(start, stop), y[part], weight[part], given[part]
            ):
                self._fill(full)

    def add_row(
        self, columns: npt.NDArray[np.uint32], values: Vector, y: float, weight: float
    ) -> None:
        """Hold back one sound row, as `add` does, for the price of a few arrays of one number."""
        if values.ndim == 1:
            self._widen(int(columns[-1]) + 1 if len(columns) else 0)
            ends = np.array([0, len(columns)], np.uint64)
            row = Rows(ends, columns, values, self.width, 1)
        else:
            self._widen(values.shape[1])
            row = Rows(_NO_ENDS, columns, values, self.width, 1)
        terms = np.array([y], np.float64), np.array([weight], np.float64), _NO_OFFSET
        for full in self.pending.take(row, *terms):
            self._fill(full)

    def proved(self, thorough: bool = True) -> list[tuple[Vector, Vector]]:
        """Return ledgers of all rows, each with its Z; the rows held back stay so.

        Each is right for every class; they differ in b for the rows held back, which a small class
        wants large and a large one small.
        thorough: try several b [default: True].
        """
        if not len(self.pending):
            return [(self.ledger.copy(), self._gradient())]
        kept = self.ledger, self.sums, self.theta, self.sizes, self.random, self.strength
        found, given, slopes = [], self.pending.block(self.width), None
        try:
            for factor in FACTORS if thorough and self.width <= WIDE else (1.0,):
                self.ledger, self.sums, self.theta, self.sizes = (one.copy() for one in kept[:4])
                self.random, self.strength = kept[4], factor * kept[5]
                self.theta /= factor
                slopes = self._enter(given, slopes)
                found.append((self.ledger, self._gradient()))
        finally:
            self.ledger, self.sums, self.theta, self.sizes, self.random, self.strength = kept
        return found

    def _fill(self, full: Block) -> None:
        """Enter a block that is full."""
        self._enter(full)

    def _gradient(self) -> Vector:
        total: Vector = self.sums[: self.width].sum(axis=1)
        return total

    def _enter(self, full: Block, slopes: Vector | None = None) -> Vector:
        """Choose the slopes of a block, from these on, and enter its lines; return the slopes."""
        rows, y, weight, offset = full
        units = Rows(rows.indptr, rows.indices, np.empty(rows.stored), rows.width, len(rows))
        held_rows.measure(block(rows), self.sizes, self.theta, units.values)
        scale, squares = weight / self.strength, np.empty(len(y))
        dual.squares(block(units), squares)
        if slopes is None:
            slopes = np.empty(len(y))
            gap.first_slopes(self.loss, y, slopes)
        ends = rows.indptr[:-1], rows.indptr[1:]
        columns: Any = slopes, y, scale * squares, scale, offset, *ends
        records = np.empty((len(y), dual.PLACES))
        for place, column in enumerate(columns):
            records[:, place] = column
        dual.gather(block(units), -scale * slopes, self.theta)
        order = np.flatnonzero(weight).astype(np.uint32)
        memory, count = dual.Memory(records, self.theta, order), np.uint64(len(order))
        for _ in range(EPOCHS):
            self.random = np.uint64(dual.shuffle(order, count, self.random))
            course = dual.Course(count, NEVER, EVERY)
            _, _, lost, apart, _ = dual.ascend(
                self.loss, _EUCLIDEAN, block(units), memory, 0.0, course, None
            )
            if apart <= CLOSE * lost:
                break
        slopes = np.ascontiguousarray(records[:, dual.SLOPE])
        held = held_rows.Held(y, weight, offset, slopes)
        held_rows.enter_slopes(self.loss, block(rows), held, self.sizes, self.sums, self.ledger)
        return slopes

    def _widen(self, width: int) -> None:
        self.width = max(self.width, width)
        if self.width > len(self.sizes):
            more = (1 << (self.width - 1).bit_length()) - len(self.sizes)
            self.sums = np.pad(self.sums, ((0, more), (0, 0)))
            self.theta, self.sizes = np.pad(self.theta, (0, more)), np.pad(self.sizes, (0, more))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all state, the rows held back included, for a file."""
        state = {
            "ledger": self.ledger.copy(),
            "sums": self.sums[: self.width].copy(),
            "theta": self.theta[: self.width].copy(),
            "sizes": self.sizes[: self.width].copy(),
            "random": np.array([self.random]),
        }
        return state | {name: array.copy() for name, array in self.pending.arrays().items()}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from what `arrays` returned, or refuse what cannot be lines of blocks."""
        width = len(arrays["sizes"])
        for name, shape in (("ledger", (SIZE,)), ("sums", (width, 2)), ("theta", (width,))):
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
            if not np.all(np.isfinite(arrays[name][_SUMS] if name == "ledger" else arrays[name])):
                raise ValueError(f"{name} of blocks must hold finite numbers")
        fresh = BlockLines(self.loss, self.size, self.strength)
        fresh._widen(width)
        fresh.ledger, fresh.random = arrays["ledger"].copy(), np.uint64(arrays["random"][0])
        for name in ("sums", "theta", "sizes"):
            getattr(fresh, name)[:width] = arrays[name]
        fresh.pending.restore(arrays, width)
        vars(self).update(vars(fresh))
