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
from noregret.losses import Loss
from noregret.mirrors import Euclidean
from noregret.passes.dual import dual, gap, held_rows
from noregret.passes.frame import block
from noregret.proof.ledger import SIZE, new_ledger
from noregret.rows.examples import Rows

#: Stored features of a block: about 3 MB.
BLOCK = 1 << 18
#: b, in units of the loss.
STRENGTH = 3.0
#: What b is multiplied by in turn, for the rows that are entered for the time being.
FACTORS = (0.1, 1.0, 10.0, 100.0, 1000.0)
#: Epochs of ascent over a block.
EPOCHS = 5
#: No row is put aside, and every visit is sampled: both are for other users of the kernel.
NEVER, EVERY = 1e300, np.uint64(1)

_EUCLIDEAN = Euclidean()
_PENDING = ("indptr", "indices", "values", "y", "weight")


class BlockLines:
    """The lines of all rows so far, those of the last block for the time being only.

    Args:
        loss: one with a conjugate.
        size: stored features with which a block is full, at least 1 [default: 262,144].
        strength: b, above 0; it counts example weights of 1 [default: 3].

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
        self.width = self.held = 0
        #: Arrays of the rows held back, part by part: lengths in place of `indptr`.
        self._pending: list[tuple[npt.NDArray[Any], ...]] = []

    def add(self, rows: Rows, y: Vector, weight: Vector) -> None:
        """Hold back rows that are known to be sound; enter each block that they fill."""
        self._widen(rows.width)
        lengths, indices, values = compressed(rows)
        ends = np.cumsum(lengths, dtype=np.int64)
        begin = start = 0
        while begin < len(y):
            # A block ends with the row that fills it, wherever calls end.
            full = int(np.searchsorted(ends, start + self.size - self.held)) + 1
            end = min(full, len(y))
            stop = int(ends[end - 1])
            part = lengths[begin:end], indices[start:stop], values[start:stop]
            labels = y[begin:end], weight[begin:end]
            self._pending.append(tuple(one.copy() for one in (*part, *labels)))
            self.held += stop - start
            begin, start = end, stop
            if self.held >= self.size:
                self._enter(*self._joined())
                self._pending, self.held = [], 0

    def proved(self) -> list[tuple[Vector, Vector]]:
        """Return ledgers of all rows, each with its Z; the rows held back stay so.

        Each is right for every class; they differ in b for the rows held back, which a small class
        wants large and a large one small.
        """
        if not self._pending:
            return [(self.ledger.copy(), self._gradient())]
        kept = self.ledger, self.sums, self.theta, self.sizes, self.random, self.strength
        found, given = [], self._joined()
        try:
            for factor in FACTORS:
                self.ledger, self.sums, self.theta, self.sizes = (one.copy() for one in kept[:4])
                self.random, self.strength = kept[4], factor * kept[5]
                self.theta /= factor
                self._enter(*given)
                found.append((self.ledger, self._gradient()))
        finally:
            self.ledger, self.sums, self.theta, self.sizes, self.random, self.strength = kept
        return found

    def _gradient(self) -> Vector:
        total: Vector = self.sums[: self.width].sum(axis=1)
        return total

    def _joined(self) -> tuple[Rows, Vector, Vector]:
        """Return the rows held back, with labels and weights."""
        lengths, indices, values, y, weight = map(np.concatenate, zip(*self._pending, strict=True))
        indptr = np.zeros(len(lengths) + 1, np.uint64)
        np.cumsum(lengths, out=indptr[1:])
        return Rows(indptr, indices, values, self.width, len(y)), y, weight

    def _enter(self, rows: Rows, y: Vector, weight: Vector) -> None:
        """Choose the slopes of a block and enter its lines."""
        units = Rows(rows.indptr, rows.indices, np.empty(rows.stored), rows.width, len(rows))
        held_rows.measure(block(rows), self.sizes, self.theta, units.values)
        scale, squares, slopes = weight / self.strength, np.empty(len(y)), np.empty(len(y))
        dual.squares(block(units), squares)
        gap.first_slopes(self.loss, y, slopes)
        columns: Any = slopes, y, scale * squares, scale, 0.0, rows.indptr[:-1], rows.indptr[1:]
        records = np.empty((len(y), dual.PLACES))
        for place, column in enumerate(columns):
            records[:, place] = column
        dual.gather(block(units), -scale * slopes, self.theta)
        order = np.flatnonzero(weight).astype(np.uint32)
        memory, count = dual.Memory(records, self.theta, order), np.uint64(len(order))
        for _ in range(EPOCHS):
            self.random = np.uint64(dual.shuffle(order, count, self.random))
            course = dual.Course(count, NEVER, EVERY)
            dual.ascend(self.loss, _EUCLIDEAN, block(units), memory, 0.0, course, None)
        held = held_rows.Held(y, weight, np.ascontiguousarray(records[:, dual.SLOPE]))
        held_rows.enter_slopes(self.loss, block(rows), held, self.sizes, self.sums, self.ledger)

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
        if self._pending:
            joined = map(np.concatenate, zip(*self._pending, strict=True))
            state |= dict(zip(_PENDING, joined, strict=True))
        return state

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from what `arrays` returned."""
        if arrays["ledger"].shape != (SIZE,):
            raise ValueError(f"ledger has shape {arrays['ledger'].shape}, expected ({SIZE},)")
        fresh = BlockLines(self.loss, self.size, self.strength)
        fresh._widen(len(arrays["sizes"]))
        fresh.ledger, fresh.random = arrays["ledger"].copy(), np.uint64(arrays["random"][0])
        for name in ("sums", "theta", "sizes"):
            getattr(fresh, name)[: fresh.width] = arrays[name]
        if "y" in arrays:
            fresh._pending = [tuple(arrays[name].copy() for name in _PENDING)]
            fresh.held = len(arrays["values"])
        vars(self).update(vars(fresh))


def compressed(rows: Rows) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], Vector]:
    """Return the lengths of rows, and the columns and values of their features in one run each.

    >>> from noregret.rows.examples import as_rows
    >>> [one.tolist() for one in compressed(as_rows([[0.0, 2.0], [3.0, 4.0]]))]
    [[1, 2], [1, 0, 1], [2.0, 3.0, 4.0]]
    """
    if rows.dense:
        used = rows.values != 0.0
        lengths, values = used.sum(axis=1), rows.values[used]
        columns: npt.NDArray[Any] = np.nonzero(used)[1]
    else:
        span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
        lengths, values = np.diff(rows.indptr), rows.values[span]
        columns = rows.indices[span]
    return lengths.astype(np.uint64), columns.astype(np.uint32), values.astype(np.float64)
