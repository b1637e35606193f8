"""Decisions that wait for their costs, joined by id: in any order, late, once and only once."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from noregret.arrays import not_real
from noregret.component import require_positive

#: Begins with the arm and its probability.
Kept = TypeVar("Kept", bound=tuple[Any, ...])

#: Sums over 2^53 rounds of costs within this size are finite.
LARGEST = 1e290


class Decision(NamedTuple):
    """An arm that was drawn, and with which probability; its cost is reported under `id`."""

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
                raise ValueError(
                    f"a decision is named by its id, a whole number, got {_shown(decision)}"
                )
            number = int(number)
        if number in self.kept:
            kept = self.kept[number]
            # Ids of two bandits coincide; what was drawn hardly ever does.
            if isinstance(decision, Decision) and decision[1:] != kept[:2]:
                raise ValueError(f"decision {number} of this bandit is another: arm {kept[0]}")
            return number, kept
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
        cost = as_float("the cost must be a number", cost)
    if not low <= cost <= high:
        raise ValueError(f"the cost must be within the promised [{low:g}, {high:g}], got {cost}")
    return cost


def cost_of_reward(reward: float, low: float, high: float) -> float:
    """Return the cost low + high - reward of a reward within the promised range.

    >>> cost_of_reward(0.25, 0.0, 1.0)
    0.75
    """
    # In this order nothing is lost where the ends are far from 0 and close to each other.
    return min(max(high - (as_cost(reward, low, high) - low), low), high)


def as_range(costs: tuple[float, float]) -> tuple[float, float]:
    """Return the promised range of the costs as two floats, or refuse it in one line.

    >>> as_range((-1, 0))
    (-1.0, 0.0)
    """
    try:
        low, high = costs
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"costs must be a pair of numbers (low, high), got {_shown(costs)}"
        ) from error
    low, high = (as_float("costs must be a pair of numbers (low, high)", k) for k in (low, high))
    if not -LARGEST <= low < high <= LARGEST:
        raise ValueError(
            f"costs must be of size at most {LARGEST:g} with low < high, got ({low}, {high})"
        )
    return low, high


def as_arms(arms: Any) -> int:
    """Return the number of arms, or refuse it in one line.

    >>> as_arms(3)
    3
    """
    if isinstance(arms, bool | np.bool_) or not isinstance(arms, int | np.integer) or arms < 1:
        raise ValueError(f"arms must be a whole number >= 1, got {arms!r}")
    return int(arms)


def as_rate(name: str, value: Any) -> float:
    """Return a finite float above 0, or refuse it in one line.

    >>> as_rate("eta", 2)
    2.0
    """
    rate = as_float(f"{name} must be a finite number above 0", value)
    require_positive(name, rate)
    return rate


def as_horizon(horizon: Any) -> int:
    """Return the number of rounds to come, or refuse it in one line.

    >>> as_horizon(1e3)
    1000
    """
    rounds = as_float("horizon must be a whole number >= 1", horizon)
    if isinstance(horizon, bool) or not 1.0 <= rounds <= 2.0**53 or rounds % 1.0:
        raise ValueError(f"horizon must be a whole number >= 1, got {horizon}")
    return int(rounds)


def as_float(expected: str, value: Any) -> float:
    """Return a number as a float, or refuse it in one line that says what was expected.

    >>> as_float("eta must be a number", 1)
    1.0
    """
    # A text that reads as a number is most often a column that was not parsed.
    if isinstance(value, str | bytes | np.generic | np.ma.MaskedArray) and not_real(value):
        raise ValueError(f"{expected}, got {_shown(value)}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{expected}, got {_shown(value)}") from error


def _shown(value: Any) -> str:
    # Arrays and numbers of hundreds of digits must not fill the screen.
    text = " ".join(repr(value).split()) if type(value) is not int else f"{value:#x}"
    return text if len(text) <= 60 else f"{text[:57]}..."
