"""The rule of `rates.CoinBetting`: every feature bets on the sign of its own gradient.

A round is, with the sums before it but the m_i and the steepest slope c of its own row,

    h_i = c m_i,   w_i = bet(theta_i, V_i, h_i) W_i,   p = <w, x>,   W_i <- W_i - z_i w_i.

A feature whose m is 0 has not occurred: its wealth is handed out with its first step.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from noregret.jit import collect, kernel, put_back
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Rule, Vector, WorkMemory
from noregret.passes.rounds import LARGEST_GRADIENT, Round, enter_round, playable, row_norm
from noregret.passes.rows import TOGETHER, Row, fetch_ahead, place
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.rates.first_order import CURVATURE, CoinBetting


class Column(IntEnum):
    """Columns of a record: theta, the wealth W, V = sum z_i^2, m = largest |x_i|, the bound's N."""

    THETA = 0
    WEALTH = 1
    SQUARES = 2
    SIZE = 3
    PRICE = 4


#: The rule's only scalar is c: the steepest weighted slope that the rounds so far allowed.
STEEPEST = 0

#: Wealth that rounding would take from a feature altogether is made up to this.
LEAST_WEALTH = 1e-250


_THETA, _WEALTH, _SQUARES, _SIZE, _PRICE = (np.uint64(k) for k in Column)
#: Rows of `work` after those of the first four columns: the feature, and its bet.
_X, _BET = np.uint64(4), np.uint64(5)
WORK = (6, TOGETHER)

_0, _1, _LANES, _TOGETHER = (np.uint64(k) for k in (0, 1, 4, TOGETHER))


@kernel(inline=True)
def hint(steepest, size):  # type: ignore[no-untyped-def]
    """Return h, never so small that its square underflows."""
    return max(steepest * size, SMALLEST_SIZE)


class Found(NamedTuple):
    """What `examine` found: the round, sum |x_i| / m_i, the growth of the m_i, and c."""

    played: Round
    scaled: float
    growth: float
    steepest: float


@dataclass(frozen=True)
class CoinBettingRule(Rule):
    """Predict by the bets of a row's features, then settle them."""

    loss: Loss
    mirror: Mirror
    rate: CoinBetting

    width = len(Column)

    def fits(self, memory: WorkMemory) -> bool:
        """Return whether records and `work` have the widths that are compiled in."""
        return bool(memory.state.shape[-1] == self.width and memory.work.shape[1] == TOGETHER)

    def examine(
        self, row: Row, label: float, mass: float, memory: WorkMemory, ledger: Vector
    ) -> tuple[Found, int]:
        """Predict by sum w_i x_i."""
        fetch_ahead(*row)
        steepest = max(memory.slots[STEEPEST], mass * self.loss.lipschitz())
        p = powers = one_norm = scaled = growth = 0.0
        features = row.end - row.begin
        for start in range(_0, features, _TOGETHER):
            count = min(features - start, _TOGETHER)
            sums = _weigh(self.rate, memory, row, start, count, steepest)
            p += sums[0]
            powers += sums[1]
            one_norm += sums[2]
            scaled += sums[3]
            growth += sums[4]
        norm = row_norm(self.mirror, powers, one_norm)
        slope = self.loss.slope(label, p)
        # A hint whose square overflows would stop all bets.
        hinted = steepest * one_norm < LARGEST_GRADIENT
        fits = hinted and playable(self.loss, label, mass, p, slope, norm)
        played = Round(label, mass, p, slope, one_norm, norm, 1.0)
        return Found(played, scaled, growth, steepest), Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: WorkMemory, ledger: Vector, found: Found) -> int:
        """Settle the bets and enter the round."""
        played = found.played
        memory.slots[STEEPEST] = found.steepest
        weighted = played.mass * played.slope
        if played.mass > 0.0 and (weighted != 0.0 or found.growth > 0.0):
            features = row.end - row.begin
            for start in range(_0, features, _TOGETHER):
                count = min(features - start, _TOGETHER)
                if features > _TOGETHER:
                    # Only the last features of a long row are still at hand.
                    _weigh(self.rate, memory, row, start, count, found.steepest)
                _settle(self.rate, memory.work, filled_up(count), found.steepest, weighted)
                _write(memory, row, start, count)
        enter_round(self.loss, ledger, played, False)
        ledger[Entry.SCALED_TRAVEL] += abs(weighted) * found.scaled
        return Stop.DONE


@kernel(inline=True)
def filled_up(count):  # type: ignore[no-untyped-def]
    """Return how many columns of `work` are computed: features of 0 fill the last vector up."""
    return (count + _LANES - _1) // _LANES * _LANES


@kernel(inline=True)
def _weigh(rate, memory, row, start, count, steepest):  # type: ignore[no-untyped-def]
    """Bring features `start` to `start + count - 1` of a row into `work`, and weigh them."""
    begin = row.begin + start
    collect(memory.state, row.indices, row.values, row.t, begin, begin + count, memory.work)
    return _bet(rate, memory.work, filled_up(count), steepest)


@kernel(fast=True, inline=True)
def _bet(rate, work, filled, steepest):  # type: ignore[no-untyped-def]
    """Compute the bets of features; return five sums.

    They are w x, x^2, |x|, |x| / m, and how much the m will grow.
    """
    raw = powers = one_norm = scaled = growth = 0.0
    for k in range(filled):
        x = work[_X, k]
        size = max(work[_SIZE, k], abs(x))
        bet = rate.bet(work[_THETA, k], work[_SQUARES, k], hint(steepest, size))
        work[_BET, k] = bet
        raw += bet * work[_WEALTH, k] * x
        powers += x * x
        one_norm += abs(x)
        scaled += abs(x) / max(size, SMALLEST_SIZE)
        growth += size - work[_SIZE, k]
    return raw, powers, one_norm, scaled, growth


@kernel(inline=True)
def _settle(rate, work, filled, steepest, slope):  # type: ignore[no-untyped-def]
    """Settle bets on z = slope x in `work`, and write what they add to N over them."""
    for k in range(filled):
        # All that is read comes first: loads that depend on a condition would keep the loop scalar.
        x, bet, before, wealth = work[_X, k], work[_BET, k], work[_SIZE, k], work[_WEALTH, k]
        wealth = wealth if before > 0.0 else rate.wealth
        size = max(before, abs(x))
        h = hint(steepest, size)
        z = slope * x
        squares = work[_SQUARES, k] + z * z
        steered = z * (1.0 + 2.0 * CURVATURE * bet * z)
        work[_THETA, k] -= z
        work[_WEALTH, k] = max(wealth - z * (bet * wealth), LEAST_WEALTH)
        work[_SQUARES, k] = squares
        work[_SIZE, k] = size
        work[_BET, k] = steered * steered / (4.0 * CURVATURE * (squares + h * h))


@kernel(inline=True)
def _write(memory, row, start, count):  # type: ignore[no-untyped-def]
    """Write settled features back."""
    begin = row.begin + start
    put_back(memory.state, row.indices, row.values, row.t, begin, begin + count, memory.work)
    for k in range(count):
        i, _ = place(row, start + k)
        memory.state[i, _PRICE] += memory.work[_BET, k]


@kernel
def read_weights(rate, state, slots, result):  # type: ignore[no-untyped-def]
    """Write the weights, as far as they do not depend on the coming row, into `result`."""
    for i in range(state.shape[0]):
        h = hint(slots[STEEPEST], state[i, _SIZE])
        result[i] = rate.bet(state[i, _THETA], state[i, _SQUARES], h) * state[i, _WEALTH]


@kernel
def read_hints(sizes, slots, result):  # type: ignore[no-untyped-def]
    """Write the h of features of these sizes into `result`."""
    for i in range(sizes.shape[0]):
        result[i] = hint(slots[STEEPEST], sizes[i])
