"""The pass of gradient descent in the space of a kernel.

The weights are w = s sum_i c_i K(x_i, .) over stored points x_i, and <w, K(x, .)> = w(x). Every
round costs one evaluation of the kernel a stored point; a budget keeps the matrix of them, so
that a drop costs no evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.jit import kernel as compiled
from noregret.losses import Loss
from noregret.passes.frame import Rule
from noregret.passes.rounds import LARGEST_GRADIENT, Round, enter_round, playable
from noregret.passes.rows import Row, place, row_of
from noregret.passes.slots import Stop
from noregret.rounding import EPSILON
from noregret.tracking.kernels import Kernel, total_of

#: The common factor is folded into the coefficients before its inverse loses range.
SMALLEST_SCALE = 1e-100

_0, _1 = np.uint64(0), np.uint64(1)


class Place(IntEnum):
    """Scalars of the pass, beside its ledger."""

    COUNT = 0
    #: The common factor s of the coefficients, and ||w||^2.
    SCALE = 1
    SQUARE = 2
    #: Sum of ||e_t||, the parts of w that were dropped, of (||w + e||^2 - ||w||^2)/2, and how many.
    DROPPED = 3
    RECOIL = 4
    DROPS = 5
    #: ||Z||^2 of the stored part of Z = sum g_t K(x_t, .), how far rounding can have moved it,
    #: sum |g_i| sqrt(K(x_i, x_i)) over the stored points and over the dropped ones.
    GRADIENT = 6
    GRADIENT_ERROR = 7
    STORED = 8
    LOST = 9
    #: The largest ||x||^2 of the features.
    LARGEST = 10
    #: How far rounding can have moved RECOIL.
    RECOIL_ERROR = 11


class Column(IntEnum):
    """The record of a stored point, beside its features."""

    COEFFICIENT = 0
    SLOPE = 1
    #: ||x||^2 of the features, and sqrt(K(x, x)).
    SQUARE = 2
    NORM = 3


COLUMNS = len(Column)


class Memory(NamedTuple):
    """The stored points, a record of each in `state`, and the scalars, by `Place`.

    `grams` is the matrix of the kernel, without rows where there is no budget, and `row` has room
    for the kernel of the stored points with the row of the round.
    """

    state: Vector
    points: Vector
    grams: Vector
    row: Vector
    slots: Vector


class Found(NamedTuple):
    """The results of `examine`: K(x, x), sum g_i K(x_i, x) and ||x||^2 of the features."""

    played: Round
    own: float
    z: float
    square: float


@dataclass(frozen=True)
class HilbertRule(Rule):
    """Predict by w(x), step by -eta g K(x, .), then go back into the ball of that radius.

    With a budget, while there are too many points the smallest is dropped before that.
    """

    kernel: Kernel
    loss: Loss
    eta: float
    radius: float

    def columns(self) -> int:
        """Return how many columns the record of a point has."""
        return COLUMNS

    def examine(
        self, row: Row, label: float, mass: float, memory: Memory, ledger: Vector
    ) -> tuple[Found, int]:
        """Write the row behind the stored points, where it stays if played, and predict."""
        state, points, slots = memory.state, memory.points, memory.slots
        count = np.uint64(slots[Place.COUNT])
        if count == np.uint64(points.shape[0]):
            nothing = Round(label, mass, 0.0, 0.0, 0.0, 0.0, self.eta)
            return Found(nothing, 0.0, 0.0, 0.0), Stop.ROOM
        square = _store(points, count, row)
        own = self.kernel.value(total_of(self.kernel, points, count, square, row, row.values))
        norm = np.sqrt(max(own, 0.0))
        p = 0.0
        z = 0.0
        for i in range(count):
            at = state[i, Column.SQUARE]
            total = total_of(self.kernel, points, i, at, row, row.values)
            memory.row[i] = self.kernel.value(total)
            p += state[i, Column.COEFFICIENT] * memory.row[i]
            z += state[i, Column.SLOPE] * memory.row[i]
        p *= slots[Place.SCALE]
        g = self.loss.slope(label, p)
        fits = playable(self.loss, label, mass, p, g, norm)
        fits = fits and abs(self.eta * g) * norm < LARGEST_GRADIENT
        found = Found(Round(label, mass, p, g, norm, norm, self.eta), own, z, square)
        return found, Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: Found) -> int:
        """Enter the round, store the point and keep both squared norms."""
        state, slots = memory.state, memory.slots
        own, g, norm = found.own, found.played.slope, found.played.norm
        step, count = self.eta * g, np.uint64(slots[Place.COUNT])
        slots[Place.LARGEST] = max(slots[Place.LARGEST], found.square)
        enter_round(self.loss, ledger, found.played, False)
        # A step that underflows moves nothing, but its gradient belongs to Z.
        if g * norm == 0.0:
            return Stop.DONE
        # An evaluation is right to `power` roundings a feature, a sum to one a term.
        power = self.kernel.power(slots[Place.LARGEST])
        features = memory.points.shape[1] + 8.0
        error = 4.0 * EPSILON * (power * features + np.float64(count) + 16.0)
        slots[Place.STORED] += abs(g) * norm
        slots[Place.GRADIENT] += g * (2.0 * found.z + g * own)
        slots[Place.GRADIENT_ERROR] += error * abs(g) * norm * slots[Place.STORED]
        slots[Place.GRADIENT_ERROR] += 4.0 * EPSILON * slots[Place.STORED] ** 2
        change = step * (step * own - 2.0 * found.played.prediction)
        slots[Place.SQUARE] = max(slots[Place.SQUARE] + change, 0.0)
        state[count, Column.COEFFICIENT] = -step / slots[Place.SCALE]
        state[count, Column.SLOPE] = g
        state[count, Column.SQUARE] = found.square
        state[count, Column.NORM] = norm
        slots[Place.COUNT] += 1.0
        if memory.grams.shape[0] > 0:
            _keep_budget(memory, own, error)
        length = np.sqrt(slots[Place.SQUARE])
        if length > self.radius:
            slots[Place.SCALE] *= self.radius / length
            slots[Place.SQUARE] = self.radius * self.radius
            if slots[Place.SCALE] < SMALLEST_SCALE:
                for i in range(np.uint64(slots[Place.COUNT])):
                    state[i, Column.COEFFICIENT] *= slots[Place.SCALE]
                slots[Place.SCALE] = 1.0
        return Stop.DONE


@compiled(inline=True)
def _store(points, i, row):  # type: ignore[no-untyped-def]
    """Write a row as point i; return ||x||^2."""
    square = 0.0
    for j in range(np.uint64(points.shape[1])):
        points[i, j] = 0.0
    for k in range(row.end - row.begin):
        j, x = place(row, k)
        points[i, j] = x
        square += x * x
    return square


@compiled
def _keep_budget(memory, own, error):  # type: ignore[no-untyped-def]
    """Enter the kernel of the newest point in the matrix; drop a point if there is one too many.

    That is the point with the smallest |c_i| sqrt(K(x_i, x_i)); its part of w is accounted for, and
    the newest point, of index `last`, takes its place.
    """
    columns, points, grams, slots = memory.state, memory.points, memory.grams, memory.slots
    last = np.uint64(slots[Place.COUNT]) - _1
    for i in range(last):
        grams[last, i] = memory.row[i]
        grams[i, last] = memory.row[i]
    grams[last, last] = own
    if last + _1 < np.uint64(grams.shape[0]):
        return
    slots[Place.COUNT] -= 1.0
    least = _0
    smallest = np.inf
    mass = 0.0
    for i in range(last + _1):
        size = abs(columns[i, Column.COEFFICIENT]) * columns[i, Column.NORM]
        mass += size
        if size < smallest:
            least, smallest = np.uint64(i), size
    norm = columns[least, Column.NORM]
    at = 0.0
    slope_at = 0.0
    for j in range(last + _1):
        at += columns[j, Column.COEFFICIENT] * grams[least, j]
        slope_at += columns[j, Column.SLOPE] * grams[least, j]
    a = slots[Place.SCALE] * columns[least, Column.COEFFICIENT]
    change = -2.0 * a * slots[Place.SCALE] * at + a * norm * (a * norm)
    slots[Place.SQUARE] = max(slots[Place.SQUARE] + change, 0.0)
    slots[Place.RECOIL] += 0.5 * change
    slots[Place.RECOIL_ERROR] += error * abs(a) * norm * slots[Place.SCALE] * mass
    slots[Place.DROPPED] += abs(a) * norm
    slots[Place.DROPS] += 1.0
    g = columns[least, Column.SLOPE]
    slots[Place.GRADIENT] += -2.0 * g * slope_at + g * norm * (g * norm)
    slots[Place.GRADIENT_ERROR] += error * abs(g) * norm * slots[Place.STORED]
    slots[Place.STORED] -= abs(g) * norm
    slots[Place.LOST] += abs(g) * norm
    points[least, :] = points[last, :]
    columns[least, :] = columns[last, :]
    for j in range(last + _1):
        grams[least, j] = grams[last, j]
    for j in range(last + _1):
        grams[j, least] = grams[j, last]
    if slots[Place.DROPS] % np.float64(last) == 0.0:
        _sum_afresh(columns, grams, last, slots, error)


@compiled
def _sum_afresh(columns, grams, count, slots, error):  # type: ignore[no-untyped-def]
    """Compute both squared norms from the matrix, so that their roundings do not pile up."""
    square = 0.0
    gradient = 0.0
    stored = 0.0
    for i in range(count):
        c, g = columns[i, Column.COEFFICIENT], columns[i, Column.SLOPE]
        stored += abs(g) * columns[i, Column.NORM]
        for j in range(count):
            square += c * grams[i, j] * columns[j, Column.COEFFICIENT]
            gradient += g * grams[i, j] * columns[j, Column.SLOPE]
    slots[Place.SQUARE] = max(slots[Place.SCALE] ** 2 * square, 0.0)
    slots[Place.GRADIENT] = gradient
    # A sum of count^2 terms in two loops; `error` has room for both and for the evaluations.
    slots[Place.GRADIENT_ERROR] = (np.float64(count) + 1.0) * error * stored * stored
    slots[Place.STORED] = stored


@compiled(counted=False)
def predict_points(kernel, points, columns, scale, rows, predictions):  # type: ignore[no-untyped-def]
    """Write s sum_i c_i K(x_i, x) for every row x."""
    for t in range(np.uint64(predictions.shape[0])):
        row = row_of(rows, t)
        p = 0.0
        for i in range(np.uint64(points.shape[0])):
            total = total_of(kernel, points, i, columns[i, Column.SQUARE], row, row.values)
            p += columns[i, Column.COEFFICIENT] * kernel.value(total)
        predictions[t] = scale * p
