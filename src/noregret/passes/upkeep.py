"""What passes keep up to date from round to round: the rate, S and the averages' prefix sum."""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.passes.slots import KAPPA_DRIFT, LEAP, SHRUNK, UPDATES_BETWEEN_SUMS, Slot
from noregret.proof.ledger import Entry


@kernel(inline=True)
def next_rate(loss, rate, ledger, norm, weight):  # type: ignore[no-untyped-def]
    """Return eta for a row of that dual norm, before its label is known, and its LARGEST_REACH."""
    return rate_within(loss.lipschitz(), rate, ledger, norm, weight)


@kernel(inline=True)
def rate_within(steepest, rate, ledger, norm, weight):  # type: ignore[no-untyped-def]
    """Return eta for a row of that dual norm and slopes of size at most `steepest`.

    Also returns what LARGEST_REACH becomes if the row is played: a refused row must not enter it.
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
