"""Decisions that wait for their costs, joined by id: in any order, late, once and only once."""

from __future__ import annotations

import math
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

Kept = TypeVar("Kept")


class Decision(NamedTuple):
    """An arm that was drawn, and with which probability; its cost is told under `id`."""

    id: int
    arm: int
    probability: float


class Waiting(Generic[Kept]):
    """What is kept of each decision until its cost comes; memory grows with these alone.

    Ids are 0, 1, 2, ...: one that is not waiting was settled before, or never given.
    """

    def __init__(self) -> None:
        """Begin without decisions."""
        self.made = 0
        self.kept: dict[int, Kept] = {}

    def __len__(self) -> int:
        return len(self.kept)

    def add(self, kept: Kept) -> int:
        """Keep something for a new decision and return its id."""
        number = self.made
        self.kept[number] = kept
        self.made = number + 1
        return number

    def find(self, decision: Decision | int) -> tuple[int, Kept]:
        """Return the id of a decision that waits and what was kept of it, or refuse in one line.

        >>> Waiting().find(3)
        Traceback (most recent call last):
        ValueError: decision 3 is unknown: none were made so far
        """
        number = decision.id if isinstance(decision, Decision) else decision
        if type(number) is not int:
            # Numpy's whole numbers are welcome, but neither True nor 1.5 names a decision.
            if isinstance(number, bool) or not isinstance(number, np.integer):
                raise ValueError(f"a decision is named by its id, a whole number, got {decision!r}")
            number = int(number)
        if number in self.kept:
            return number, self.kept[number]
        if 0 <= number < self.made:
            raise ValueError(f"decision {number} is settled: its cost was told or it was forgotten")
        made = f"the ids so far are 0 to {self.made - 1}" if self.made else "none were made so far"
        raise ValueError(f"decision {number} is unknown: {made}")

    def settle(self, number: int) -> None:
        """Let go of a decision."""
        del self.kept[number]


def as_cost(cost: float, low: float, high: float) -> float:
    """Return the cost as a float, or refuse one outside the promised range in one line.

    >>> as_cost(0.5, 0.0, 1.0)
    0.5
    """
    if type(cost) is not float:
        if np.ndim(cost) != 0:
            raise ValueError(f"the cost must be one number, got the shape {np.shape(cost)}")
        try:
            cost = float(cost)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the cost must be a number, got {cost!r}") from error
    if not low <= cost <= high:
        raise ValueError(f"the cost must be within the promised [{low:g}, {high:g}], got {cost}")
    return cost


def as_range(costs: tuple[float, float]) -> tuple[float, float]:
    """Return the promised range of the costs as two floats, or refuse it in one line.

    >>> as_range((-1, 0))
    (-1.0, 0.0)
    """
    try:
        low, high = (float(end) for end in costs)
    except (TypeError, ValueError) as error:
        raise ValueError(f"costs must be a pair of numbers (low, high), got {costs!r}") from error
    if not (math.isfinite(low) and math.isfinite(high - low) and low < high):
        raise ValueError(f"costs must be finite with low < high, got ({low}, {high})")
    return low, high


def as_arms(arms: Any) -> int:
    """Return the number of arms, or refuse it in one line.

    >>> as_arms(3)
    3
    """
    if isinstance(arms, bool) or not isinstance(arms, int | np.integer) or arms < 1:
        raise ValueError(f"arms must be a whole number >= 1, got {arms!r}")
    return int(arms)
