"""One step of dual ascent: the slope of one kept row moves, theta and D move with it.

With c the row's weight, s its slope and p its prediction, a move to s' changes theta by
-C c (s' - s) x and D by C c (f*(s) - f*(s') + (s' - s) o) - (G(theta') - G(theta)). How theta moves
depends on the map, and is up to the rule: see `dual_rules`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from noregret.jit import add_compensated, kernel
from noregret.passes.dual.dual_rows import (
    LABEL,
    OFFSET,
    REACH,
    SLOPE,
    VISITED,
    WEIGHT,
    Kept,
)
from noregret.passes.promises import keep_conjugate
from noregret.passes.slots import Slot
from noregret.proof.ledger import Entry
from noregret.rounding import EPSILON, SMALLEST

#: Places in the accounts of the dual: D and its rise on mistakes, both compensated; what the
#: rounding of theta is proportional to; visits of rows; the first round whose steps lowered D (0:
#: none); the sizes of all intercepts ever entered or taken out; whether trials had margins.
VALUE, VALUE_LOW, PROGRESS, PROGRESS_LOW, ERROR, VISITS, FELL, TRAVELLED, MARGINS = range(9)
ACCOUNTS = 9

#: What underflow can take from a product, in units of EPSILON, with room to spare.
UNDERFLOWN = 64.0 * SMALLEST / EPSILON


class Memory(NamedTuple):
    """What dual ascent keeps from row to row, and the terms of the rows being played.

    A record of `state` is theta, or theta and v; `work` has the theta and v that a search tries.
    """

    state: Any
    slots: Any
    work: Any
    accounts: Any
    kept: Kept
    #: One entry a row of the block: what is added to <w, x>, and to that before the loss sees it.
    offset: Any
    lead: Any


@kernel(fast=True, inline=True)
def read_row(state, columns, row):  # type: ignore[no-untyped-def]
    """Return sum v_i x_i over a kept row; v is the last column of a record."""
    # Assert the width so that the compiler treats it as a constant in address arithmetic.
    assert state.shape[1] == columns
    raw = 0.0
    for k in range(row.begin, row.end):
        raw += state[row.indices[k], columns - 1] * row.values[k]
    return raw


@kernel(inline=True)
def kappa(rule, memory):  # type: ignore[no-untyped-def]
    """Return the common factor of the weights."""
    return rule.mirror.kappa(memory.slots[Slot.SUM], memory.slots[Slot.REFERENCE], 1.0)


@kernel(inner=True, counted=True)
def enter_slope(loss, ledger, accounts, y, weight, offset, s, sign):  # type: ignore[no-untyped-def]
    """Add the intercept c (s o - f*(s)) of a row to the ledger, or take it out (sign -1).

    What is taken out is to the bit what was added, and so is its rounding; the sums themselves
    lose a part of all that ever went through them.
    """
    conjugate = loss.conjugate(y, s)
    add_compensated(ledger, Entry.INTERCEPT, sign * (weight * (s * offset - conjugate)))
    # Where the parts of a conjugate cancel, they are of the size of one of these.
    size = abs(s)
    origin = loss.value(y, 0.0)
    keep_conjugate(loss, ledger, 0.0, origin, s, conjugate)
    parts = abs(conjugate) + abs(origin) + size * (size + abs(y) + abs(offset))
    ledger[Entry.MAGNITUDE] += sign * (weight * parts)
    accounts[TRAVELLED] += weight * parts


@kernel(inline=True)
def replace_slope(rule, memory, ledger, j, new):  # type: ignore[no-untyped-def]
    """Enter the new slope of slot j in place of the one before."""
    loss, accounts, book = rule.loss, memory.accounts, memory.kept.book
    y, weight, offset = book[j, LABEL], book[j, WEIGHT], book[j, OFFSET]
    enter_slope(loss, ledger, accounts, y, weight, offset, new, 1.0)
    enter_slope(loss, ledger, accounts, y, weight, offset, book[j, SLOPE], -1.0)
    # Where C c, its product with the move or that with a feature underflows, theta misses this.
    accounts[ERROR] += UNDERFLOWN * (1.0 + abs(new - book[j, SLOPE])) * book[j, REACH]
    book[j, SLOPE] = new


@kernel(inner=True)
def move(rule, memory, ledger, j, new):  # type: ignore[no-untyped-def]
    """Set the slope of slot j to a given value; return the change of D, of either sign."""
    book = memory.kept.book
    y, s = book[j, LABEL], book[j, SLOPE]
    if new == s or rule.C * book[j, WEIGHT] == 0.0:
        return 0.0
    height = rule.loss.conjugate(y, s) - rule.loss.conjugate(y, new)
    gain = rule.shift(memory, j, new - s, height)
    replace_slope(rule, memory, ledger, j, new)
    return gain


@kernel(inner=True)
def visit(rule, memory, ledger, j, raw):  # type: ignore[no-untyped-def]
    """Maximise D over the slope of slot j alone; `raw` is what `read_row` returns.

    Returns the gain, how far the slope moved, and what the row contributed to the duality gap
    before.
    """
    loss, accounts, book = rule.loss, memory.accounts, memory.kept.book
    y, s = book[j, LABEL], book[j, SLOPE]
    scale = rule.C * book[j, WEIGHT]
    accounts[VISITS] += 1.0
    book[j, VISITED] = accounts[VISITS]
    if scale == 0.0:
        return 0.0, 0.0, 0.0
    p = kappa(rule, memory) * raw + book[j, OFFSET]
    value, height = loss.value(y, p), loss.conjugate(y, s)
    keep_conjugate(loss, ledger, p, value, s, height)
    gain, distance = rule.ascend(memory, ledger, j, p, height)
    return gain, distance, scale * (value + height - s * p)
