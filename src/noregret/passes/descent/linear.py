"""The lazy rule for maps whose stored value is theta itself: w_t = kappa_t read(theta_t).

theta_(t+1) = theta_t - z_t. With w_t = kappa_t theta_t, the sum of the iterates is PREFIX * theta -
accumulator (summation by parts), so that a coordinate is touched only when it changes.
Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Memory, Rule, Vector
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    Round,
    enter_round,
    playable,
    row_norm,
    step_slope,
)
from noregret.passes.rows import Row, add_row, read_row
from noregret.passes.slots import Slot, Stop, extend_prefix, keep_sum, next_rate
from noregret.passes.switches import Averages, Distance
from noregret.proof.ledger import Entry
from noregret.rates import Rate
from noregret.rates.base import UNBOUNDED
from noregret.rounding import EPSILON

#: Columns of a record without an average, and with one.
WIDTHS = 1, 2


class Column(IntEnum):
    """Columns of a record; the second is kept with an average."""

    THETA = 0
    ACCUMULATOR = 1


class Found(NamedTuple):
    """What `examine` found: sum theta_i x_i, sum x_i^2 and what else `commit` needs."""

    played: Round
    raw: float
    powers: float
    allowed: float
    kappa: float


@dataclass(frozen=True)
class LinearRule(Rule):
    """Predict by kappa <theta, x>, step by theta <- theta - z.

    `plain`: the map reads theta as it is, and its norm is Euclidean.
    """

    loss: Loss
    mirror: Mirror
    rate: Rate
    averages: Averages
    distance: Distance
    plain: bool
    conservative: bool

    def columns(self) -> int:
        """Return how many columns a record has."""
        return self.averages.columns(WIDTHS[0], WIDTHS[1])

    def examine(
        self, row: Row, label: float, mass: float, memory: Memory, ledger: Vector
    ) -> tuple[Found, int]:
        """Predict with the rate of the coming round."""
        threshold = self.mirror.threshold(ledger[Entry.ROUNDS])
        raw, powers, one_norm = read_row(
            self.mirror, self.plain, self.distance, memory.state, threshold, row
        )
        norm = row_norm(self.mirror, powers, one_norm)
        eta, allowed = next_rate(self.loss.lipschitz(), self.rate, ledger, norm, mass)
        # Before the first gradient theta is 0 and the rate may be unbounded: weights are 0.
        kappa = self.mirror.kappa(memory.slots[Slot.SUM], 0.0, eta) if eta < UNBOUNDED else 0.0
        p = kappa * raw
        slope = self.loss.slope(label, p)
        fits = mass * norm < LARGEST_GRADIENT and playable(self.loss, label, mass, p, slope, norm)
        played = Round(label, mass, p, slope, one_norm, norm, eta)
        return Found(played, raw, powers, allowed, kappa), Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: Found) -> int:
        """Step by -z, enter the round and keep S = ||theta||^2 / 2 where it is needed."""
        state, slots, played = memory.state, memory.slots, found.played
        ledger[Entry.LARGEST_REACH] = found.allowed
        slope = step_slope(self.loss, played, self.conservative)
        settle = self.averages.kept and extend_prefix(slots, found.kappa)
        # The step comes first: the ledger is brought up to date while it is under way.
        if slope != 0.0:
            add_row(self.averages, state, -slope, slots[Slot.PREFIX], row)
        enter_round(self.loss, ledger, played, self.conservative)
        sigma = self.rate.strong_convexity()
        if sigma > 0.0:
            _add_regularizer(ledger, slots, sigma, slope, found)
        if (sigma > 0.0 or not self.mirror.separable()) and slope != 0.0:
            change = slope * (0.5 * slope * found.powers - found.raw)
            stale = keep_sum(slots, slots[Slot.SUM] + change)
            # The two terms of the change are at most 4 and 4 peaks, their dot products
            # wrong by one rounding a feature.
            features = min(row.end - row.begin, np.uint64(state.shape[0]))
            slots[Slot.SUM_ERROR] += (features + 16.0) * 8.0 * EPSILON * slots[Slot.PEAK]
            if stale:
                return Stop.RESUM
        return Stop.SETTLE if settle else Stop.DONE


@kernel(inline=True)
def _add_regularizer(ledger, slots, sigma, slope, found):  # type: ignore[no-untyped-def]
    """Enter the part (sigma/2)||w||^2 of a round, and the gradient it adds to z."""
    kappa, p = found.kappa, found.played.prediction
    # In this order, since kappa^2 may overflow where the product does not.
    half_square = kappa * (kappa * slots[Slot.SUM])
    ledger[Entry.REGULARIZER] += sigma * half_square
    own = (ledger[Entry.ROUNDS] + 16.0) * EPSILON * slots[Slot.SUM]
    ledger[Entry.REGULARIZER_SLACK] += sigma * (kappa * (kappa * (slots[Slot.SUM_ERROR] + own)))
    # The sum itself is rounded once a round.
    ledger[Entry.REGULARIZER_SLACK] += EPSILON * ledger[Entry.REGULARIZER]
    square = slope * slope * found.powers + sigma * (2.0 * slope * p + 2.0 * sigma * half_square)
    ledger[Entry.CURVED_SQUARES] += square / ledger[Entry.ROUNDS]
    ledger[Entry.LARGEST_CURVED_SQUARE] = max(ledger[Entry.LARGEST_CURVED_SQUARE], square)
