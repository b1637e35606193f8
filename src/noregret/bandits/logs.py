"""Logged decisions: which arm, what came of it, and with which probability it was drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import real_array, refuse_masked
from noregret.bandits.decisions import as_arms, as_range

Vector = npt.NDArray[np.float64]


class Log:
    """Decisions of a past policy; outcomes are costs or rewards, as you like.

    `propensities` are the probabilities with which the logged arms were drawn, `outcome_range` is a
    promise about every outcome, on which finite-sample intervals rely.

    >>> len(Log([0, 1], [1.0, 0.0], [0.5, 0.5], arms=2))
    2
    """

    def __init__(
        self,
        arms_drawn: Any,
        outcomes: Any,
        propensities: Any,
        arms: int,
        outcome_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """Check the columns of a log."""
        self.count = as_arms(arms)
        self.range = as_range(outcome_range)
        refuse_masked("arms", arms_drawn)
        raw = np.atleast_1d(np.asarray(arms_drawn))
        if raw.ndim != 1 or raw.dtype.kind not in "iu":
            raise ValueError(f"arms must be a column of whole numbers, got {raw.dtype} {raw.shape}")
        self.arms = raw.astype(np.int64)
        self.outcomes = _column("outcomes", outcomes, len(raw))
        self.propensities = _column("propensities", propensities, len(raw))
        for column in (self.arms, self.outcomes, self.propensities):
            # What was checked stays so.
            column.flags.writeable = False
        low, high = self.range
        _require(
            (self.arms >= 0) & (self.arms < self.count),
            "arms", self.arms, f"an arm from 0 to {self.count - 1}",
        )  # fmt: skip
        _require(
            (self.outcomes >= low) & (self.outcomes <= high),
            "outcomes", self.outcomes, f"a number within the promised [{low:g}, {high:g}]",
        )  # fmt: skip
        _require(
            (self.propensities > 0.0) & (self.propensities <= 1.0),
            "propensities", self.propensities, "a probability above 0",
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.arms)


def _column(name: str, values: Any, count: int) -> Vector:
    column = np.atleast_1d(np.array(real_array(name, values), np.float64))
    if column.shape != (count,):
        raise ValueError(f"{name} have shape {column.shape}, expected ({count},): one a decision")
    return column


def _require(fine: npt.NDArray[np.bool_], name: str, values: Any, expected: str) -> None:
    if not fine.all():
        row = int(np.argmin(fine))
        raise ValueError(f"{name}: row {row} is {values[row]}, expected {expected}")
