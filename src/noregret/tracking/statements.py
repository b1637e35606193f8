"""What is said about a run and a schedule, and how it is printed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from noregret.proof.protocol import Proof, row
from noregret.proof.statement import RANGE, ROUNDING, Measured, Statement, finite
from noregret.rounding.printed import exact, up
from noregret.rounding.slack import rounding_error


@dataclass(frozen=True)
class ShiftingBounds(Proof):
    """What is known about a run and one schedule; losses are rounded up.

    `identity` holds both sides of the exact identity for sum_t g_t (p_t - <u_t, x_t>), which is
    not below the regret: measured directly, and put together from divergences.
    `best_alpha` would have made the bound for sparse comparators smallest.
    """

    rounds: int
    shifts: int
    size: float
    norm: float
    loss: float
    schedule_loss: float
    regret: float
    bounds: list[Statement]
    identity: tuple[float, float] | None = None
    best_alpha: float | None = None

    def total(self, bound: Statement) -> float:
        """Return what a bound says about the learner's loss by itself, rounded up."""
        value = bound.factor * self.schedule_loss + bound.value
        size = abs(bound.value) + bound.factor * abs(self.schedule_loss)
        return value + rounding_error(4.0, size)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        bounds = [bound.as_dict() | {"total": finite(self.total(bound))} for bound in self.bounds]
        return super().as_dict() | {"bounds": bounds}

    def describe(self) -> str:
        """Return in words whom the learner is compared with."""
        return f"the schedule with {self.shifts:,} shifts"

    def _lines(self) -> list[str]:
        noun = "shift" if self.shifts == 1 else "shifts"
        lines = [
            f"Shifting bounds after {self.rounds:,} rounds, {self.shifts:,} {noun} of total size "
            f"{up(self.size)} in the {exact(self.norm)}-norm"
        ]
        lines += [
            row("learner's loss", up(self.loss)),
            row("loss of the schedule, L(u)", up(self.schedule_loss)),
            row("measured regret", up(self.regret), "at most"),
        ]
        for bound in self.bounds:
            total = f", in all {up(self.total(bound))}" if bound.applies else ""
            lines.append(f"  {bound}{total}")
        if self.best_alpha is not None:
            lines.append(f"  for this schedule the best alpha is {exact(self.best_alpha)}")
        return lines


def stated(
    name: str,
    reference: str,
    value: float,
    factor: float,
    measured: tuple[float, float],
    reason: str = "",
) -> Statement:
    """Return a bound, if the run does not contradict it: (loss rounded up, L(<u>) down)."""
    reference = f"Herbster, Warmuth 2001, {reference}"
    loss, low = measured
    if not reason and not math.isfinite(value):
        reason = "a weight has vanished, or a number is out of range"
    value += rounding_error(8.0, abs(value))
    size = abs(loss) + factor * abs(low)
    run = Measured(loss - factor * low + rounding_error(4.0, size), ROUNDING * size, RANGE)
    return run.state(name, reference, value, reason, factor)
