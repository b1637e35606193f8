"""The agile rule: step in the dual by eta_t z_t, then project back on the domain.

theta_(t+1) = theta_t - eta_t z_t, w = link(theta), followed by the Bregman projection of w on
a domain: a ball of the map's own norm by one global factor, a box or the orthant on the touched
coordinates, the simplex by sorting (O(d log d) a round). Predictions above `clip` are lowered to
it before the loss and its slope are taken.
Reference: Cesa-Bianchi, Online Gradient Descent (lecture notes), projected OGD; Herbster and
Warmuth, Tracking the Best Linear Predictor, Definition 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from noregret.domains import Domain
from noregret.jit import kernel
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule, Vector, WorkMemory
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    LARGEST_PREDICTION,
    MappedFound,
    Round,
    enter_mapped,
    playable,
    row_norm,
)
from noregret.passes.rows import Reading, Row, place, read_mapped_row, settled_leap
from noregret.passes.slots import Slot, Stop, extend_prefix, keep_sum, leap_limit, next_rate
from noregret.rates import Rate
from noregret.rates.base import UNBOUNDED


class Column(IntEnum):
    """Columns of a record: Z is kept for the certificate, since theta is not its negative."""

    THETA = 0
    #: v = phi'(theta), and the accumulator of the average.
    VALUE = 1
    ACCUMULATOR = 2
    GRADIENT = 3


#: The global factor is folded into theta before its inverse loses range.
SMALLEST_FACTOR = 1e-60

_1 = np.uint64(1)


@dataclass(frozen=True)
class ProjectedRule(Rule):
    """What agile rules share: how they predict. They step by -eta z and project."""

    loss: Loss
    mirror: Mirror
    rate: Rate
    conservative: bool

    width = len(Column)

    def examine(
        self, row: Row, label: float, mass: float, memory: Any, ledger: Vector
    ) -> tuple[MappedFound, int]:
        """Predict with the rate of the coming round."""
        seen, kappa = self.read(memory, row), self.factor(memory.slots)
        norm = row_norm(self.mirror, seen.powers, seen.one_norm)
        eta, allowed = next_rate(self.loss.lipschitz(), self.rate, ledger, norm, mass)
        if not eta < UNBOUNDED:
            # Nothing was seen and this row is zero, or too small to be squared.
            eta = 0.0
        product = kappa * seen.raw
        p = self.limited(product)
        slope = self.loss.slope(label, p)
        # The clip must not hide a product that overflowed.
        fits = mass * norm < LARGEST_GRADIENT and product < LARGEST_PREDICTION
        fits = fits and playable(self.loss, label, mass, p, slope, norm)
        played = Round(label, mass, p, slope, seen.one_norm, norm, eta)
        found = MappedFound(played, seen, allowed, kappa)
        return found, Stop.DONE if fits else Stop.OVERFLOW

    def read(self, memory: Any, row: Row) -> Reading:
        """Return the row as it is read against v."""
        return read_mapped_row(self.mirror, memory.state, row)  # type: ignore[no-any-return]

    def factor(self, slots: Vector) -> float:
        """Return kappa: the weights are kappa v."""
        kappa = self.mirror.kappa(slots[Slot.SUM], slots[Slot.REFERENCE], 1.0)
        return float(slots[Slot.FACTOR] * kappa)

    def limited(self, product: float) -> float:
        """Return the prediction made from <w, x>."""
        return product


@dataclass(frozen=True)
class AgileRule(ProjectedRule):
    """Predict by min(<w, x>, clip), step by -eta z, project on the domain."""

    domain: Domain
    clip: float

    def limited(self, product: float) -> float:
        """Return min(<w, x>, clip)."""
        return min(product, self.clip)

    def commit(self, row: Row, memory: Any, ledger: Vector, found: MappedFound) -> int:
        """Enter the round, step and project."""
        slots = memory.slots
        slope = enter_mapped(self, ledger, found)
        settle = extend_prefix(slots, found.kappa)
        stop = Stop.DONE
        if slope != 0.0:
            moving = self.moving_slope(row, memory, found, slope)
            step = -found.played.eta * moving / slots[Slot.FACTOR]
            change, largest, size = _add_row(self, memory, slope, step, row, row.values)
            if self.domain.is_simplex():
                _project_on_simplex(memory.state, self.domain.extent(), slots[Slot.PREFIX])
            elif self.domain.is_ball() or not self.mirror.separable():
                stale = keep_sum(slots, slots[Slot.SUM] + change)
                if stale or self.mirror.out_of_range(
                    slots[Slot.SUM], largest, size, slots[Slot.REFERENCE]
                ):
                    stop = Stop.RESUM
                if self.domain.is_ball() and _shrink(self.mirror, self.domain, slots):
                    stop = Stop.RESUM
        return Stop.SETTLE if stop == Stop.DONE and settle else stop

    def moving_slope(self, row: Row, memory: WorkMemory, found: MappedFound, slope: float) -> float:
        """Return the weighted slope that theta moves by."""
        return slope


@kernel(inline=True)
def _add_row(rule, memory, slope, step, row, values):  # type: ignore[no-untyped-def]
    """Add step x to theta and slope x to Z; return the change of S, the largest theta and |theta|.

    Thetas are clamped where the domain is separable.
    """
    mirror, domain, state, slots = rule.mirror, rule.domain, memory.state, memory.slots
    reference, prefix, limit = slots[Slot.REFERENCE], slots[Slot.PREFIX], leap_limit(mirror, slots)
    change = 0.0
    largest = -np.inf
    size = 0.0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        # The zeros of a dense row are features that it does not have.
        if values.ndim == 1 or x != 0.0:
            theta, v = state[i, Column.THETA], state[i, Column.VALUE]
            moved = theta + step * x
            v_moved = mirror.phi_prime(moved, reference)
            if domain.separable():
                clamped = domain.clamp(v_moved)
                if clamped != v_moved:
                    moved = mirror.inverse(clamped)
                    v_moved = clamped
            phi = mirror.phi_given(moved, reference, v_moved)
            v_moved, leap = settled_leap(phi, v_moved, limit)
            state[i, Column.THETA] = moved
            state[i, Column.VALUE] = v_moved
            state[i, Column.ACCUMULATOR] += prefix * (v_moved - v)
            state[i, Column.GRADIENT] += slope * x
            change += leap if leap > 0.0 else phi - mirror.phi_given(theta, reference, v)
            largest = max(largest, moved)
            size = max(size, abs(moved))
    return change, largest, size


@kernel(inline=True)
def _shrink(mirror, domain, slots):  # type: ignore[no-untyped-def]
    """Project on a ball by the global factor; return whether that must be folded into theta."""
    # Half the square of the weights' norm, whichever it is, is G(theta).
    energy = mirror.psi(max(slots[Slot.SUM], 0.0), slots[Slot.REFERENCE])
    length = slots[Slot.FACTOR] * np.sqrt(2.0 * energy)
    # An infinite S is summed afresh, and the projection waits for it.
    if domain.extent() < length < np.inf:
        slots[Slot.FACTOR] *= domain.extent() / length
        return slots[Slot.FACTOR] < SMALLEST_FACTOR
    return False


@kernel(inner=True, counted=True)
def simplex_shift(theta, scale):  # type: ignore[no-untyped-def]
    """Return m = max theta and tau with sum_i max((theta_i - m) - tau, 0) = scale."""
    count = np.uint64(theta.shape[0])
    largest = -np.inf
    for i in range(count):
        largest = max(largest, theta[i])
    # Measured from the largest, so that a small scale is not lost beside a large theta.
    order = np.empty(count)
    for i in range(count):
        order[i] = theta[i] - largest
    order.sort()
    total = tau = 0.0
    for k in range(count):
        value = order[count - _1 - k]
        total += value
        candidate = (total - scale) / (k + 1.0)
        if value <= candidate:
            break
        tau = candidate
    return largest, tau


@kernel(inner=True, counted=True)
def _project_on_simplex(state, scale, prefix):  # type: ignore[no-untyped-def]
    largest, tau = simplex_shift(state[:, Column.THETA], scale)
    for i in range(np.uint64(state.shape[0])):
        w = max((state[i, Column.THETA] - largest) - tau, 0.0)
        state[i, Column.ACCUMULATOR] += prefix * (w - state[i, Column.VALUE])
        state[i, Column.THETA] = w
        state[i, Column.VALUE] = w
