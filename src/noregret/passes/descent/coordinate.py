"""The lazy pass with one rate a feature: w_i = theta_i * factor_i, factors from squares.

Columns of `state`: theta, sum of z_i^2, largest weighted |x_i| and largest |x_i| of the rows
that changed anything; where an average is kept also the sum of the weights played, up to the
round in the last column. A factor follows from the record and from the coming row. The features
of a row are collected in columns of `work`, so that several of them are computed at a time.
Reference: Duchi, Hazan, Singer, Adaptive Subgradient Methods, 2011, in dual-averaging form.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import collect, kernel, write_step
from noregret.passes.checks import LARGEST_FEATURE, indices_sound_until
from noregret.passes.rounds import enter_round, playable, row_norm, step_slope
from noregret.passes.rows import TOGETHER, fetch_ahead, place, row_span
from noregret.passes.slots import Slot, Stop
from noregret.proof.ledger import Entry

#: Columns of a record without an average, and with one.
COLUMNS, AVERAGED = 4, 6

_ROUNDS = int(Entry.ROUNDS)
_PREFIX = int(Slot.PREFIX)
_DONE = int(Stop.DONE)
_OVERFLOW = int(Stop.OVERFLOW)
_UNSOUND = int(Stop.UNSOUND)

_1 = np.uint64(1)

_LANES = np.uint64(4)

#: Columns of a record, and of `work`, which has the row and the weights instead of averages.
_THETA, _SQUARES, _REACH, _SIZE = (np.uint64(k) for k in range(4))
_TOTAL, _SINCE = np.uint64(4), np.uint64(5)
_X, _WEIGHT = np.uint64(4), np.uint64(5)
WORK = (6, TOGETHER)


@kernel(inline=True)
def steepest_slope(loss):  # type: ignore[no-untyped-def]
    """Return the loss's Lipschitz constant, or 1: no theorem then, but a sensible first step."""
    steepest = loss.lipschitz()
    return steepest if steepest < np.inf else 1.0


@kernel(inline=True)
def _collect(state, work, indices, values, begin, count, t):  # type: ignore[no-untyped-def]
    """Bring features `begin` to `begin + count - 1` of a row into `work`.

    Returns how many columns to go through: features of weight 0 fill the last vector up.
    """
    filled = (count + _LANES - _1) // _LANES * _LANES
    for k in range(filled - _LANES, filled):
        work[_THETA, k] = 0.0
        work[_X, k] = 0.0
    if values.ndim == 1:
        collect(state, indices, values, begin, begin + count, work)
    else:
        for k in range(count):
            for column in range(_X):
                work[column, k] = state[begin + k, column]
            work[_X, k] = values[t, begin + k]
    return filled


@kernel(fast=True, inline=True)
def _weigh(rate, mirror, averages, work, filled, mass, steepest, threshold):  # type: ignore[no-untyped-def]
    """Compute the weights that a row is predicted by, its own |x_i| included in the largest.

    Returns sum w_i x_i, sum x_i^2, ||x||_1 and by how much the largest |x_i| have grown.
    """
    raw = 0.0
    total = 0.0
    length = 0.0
    growth = 0.0
    for k in range(filled):
        x = work[_X, k]
        reach = max(work[_REACH, k], mass * abs(x))
        growth += reach - work[_REACH, k]
        size = 1.0
        if rate.invariant:
            size = max(work[_SIZE, k], abs(x))
            growth += size - work[_SIZE, k]
        factor = rate.weight_factor(work[_SQUARES, k], steepest * reach, size)
        w = mirror.read(work[_THETA, k], threshold) * factor
        if averages.kept():
            work[_WEIGHT, k] = w
        raw += w * x
        total += x * x
        length += abs(x)
    return raw, total, length, growth


@kernel(inline=True)
def _sum_up(rate, state, work, mass, steepest, rounds, indices, values, begin, count, t):  # type: ignore[no-untyped-def]
    """Add up the weights played, the last of the rounds by those in `work`."""
    for k in range(count):
        i, x = place(values, indices, begin, k, t)
        if mass * abs(x) > state[i, _REACH] or abs(x) > state[i, _SIZE]:
            # Before this round the feature had a larger factor.
            before = rate.weight_factor(
                state[i, _SQUARES], steepest * state[i, _REACH], state[i, _SIZE]
            )
            state[i, _TOTAL] += state[i, _THETA] * before * (rounds - 1.0 - state[i, _SINCE])
            state[i, _SINCE] = rounds - 1.0
        state[i, _TOTAL] += work[_WEIGHT, k] * (rounds - state[i, _SINCE])
        state[i, _SINCE] = rounds


@kernel(inline=True)
def _write(state, work, slope, mass, indices, values, begin, count):  # type: ignore[no-untyped-def]
    """Step by slope * x and write the features in `work` back."""
    if values.ndim == 1:
        write_step(state, indices, begin, begin + count, work, slope, mass)
    else:
        for k in range(count):
            x = work[_X, k]
            z = slope * x
            state[begin + k, _THETA] = work[_THETA, k] - z
            state[begin + k, _SQUARES] = work[_SQUARES, k] + z * z
            state[begin + k, _REACH] = max(work[_REACH, k], mass * abs(x))
            state[begin + k, _SIZE] = max(work[_SIZE, k], abs(x))


@kernel
def coordinate_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    averages,
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
    steepest = steepest_slope(loss)
    assert state.shape[1] == averages.columns(COLUMNS, AVERAGED)
    work = np.zeros(WORK)
    together = np.uint64(TOGETHER)
    sound = np.uint64(trusted)
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(indptr, indices, values, width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        # Read once: the compiler must assume that what is written below may change them.
        label, mass = y[t], weight[t]
        threshold = mirror.threshold(ledger[_ROUNDS])
        begin, end = row_span(indptr, values, t)
        if values.ndim == 1:
            fetch_ahead(indices, values, begin, end)
        raw = 0.0
        total = 0.0
        reach = 0.0
        growth = 0.0
        for start in range(begin, end, together):
            count = min(end - start, together)
            filled = _collect(state, work, indices, values, start, count, t)
            sums = _weigh(rate, mirror, averages, work, filled, mass, steepest, threshold)
            raw += sums[0]
            total += sums[1]
            reach += sums[2]
            growth += sums[3]
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
        if slope == 0.0 and growth == 0.0:
            continue
        for start in range(begin, end, together):
            count = min(end - start, together)
            if end - begin > together:
                # Only the last features of a long row are still at hand.
                filled = _collect(state, work, indices, values, start, count, t)
                _weigh(rate, mirror, averages, work, filled, mass, steepest, threshold)
            if averages.kept():
                _sum_up(
                    rate, state, work, mass, steepest, slots[_PREFIX], indices, values, start,
                    count, t,
                )  # fmt: skip
            _write(state, work, slope, mass, indices, values, start, count)
    return y.shape[0], _DONE


@kernel
def factors(rate, steepest, state, result):  # type: ignore[no-untyped-def]
    """Write w_i / theta_i, as far as it does not depend on the coming row, into `result`."""
    for i in range(state.shape[0]):
        reach, size = state[i, _REACH], state[i, _SIZE]
        result[i] = rate.weight_factor(state[i, _SQUARES], steepest * reach, size)
