"""Parabolas under blocks of rows that were held back, which touch where a later leader predicts.

A loss that is curved has parabolas below it, not only lines. How far they may bend depends on how
far predictions reach, so that each sum of parabolas belongs to a radius: it speaks about every u
with ||m u||_2 <= radius, m_i the largest |x_i| seen. The units m only grow, which makes that class
smaller: a curvature found with earlier units stays right.

Rows are held back until a block is full. Its leader, for each radius,

    v = argmin over ||m v||_2 <= radius of sum_block c f(y, <v, x> + o) + <v, Z> + v'Hv/2,

knows what all parabolas so far prove and the block itself; the block's parabolas touch at its
predictions. The square loss is its own parabola: for it nothing depends on leader or radius, and
the floor of a class is the least loss of the class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.floors.leader import Past, lead
from noregret.floors.pending import Block, Pending
from noregret.losses import Loss
from noregret.passes.curved_rows import Reach, Sums, Touch, enter_parabolas, predict
from noregret.passes.dual import held_rows
from noregret.passes.frame import block
from noregret.proof.ledger import SIZE, SMALLEST_SIZE, Entry, new_ledger
from noregret.proof.quadratic import Bend, Quadratic
from noregret.rows.examples import Rows

#: Stored features of a block.
BLOCK = 1 << 18
#: Radii in units of the largest |x_i|; beyond the last, curvatures are flattened.
RADII = (4.0, 16.0, 64.0)
#: The most features: each sum keeps two numbers for every pair of them.
WIDEST = 512


class Parabolas:
    """The parabolas of all rows so far, those of the last block for the time being only.

    Args:
        loss: one with curvature.
        radii: the radii that parabolas are made for, above 0 and rising [default: 4, 16, 64].
        size: stored features with which a block is full, at least 1 [default: 262,144].
        most: rows with which a block is full, at least 1 [default: any number].

    >>> import noregret as nr
    >>> from noregret.rows.examples import as_rows
    >>> parabolas = Parabolas(nr.losses.Logistic())
    >>> parabolas.add(as_rows([[1.0], [-0.5]]), np.array([1.0, 1.0]), np.ones(2))
    >>> [one.radius for one in parabolas.curves()]
    [4.0, 16.0, 64.0]
    """

    def __init__(
        self,
        loss: Loss,
        radii: Sequence[float] = RADII,
        size: int = BLOCK,
        most: int | None = None,
    ) -> None:
        self.loss = loss
        everywhere = loss.curvature_below(1.0, 0.0, -math.inf, math.inf) > 0.0
        self.radii = (math.inf,) if everywhere else tuple(radii)
        self.sizes, self.width = np.zeros(0), 0
        self.pending = Pending(size, most)
        #: For each radius the sums and the last leader.
        self.sums = [_no_sums(0) for _ in self.radii]
        self.leaders = [np.zeros(0) for _ in self.radii]

    @property
    def rounds(self) -> int:
        """How many rows there were, those held back included."""
        return int(self.sums[0].ledger[Entry.ROUNDS]) + len(self.pending)

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
                self._enter(full)

    def curves(self) -> list[Quadratic]:
        """Return the parabolas of all rows for each radius; the rows held back stay so."""
        if not len(self.pending):
            return self._quadratics()
        kept = self.sizes, self.sums, self.leaders
        try:
            self.sizes = self.sizes.copy()
            self.sums = [Sums(*(array.copy() for array in one)) for one in self.sums]
            self.leaders = list(self.leaders)
            self._enter(self.pending.block(self.width))
            return self._quadratics()
        finally:
            self.sizes, self.sums, self.leaders = kept

    def _quadratics(self) -> list[Quadratic]:
        found = []
        for radius, one in zip(self.radii, self.sums, strict=True):
            upper = one.matrix + one.low
            whole = upper + np.triu(upper, 1).T
            lines, shifts = one.lines.sum(axis=1), one.shifts.sum(axis=1)
            sums = self.sizes.copy(), lines, shifts, whole, one.ledger.copy(), one.bends.copy()
            found.append(Quadratic(radius, self._symmetric(radius), *sums))
        return found

    def _symmetric(self, radius: float) -> bool:
        return radius == self.radii[-1] and radius < math.inf

    def _enter(self, full: Block) -> None:
        """Choose a leader for each radius, and enter the parabolas that touch where it predicts."""
        rows, units = full.rows, Rows(*_scaled(full.rows, self.sizes))
        if rows.stored == len(rows) * rows.width:
            # No feature is left out: columns need not be looked up.
            shape = len(rows), rows.width
            rows, units = (
                Rows(one.indptr, one.indices, one.values.reshape(shape), rows.width, len(rows))
                for one in (rows, units)
            )
        m = np.maximum(self.sizes, SMALLEST_SIZE)
        for place, radius in enumerate(self.radii):
            sums, v = self.sums[place], np.zeros(self.width)
            if radius < math.inf:
                v = lead(
                    self.loss, block(units), full, _past(sums, m), radius, m * self.leaders[place]
                )
            point = np.empty(len(rows))
            predict(block(units), v, full.offset, point)
            self.leaders[place] = v / m
            touch = Touch(full.y, full.weight, full.offset, point)
            reach = Reach(radius, self._symmetric(radius))
            enter_parabolas(
                self.loss, block(rows), touch, reach, sums._replace(sizes=self.sizes)
            )

    def _widen(self, width: int) -> None:
        if width <= self.width:
            return
        more, self.width = width - self.width, width
        self.sizes = np.pad(self.sizes, (0, more))
        self.leaders = [np.pad(one, (0, more)) for one in self.leaders]
        self.sums = [_widened(one, more) for one in self.sums]


def _scaled(rows: Rows, sizes: Vector) -> tuple[Any, ...]:
    """Raise the sizes to the largest |x_i| of these rows; return the rows in these units."""
    values = np.empty(rows.stored)
    held_rows.measure(block(rows), sizes, np.zeros(len(sizes)), values)
    return rows.indptr, rows.indices, values, rows.width, len(rows)


def _past(sums: Sums, m: Vector) -> Past:
    """Return what the sums prove, in units of m."""
    upper = (sums.matrix + sums.low) / m / m[:, None]
    slopes = sums.lines.sum(axis=1) - sums.shifts.sum(axis=1)
    return Past(slopes / m, upper + np.triu(upper, 1).T)


def _no_sums(width: int) -> Sums:
    squares = np.zeros((width, width)), np.zeros((width, width))
    pairs = np.zeros((width, 2)), np.zeros((width, 2))
    return Sums(*pairs, *squares, np.zeros(0), new_ledger(), np.zeros(len(Bend)))


def _widened(sums: Sums, more: int) -> Sums:
    rows, both = ((0, more), (0, 0)), ((0, more), (0, more))
    lines, shifts = np.pad(sums.lines, rows), np.pad(sums.shifts, rows)
    matrix, low = np.pad(sums.matrix, both), np.pad(sums.low, both)
    return sums._replace(lines=lines, shifts=shifts, matrix=matrix, low=low)
