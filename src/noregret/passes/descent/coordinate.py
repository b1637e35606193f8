"""The lazy rule with one rate a feature: w_i = theta_i * factor_i, factors from squares.

A factor follows from the record and from the coming row. The features of a row are collected in
columns of `work`, so that several of them are computed at a time.
Reference: Duchi, Hazan, Singer, Adaptive Subgradient Methods, 2011, in dual-averaging form.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from noregret.jit import collect, kernel, write_step
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule, Vector, WorkMemory
from noregret.passes.rounds import Round, enter_round, playable, row_norm, step_slope
from noregret.passes.rows import TOGETHER, Row, fetch_ahead, place
from noregret.passes.slots import Slot, Stop
from noregret.passes.switches import Averages
from noregret.proof.ledger import Entry
from noregret.rates import PerCoordinate

#: Columns of a record without an average, and with one.
WIDTHS = 4, 6


class Column(IntEnum):
    """Columns of a record; the last two are kept with an average."""

    THETA = 0
    #: Sum of z_i^2, largest weighted |x_i| and largest |x_i| of the rows that changed anything.
    SQUARES = 1
    WEIGHTED_SIZE = 2
    SIZE = 3
    #: Sum of the weights played, and the round up to which it goes.
    TOTAL = 4
    SINCE = 5


_0, _1 = np.uint64(0), np.uint64(1)

_LANES = np.uint64(4)
_TOGETHER = np.uint64(TOGETHER)

_THETA, _SQUARES, _WEIGHTED_SIZE, _SIZE, _TOTAL, _SINCE = (np.uint64(k) for k in Column)
#: Rows of `work` after those of the record: the feature and its weight.
_X, _WEIGHT = np.uint64(4), np.uint64(5)
WORK = (6, TOGETHER)


class Found(NamedTuple):
    """What `examine` found: the round, and by how much the largest |x_i| have grown."""

    played: Round
    growth: float
    threshold: float


@kernel(inline=True)
def steepest_slope(loss):  # type: ignore[no-untyped-def]
    """Return the loss's Lipschitz constant, or 1: no theorem then, but a sensible first step."""
    steepest = loss.lipschitz()
    return steepest if steepest < np.inf else 1.0


@dataclass(frozen=True)
class CoordinateRule(Rule):
    """Predict by sum w_i x_i, step by theta <- theta - z and G_i <- G_i + z_i^2."""

    loss: Loss
    mirror: Mirror
    rate: PerCoordinate
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
    ) -> tuple[Found, int]:
        """Predict with factors that know the sizes of this row."""
        threshold = self.mirror.threshold(ledger[Entry.ROUNDS])
        fetch_ahead(*row)
        raw = powers = one_norm = growth = 0.0
        features = row.end - row.begin
        for start in range(_0, features, _TOGETHER):
            count = min(features - start, _TOGETHER)
            sums = _weigh(self, memory, row, start, count, mass, threshold)
            raw += sums[0]
            powers += sums[1]
            one_norm += sums[2]
            growth += sums[3]
        norm = row_norm(self.mirror, powers, one_norm)
        slope = self.loss.slope(label, raw)
        fits = playable(self.loss, label, mass, raw, slope, norm)
        played = Round(label, mass, raw, slope, one_norm, norm, self.rate.scale)
        return Found(played, growth, threshold), Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: WorkMemory, ledger: Vector, found: Found) -> int:
        """Enter the round, bring the sums of weights up to date and step."""
        played = found.played
        slope = step_slope(self.loss, played, self.conservative)
        enter_round(self.loss, ledger, played, self.conservative)
        memory.slots[Slot.PREFIX] += 1.0
        if slope == 0.0 and found.growth == 0.0:
            return Stop.DONE
        features = row.end - row.begin
        for start in range(_0, features, _TOGETHER):
            count = min(features - start, _TOGETHER)
            if features > _TOGETHER:
                # Only the last features of a long row are still at hand.
                _weigh(self, memory, row, start, count, played.mass, found.threshold)
            if self.averages.kept:
                _sum_up(self, memory, row, start, count, played.mass)
            begin = row.begin + start
            write_step(
                memory.state, row.indices, row.values, row.t, begin, begin + count, memory.work,
                slope, played.mass,
            )  # fmt: skip
        return Stop.DONE


@kernel(inline=True)
def _weigh(rule, memory, row, start, count, mass, threshold):  # type: ignore[no-untyped-def]
    """Bring features `start` to `start + count - 1` of a row into `work`, and weigh them."""
    begin = row.begin + start
    collect(memory.state, row.indices, row.values, row.t, begin, begin + count, memory.work)
    # Features of 0 fill the last vector up.
    filled = (count + _LANES - _1) // _LANES * _LANES
    return _weigh_collected(rule, memory.work, filled, mass, threshold)


@kernel(fast=True, inline=True)
def _weigh_collected(rule, work, filled, mass, threshold):  # type: ignore[no-untyped-def]
    """Compute the weights that a row is predicted by, its own |x_i| included in the largest.

    Returns sum w_i x_i, sum x_i^2, ||x||_1 and by how much the largest |x_i| have grown.
    """
    steepest = steepest_slope(rule.loss)
    raw = powers = one_norm = growth = 0.0
    for k in range(filled):
        x = work[_X, k]
        weighted_size = max(work[_WEIGHTED_SIZE, k], mass * abs(x))
        growth += weighted_size - work[_WEIGHTED_SIZE, k]
        size = 1.0
        if rule.rate.invariant:
            size = max(work[_SIZE, k], abs(x))
            growth += size - work[_SIZE, k]
        factor = rule.rate.weight_factor(work[_SQUARES, k], steepest * weighted_size, size)
        w = rule.mirror.read(work[_THETA, k], threshold) * factor
        if rule.averages.kept:
            work[_WEIGHT, k] = w
        raw += w * x
        powers += x * x
        one_norm += abs(x)
    return raw, powers, one_norm, growth


@kernel(inline=True)
def _sum_up(rule, memory, row, start, count, mass):  # type: ignore[no-untyped-def]
    """Add up the weights played, the last of the rounds by those in `work`."""
    state, rounds = memory.state, memory.slots[Slot.PREFIX]
    steepest = steepest_slope(rule.loss)
    for k in range(count):
        i, x = place(row, start + k)
        if mass * abs(x) > state[i, _WEIGHTED_SIZE] or abs(x) > state[i, _SIZE]:
            # Before this round the feature had a larger factor.
            before = rule.rate.weight_factor(
                state[i, _SQUARES], steepest * state[i, _WEIGHTED_SIZE], state[i, _SIZE]
            )
            state[i, _TOTAL] += state[i, _THETA] * before * (rounds - 1.0 - state[i, _SINCE])
            state[i, _SINCE] = rounds - 1.0
        state[i, _TOTAL] += memory.work[_WEIGHT, k] * (rounds - state[i, _SINCE])
        state[i, _SINCE] = rounds


@kernel
def factors(rate, steepest, state, result):  # type: ignore[no-untyped-def]
    """Write w_i / theta_i, as far as it does not depend on the coming row, into `result`."""
    for i in range(state.shape[0]):
        size = steepest * state[i, _WEIGHTED_SIZE]
        result[i] = rate.weight_factor(state[i, _SQUARES], size, state[i, _SIZE])
