"""Dual ascent on a stream: each round raises D by moving slopes of the rows that are kept.

Problem: P(w) = F(w) + C sum_t c_t f(y_t, <w,x_t> + o_t), with dual variables s_t (slopes of f),
theta = -C sum_t c_t s_t x_t, w = link(theta) and D(s) = C sum_t c_t (s_t o_t - f*(s_t)) - G(theta).
A round: keep the row with slope 0, predict, move its slope, then the slopes of rows kept before it,
as the update says. Only conservative and aggressive steps beyond their preconditions can lower D.
With c the row's weight and p its prediction, a move from s to s' changes theta by -C c (s' - s) x
and D by C c (f*(s) - f*(s') + (s' - s) o) - (G(theta') - G(theta)). How theta moves depends on the
map, and is up to the rule: see `dual_rules`.
Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, figure 1 and sections 4 to 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noregret.jit import add_compensated, kernel
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.dual.dual_rows import (
    COUNT,
    CURVATURE,
    LABEL,
    OFFSET,
    REACH,
    SLOPE,
    SQUARE,
    VISITED,
    WEIGHT,
    Kept,
    admit,
    allot,
    draw,
    kept_row,
    slot_of,
    stalest,
    write_row,
)
from noregret.passes.frame import Rule, Vector
from noregret.passes.promises import keep_conjugate, keep_promises
from noregret.passes.rounds import LARGEST_LOSS, Round, count_round, playable, row_norm
from noregret.passes.rows import Row
from noregret.passes.slots import Slot, Stop
from noregret.proof.ledger import Entry
from noregret.rounding import EPSILON, SMALLEST

#: The kinds of update; a leader is a window over everything.
CONSERVATIVE, AGGRESSIVE, EXACT, PAIR, WINDOW, MINI = range(6)
#: The orders in which mini-updates visit the rows kept.
LAST, RANDOMLY, OLDEST, SUPPORT = range(4)

#: Places in the accounts of the dual: D and its rise on mistakes, both compensated; what the
#: rounding of theta is proportional to; visits of rows; the first round whose steps lowered D (0:
#: none); the sizes of all intercepts ever entered or taken out; whether trials had margins.
VALUE, VALUE_LOW, PROGRESS, PROGRESS_LOW, ERROR, VISITS, FELL, TRAVELLED, MARGINS = range(9)
ACCOUNTS = 9

#: What underflow can take from a product, in units of EPSILON, with room to spare.
UNDERFLOWN = 64.0 * SMALLEST / EPSILON

_1, _2 = np.uint64(1), np.uint64(2)


class Memory(NamedTuple):
    """What dual ascent keeps from row to row, and the terms of the rows being played.

    A record of `state` is theta, or theta and v; `work` has the theta and v that a search tries.
    """

    state: Any
    slots: Any
    work: Any
    accounts: Any
    kept: Kept
    #: One entry a row of the block: `offset` is added to <w, x>; `lead`, the margin of a trial, is
    #: added for the loss only.
    offset: Any
    lead: Any


class Found(NamedTuple):
    """What `examine` found: sum v_i x_i, and the prediction that the loss sees."""

    played: Round
    raw: float
    p: float


@dataclass(frozen=True)
class DualRule(Rule):
    """Keep the row with slope 0, predict, and raise D by the slopes that the update names.

    The slope of a `Round` is that of the loss at `Found.p`: a margin of the trial's own adds to the
    prediction before the loss sees it, while predictions and mistakes are without.

    A subclass says how theta moves with the slope of slot j:
    `ascend(memory, ledger, j, p, height)` maximises D over it, given the row's prediction and the
    conjugate at its slope, and returns the gain and how far the slope moved. The gain is a sum of
    two Bregman distances, never negative: where rounding says otherwise it counts as zero.
    `shift(memory, j, fall, height)` changes it by `fall`, with which the conjugate falls by
    `height`, and returns the change of D. `ascend_pair(memory, ledger, i, j)` maximises D over two
    slopes at once and returns the gain.
    """

    loss: Loss
    mirror: Mirror
    C: float
    #: The part of an exact step that is taken: D is concave along it and gains at least this
    #: fraction of what the whole step would.
    fraction: float
    update: int
    schedule: int
    #: Rows of a window, or steps of mini-updates.
    k: int
    #: A bound on <x, H x> for the aggressive step.
    square: float
    #: Where to leave a window: at this part of D, or after that many sweeps.
    tolerance: float
    sweeps: int

    def examine(
        self, row: Row, label: float, mass: float, memory: Memory, ledger: Vector
    ) -> tuple[Found, int]:
        """Write the row to the free slot, which nothing reads before `commit`, and predict."""
        kept, weight = memory.kept, self.C * mass
        room, start = allot(kept, row.end - row.begin)
        if not room:
            return Found(Round(label, mass, 0.0, 0.0, 0.0, 0.0, self.C), 0.0, 0.0), Stop.ROOM
        j = slot_of(kept, kept.ring[COUNT])
        powers, one_norm = write_row(self.mirror, row, kept, start, j)
        norm = row_norm(self.mirror, powers, one_norm)
        raw = read_row(memory.state, self.columns(), kept_row(kept, j))
        product, offset = kappa(self, memory) * raw, memory.offset[row.t]
        p = product + (offset + memory.lead[row.t])
        slope = self.loss.slope(label, p)
        fits = weight * kept.book[j, SQUARE] < LARGEST_LOSS
        fits = fits and playable(self.loss, label, weight, p, slope, norm)
        # The loss itself is summed without C.
        fits = fits and (self.C >= 1.0 or playable(self.loss, label, mass, p, slope, 0.0))
        played = Round(label, mass, product + offset, slope, one_norm, norm, self.C)
        return Found(played, raw, p), Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: Found) -> int:
        """Admit the row, enter the round, and raise D."""
        loss, accounts, kept, played = self.loss, memory.accounts, memory.kept, found.played
        label, mass = played.label, played.mass
        offset, lead = memory.offset[row.t], memory.lead[row.t]
        mistake = loss.mistake(label, played.prediction)
        j = slot_of(kept, kept.ring[COUNT])
        admit(kept, j)
        _record(self, kept.book, j, played, offset + lead)
        _enter_round(loss, ledger, played, found.p, lead, mistake)
        if offset != 0.0:
            ledger[Entry.OFFSETS] = 1.0
        if lead != 0.0:
            accounts[MARGINS] = 1.0
        enter_slope(loss, ledger, accounts, label, mass, offset + lead, 0.0, 1.0)
        # A loss with negative values lowers D as its row enters; FELL is about steps alone.
        entry = -self.C * mass * loss.conjugate(label, 0.0)  # type: ignore[attr-defined]
        gain = _raise_dual(self, memory, ledger, found, j, mistake)
        add_compensated(accounts, VALUE, entry + gain)
        if mistake:
            add_compensated(accounts, PROGRESS, entry + gain)
        if gain < 0.0 and accounts[FELL] == 0.0:
            accounts[FELL] = ledger[Entry.ROUNDS]
        return Stop.DONE


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


@kernel(inner=True)
def enter_slope(loss, ledger, accounts, y, weight, offset, s, sign):  # type: ignore[no-untyped-def]
    """Add the intercept c (s o - f*(s)) of a row to the ledger, or take it out (sign -1).

    An intercept taken out equals the one added, to the bit, and so does its MAGNITUDE. The
    rounding of the running sums is proportional to TRAVELLED.
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


@kernel(inline=True)
def _record(rule, book, j, played, shift):  # type: ignore[no-untyped-def]
    """Fill the record of a new row, of which `write_row` has filled a part."""
    book[j, LABEL] = played.label
    book[j, OFFSET] = shift
    book[j, WEIGHT] = played.mass
    book[j, SLOPE] = 0.0
    book[j, VISITED] = 0.0
    bend = rule.mirror.smoothness() * played.norm * played.norm
    book[j, CURVATURE] = rule.C * played.mass * (bend if bend >= 0.0 else book[j, SQUARE])


@kernel(inline=True)
def _enter_round(loss, ledger, played, p, lead, mistake):  # type: ignore[no-untyped-def]
    """Enter the loss suffered at p, of which `lead` is what the margin of the trial adds."""
    label, mass = played.label, played.mass
    value = loss.value(label, p)
    suffered = mass * value
    count_round(ledger, played, suffered, mistake)
    keep_promises(loss, ledger, label, p, value, played.slope)
    size = abs(label) + abs(p) + abs(lead)
    ledger[Entry.MAGNITUDE] += abs(suffered) + mass * abs(played.slope) * size
    if mistake:
        largest = max(ledger[Entry.LARGEST_COUNTED_ROW], played.norm)
        ledger[Entry.LARGEST_COUNTED_ROW] = largest


@kernel(inner=True)
def _raise_dual(rule, memory, ledger, found, j, mistake):  # type: ignore[no-untyped-def]
    """Move slopes, that of the newest row j first; return the gain."""
    kept, played = memory.kept, found.played
    if rule.update == CONSERVATIVE:
        if not mistake:
            return 0.0
        # The slope without the margin of the trial: on a mistake it is the steepest one.
        return move(rule, memory, ledger, j, rule.loss.slope(played.label, played.prediction))
    if rule.update == AGGRESSIVE:
        q = rule.C * played.mass * rule.square
        new = rule.loss.proximal_slope(played.label, found.p, q, 0.0)
        return move(rule, memory, ledger, j, new)
    if rule.update == PAIR and kept.ring[COUNT] > _1:
        return rule.ascend_pair(memory, ledger, slot_of(kept, kept.ring[COUNT] - _2), j)
    if rule.update == WINDOW:
        return _sweep(rule, memory, ledger)
    gain, _, _ = visit(rule, memory, ledger, j, found.raw)
    if rule.update == MINI:
        gain += _mini_updates(rule, memory, ledger)
    return gain


@kernel(inner=True)
def _sweep(rule, memory, ledger):  # type: ignore[no-untyped-def]
    """Visit the newest k rows again and again, newest first; return the gain.

    Ends when the rows' part of the duality gap is at most tolerance * max(1, D), when nothing
    moves, or after the last sweep: wherever it ends, D has not fallen.
    """
    kept = memory.kept
    count = min(np.uint64(rule.k), kept.ring[COUNT])
    enough = rule.tolerance * max(1.0, memory.accounts[VALUE])
    total = 0.0
    for _ in range(rule.sweeps):
        moved = open_gap = 0.0
        for back in range(_1, count + _1):
            j = slot_of(kept, kept.ring[COUNT] - back)
            raw = read_row(memory.state, rule.columns(), kept_row(kept, j))
            gain, distance, gap = visit(rule, memory, ledger, j, raw)
            total += gain
            moved = max(moved, distance)
            open_gap += gap
        if moved == 0.0 or open_gap <= enough or count == _1:
            break
    return total


@kernel(inner=True)
def _mini_updates(rule, memory, ledger):  # type: ignore[no-untyped-def]
    """Visit rows kept before the newest one, in the order of the schedule; return the gain."""
    kept, schedule = memory.kept, rule.schedule
    count = kept.ring[COUNT]
    total = 0.0
    if count < _2:
        return total
    most = count if schedule == SUPPORT else np.uint64(rule.k)
    if schedule == LAST:
        most = min(most, count)
    for back in range(_1, most):
        if schedule == RANDOMLY:
            j = slot_of(kept, draw(kept.ring))
        elif schedule == OLDEST:
            j = stalest(kept.links)
        else:
            j = slot_of(kept, count - _1 - back)
        if schedule != SUPPORT or kept.book[j, SLOPE] != 0.0:
            raw = read_row(memory.state, rule.columns(), kept_row(kept, j))
            gain, _, _ = visit(rule, memory, ledger, j, raw)
            total += gain
    return total
