"""The rule of the second-order rates: `Ridge`, `Newton`, `CertifiedNewton`, `Aioli`, `Arow`.

A round is, with A = s U'U (see `triangle`) and the sizes m of its own row,

    where m_i grows from l:   A <- A + lambda (m_i^2 - l^2) e_i e_i',   b as it was,
    a = U'^-1 x / sqrt(s),   <w, x> = <v, a>,   k = <a, a> / keep,
    p = play(<w, x>, k),   (c, b) = bend(...),
    A <- keep A + c x x',   A w <- keep A w + b x,

and, with keep < 1, the prior of one feature after the other is given back: its place of the
diagonal is raised by (1 - keep) lambda m_i^2 for each feature seen. Growth is worked out on a
copy of the triangle, so that a refused row changes nothing.

The minimum of the sum of the parabolas and of the prior rises each round by what the loss
exceeds `cost`, so that loss - sum of costs is below it: see `proof.second_order_bounds.Parabolas`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from noregret.jit import add_compensated, kernel
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.descent.triangle import (
    ROOMS,
    Room,
    Triangle,
    add_diagonal,
    copy_triangle,
    multiply,
    solve,
    sweep,
    turn_target,
)
from noregret.passes.frame import Rule, Vector
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    LARGEST_LOSS,
    Round,
    enter_round,
    playable,
    row_norm,
)
from noregret.passes.rows import Row, fetch_ahead, place
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.rates.second_order import SecondOrder
from noregret.rows.soundness import bounded


class Column(IntEnum):
    """Columns of a record: theta = -Z, and m = largest |x_i|."""

    THETA = 0
    SIZE = 1


class Scalar(IntEnum):
    """Places in the array of the pass's scalars."""

    #: s: A = s U'U.
    SCALE = 0
    #: Sum of the example weights, least and largest label.
    MASS = 1
    LOW = 2
    HIGH = 3
    #: How many features were seen, and the last one whose prior was given back.
    SEEN = 4
    LAST = 5
    #: Sum of the costs, what its rounding lost, and the sum of the sizes of its terms.
    COST = 6
    COST_LOW = 7
    COST_SIZE = 8
    #: Sum of ln(1 + c k).
    GROWTH = 9
    #: Largest weight * label^2.
    LARGEST = 10


_THETA, _SIZE = (np.uint64(k) for k in Column)
_LEFT = np.uint64(Room.LEFT)
_0, _1 = np.uint64(0), np.uint64(1)
#: U and v are multiplied by this power of two, exactly, when s falls below its square.
STEP = 2.0**-64
#: Rounds up the sum of squares that a reach is the root of.
_UP = 1.0 + 1e-12


class Memory(NamedTuple):
    """Records, scalars, the triangle, the copy of it that grows, and room for work."""

    state: Vector
    slots: Vector
    now: Triangle
    ahead: Triangle
    room: Vector


class Reading(NamedTuple):
    """What a prediction reads, and room for work."""

    state: Vector
    slots: Vector
    triangle: Triangle
    room: Vector


class Measured(NamedTuple):
    """Sums over a row: x^2, |x|, |x| / m, (x / m)^2; its first feature; how many m grow."""

    powers: float
    one_norm: float
    scaled: float
    squares: float
    first: Any
    grown: Any


class Found(NamedTuple):
    """What `examine` found: the round, the row measured, c and b, c k and the round's cost."""

    played: Round
    measured: Measured
    curve: float
    pull: float
    bent: float
    cost: float
    size: float


@dataclass(frozen=True)
class SecondOrderRule(Rule):
    """Predict by the triangle of the rounds so far, and enter the round in it."""

    loss: Loss
    mirror: Mirror
    rate: SecondOrder

    width = len(Column)

    def examine(
        self, row: Row, label: float, mass: float, memory: Memory, ledger: Vector
    ) -> tuple[Found, int]:
        """Predict, and choose the parabola of the round."""
        rate, slots = self.rate, memory.slots
        fetch_ahead(*row)
        measured = measure_sizes(memory.state, row)
        raw, length = _weigh(rate, memory, row, measured)
        p = predicted(rate, slots, raw, length, mass)
        norm = row_norm(self.mirror, measured.powers, measured.one_norm)
        slope = self.loss.slope(label, p)
        reach = math.sqrt(measured.squares) * _UP
        curve, pull = rate.bend(self.loss, label, mass, p, raw, length, reach)
        bent = curve * length
        # What the loss exceeds the rise of the minimum by: 0 to first order where p = <w, x>.
        off = raw - p
        steered = curve * raw - pull
        gain = 0.5 * steered * steered * length / (1.0 + bent)
        shift = off * (mass * slope + 0.5 * curve * off)
        fits = (
            playable(self.loss, label, mass, p, slope, norm)
            and abs(pull) < LARGEST_GRADIENT
            and curve < LARGEST_GRADIENT
            and length < LARGEST_GRADIENT
            and bent < LARGEST_GRADIENT
            and gain + abs(shift) < LARGEST_LOSS
        )
        played = Round(label, mass, p, slope, measured.one_norm, norm, 1.0)
        found = Found(played, measured, curve, pull, bent, gain - shift, gain + abs(shift))
        return found, Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: Found) -> int:
        """Enter the parabola in the triangle and the round in the ledger."""
        slots, played, mass = memory.slots, found.played, found.played.mass
        if mass > 0.0:
            width = np.uint64(memory.state.shape[0])
            if found.measured.grown > _0:
                copy_triangle(memory.ahead, memory.now, width)
            slots[Scalar.SEEN] += _step(memory.state, row, mass * played.slope)
            see_label(slots, played.label, mass)
            keep = self.rate.keep()
            if keep < 1.0:
                forget(slots, memory.now, width, keep)
            _enter_parabola(memory, row, found, width)
            if keep < 1.0:
                give_back(self.rate, memory, width, keep)
            add_compensated(slots, Scalar.COST, found.cost)
            slots[Scalar.COST_SIZE] += found.size
            slots[Scalar.GROWTH] += math.log1p(found.bent)
        enter_round(self.loss, ledger, played, False)
        ledger[Entry.SCALED_TRAVEL] += abs(mass * played.slope) * found.measured.scaled
        return Stop.DONE


@kernel(inline=True)
def measure_sizes(state, row):  # type: ignore[no-untyped-def]
    """Return a row `Measured`; in strict order, so that zeros may be stored or left out."""
    powers = one_norm = scaled = squares = 0.0
    first, grown = np.uint64(state.shape[0]), _0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        size = abs(x)
        if size == 0.0:
            continue
        first = min(first, i)
        known = state[i, _SIZE]
        grown += _1 if size > known else _0
        ratio = size / max(known, size, SMALLEST_SIZE)
        powers += x * x
        one_norm += size
        scaled += ratio
        squares += ratio * ratio
    return Measured(powers, one_norm, scaled, squares, first, grown)


@kernel(inline=True)
def _weigh(rate, memory, row, measured):  # type: ignore[no-untyped-def]
    """Return <w, x> and k for a row, after the growth of its sizes."""
    # A row that is not finite is refused; in the room for work it would not vanish again.
    if not measured.one_norm < np.inf:
        return 0.0, 0.0
    width, slots = np.uint64(memory.state.shape[0]), memory.slots
    if measured.grown > _0:
        copy_triangle(memory.now, memory.ahead, width)
        grow_prior(rate.ridge() / slots[Scalar.SCALE], memory, row, width)
        scatter(memory.room, row)
        raw, square = solve(memory.ahead, memory.room, measured.first, width)
    else:
        scatter(memory.room, row)
        raw, square = solve(memory.now, memory.room, measured.first, width)
    return raw, square / (slots[Scalar.SCALE] * rate.keep())


@kernel(inline=True)
def scatter(room, row):  # type: ignore[no-untyped-def]
    """Write a row where `solve` and `sweep` expect it."""
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        room[_LEFT, i] = x


@kernel(inline=True)
def grow_prior(ridge, memory, row, width):  # type: ignore[no-untyped-def]
    """Raise the prior of the features whose size grows, in the copy of the triangle."""
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        known = memory.state[i, _SIZE]
        if abs(x) > known:
            size, before = max(abs(x), SMALLEST_SIZE), max(known, SMALLEST_SIZE)
            root = math.sqrt(ridge) * size
            if known > 0.0:
                # By the ratio of the sizes, so that a power of two as the unit changes no bit.
                share = before / size
                root *= math.sqrt((1.0 - share) * (1.0 + share))
            if root > 0.0:
                add_diagonal(memory.ahead, memory.room, i, width, root)


@kernel(inline=True)
def _step(state, row, slope):  # type: ignore[no-untyped-def]
    """Move theta and the sizes; return how many features were seen for the first time."""
    seen = 0.0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        state[i, _THETA] -= slope * x
        if abs(x) > state[i, _SIZE]:
            seen += 1.0 if state[i, _SIZE] == 0.0 else 0.0
            state[i, _SIZE] = abs(x)
    return seen


@kernel(inline=True)
def forget(slots, triangle, width, keep):  # type: ignore[no-untyped-def]
    """Multiply A and A w by `keep`."""
    slots[Scalar.SCALE] *= keep
    if slots[Scalar.SCALE] < STEP * STEP:
        slots[Scalar.SCALE] /= STEP * STEP
        multiply(triangle, width, STEP)


@kernel(inline=True)
def _enter_parabola(memory, row, found, width):  # type: ignore[no-untyped-def]
    """Add c x x' to A and b x to A w; a is still in the room for work."""
    scale, first = memory.slots[Scalar.SCALE], found.measured.first
    if found.curve == 0.0 and found.pull == 0.0:
        return
    curve, pull = found.curve / scale, found.pull / scale
    turn_target(memory.now, memory.room, first, width, curve, pull)
    if curve > 0.0:
        scatter(memory.room, row)
        sweep(memory.now, memory.room, first, width)


@kernel(inline=True)
def give_back(rate, memory, width, keep):  # type: ignore[no-untyped-def]
    """Give the prior of the next feature back, once a round for all of them in turn."""
    slots = memory.slots
    i = np.uint64(slots[Scalar.LAST])
    for _ in range(_0, width):
        i = i + _1 if i + _1 < width else _0
        if memory.state[i, _SIZE] > 0.0:
            size = max(memory.state[i, _SIZE], SMALLEST_SIZE)
            lost = slots[Scalar.SEEN] * (1.0 - keep) * rate.ridge()
            root = math.sqrt(lost / slots[Scalar.SCALE]) * size
            add_diagonal(memory.now, memory.room, i, width, root)
            slots[Scalar.LAST] = np.float64(i)
            return


@kernel(inline=True)
def see_label(slots, label, mass):  # type: ignore[no-untyped-def]
    """Bring the range of the labels up to date."""
    if slots[Scalar.MASS] == 0.0:
        slots[Scalar.LOW] = label
        slots[Scalar.HIGH] = label
    slots[Scalar.LOW] = min(slots[Scalar.LOW], label)
    slots[Scalar.HIGH] = max(slots[Scalar.HIGH], label)
    slots[Scalar.LARGEST] = max(slots[Scalar.LARGEST], mass * label * label)
    slots[Scalar.MASS] += mass


@kernel(inline=True)
def predicted(rate, slots, raw, length, mass):  # type: ignore[no-untyped-def]
    """Return the prediction from <w, x> and k: 0 before the first label if it is clipped."""
    p = rate.play(raw, length, mass)
    if rate.clips():
        return min(max(p, slots[Scalar.LOW]), slots[Scalar.HIGH])
    return p


@kernel(inner=True, counted=False)
def _foretell(rate, reading, indices, values, begin, end):  # type: ignore[no-untyped-def]
    """Return the prediction for one row of columns and values, as far as its sizes are known."""
    state, slots = reading.state, reading.slots
    width = np.uint64(state.shape[0])
    first = width
    for k in range(begin, end):
        i, x = np.uint64(indices[k]), np.float64(values[k])
        if i < width and state[i, _SIZE] > 0.0 and x != 0.0:
            first = min(first, i)
            reading.room[_LEFT, i] = x
    raw, square = solve(reading.triangle, reading.room, first, width)
    return predicted(rate, slots, raw, square / (slots[Scalar.SCALE] * rate.keep()), 1.0)


@kernel
def predict_row(rate, state, slots, triangle, indices, values):  # type: ignore[no-untyped-def]
    """Return the prediction for one row, NaN if values are not bounded or features not known."""
    count = np.uint64(values.shape[0])
    if not bounded(values, _0, count):
        return np.nan
    for k in range(count):
        if np.uint64(indices[k]) >= np.uint64(state.shape[0]):
            return np.nan
    room = np.zeros((ROOMS, triangle.upper.shape[1]))
    reading = Reading(state, slots, triangle, room)
    return float(_foretell(rate, reading, indices, values, _0, count))


@kernel
def predict_rows(rate, state, slots, triangle, rows, predictions):  # type: ignore[no-untyped-def]
    """Write the prediction for each row of a block."""
    reading = Reading(state, slots, triangle, np.zeros((ROOMS, triangle.upper.shape[1])))
    columns = np.arange(rows.width)
    for t in range(np.uint64(predictions.shape[0])):
        predictions[t] = _foretell_in(rate, reading, rows.values, rows, columns, t)


@kernel(inline=True)
def _foretell_in(rate, reading, values, rows, columns, t):  # type: ignore[no-untyped-def]
    if values.ndim == 2:
        end = np.uint64(values.shape[1])
        return _foretell(rate, reading, columns, values[t], _0, end)
    else:
        begin, end = rows.indptr[t], rows.indptr[t + _1]
        return _foretell(rate, reading, rows.indices, values, begin, end)
