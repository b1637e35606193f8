"""The lazy rule for maps with v = phi'(a), a = inner * theta, kept beside theta.

w_t = kappa_t v_t and theta_(t+1) = theta_t - z_t. The sum of the iterates is PREFIX * v -
accumulator (summation by parts), so that a coordinate is touched only when it changes.
Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from noregret.jit import kernel
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule, Vector, WorkMemory
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    MappedFound,
    Round,
    enter_mapped,
    playable,
    row_norm,
)
from noregret.passes.rows import TOGETHER, Row, add_mapped_row, read_mapped_row
from noregret.passes.slots import Slot, Stop, extend_prefix, keep_sum, leap_limit, next_rate
from noregret.passes.switches import Averages
from noregret.rates import Rate
from noregret.rates.base import UNBOUNDED

#: Columns of a record without an average, and with one; the last column is a spare.
WIDTHS = 2, 4


class Column(IntEnum):
    """Columns of a record; the third is kept with an average."""

    THETA = 0
    VALUE = 1
    ACCUMULATOR = 2


@dataclass(frozen=True)
class MappedRule(Rule):
    """Predict by kappa <v, x>, step by theta <- theta - z and bring v along."""

    loss: Loss
    mirror: Mirror
    rate: Rate
    averages: Averages
    conservative: bool

    def columns(self) -> int:
        """Return how many columns a record has."""
        return self.averages.columns(WIDTHS[0], WIDTHS[1])

    def fits(self, memory: WorkMemory) -> bool:
        """Return whether records and `work` have the widths that are compiled in."""
        return bool(memory.state.shape[-1] == self.columns() and memory.work.shape[1] == TOGETHER)

    def examine(
        self, row: Row, label: float, mass: float, memory: WorkMemory, ledger: Vector
    ) -> tuple[MappedFound, int]:
        """Predict, or ask for a lower rate inside phi."""
        seen = read_mapped_row(self.mirror, memory.state, row)
        norm = row_norm(self.mirror, seen.powers, seen.one_norm)
        eta, allowed = next_rate(self.loss.lipschitz(), self.rate, ledger, norm, mass)
        eta, kappa, falls = settled_rate(self.mirror, memory, eta)
        p = kappa * seen.raw
        slope = self.loss.slope(label, p)
        played = Round(label, mass, p, slope, seen.one_norm, norm, eta)
        found = MappedFound(played, seen, allowed, kappa)
        if not mass * norm < LARGEST_GRADIENT:
            return found, Stop.OVERFLOW
        if falls:
            return found, Stop.RATE
        fits = playable(self.loss, label, mass, p, slope, norm)
        return found, Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: WorkMemory, ledger: Vector, found: MappedFound) -> int:
        """Enter the round, step by -z and keep S."""
        slots = memory.slots
        slope = enter_mapped(self, ledger, found)
        settle = self.averages.kept and extend_prefix(slots, found.kappa)
        if slope != 0.0:
            limit = leap_limit(self.mirror, slots)
            change, largest, size = add_mapped_row(
                self.mirror, self.averages, memory.state, memory.work, slots, -slope, limit, row
            )
            if not self.mirror.separable():
                if keep_sum(slots, slots[Slot.SUM] + change) or self.mirror.out_of_range(
                    slots[Slot.SUM], largest, size, slots[Slot.REFERENCE]
                ):
                    return Stop.RESUM
        return Stop.SETTLE if settle else Stop.DONE


@kernel(inline=True)
def settled_rate(mirror, memory, eta):  # type: ignore[no-untyped-def]
    """Return the rate of a round, kappa, and whether the rate inside phi must fall before it.

    The rate inside phi is that of the round, unless eta is lower: `work[0, 0]` is eta then.
    """
    slots, homogeneous = memory.slots, mirror.homogeneous()
    falls = not homogeneous and eta < slots[Slot.INNER]
    if falls:
        memory.work[0, 0] = eta
    if not homogeneous:
        eta = slots[Slot.INNER]
    known = eta < UNBOUNDED or not homogeneous
    kappa = mirror.kappa(slots[Slot.SUM], slots[Slot.REFERENCE], eta) if known else 0.0
    return eta, kappa, falls
