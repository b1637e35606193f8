"""The running sums of a bandit with finitely many arms."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from noregret.jit import add_compensated, kernel


class Sum(IntEnum):
    """Places in the book of a bandit; costs are counted in units of the promised range."""

    ROUNDS = 0
    COST = 1
    COST_LOW = 2
    #: Sum of the stability terms D_t, and of the simpler terms above them.
    DIVERGENCE = 3
    LOCAL = 4
    #: Sum of y_t - <w_t, z_t>: what estimates hide that are not of the weights they meet.
    DRIFT = 5
    ETAS = 6
    #: The rate of the coming round, and the round from which on it will be another.
    ETA = 7
    NEXT = 8
    #: What the rates are multiplied by where they fall.
    SCALE = 9
    #: What is taken off every estimate before weights are computed.
    SHIFT = 10
    #: The first decision that was made before an earlier one had its cost, and the first that
    #: was forgotten, counted from 1 (0: none).
    LATE = 11
    FORGOTTEN = 12


def require_sound(book: npt.NDArray[np.float64]) -> None:
    """Refuse a book that no bandit has written, in one line."""
    rounds, next_round = float(book[Sum.ROUNDS]), float(book[Sum.NEXT])
    # Sums of squares may have overflowed, which their statements tell; the others cannot.
    finite = np.isfinite(np.delete(book, [Sum.NEXT, Sum.DIVERGENCE, Sum.LOCAL, Sum.ETAS]))
    if not finite.all() or not next_round > 0.0:
        raise ValueError("the book holds numbers that are not finite")
    if not 0.0 <= rounds <= 2.0**53 or rounds % 1.0:
        raise ValueError(f"the book counts {rounds:g} rounds")
    positive = np.delete(book, [Sum.COST_LOW, Sum.DRIFT, Sum.SHIFT])
    if not book[Sum.ETA] > 0.0 or not (positive >= 0.0).all():
        raise ValueError("the book holds sums that no run can have")


_ROUNDS, _COST = int(Sum.ROUNDS), int(Sum.COST)


@kernel
def enter_cost(book, cost):  # type: ignore[no-untyped-def]
    """Count a round and add its cost, keeping what the addition loses.

    >>> book = np.zeros(len(Sum))
    >>> for cost in (1e16, 1.0, -1e16):
    ...     enter_cost(book, cost)
    >>> float(book[Sum.COST] + book[Sum.COST_LOW])
    1.0
    """
    add_compensated(book, _COST, cost)
    book[_ROUNDS] += 1.0
