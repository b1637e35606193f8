"""Centre and scale the features of rows by the rows before them, robustly, in one pass.

Moments are those of the rows of two epochs, the running one and the one before, whose lengths are
1, 2, 4, ... up to `LONGEST`: what lies further back is forgotten, an outlier among the first rows
after a few of them. Each epoch keeps a mean and a mean square deviation by Welford's recursion, as
distances from a shift close to the data, so that large offsets do not cancel.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noregret.jit import kernel
from noregret.passes.rows import place, row_of

#: Rows of the longest epoch.
LONGEST = 8192.0
#: Squared spreads up to this are taken as 0: their digits are lost.
SMALLEST_SQUARE = 1e-280
#: Spreads up to this times the shift are taken as 0: they may be what rounding left of a feature
#: that did not vary.
RESOLUTION = 2.0**-46

_0, _1 = np.uint64(0), np.uint64(1)


class Moment(IntEnum):
    """Columns of a feature: a shift, and the moments of x - shift in both epochs."""

    SHIFT = 0
    #: Mean and mean square deviation in the epoch before.
    MEAN_BEFORE = 1
    SQUARE_BEFORE = 2
    #: The same in the running epoch.
    MEAN = 3
    SQUARE = 4


class Count(IntEnum):
    """Places in the array of counts."""

    #: Rows of the epoch before and of the running one.
    BEFORE = 0
    RUNNING = 1
    #: 1 once a row was too wide.
    OUTGROWN = 2


class Scaling(NamedTuple):
    """The settings: deviations count up to `bound` spreads, features are squashed from `limit`.

    With a finite `settled` the moments are those of an epoch of so many rows, and no feature is
    written before it has ended. One that did not vary in it has the size of its first deviation
    for its spread.
    """

    bound: float
    limit: float
    constants: int
    widest: int
    settled: float


class Moments(NamedTuple):
    """The moments of each feature, the counts, and room for a row of as many features."""

    table: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]
    room: npt.NDArray[np.float64]


class Written(NamedTuple):
    """Rows in CSR form, to be filled in."""

    indptr: npt.NDArray[np.uint64]
    columns: npt.NDArray[np.uint32]
    values: npt.NDArray[np.float64]


@kernel(inline=True)
def share_of_running(counts):  # type: ignore[no-untyped-def]
    """Return the share of the running epoch in all rows that count, 0 without any."""
    rows = counts[Count.BEFORE] + counts[Count.RUNNING]
    return counts[Count.RUNNING] / rows if rows > 0.0 else 0.0


@kernel(inline=True)
def merged(table, i, share):  # type: ignore[no-untyped-def]
    """Return mean and mean square deviation of x_i - shift over both epochs."""
    mean, apart = table[i, Moment.MEAN_BEFORE], table[i, Moment.MEAN]
    apart -= mean
    square = (1.0 - share) * (table[i, Moment.SQUARE_BEFORE] + share * apart * apart)
    square += share * table[i, Moment.SQUARE]
    least = RESOLUTION * table[i, Moment.SHIFT]
    varied = square > max(least * least, SMALLEST_SQUARE)
    return mean + share * apart, square if varied else 0.0


@kernel(inline=True)
def squashed(spreads, bound, limit):  # type: ignore[no-untyped-def]
    """Return a distance in spreads: as it is up to `limit`, its logarithm beyond, to `bound`."""
    size = min(abs(spreads), bound)
    if size > limit:
        size = limit + math.log1p(size - limit)
    return math.copysign(size, spreads)


@kernel(inline=True)
def _enter(table, i, deviation, rows):  # type: ignore[no-untyped-def]
    """Enter x_i - shift in the running epoch, whose row number `rows` it is."""
    before = deviation - table[i, Moment.MEAN]
    mean = table[i, Moment.MEAN] + before / rows
    table[i, Moment.MEAN] = mean
    change = before * (deviation - mean) - table[i, Moment.SQUARE]
    table[i, Moment.SQUARE] += change / rows


@kernel(inline=True)
def _vary(table, i, deviation):  # type: ignore[no-untyped-def]
    """Take the size of the first deviation for the spread, if it is none that rounding left."""
    square, least = deviation * deviation, RESOLUTION * table[i, Moment.SHIFT]
    if max(least * least, SMALLEST_SQUARE) < square < np.inf:
        table[i, Moment.SQUARE_BEFORE] = square


@kernel(inline=True)
def _scatter(row, room, known, widest):  # type: ignore[no-untyped-def]
    """Write a row to `room`, missing features as 0; return whether it is too wide."""
    for i in range(known):
        room[i] = 0.0
    wide = False
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        if i < known:
            room[i] = x
        elif i >= widest and x != 0.0:
            wide = True
    return wide


@kernel(inline=True)
def _standardize_row(scaling, moments, entering, varying, written, at):  # type: ignore[no-untyped-def]
    """Write the features of the row in `room` from place `at` on; return the next place.

    `entering`: the row enters the moments; `varying`: only those of features that have not varied.
    """
    table, counts, room = moments.table, moments.counts, moments.room
    share = share_of_running(counts)
    rows = counts[Count.RUNNING] + 1.0
    for i in range(np.uint64(table.shape[0])):
        deviation = room[i] - table[i, Moment.SHIFT]
        mean, square = merged(table, i, share)
        if square > 0.0:
            spread = math.sqrt(square)
            distance = (deviation - mean) / spread
            z = squashed(distance, scaling.bound, scaling.limit)
            if z != 0.0:
                written.columns[at] = np.uint64(scaling.constants) + i
                written.values[at] = z
                at += _1
            if abs(distance) > scaling.bound:
                deviation = mean + math.copysign(scaling.bound * spread, distance)
        elif varying:
            _vary(table, i, deviation - mean)
        if entering:
            _enter(table, i, deviation, rows)
    return at


@kernel(inline=True)
def _count_row(table, counts):  # type: ignore[no-untyped-def]
    """Count a row that was entered, and begin the next epoch where it ends the running one."""
    counts[Count.RUNNING] += 1.0
    if counts[Count.RUNNING] < min(max(2.0 * counts[Count.BEFORE], 1.0), LONGEST):
        return
    counts[Count.BEFORE] = counts[Count.RUNNING]
    counts[Count.RUNNING] = 0.0
    for i in range(np.uint64(table.shape[0])):
        shift = table[i, Moment.SHIFT] + table[i, Moment.MEAN]
        # What rounding keeps of the mean is a distance from the new shift.
        table[i, Moment.MEAN_BEFORE] = table[i, Moment.MEAN] - (shift - table[i, Moment.SHIFT])
        table[i, Moment.SHIFT] = shift
        table[i, Moment.SQUARE_BEFORE] = table[i, Moment.SQUARE]
        table[i, Moment.MEAN] = table[i, Moment.SQUARE] = 0.0


@kernel
def standardize(scaling, moments, rows, weight, learning, written):  # type: ignore[no-untyped-def]
    """Write each row with its constants, standardised by the rows before it.

    `learning`: rows of a weight above 0 enter the moments after they are written.
    """
    table, counts, room = moments.table, moments.counts, moments.room
    known, widest = np.uint64(table.shape[0]), np.uint64(scaling.widest)
    at = _0
    written.indptr[_0] = _0
    for t in range(np.uint64(weight.shape[0])):
        wide = _scatter(row_of(rows, t), room, known, widest) or counts[Count.OUTGROWN] > 0.0
        entering = learning and weight[t] > 0.0
        for c in range(np.uint64(scaling.constants)):
            written.columns[at] = c
            written.values[at] = 1.0
            at += _1
        if wide:
            if entering:
                counts[Count.OUTGROWN] = 1.0
        elif counts[Count.BEFORE] >= scaling.settled:
            at = _standardize_row(scaling, moments, False, entering, written, at)
        else:
            after = _standardize_row(scaling, moments, entering, False, written, at)
            if not scaling.settled < np.inf:
                at = after
            if entering:
                _count_row(table, counts)
        written.indptr[t + _1] = at
    return at


@kernel
def read_moments(table, counts, centre, spread):  # type: ignore[no-untyped-def]
    """Write the centre and the spread of each feature for the coming row."""
    share = share_of_running(counts)
    for i in range(np.uint64(table.shape[0])):
        mean, square = merged(table, i, share)
        centre[i] = table[i, Moment.SHIFT] + mean
        spread[i] = math.sqrt(square)


@kernel
def recast(given, before, after, gone, written):  # type: ignore[no-untyped-def]
    """Write standardised rows with `after` constants, not `before`; those `gone` have no others."""
    # Modulo 2^64, so that there may be fewer constants, too.
    at, more = _0, np.uint64(after) - np.uint64(before)
    written.indptr[_0] = _0
    for t in range(np.uint64(gone.shape[0])):
        for c in range(np.uint64(after)):
            written.columns[at] = c
            written.values[at] = 1.0
            at += _1
        if not gone[t]:
            for k in range(given.indptr[t] + np.uint64(before), given.indptr[t + _1]):
                written.columns[at] = np.uint64(given.indices[k]) + more
                written.values[at] = given.values[k]
                at += _1
        written.indptr[t + _1] = at
    return at
