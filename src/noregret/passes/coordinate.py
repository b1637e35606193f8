"""The lazy pass with one rate a feature: w_i = theta_i * factor_i, factors from squares.

Columns of `state`: theta, factor, the average's accumulator, sum of z_i^2, largest weighted
|x_i| and largest |x_i| of the rows read so far. A factor moves only when its feature is
touched, so that PREFIX, the number of rounds, serves the averages as in the lazy pass.
Reference: Duchi, Hazan, Singer, Adaptive Subgradient Methods, 2011, in dual-averaging form.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.ledger import Entry
from noregret.passes.checks import LARGEST_FEATURE, indices_sound_until
from noregret.passes.rounds import enter_round, playable, row_norm, step_slope
from noregret.passes.slots import Slot, Stop

COLUMNS = 6

_ROUNDS = int(Entry.ROUNDS)
_PREFIX = int(Slot.PREFIX)
_DONE = int(Stop.DONE)
_OVERFLOW = int(Stop.OVERFLOW)
_UNSOUND = int(Stop.UNSOUND)

_THETA = np.uint64(0)
_FACTOR = np.uint64(1)
_ACCUMULATOR = np.uint64(2)
_SQUARES = np.uint64(3)
_REACH = np.uint64(4)
_SIZE = np.uint64(5)


@kernel(inline=True)
def _grow(rate, state, i, x, weight, steepest, prefix):  # type: ignore[no-untyped-def]
    """Let the largest |x_i| include the coming row, before it is predicted."""
    if weight * abs(x) > state[i, _REACH] or abs(x) > state[i, _SIZE]:
        reach = max(weight * abs(x), state[i, _REACH])
        size = max(abs(x), state[i, _SIZE])
        factor = rate.weight_factor(state[i, _SQUARES], steepest * reach, size)
        state[i, _ACCUMULATOR] += prefix * state[i, _THETA] * (factor - state[i, _FACTOR])
        state[i, _FACTOR] = factor
        state[i, _REACH] = reach
        state[i, _SIZE] = size


@kernel(fast=True, inline=True)
def _read(rate, mirror, state, weight, steepest, prefix, threshold, indptr, indices, values, t):  # type: ignore[no-untyped-def]
    raw = 0.0
    total = 0.0
    reach = 0.0
    if values.ndim == 2:
        for j in range(np.uint64(values.shape[1])):
            x = np.float64(values[t, j])
            _grow(rate, state, j, x, weight, steepest, prefix)
            raw += mirror.read(state[j, _THETA], threshold) * state[j, _FACTOR] * x
            total += x * x
            reach += abs(x)
    else:
        for k in range(indptr[t], indptr[t + np.uint64(1)]):
            x = np.float64(values[k])
            i = indices[k]
            _grow(rate, state, i, x, weight, steepest, prefix)
            raw += mirror.read(state[i, _THETA], threshold) * state[i, _FACTOR] * x
            total += x * x
            reach += abs(x)
    return raw, total, reach


@kernel(inline=True)
def _move(rate, state, i, x, slope, steepest, prefix):  # type: ignore[no-untyped-def]
    z = slope * x
    theta = state[i, _THETA]
    weight = theta * state[i, _FACTOR]
    theta -= z
    squares = state[i, _SQUARES] + z * z
    factor = rate.weight_factor(squares, steepest * state[i, _REACH], state[i, _SIZE])
    state[i, _THETA] = theta
    state[i, _FACTOR] = factor
    state[i, _ACCUMULATOR] += prefix * (theta * factor - weight)
    state[i, _SQUARES] = squares


@kernel
def coordinate_pass(  # type: ignore[no-untyped-def]
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
    conservative,
):
    """Run the per-coordinate pass; return (next row, why it stopped)."""
    steepest = loss.lipschitz()
    if not steepest < np.inf:
        steepest = 1.0
    assert state.shape[1] == COLUMNS
    sound = np.uint64(trusted)
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(indptr, indices, values, width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        # Read once: the compiler must assume that what is written below may change them.
        label, mass = y[t], weight[t]
        threshold = mirror.threshold(ledger[_ROUNDS])
        raw, total, reach = _read(
            rate,
            mirror,
            state,
            mass,
            steepest,
            slots[_PREFIX],
            threshold,
            indptr,
            indices,
            values,
            t,
        )
        if t >= trusted and not reach <= LARGEST_FEATURE:
            return np.int64(t), _UNSOUND
        norm = row_norm(mirror, total, reach)
        steepness = loss.slope(label, raw)
        if not playable(loss, label, mass, raw, steepness, norm):
            return np.int64(t), _OVERFLOW
        predictions[t] = raw
        slope = step_slope(loss, label, mass, raw, steepness, conservative)
        value = loss.value(label, raw)
        enter_round(
            loss, ledger, label, mass, raw, value, steepness, reach, norm, rate.scale, conservative
        )
        slots[_PREFIX] += 1.0
        if slope != 0.0:
            if values.ndim == 2:
                for j in range(np.uint64(values.shape[1])):
                    x = np.float64(values[t, j])
                    if x != 0.0:
                        _move(rate, state, j, x, slope, steepest, slots[_PREFIX])
            else:
                for k in range(indptr[t], indptr[t + np.uint64(1)]):
                    x = np.float64(values[k])
                    _move(rate, state, indices[k], x, slope, steepest, slots[_PREFIX])
    return y.shape[0], _DONE
