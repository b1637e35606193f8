"""One step of dual ascent: the slope of one kept row moves, theta and D move with it.

With c the row's weight, s its slope and p its prediction, a move to s' changes theta by
-C c (s' - s) x and D by C c (f*(s) - f*(s') + (s' - s) o) - (G(theta') - G(theta)). For the
Euclidean map that is C c (f*(s) - f*(s') + (s' - s) p - q (s' - s)^2 / 2) with q = C c ||x||^2, and
its maximum is the loss's proximal step; for every other map it is found by a search along x.

The Euclidean map's state is theta alone, a vector, all others have records of theta and v: the
number of its dimensions decides, when a kernel is compiled, which of the two steps is meant.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import add_compensated, kernel
from noregret.passes.dual.dual_maps import (
    Memory,
    Variable,
    climb,
    part_of_step,
    settle,
    try_move,
)
from noregret.passes.dual.dual_rows import (
    CURVATURE,
    LABEL,
    OFFSET,
    REACH,
    SLOPE,
    SQUARE,
    VISITED,
    WEIGHT,
    raw_prediction,
)
from noregret.passes.promises import keep_conjugate
from noregret.passes.rounds import LARGEST_LOSS
from noregret.passes.rows import row_at
from noregret.passes.slots import Slot, keep_sum
from noregret.proof.ledger import Entry
from noregret.rounding.slack import EPSILON, SMALLEST

#: Places in the accounts of the dual: D and its rise on mistakes, both compensated; what the
#: rounding of theta is proportional to; visits of rows; the first round whose steps lowered D (0:
#: none); the sizes of all intercepts ever entered or taken out; whether trials had margins.
VALUE, VALUE_LOW, PROGRESS, PROGRESS_LOW, ERROR, VISITS, FELL, TRAVELLED, MARGINS = range(9)
ACCOUNTS = 9

#: What underflow can take from a product, in units of EPSILON, with room to spare.
UNDERFLOWN = 64.0 * SMALLEST / EPSILON

#: How often a search is taken up again after the numbers were brought back into range.
RESUMED = 100
#: A search ends when its next step would be this part of the whole move: here at the last digits,
#: since a row may never be visited again.
CLOSED = 1e-13

_SUM = int(Slot.SUM)
_REFERENCE = int(Slot.REFERENCE)
_INTERCEPT = int(Entry.INTERCEPT)
_MAGNITUDE = int(Entry.MAGNITUDE)

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)


@kernel
def enter_slope(loss, ledger, accounts, y, weight, offset, s, sign):  # type: ignore[no-untyped-def]
    """Add the intercept c (s o - f*(s)) of a row to the ledger, or take it out (sign -1).

    What is taken out is to the bit what was added, and so is its rounding; the sums themselves
    lose a part of all that ever went through them.
    """
    conjugate = loss.conjugate(y, s)
    add_compensated(ledger, _INTERCEPT, sign * (weight * (s * offset - conjugate)))
    # Where the parts of a conjugate cancel, they are of the size of one of these.
    size = abs(s)
    origin = loss.value(y, 0.0)
    keep_conjugate(loss, ledger, 0.0, origin, s, conjugate)
    parts = abs(conjugate) + abs(origin) + size * (size + abs(y) + abs(offset))
    ledger[_MAGNITUDE] += sign * (weight * parts)
    accounts[TRAVELLED] += weight * parts


@kernel(inline=True)
def _replace_slope(loss, ledger, accounts, book, j, new):  # type: ignore[no-untyped-def]
    y, weight, offset = book[j, LABEL], book[j, WEIGHT], book[j, OFFSET]
    enter_slope(loss, ledger, accounts, y, weight, offset, new, 1.0)
    enter_slope(loss, ledger, accounts, y, weight, offset, book[j, SLOPE], -1.0)
    # Where C c, its product with the move or that with a feature underflows, theta misses this.
    accounts[ERROR] += UNDERFLOWN * (1.0 + abs(new - book[j, SLOPE])) * book[j, REACH]
    book[j, SLOPE] = new


@kernel(fast=True)
def _shift(state, accounts, step, spans, indices, values, j):  # type: ignore[no-untyped-def]
    """Add step * x to theta and account for the rounding."""
    error = 0.0
    for k in range(spans[_2 * j], spans[_2 * j + _1]):
        term = step * values[k]
        theta = state[indices[k]] + term
        state[indices[k]] = theta
        error += abs(theta) + 4.0 * abs(term)
    accounts[ERROR] += error


@kernel(inline=True)
def _prepare(mirror, slots, scale, spans, values, j):  # type: ignore[no-untyped-def]
    """Where theta is still 0 and so is S, choose the reference for what the row will make of it.

    Its powers would vanish or overflow otherwise, and no search could see them.
    """
    if slots[_SUM] == 0.0 and not mirror.separable():
        largest = 0.0
        for k in range(spans[_2 * j], spans[_2 * j + _1]):
            largest = max(largest, abs(scale * values[k]))
        slots[_REFERENCE] = mirror.reference(largest, largest)


@kernel
def _take(mirror, state, sums, step, limited, spans, indices, values, j):  # type: ignore[no-untyped-def]
    """Make what was tried in `work` the state; return the change of G and whether S was redone."""
    slots, _, accounts, work = sums
    before = mirror.psi(slots[_SUM], slots[_REFERENCE])
    begin = spans[_2 * j]
    reference = slots[_REFERENCE]
    change = 0.0
    error = 0.0
    largest = -np.inf
    size = 0.0
    for k in range(begin, spans[_2 * j + _1]):
        i = indices[k]
        moved, v = work[_0, k - begin], work[_1, k - begin]
        change += mirror.phi_given(moved, reference, v)
        change -= mirror.phi_given(state[i, _0], reference, state[i, _1])
        state[i, _0] = moved
        state[i, _1] = v
        error += abs(moved) + 4.0 * abs(step * values[k])
        largest = max(largest, moved)
        size = max(size, abs(moved))
    accounts[ERROR] += error
    if mirror.separable():
        return change, False
    total = slots[_SUM] + change
    redone = keep_sum(slots, total) or mirror.out_of_range(total, largest, size, reference)
    redone = redone or limited
    if redone:
        settle(mirror, state, slots)
    return mirror.psi(slots[_SUM], slots[_REFERENCE]) - before, redone


@kernel
def move(loss, mirror, C, state, sums, kept, j, new):  # type: ignore[no-untyped-def]
    """Set the slope of slot j to a given value; return the change of D, of either sign."""
    slots, ledger, accounts, work = sums
    spans, indices, values, book = kept
    y, offset, s = book[j, LABEL], book[j, OFFSET], book[j, SLOPE]
    scale = C * book[j, WEIGHT]
    fall = new - s
    if fall == 0.0 or scale == 0.0:
        return 0.0
    height = loss.conjugate(y, s) - loss.conjugate(y, new)
    step = -scale * fall
    if state.ndim == 1:
        p = raw_prediction(state, spans, indices, values, j) + offset
        q = scale * book[j, SQUARE]
        _shift(state, accounts, step, spans, indices, values, j)
        gain = scale * (height + fall * (p - 0.5 * q * fall))
    else:
        _prepare(mirror, slots, scale, spans, values, j)
        row = row_at(spans, indices, values, _2 * j)
        try_move(mirror, Memory(state, slots, work), row, step)
        rise, _ = _take(mirror, state, sums, step, False, spans, indices, values, j)
        gain = scale * (height + fall * offset) - rise
    _replace_slope(loss, ledger, accounts, book, j, new)
    return gain


@kernel
def visit(loss, mirror, C, fraction, state, sums, kept, j, raw):  # type: ignore[no-untyped-def]
    """Maximise D over the slope of slot j alone; `raw` is its `raw_prediction`.

    A fraction below 1 takes that part of the step: D is concave along it and gains at least this
    fraction of what the whole step would.

    Returns the gain, how far the slope moved, and what the row contributed to the duality gap
    before. The gain is a sum of two Bregman distances, never negative: where rounding says
    otherwise it counts as zero.
    """
    slots, ledger, accounts, work = sums
    spans, indices, values, book = kept
    y, offset, s = book[j, LABEL], book[j, OFFSET], book[j, SLOPE]
    scale = C * book[j, WEIGHT]
    accounts[VISITS] += 1.0
    book[j, VISITED] = accounts[VISITS]
    if scale == 0.0:
        return 0.0, 0.0, 0.0
    height = loss.conjugate(y, s)
    if state.ndim == 1:
        p = raw + offset
        value = loss.value(y, p)
        keep_conjugate(loss, ledger, p, value, s, height)
        gap = scale * (value + height - s * p)
        q = scale * book[j, SQUARE]
        new = loss.proximal_slope(y, p + q * s, q, s)
        if fraction < 1.0:
            new = part_of_step(s, new, fraction)
        fall = new - s
        lower = loss.conjugate(y, new)
        if fall == 0.0 or not book[j, WEIGHT] * abs(lower) < LARGEST_LOSS:
            return 0.0, 0.0, gap
        bend = height - lower + fall * (p - q * fall)
        _shift(state, accounts, -scale * fall, spans, indices, values, j)
        _replace_slope(loss, ledger, accounts, book, j, new)
        if fraction < 1.0:
            # Short of the maximum the slope is not one at the new prediction.
            return scale * max(bend + 0.5 * q * fall * fall, 0.0), abs(fall), gap
        return scale * (max(bend, 0.0) + 0.5 * q * fall * fall), abs(fall), gap
    else:
        p = mirror.kappa(slots[_SUM], slots[_REFERENCE], 1.0) * raw + offset
        value = loss.value(y, p)
        keep_conjugate(loss, ledger, p, value, s, height)
        gap = scale * (value + height - s * p)
        gain = 0.0
        distance = 0.0
        _prepare(mirror, slots, scale, spans, values, j)
        memory = Memory(state, slots, work)
        row = row_at(spans, indices, values, _2 * j)
        for _ in range(RESUMED):
            variable = Variable(y, s, offset, -scale, 0.0, book[j, CURVATURE])
            new, total, q = climb(loss, mirror, memory, row, variable, CLOSED)
            if fraction < 1.0 and new != s:
                new = part_of_step(s, new, fraction)
                step = -scale * (new - s)
                try_move(mirror, memory, row, step)
            lower = loss.conjugate(y, new)
            if new == s or not book[j, WEIGHT] * abs(lower) < LARGEST_LOSS:
                break
            fall = new - s
            # Infinity: numbers left their range on the way.
            limited = not total < np.inf
            rise, redone = _take(
                mirror, state, sums, -scale * fall, limited, spans, indices, values, j
            )
            gain += max(scale * (height - lower + fall * offset) - rise, 0.0)
            distance += abs(fall)
            _replace_slope(loss, ledger, accounts, book, j, new)
            book[j, CURVATURE] = q
            if not redone:
                break
            # Numbers were brought back into their range: the maximum may lie farther on.
            s, height = new, lower
        return gain, distance, gap
