"""Dual ascent on a stream: each round raises D by moving slopes of the rows that are kept.

Problem: P(w) = F(w) + C sum_t c_t f(y_t, <w,x_t> + o_t), with dual variables s_t (slopes of f),
theta = -C sum_t c_t s_t x_t, w = link(theta) and D(s) = C sum_t c_t (s_t o_t - f*(s_t)) - G(theta).
A round: keep the row with slope 0, predict, move its slope, then the slopes of rows kept before it,
as the update says. Only conservative and aggressive steps beyond their preconditions can lower D.
Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, figure 1 and sections 4 to 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from noregret.jit import add_compensated, kernel
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.dual.dual_rows import (
    COUNT,
    CURVATURE,
    LABEL,
    OFFSET,
    SLOPE,
    SQUARE,
    VISITED,
    WEIGHT,
    admit,
    allot,
    draw,
    kept_row,
    slot_of,
    stalest,
    write_row,
)
from noregret.passes.dual.dual_steps import (
    FELL,
    MARGINS,
    PROGRESS,
    VALUE,
    Memory,
    enter_slope,
    kappa,
    move,
    read_row,
    visit,
)
from noregret.passes.frame import Rule, Vector
from noregret.passes.promises import keep_promises
from noregret.passes.rounds import LARGEST_LOSS, Round, playable, row_norm
from noregret.passes.rows import Row
from noregret.passes.slots import Stop
from noregret.proof.ledger import Entry

#: The kinds of update; a leader is a window over everything.
CONSERVATIVE, AGGRESSIVE, EXACT, PAIR, WINDOW, MINI = range(6)
#: The orders in which mini-updates visit the rows kept.
LAST, RANDOMLY, OLDEST, SUPPORT = range(4)

_1, _2 = np.uint64(1), np.uint64(2)


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
        # A loss with values below zero brings D down as it enters, which no step is to blame for.
        entry = -self.C * mass * loss.conjugate(label, 0.0)  # type: ignore[attr-defined]
        gain = _raise_dual(self, memory, ledger, found, j, mistake)
        add_compensated(accounts, VALUE, entry + gain)
        if mistake:
            add_compensated(accounts, PROGRESS, entry + gain)
        if gain < 0.0 and accounts[FELL] == 0.0:
            accounts[FELL] = ledger[Entry.ROUNDS]
        return Stop.DONE


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
    label, mass, norm = played.label, played.mass, played.norm
    value = loss.value(label, p)
    suffered = mass * value
    ledger[Entry.ROUNDS] += 1.0
    keep_promises(loss, ledger, label, p, value, played.slope)
    add_compensated(ledger, Entry.LOSS, suffered)
    size = abs(label) + abs(p) + abs(lead)
    ledger[Entry.MAGNITUDE] += abs(suffered) + mass * abs(played.slope) * size
    ledger[Entry.LARGEST_ROW] = max(ledger[Entry.LARGEST_ROW], norm)
    ledger[Entry.LEAST_WEIGHT] = min(ledger[Entry.LEAST_WEIGHT], mass)
    ledger[Entry.MOST_WEIGHT] = max(ledger[Entry.MOST_WEIGHT], mass)
    if mistake:
        ledger[Entry.MISTAKES] += 1.0
        ledger[Entry.LARGEST_COUNTED_ROW] = max(ledger[Entry.LARGEST_COUNTED_ROW], norm)


@kernel(inline=True)
def _raise_dual(rule, memory, ledger, found, j, mistake):  # type: ignore[no-untyped-def]
    """Move slopes, that of the newest row j first; return the gain."""
    kept, played = memory.kept, found.played
    if rule.update == CONSERVATIVE:
        if not mistake:
            return 0.0
        # The steepest slope there is, also where a margin of its own asks for less.
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


@kernel(counted=False)
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
        moved = 0.0
        open_gap = 0.0
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


@kernel(counted=False)
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
