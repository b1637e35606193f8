"""The engine of the second-order rates: a triangle of the features beside their records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector, aligned
from noregret.jit import Call
from noregret.learners.engines import room_for
from noregret.learners.unit_free_engines import SizedEngine
from noregret.passes.descent import second_order, triangle
from noregret.passes.descent.second_order import Column, Memory, Scalar
from noregret.passes.descent.triangle import LANES, ROOMS, Triangle
from noregret.passes.frame import Rule, block
from noregret.proof.second_order_bounds import Curved, Parabolas
from noregret.rates.second_order import SecondOrder
from noregret.rows.examples import Rows

#: More features than this are refused: the triangle takes 16 d^2 bytes, a round 2 d^2 products.
LARGEST_WIDTH = 2048


def new_triangle(dimension: int, *outputs: int) -> Triangle:
    """Return an empty triangle for one score, or for that many."""
    wide = max(room_for(dimension), LANES)
    # Aligned, so that no vector register straddles two cache lines.
    return Triangle(aligned(wide, wide), np.zeros((*outputs, wide)), np.zeros(wide))


class SecondOrderEngine(SizedEngine):
    """A learner whose steps take the curvature of all rounds into account."""

    widths = (second_order.SecondOrderRule.width,) * 2
    size_column = int(Column.SIZE)
    #: A weight depends on the whole triangle.
    by_record = False
    rate: SecondOrder

    def begin(self, dimension: int) -> None:
        """Allocate the state of a learner that has seen nothing."""
        self._require_narrow(dimension)
        super().begin(dimension)
        self._whole = new_triangle(dimension)
        self._make_room()
        self._cut(dimension)

    def new_slots(self) -> Vector:
        """Return the scalars of a pass that has seen nothing."""
        slots = np.zeros(len(Scalar))
        slots[Scalar.SCALE] = 1.0
        return slots

    @property
    def size(self) -> int:
        """About how many numbers `arrays` has."""
        return self.state.size + self.dimension * self.dimension // 2

    def grow(self, dimension: int) -> None:
        """Make room for more features, with capacity to spare, or drop unused ones."""
        self._require_narrow(dimension)
        super().grow(dimension)
        kept = self._whole
        if len(kept.upper) < dimension:
            n = len(kept.upper)
            self._whole = new_triangle(dimension)
            self._whole.upper[:n, :n] = kept.upper
            self._whole.target[:n], self._whole.inverse[:n] = kept.target, kept.inverse
            self._make_room()
        self._cut(dimension)

    def _make_room(self) -> None:
        self._whole_ahead = Triangle(*map(np.zeros_like, self._whole))
        self._room = np.zeros((ROOMS, len(self._whole.inverse)))

    def _cut(self, dimension: int) -> None:
        """Take the rows of the features that are known; rows of unseen features are zeros."""
        self.triangle = self._whole._replace(upper=self._whole.upper[:dimension])
        self._ahead = self._whole_ahead._replace(upper=self._whole_ahead.upper[:dimension])

    def own_records(self) -> bool:
        """Return False: with a factor below 1 the prior is given back feature by feature."""
        return False

    def written(self) -> tuple[Vector, ...]:
        """Return the scalars and the triangle; the copy of it that grows is scratch."""
        return (self.slots, *self._whole)

    def _require_narrow(self, dimension: int) -> None:
        if dimension > LARGEST_WIDTH:
            raise ValueError(
                f"{type(self.rate).__name__} keeps a matrix of all pairs of features, at most "
                f"{LARGEST_WIDTH} of them, and there are {dimension}: use ScaleFree() or "
                "CoinBetting(), or hash the features into fewer columns"
            )

    def rule(self) -> Rule:
        """Return the rule of the rate."""
        return second_order.SecondOrderRule(self.loss, self.mirror, self.rate)

    def memory(self) -> Memory:
        """Return the arrays that the rule keeps from row to row."""
        return Memory(self.state, self.slots, self.triangle, self._ahead, self._room)

    def prediction(self) -> Call | None:
        """Return the kernel that predicts one row, and its first arguments."""
        return second_order.predict_row, (self.rate, self.state, self.slots, self.triangle)

    def predictions(self, rows: Rows) -> Vector | None:
        """Return the predictions for many rows, None if they are those of the weights."""
        if self.rate.linear():
            return None
        found = np.empty(len(rows))
        second_order.predict_rows(
            self.rate, self.state, self.slots, self.triangle, block(rows), found
        )
        return found

    def weights(self, ledger: Vector | None = None) -> Vector:
        """Return w, the solution of U w = v."""
        weights = np.empty(len(self.state))
        triangle.read_weights(*self.triangle, weights)
        return weights

    def root(self) -> Vector:
        """Return R with k = ||R x||^2: U'^-1 over the root of its scale, 0 for unseen features."""
        d = self.dimension
        seen = np.flatnonzero(self.triangle.inverse[:d])
        rows = self.triangle.upper[np.ix_(seen, seen)].T
        inner = np.eye(len(seen))
        for j in range(len(seen)):
            inner[j] = (inner[j] - rows[j, :j] @ inner[:j]) / rows[j, j]
        found = np.zeros((d, d))
        found[np.ix_(seen, seen)] = inner
        return found / math.sqrt(self.slots.item(Scalar.SCALE) * self.rate.keep())

    def finish(self, raw: Any) -> Any:
        """Return <w, x>, within the range of the labels seen if the rate asks for it."""
        if not self.rate.clips():
            return raw
        low, high = self.limits
        return np.minimum(np.maximum(raw, low), high)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest prediction that can be made."""
        slot = self.slots.item
        ends = slot(Scalar.LOW), slot(Scalar.HIGH)
        return ends if self.rate.clips() else (-math.inf, math.inf)

    def evidence(self) -> Curved:
        """Return the lengths in units of the features' sizes, and the sums of the theorem."""
        promised, slot = self.rate.promised(), self.slots.item
        parabolas = None
        if not math.isnan(promised) and self.rate.keep() == 1.0:
            parabolas = Parabolas(
                self.rate.ridge(),
                slot(Scalar.COST) + slot(Scalar.COST_LOW),
                slot(Scalar.COST_SIZE),
                slot(Scalar.GROWTH),
                slot(Scalar.LARGEST),
                promised,
                promised == math.inf and not (self.rate.linear() or self.rate.clips()),
                self.rate.source,
            )
        lengths, sizes = self.scaled_lengths(), self.sizes()
        return Curved(None, None, *lengths, sizes=sizes, parabolas=parabolas)

    def arrays(self) -> dict[str, Vector]:
        """Return the arrays that a model file keeps: of the triangle the rows end to end."""
        return super().arrays() | self.packed()

    def packed(self) -> dict[str, Vector]:
        """Return the rows of the triangle end to end, and the targets."""
        d = self.dimension
        rows = [self.triangle.upper[j, j:d] for j in range(d)]
        packed = np.concatenate([*rows, np.zeros(0)])
        return {"triangle": packed, "target": self.triangle.target[..., :d]}

    def restore(self, arrays: dict[str, Vector]) -> None:
        """Restore the arrays of a model file, or refuse those of another shape or range."""
        super().restore(arrays)
        scale, last = self.slots[[Scalar.SCALE, Scalar.LAST]]
        if not (0.0 < scale <= 1.0 and last in range(max(self.dimension, 1))):
            raise ValueError("slots do not fit the features, expected those of one learner")
        start = 0
        for j, row in enumerate(self.triangle.upper[:, : self.dimension]):
            row[j:] = arrays["triangle"][start : start + self.dimension - j]
            start += self.dimension - j
        self.triangle.target[..., : self.dimension] = arrays["target"]
        triangle.read_inverse(self.triangle.upper, self.triangle.inverse)
