"""The lazy pass with one rate a feature: w_i = theta_i * factor_i, factors from squares.

Columns of `state`: theta, factor, the average's accumulator, sum of z_i^2, largest weighted
|x_i| and largest |x_i| of the rows read so far. A factor moves only when its feature is
touched, so that PREFIX, the number of rounds, serves the averages as in the lazy pass.
Reference: Duchi, Hazan, Singer, Adaptive Subgradient Methods, 2011, in dual-averaging form.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import dot6, kernel
from noregret.ledger import Entry
from noregret.passes.checks import LARGEST_FEATURE, indices_sound_until
from noregret.passes.rounds import enter_round, playable, row_norm, step_slope
from noregret.passes.rows import TOGETHER, fetch_ahead, place, row_span
from noregret.passes.slots import Slot, Stop

COLUMNS = 6

_ROUNDS = int(Entry.ROUNDS)
_PREFIX = int(Slot.PREFIX)
_DONE = int(Stop.DONE)
_OVERFLOW = int(Stop.OVERFLOW)
_UNSOUND = int(Stop.UNSOUND)

_0, _1, _2 = (np.uint64(k) for k in range(3))

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
def _read_all(rate, mirror, state, weight, steepest, prefix, threshold, indices, values, span, t):  # type: ignore[no-untyped-def]
    raw = 0.0
    total = 0.0
    reach = 0.0
    for k in range(span[0], span[1]):
        i, x = place(values, indices, span[0], k - span[0], t)
        _grow(rate, state, i, x, weight, steepest, prefix)
        raw += mirror.read(state[i, _THETA], threshold) * state[i, _FACTOR] * x
        total += x * x
        reach += abs(x)
    return raw, total, reach


@kernel(inline=True)
def _read(  # type: ignore[no-untyped-def]
    rate, mirror, plain, state, weight, steepest, prefix, threshold, indices, values, span, t
):
    """Return <w, x>, sum x_i^2 and ||x||_1, with the factors of features that grow renewed."""
    if values.ndim == 1 and plain:
        fetch_ahead(indices, values, span[0], span[1])
        raw, total, reach, excess = dot6(state, indices, values, span[0], span[1], weight)
        if not excess > 0.0:
            return raw, total, reach
    return _read_all(
        rate, mirror, state, weight, steepest, prefix, threshold, indices, values, span, t
    )


@kernel(inline=True)
def _move(state, i, x, squares, factor, slope, prefix):  # type: ignore[no-untyped-def]
    weight = state[i, _THETA] * state[i, _FACTOR]
    theta = state[i, _THETA] - slope * x
    state[i, _THETA] = theta
    state[i, _FACTOR] = factor
    state[i, _ACCUMULATOR] += prefix * (theta * factor - weight)
    state[i, _SQUARES] = squares


@kernel(inline=True)
def _add_row(rate, state, slope, steepest, prefix, work, indices, values, span, t):  # type: ignore[no-untyped-def]
    """Step by slope * x; factors are computed for several features at a time."""
    begin, end = span
    while begin < end:
        count = min(end - begin, np.uint64(TOGETHER))
        for k in range(count):
            i, x = place(values, indices, begin, k, t)
            work[_0, k] = state[i, _SQUARES] + slope * x * (slope * x)
            work[_1, k] = steepest * state[i, _REACH]
            work[_2, k] = state[i, _SIZE]
        for k in range(count):
            work[_1, k] = rate.weight_factor(work[_0, k], work[_1, k], work[_2, k])
        for k in range(count):
            i, x = place(values, indices, begin, k, t)
            if values.ndim == 1 or x != 0.0:
                _move(state, i, x, work[_0, k], work[_1, k], slope, prefix)
        begin += count


@kernel
def coordinate_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    plain,
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
    work = np.empty((3, TOGETHER))
    sound = np.uint64(trusted)
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(indptr, indices, values, width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        # Read once: the compiler must assume that what is written below may change them.
        label, mass = y[t], weight[t]
        threshold = mirror.threshold(ledger[_ROUNDS])
        span = row_span(indptr, values, t)
        raw, total, reach = _read(
            rate,
            mirror,
            plain,
            state,
            mass,
            steepest,
            slots[_PREFIX],
            threshold,
            indices,
            values,
            span,
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
            _add_row(rate, state, slope, steepest, slots[_PREFIX], work, indices, values, span, t)
    return y.shape[0], _DONE
