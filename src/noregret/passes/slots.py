"""The scalars of a pass from row to row, how they are updated, and why a pass may stop early."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from noregret.arrays import Vector
from noregret.jit import kernel
from noregret.proof.ledger import Entry


class Slot(IntEnum):
    """Places in the array of a pass's scalars."""

    #: S = sum_i phi(a_i), its largest value since it was last summed, updates since then.
    SUM = 0
    PEAK = 1
    UPDATES = 2
    #: The number that keeps phi in range.
    REFERENCE = 3
    #: The rate inside phi for maps that are not homogeneous (1 for the others).
    INNER = 4
    # Place 5 is not used any more; model files have it.
    #: Sum of kappa_t since the averages were last settled, and kappa at that moment.
    PREFIX = 6
    BASE = 7
    #: Global factor of the weights, for projections on a ball.
    FACTOR = 8
    #: How far rounding can have moved S since it was last summed (strongly convex rounds).
    SUM_ERROR = 9


class Stop(IntEnum):
    """Why a pass returned."""

    DONE = 0
    #: S must be summed afresh, or the reference must move.
    RESUM = 1
    #: The rate inside phi must fall before this row is played.
    RATE = 2
    #: kappa has moved so far that the averages must be settled.
    SETTLE = 3
    #: The prediction for this row overflowed; the row was not played.
    OVERFLOW = 4
    #: This row may not be learnt as it is, and was not played.
    UNSOUND = 5
    #: There is no room to keep this row, which was not played.
    ROOM = 6
    #: The leader of the rows so far must be found.
    LEAD = 7


#: S is summed afresh after this many updates, or when it fell below this part of its peak.
UPDATES_BETWEEN_SUMS = 1e6
SHRUNK = 1e-3
#: Averages are settled when kappa moved by this factor, or digits would be lost.
KAPPA_DRIFT = 1024.0
#: A step that multiplies S by more than this asks for a settlement of the averages.
LEAP = 64.0


def new_slots() -> Vector:
    """Return the scalars of a pass that has seen nothing."""
    slots = np.zeros(max(Slot) + 1)
    slots[Slot.INNER] = 1.0
    slots[Slot.FACTOR] = 1.0
    return slots


@kernel(inline=True)
def next_rate(steepest, rate, ledger, norm, weight):  # type: ignore[no-untyped-def]
    """Return eta for a row of that dual norm, before its label is known.

    `steepest` is the largest slope of the loss. Also returns what LARGEST_REACH becomes if the row
    is played: a refused row must not enter it.
    """
    # A loss without a steepest slope gets 1: no theorem then, but a sensible first step.
    allowed = (steepest if steepest < np.inf else 1.0) * weight * norm
    allowed = max(ledger[Entry.LARGEST_REACH], allowed)
    largest = max(ledger[Entry.LARGEST_SQUARE], allowed * allowed)
    return rate.at(ledger[Entry.ROUNDS], ledger[Entry.SQUARES], largest), allowed


@kernel(inline=True)
def keep_sum(slots, total):  # type: ignore[no-untyped-def]
    """Store S and return whether it must be summed afresh."""
    slots[Slot.SUM] = total
    slots[Slot.PEAK] = max(slots[Slot.PEAK], total)
    slots[Slot.UPDATES] += 1.0
    if not total < np.inf:
        return True
    return total < SHRUNK * slots[Slot.PEAK] or slots[Slot.UPDATES] >= UPDATES_BETWEEN_SUMS


@kernel(inline=True)
def leap_limit(mirror, slots):  # type: ignore[no-untyped-def]
    """Return the phi beyond which one coordinate leaps too far for the averages."""
    return LEAP * slots[Slot.SUM] if slots[Slot.SUM] > 0.0 and not mirror.separable() else np.inf


@kernel(inline=True)
def extend_prefix(slots, kappa):  # type: ignore[no-untyped-def]
    """Add kappa_t to the prefix sum and return whether the averages must be settled."""
    slots[Slot.PREFIX] += kappa
    base = slots[Slot.BASE]
    if base == 0.0:
        slots[Slot.BASE] = kappa
        return False
    return not base < kappa * KAPPA_DRIFT or not kappa < base * KAPPA_DRIFT
