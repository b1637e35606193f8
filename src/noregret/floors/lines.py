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

Not all rows of a block enter. A line that touches where the loss is straight for some way around
is hardly lower at later predictions, one that touches at a bend is. Where r is how far predictions
of rows of norm 1 moved in this block, the rows with the largest

    c_i d_i (f_i'(p_i + d_i) - f_i'(p_i - d_i)),    d_i = 0.3 r ||x_i / m||,

take up to half of the next block, in which their slopes are chosen again.
Reference: Shalev-Shwartz, Singer, A Primal-Dual Perspective of Online Learning Algorithms, 2007,
for lines whose slopes are raised after the rounds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.floors.pending import Held
from noregret.losses import Loss
from noregret.mirrors import Euclidean
from noregret.passes import curved_rows
from noregret.passes.dual import dual, gap, held_rows
from noregret.passes.frame import block
from noregret.proof.ledger import SIZE, Entry, new_ledger
from noregret.rows.examples import Rows

#: b, in units of the loss.
STRENGTH = 1.0
#: What b is multiplied by in turn, for the rows that are entered for the time being.
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
#: Above this many weights one b is enough: each takes two numbers a weight more at a print.
WIDE = 1 << 20
#: Most epochs of ascent over a block.
EPOCHS = 20
#: An epoch whose visits found a gap below this part of the loss is the last; closer where
#: several b are tried, for the last block alone.
CLOSE, CLOSER = 0.02, 0.001
#: d in units of how far predictions moved in a block.
NEARBY = 0.3
#: No row is put aside, and every visit is sampled: both are for other users of the kernel.
NEVER, EVERY = 1e300, np.uint64(1)
#: Entries of the ledger that lines enter.
SUMS = [
    *(Entry.INTERCEPT, Entry.INTERCEPT_LOW),
    *(Entry.MAGNITUDE, Entry.TRAVEL, Entry.SCALED_TRAVEL),
]
#: A ledger and the gradient Z of its lines.
Proved = tuple[Vector, Vector]

_EUCLIDEAN = Euclidean()


class Chosen(NamedTuple):
    """Slopes of the rows of a block."""

    #: The rows in units of m.
    units: Rows
    slopes: Vector
    #: How much each loss bends near the prediction of the leader, in units of the loss.
    bends: Vector


def most_bent(
    bends: Vector, lengths: npt.NDArray[np.uint64], features: int, rows: int
) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that bend most, within limits on stored features and on rows.

    Rows that do not bend at all are left out.

    >>> most_bent(np.array([1.0, 0.0, 3.0, 2.0]), np.array([1, 1, 2, 1], np.uint64), 3, 4).tolist()
    [False, False, True, True]
    """
    order = np.argsort(-bends, kind="stable")
    fits = (np.cumsum(lengths[order]) <= features) & (bends[order] > 0.0)
    fits[rows:] = False
    chosen = np.zeros(len(bends), np.bool_)
    chosen[order[fits]] = True
    return chosen


def none_stay(held: Held) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows of a block in which none stays."""
    return np.zeros(len(held.y), np.bool_)


class Lines:
    """The ledger, Z and the leader of the lines of all blocks so far.

    Args:
        loss: one of one score with a conjugate.
        strength: b, above 0; it counts example weights of 1 [default: 1].
    """

    def __init__(self, loss: Loss, strength: float = STRENGTH) -> None:
        self.loss, self.strength = loss, strength
        self.ledger = new_ledger()
        #: State of the generator that orders the visits.
        self.random = np.uint64(1)
        #: Z as twofold sums, theta = -Z / (b m), and m; with room for more features.
        self.sums, self.theta, self.sizes = np.zeros((0, 2)), np.zeros(0), np.zeros(0)
        #: Slopes of the first rows held back, those that were in a block before.
        self.slopes: Vector = np.zeros(0)
        self.width = 0

    def proved(self, held: Held | None, thorough: bool) -> list[Proved]:
        """Return ledgers of all rows, each with its Z, those held back for the time being only.

        They differ in b for these rows, which a small class wants large and a large one small.
        """
        if held is None:
            return [(self.ledger.copy(), self.gradient())]
        kept = self.ledger, self.sums, self.theta, self.sizes
        others = self.slopes, self.random, self.strength
        found: list[Proved] = []
        slopes = None
        try:
            for factor in FACTORS if thorough and self.theta.size <= WIDE else (1.0,):
                self.ledger, self.sums, self.theta, self.sizes = (one.copy() for one in kept)
                self.slopes, self.random, self.strength = *others[:2], factor * others[2]
                self.theta /= factor
                chosen = self.choose(held, slopes, CLOSER if thorough else CLOSE)
                self.enter(held, chosen, none_stay(held))
                slopes = chosen.slopes
                found.append((self.ledger, self.gradient()))
        finally:
            self.ledger, self.sums, self.theta, self.sizes = kept
            self.slopes, self.random, self.strength = others
        return found

    def gradient(self) -> Vector:
        """Return Z."""
        total: Vector = self.sums[: self.width].sum(axis=1)
        return total

    def choose(self, held: Held, slopes: Vector | None = None, close: float = CLOSE) -> Chosen:
        """Choose the slopes of a block, beginning with these."""
        rows, y, weight, offset = held
        units = Rows(rows.indptr, rows.indices, np.empty(rows.stored), rows.width, len(rows))
        held_rows.measure(block(rows), weight, self.sizes, self.theta, units.values)
        scale, squares = weight / self.strength, np.empty(len(y))
        dual.squares(block(units), squares)
        before, after = np.empty(len(y)), np.empty(len(y))
        old = np.zeros(len(y))
        old[: len(self.slopes)] = self.slopes
        dual.gather(block(units), -scale * old, self.theta)
        curved_rows.predict(block(units), self.theta, offset, before)
        if slopes is None:
            slopes = np.empty(len(y))
            gap.first_slopes(self.loss, y, slopes)
            slopes[: len(self.slopes)] = self.slopes
        ends = rows.indptr[:-1], rows.indptr[1:]
        columns: Any = slopes, y, scale * squares, scale, offset, *ends
        records = np.empty((len(y), dual.PLACES))
        for place, column in enumerate(columns):
            records[:, place] = column
        dual.gather(block(units), -scale * (slopes - old), self.theta)
        order = np.flatnonzero(weight).astype(np.uint32)
        memory, count = dual.Memory(records, self.theta, order), np.uint64(len(order))
        for _ in range(EPOCHS):
            self.random = np.uint64(dual.shuffle(order, count, self.random))
            course = dual.Course(count, NEVER, EVERY)
            _, _, lost, apart, _ = dual.ascend(
                self.loss, _EUCLIDEAN, block(units), memory, 0.0, course, None
            )
            if apart <= close * lost:
                break
        slopes = np.ascontiguousarray(records[:, dual.SLOPE])
        curved_rows.predict(block(units), self.theta, offset, after)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = math.sqrt(
                float(((after - before) ** 2).sum()) / max(float(squares.sum()), 1e-300)
            )
            nearby = NEARBY * moved * np.sqrt(squares)
        bends = np.empty(len(y))
        held_rows.bends(self.loss, held_rows.Held(y, weight, offset, slopes), after, nearby, bends)
        return Chosen(units, slopes, bends)

    def enter(self, held: Held, chosen: Chosen, staying: npt.NDArray[np.bool_]) -> None:
        """Enter the lines of a block, but for those of rows that are in the next one, too."""
        rows, y, weight, offset = held
        units, slopes, _ = chosen
        entering = held_rows.Held(y, np.where(staying, 0.0, weight), offset, slopes)
        held_rows.enter_slopes(self.loss, block(rows), entering, self.sizes, self.sums, self.ledger)
        # What stays belongs to the next block.
        back = np.where(staying, weight * slopes / self.strength, 0.0)
        dual.gather(block(units), back, self.theta)
        self.slopes = slopes[staying]

    def widen(self, width: int) -> None:
        """Make room for features."""
        self.width = max(self.width, width)
        if self.width > len(self.sizes):
            more = (1 << (self.width - 1).bit_length()) - len(self.sizes)
            self.sums, self.theta, self.sizes = (
                np.pad(one, ((0, more), *[(0, 0)] * (one.ndim - 1)))
                for one in (self.sums, self.theta, self.sizes)
            )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all state for a file."""
        return {
            "ledger": self.ledger.copy(),
            "sums": self.sums[: self.width].copy(),
            "theta": self.theta[: self.width].copy(),
            "sizes": self.sizes[: self.width].copy(),
            "slopes": self.slopes.copy(),
            "random": np.array([self.random]),
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from what `arrays` returned, or refuse what cannot be lines of blocks."""
        width = len(arrays["sizes"])
        shapes = {"ledger": (SIZE,), "sums": (width, *self.sums.shape[1:])}
        shapes |= {"theta": (width, *self.theta.shape[1:]), "sizes": (width,)}
        shapes["slopes"] = arrays["slopes"].shape[:1] + self.slopes.shape[1:]
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
            if not np.all(np.isfinite(arrays[name][SUMS] if name == "ledger" else arrays[name])):
                raise ValueError(f"{name} of blocks must hold finite numbers")
        self.width, self.sizes = 0, np.zeros(0)
        self.sums, self.theta = self.sums[:0], self.theta[:0]
        self.widen(width)
        self.ledger, self.random = arrays["ledger"].copy(), np.uint64(arrays["random"][0])
        self.slopes = arrays["slopes"].copy()
        for name in ("sums", "theta", "sizes"):
            getattr(self, name)[:width] = arrays[name]
