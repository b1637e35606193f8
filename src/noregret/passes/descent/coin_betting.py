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

from noregret.jit import kernel
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.frame import Memory, Rule, Vector
from noregret.passes.rounds import LARGEST_GRADIENT, Round, enter_round, playable, row_norm
from noregret.passes.rows import Row, fetch_ahead, place
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

    def examine(
        self, row: Row, label: float, mass: float, memory: Memory, ledger: Vector
    ) -> tuple[Found, int]:
        """Predict by sum w_i x_i."""
        fetch_ahead(*row)
        steepest = max(memory.slots[STEEPEST], mass * self.loss.lipschitz())
        p, powers, one_norm, scaled, growth = _weigh(self.rate, memory.state, row, steepest)
        norm = row_norm(self.mirror, powers, one_norm)
        slope = self.loss.slope(label, p)
        # A hint whose square overflows would stop all bets.
        hinted = steepest * one_norm < LARGEST_GRADIENT
        fits = hinted and playable(self.loss, label, mass, p, slope, norm)
        played = Round(label, mass, p, slope, one_norm, norm, 1.0)
        return Found(played, scaled, growth, steepest), Stop.DONE if fits else Stop.OVERFLOW

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: Found) -> int:
        """Settle the bets and enter the round."""
        played = found.played
        memory.slots[STEEPEST] = found.steepest
        weighted = played.mass * played.slope
        if played.mass > 0.0 and (weighted != 0.0 or found.growth > 0.0):
            _settle_bets(self.rate, memory.state, row, found.steepest, weighted)
        enter_round(self.loss, ledger, played, False)
        ledger[Entry.SCALED_TRAVEL] += abs(weighted) * found.scaled
        return Stop.DONE


@kernel(fast=True, inline=True)
def _weigh(rate, state, row, steepest):  # type: ignore[no-untyped-def]
    """Return five sums over a row: w x, x^2, |x|, |x| / m, and how much the m will grow."""
    raw = powers = one_norm = scaled = growth = 0.0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        size = max(state[i, _SIZE], abs(x))
        bet = rate.bet(state[i, _THETA], state[i, _SQUARES], hint(steepest, size))
        raw += bet * state[i, _WEALTH] * x
        powers += x * x
        one_norm += abs(x)
        scaled += abs(x) / max(size, SMALLEST_SIZE)
        growth += size - state[i, _SIZE]
    return raw, powers, one_norm, scaled, growth


@kernel(inline=True)
def _settle_bets(rate, state, row, steepest, slope):  # type: ignore[no-untyped-def]
    """Settle the bets of a row on z = slope x."""
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        before = state[i, _SIZE]
        size = max(before, abs(x))
        h = hint(steepest, size)
        bet = rate.bet(state[i, _THETA], state[i, _SQUARES], h)
        wealth = state[i, _WEALTH] if before > 0.0 else rate.wealth
        z = slope * x
        squares = state[i, _SQUARES] + z * z
        steered = z * (1.0 + 2.0 * CURVATURE * bet * z)
        state[i, _THETA] -= z
        state[i, _WEALTH] = max(wealth - z * (bet * wealth), LEAST_WEALTH)
        state[i, _SQUARES] = squares
        state[i, _SIZE] = size
        state[i, _PRICE] += steered * steered / (4.0 * CURVATURE * (squares + h * h))


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
