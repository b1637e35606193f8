"""The scalars that a pass carries from row to row, and why it may stop early."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt


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


#: S is summed afresh after this many updates, or when it fell below this part of its peak.
UPDATES_BETWEEN_SUMS = 1e6
SHRUNK = 1e-3
#: Averages are settled when kappa moved by this factor, or digits would be lost.
KAPPA_DRIFT = 1024.0
#: A step that multiplies S by more than this asks for a settlement of the averages.
LEAP = 64.0


def new_slots() -> npt.NDArray[np.float64]:
    """Return the scalars of a pass that has seen nothing."""
    slots = np.zeros(max(Slot) + 1)
    slots[Slot.INNER] = 1.0
    slots[Slot.FACTOR] = 1.0
    return slots
