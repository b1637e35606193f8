"""The pass of `rates.CoinBetting`: every feature bets on the sign of its own gradient.

Columns of `state`: theta, the wealth W, V = sum z_i^2, m = largest |x_i| and the N of the bound. A
round is, with the sums before it but the m_i and the steepest slope c of its own row,

    h_i = c m_i,   w_i = bet(theta_i, V_i, h_i) W_i,   p = <w, x>,   W_i <- W_i - z_i w_i.

A feature whose m is 0 has not occurred: its wealth is handed out with its first step.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from noregret.jit import kernel
from noregret.passes.checks import LARGEST_FEATURE, indices_sound_until
from noregret.passes.rounds import LARGEST_GRADIENT, enter_round, playable, row_norm
from noregret.passes.rows import fetch_ahead, place, row_span
from noregret.passes.slots import Stop
from noregret.proof.ledger import SMALLEST_SIZE, Entry
from noregret.rates import CURVATURE

COLUMNS = 5


class Scalar(IntEnum):
    """Places in the array of the pass's scalars."""

    #: c: the steepest weighted slope that the rounds so far allowed.
    STEEPEST = 0


#: Wealth that rounding would take from a feature altogether is made up to this.
LEAST_WEALTH = 1e-250

_SCALED_TRAVEL = int(Entry.SCALED_TRAVEL)
_DONE = int(Stop.DONE)
_OVERFLOW = int(Stop.OVERFLOW)
_UNSOUND = int(Stop.UNSOUND)
_STEEPEST = int(Scalar.STEEPEST)

_THETA, _WEALTH, _SQUARES, _SIZE, _PRICE = (np.uint64(k) for k in range(COLUMNS))


@kernel(inline=True)
def hint(steepest, size):  # type: ignore[no-untyped-def]
    """Return h, never so small that its square is lost."""
    return max(steepest * size, SMALLEST_SIZE)


@kernel(fast=True, inline=True)
def _weigh(rate, state, indices, values, t, begin, end, steepest):  # type: ignore[no-untyped-def]
    """Return five sums over a row: w x, x^2, |x|, |x| / m, and how much the m will grow."""
    raw = 0.0
    total = 0.0
    reach = 0.0
    scaled = 0.0
    growth = 0.0
    for k in range(end - begin):
        i, x = place(values, indices, begin, k, t)
        size = max(state[i, _SIZE], abs(x))
        bet = rate.bet(state[i, _THETA], state[i, _SQUARES], hint(steepest, size))
        raw += bet * state[i, _WEALTH] * x
        total += x * x
        reach += abs(x)
        scaled += abs(x) / max(size, SMALLEST_SIZE)
        growth += size - state[i, _SIZE]
    return raw, total, reach, scaled, growth


@kernel(inline=True)
def _step(rate, state, indices, values, t, begin, end, steepest, slope):  # type: ignore[no-untyped-def]
    """Settle the bets of a row on z = slope x."""
    for k in range(end - begin):
        i, x = place(values, indices, begin, k, t)
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
def coin_betting_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    rate,
    indptr,
    indices,
    values,
    width,
    trusted,
    y,
    weight,
    first,
    state,
    slots,
    ledger,
    predictions,
):
    """Run the coin-betting pass; return (next row, why it stopped)."""
    assert state.shape[1] == COLUMNS
    sound = np.uint64(trusted)
    lipschitz = loss.lipschitz()
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(indptr, indices, values, width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        label, mass = y[t], weight[t]
        begin, end = row_span(indptr, values, t)
        if values.ndim == 1:
            fetch_ahead(indices, values, begin, end)
        steepest = max(slots[_STEEPEST], mass * lipschitz)
        p, total, reach, scaled, growth = _weigh(
            rate, state, indices, values, t, begin, end, steepest
        )
        if t >= trusted and not reach <= LARGEST_FEATURE:
            return np.int64(t), _UNSOUND
        norm = row_norm(mirror, total, reach)
        slope = loss.slope(label, p)
        # A hint whose square overflows would stop all bets.
        hinted = steepest * reach < LARGEST_GRADIENT
        if not (hinted and playable(loss, label, mass, p, slope, norm)):
            return np.int64(t), _OVERFLOW
        slots[_STEEPEST] = steepest
        predictions[t] = p
        weighted = mass * slope
        if mass > 0.0 and (weighted != 0.0 or growth > 0.0):
            _step(rate, state, indices, values, t, begin, end, steepest, weighted)
        value = loss.value(label, p)
        enter_round(loss, ledger, label, mass, p, value, slope, reach, norm, 1.0, False)
        ledger[_SCALED_TRAVEL] += abs(weighted) * scaled
    return y.shape[0], _DONE


@kernel
def read_weights(rate, state, slots, result):  # type: ignore[no-untyped-def]
    """Write the weights, as far as they do not depend on the coming row, into `result`."""
    for i in range(state.shape[0]):
        h = hint(slots[_STEEPEST], state[i, _SIZE])
        result[i] = rate.bet(state[i, _THETA], state[i, _SQUARES], h) * state[i, _WEALTH]


@kernel
def read_hints(sizes, slots, result):  # type: ignore[no-untyped-def]
    """Write the h of features of these sizes into `result`."""
    for i in range(sizes.shape[0]):
        result[i] = hint(slots[_STEEPEST], sizes[i])
