"""Parabolas under blocks of rows that were held back, which touch where a later leader predicts.

A loss that is curved has parabolas below it, not only lines. How far they may bend depends on how
far predictions reach, so that each sum of parabolas belongs to a radius: it speaks about every u
with ||m u||_2 <= radius, m_i the largest |x_i| seen. The units m only grow, which makes that class
smaller: a curvature found with earlier units stays right. Where the class is known in advance
every m_i is 1.

Rows are held back until a block is full. Its leader, for each radius,

    v = argmin over ||m v||_2 <= radius of sum_block c f(y, <v, x> + o) + <v, Z> + v'Hv/2,

knows what all parabolas so far prove and the block itself; the block's parabolas touch at its
predictions. The square loss is its own parabola: for it nothing depends on leader or radius, and
the floor of a class is the least loss of the class. Its sums are about the leader of the first
block, so that they are of the size of losses rather than of squared labels: less is rounded away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.floors.leader import Past, lead
from noregret.floors.pending import Held
from noregret.losses import Loss
from noregret.passes.curved_rows import Reach, Sums, Touch, enter_parabolas, predict
from noregret.passes.dual import held_rows
from noregret.passes.frame import block
from noregret.proof.ledger import SIZE, SMALLEST_SIZE, Entry
from noregret.proof.quadratic import FARTHEST, Bend, Quadratic
from noregret.rows.examples import Rows

#: Radii in units of the largest |x_i|.
RADII = (4.0, 16.0, 64.0)
#: The arrays of `Sums` that each radius has for itself.
_OF_RADIUS = set(Sums._fields) - {"sizes"}
#: The largest |v_j| of an origin: products with it do not overflow.
FARTHEST_ORIGIN = 1e50
#: Keeps an origin near 0 in directions of which the first block says little.
RIDGE = 1.0
#: The most features: each sum keeps two numbers for every pair of them.
WIDEST = 512


def is_parabola(loss: Loss) -> bool:
    """Tell whether a loss is its own parabola, for every class.

    >>> import noregret as nr
    >>> is_parabola(nr.losses.Squared()), is_parabola(nr.losses.Logistic())
    (True, False)
    """
    return loss.curvature_below(1.0, 0.0, -math.inf, math.inf) > 0.0


class Parabolas:
    """The sums of the parabolas of all blocks so far, one for each radius.

    Args:
        loss: one with curvature.
        radii: of the classes ||m u||_2 <= radius, finite, above 0 and rising; with several of
            them, the parabolas of the last serve beyond it [default: 4, 16 and 64].
        measured: whether m_i is the largest |x_i| so far rather than 1 [default: True].

    >>> import noregret as nr
    >>> from noregret.floors.pending import Pending
    >>> from noregret.rows.examples import as_rows
    >>> pending, rows = Pending(2), as_rows([[1.0], [-0.5]])
    >>> parabolas = Parabolas(nr.losses.Logistic())
    >>> parabolas.widen(1)
    >>> for full in pending.take(rows, np.array([1.0, 1.0]), np.ones(2), np.zeros(2)):
    ...     parabolas.enter(full)
    >>> [(one.radius, one.sizes) for one in parabolas.curves()]
    [(4.0, array([1.])), (16.0, array([1.])), (64.0, array([1.]))]
    """

    def __init__(self, loss: Loss, radii: Sequence[float] = RADII, measured: bool = True) -> None:
        self.loss = loss
        # A loss that is its own parabola needs no radius, and has errors in units of its rows.
        everywhere = is_parabola(loss)
        self.radii = (math.inf,) if everywhere else tuple(radii)
        self.measured = measured or everywhere
        self.width = 0
        #: The sizes m, and for each radius the last leader and the arrays of `Sums`.
        self.state = {
            name: np.zeros(shape) for name, shape in shapes(len(self.radii), self.width).items()
        }

    def widen(self, width: int) -> None:
        """Make room for that many features."""
        if width <= self.width:
            return
        for name, shape in shapes(len(self.radii), width).items():
            one = self.state[name]
            more = [(0, new - old) for new, old in zip(shape, one.shape, strict=True)]
            # A feature that is not measured has size 1 from the start.
            filling = 0.0 if name != "sizes" or self.measured else 1.0
            self.state[name] = np.pad(one, more, constant_values=filling)
        self.width = width

    def enter(self, full: Held, staying: npt.NDArray[np.bool_] | None = None) -> None:
        """Choose a leader for each radius, and enter the parabolas that touch where it predicts.

        staying: rows that are in the next block, too, and enter with it [default: none].
        """
        sizes = self.state["sizes"]
        units = np.empty(full.rows.stored)
        if self.measured:
            # Any theta: leaders are kept in the units of the rows.
            theta = np.zeros(len(sizes))
            held_rows.measure(block(full.rows), full.weight, sizes, theta, units)
        else:
            units[:] = full.rows.values
        rows, scaled = full_rows(full.rows), full_rows(full.rows, units)
        m = np.maximum(sizes, SMALLEST_SIZE)
        point, offset = np.empty(len(full.y)), np.empty(len(full.y))
        entering = full.weight if staying is None else np.where(staying, 0.0, full.weight)
        later = 0 if staying is None else int(staying.sum())
        for place, radius in enumerate(self.radii):
            sums, leaders = self._sums(place), self.state["leader"]
            if radius == math.inf and sums.ledger[Entry.ROUNDS] == 0.0:
                sums.origin[:] = self._first_leader(scaled, full, m)
            predict(block(rows), sums.origin, full.offset, offset)
            if radius < math.inf:
                past, start = _past(sums, m), m * leaders[place]
                leaders[place] = lead(self.loss, block(scaled), full, past, radius, start) / m
            predict(block(scaled), m * leaders[place], offset, point)
            touch = Touch(full.y, entering, offset, point)
            reach = Reach(radius, self._symmetric(place))
            enter_parabolas(self.loss, block(rows), touch, reach, sums)
            # They count as rounds when they enter.
            sums.ledger[Entry.ROUNDS] -= later

    def _first_leader(self, scaled: Rows, full: Held, m: Vector) -> Vector:
        """Return the minimiser of a block's loss plus RIDGE ||m v||_2^2 / 2, or 0 if it is far."""
        ridge = Past(np.zeros(len(m)), RIDGE * np.eye(len(m)))
        found = lead(self.loss, block(scaled), full, ridge, FARTHEST, np.zeros(len(m))) / m
        return found if np.all(np.abs(found) <= FARTHEST_ORIGIN) else np.zeros(len(m))

    def curves(self, pending: Held | None = None) -> list[Quadratic]:
        """Return the parabolas of all rows for each radius.

        pending: rows held back, which are entered for the time being [default: none].
        """
        kept = self.state
        try:
            if pending is not None:
                self.state = {name: array.copy() for name, array in kept.items()}
                self.enter(pending)
            return [self._quadratic(place) for place in range(len(self.radii))]
        finally:
            self.state = kept

    def _quadratic(self, place: int) -> Quadratic:
        one = self._sums(place)
        upper = one.matrix + one.low
        return Quadratic(
            radius=self.radii[place],
            symmetric=self._symmetric(place),
            measured=self.measured,
            sizes=one.sizes.copy(),
            lines=one.lines.sum(axis=1),
            shifts=one.shifts.sum(axis=1),
            matrix=upper + np.triu(upper, 1).T,
            ledger=one.ledger.copy(),
            bends=one.bends.copy(),
            origin=one.origin.copy(),
        )

    def _symmetric(self, place: int) -> bool:
        """Tell whether the parabolas of that radius serve beyond it, for a slightly lower floor."""
        return len(self.radii) > 1 and place == len(self.radii) - 1

    def _sums(self, place: int) -> Sums:
        parts = {name: array[place] for name, array in self.state.items() if name in _OF_RADIUS}
        return Sums(sizes=self.state["sizes"], **parts)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all state, for a file."""
        kept = {name: array.copy() for name, array in self.state.items()}
        return kept | {"radii": np.array(self.radii)}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what `arrays` returned, or refuse what cannot be such sums."""
        if arrays["radii"].tolist() != list(self.radii):
            # Curvatures that are right for a smaller class would be taken for those of this one.
            found, own = arrays["radii"].tolist(), list(self.radii)
            raise ValueError(f"the parabolas are of the radii {found}, not {own}")
        width = len(arrays["sizes"])
        for name, shape in shapes(len(self.radii), width).items():
            found = arrays[name]
            if found.shape != shape or found.dtype != np.float64:
                raise ValueError(f"{name} of parabolas is {found.dtype}{found.shape}, not {shape}")
            if not np.all(np.isfinite(found)):
                raise ValueError(f"{name} of parabolas must hold finite numbers")
        self.state = {name: arrays[name].copy() for name in self.state}
        self.width = width


def shapes(radii: int, width: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays for that many radii and features.

    >>> shapes(3, 5)["matrix"]
    (3, 5, 5)
    """
    own = {
        "leader": (width,),
        "lines": (width, 2),
        "shifts": (width, 2),
        "matrix": (width, width),
        "low": (width, width),
        "ledger": (SIZE,),
        "bends": (len(Bend),),
        "origin": (width,),
    }
    return {"sizes": (width,)} | {name: (radii, *shape) for name, shape in own.items()}


def full_rows(rows: Rows, values: Vector | None = None) -> Rows:
    """Return compressed rows with these values, as a matrix where they leave out no feature.

    The columns of a matrix need not be looked up.
    """
    values = np.asarray(rows.values if values is None else values)
    if rows.stored == len(rows) * rows.width:
        values = values.reshape(len(rows), rows.width)
    return Rows(rows.indptr, rows.indices, values, rows.width, len(rows))


def _past(sums: Sums, m: Vector) -> Past:
    """Return what the sums prove, in units of m."""
    upper = (sums.matrix + sums.low) / m / m[:, None]
    slopes = sums.lines.sum(axis=1) - sums.shifts.sum(axis=1)
    return Past(slopes / m, upper + np.triu(upper, 1).T)
