"""The lazy pass: w_t = link(theta_t), theta_(t+1) = theta_t - z_t, over the rows of a block.

Input: a loss, a mirror map and a rate; rows, labels, weights; the learner's arrays. Output:
the predictions made before each update, and how far it came. `linear_pass` serves the maps
whose stored value is theta itself, `mapped_pass` all others. Columns of `state`: theta
(linear) or theta and v = phi'(a) (mapped); where an average is kept also its accumulator, and
in mapped records a spare. With w_t = kappa_t v_t, the sum of the iterates is PREFIX * v -
accumulator (summation by parts), so that a coordinate is touched only when it changes.
Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.passes.checks import LARGEST_FEATURE, indices_sound_until
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    enter_round,
    observe_features,
    playable,
    row_norm,
    step_slope,
)
from noregret.passes.rows import WORK, add_mapped_row, add_row, read_mapped_row, read_row
from noregret.passes.slots import KAPPA_DRIFT, LEAP, SHRUNK, UPDATES_BETWEEN_SUMS, Slot, Stop
from noregret.proof.ledger import Entry
from noregret.rates import UNBOUNDED
from noregret.rounding.slack import EPSILON

_ROUNDS = int(Entry.ROUNDS)
_SQUARES = int(Entry.SQUARES)
_LARGEST_SQUARE = int(Entry.LARGEST_SQUARE)
_REGULARIZER = int(Entry.REGULARIZER)
_REGULARIZER_SLACK = int(Entry.REGULARIZER_SLACK)
_CURVED_SQUARES = int(Entry.CURVED_SQUARES)
_LARGEST_CURVED_SQUARE = int(Entry.LARGEST_CURVED_SQUARE)
_LARGEST_REACH = int(Entry.LARGEST_REACH)

_SUM = int(Slot.SUM)
_PEAK = int(Slot.PEAK)
_UPDATES = int(Slot.UPDATES)
_REFERENCE = int(Slot.REFERENCE)
_INNER = int(Slot.INNER)
_WANTED = int(Slot.WANTED)
_PREFIX = int(Slot.PREFIX)
_BASE = int(Slot.BASE)
_SUM_ERROR = int(Slot.SUM_ERROR)

_DONE = int(Stop.DONE)
_RESUM = int(Stop.RESUM)
_RATE = int(Stop.RATE)
_SETTLE = int(Stop.SETTLE)
_OVERFLOW = int(Stop.OVERFLOW)
_UNSOUND = int(Stop.UNSOUND)

#: Columns of a record without an average, and with one.
LINEAR_COLUMNS, LINEAR_AVERAGED = 1, 2
MAPPED_COLUMNS, MAPPED_AVERAGED = 2, 4


@kernel(inline=True)
def next_rate(loss, rate, ledger, norm, weight):  # type: ignore[no-untyped-def]
    """Return eta for a row of that dual norm, before its label is known, and its LARGEST_REACH."""
    return rate_within(loss.lipschitz(), rate, ledger, norm, weight)


@kernel(inline=True)
def rate_within(steepest, rate, ledger, norm, weight):  # type: ignore[no-untyped-def]
    """Return eta for a row of that dual norm and slopes that are at most so steep.

    Also returns what LARGEST_REACH becomes if the row is played: a refused row must not enter it.
    """
    # A loss without a steepest slope gets 1: no theorem then, but a sensible first step.
    reach = (steepest if steepest < np.inf else 1.0) * weight * norm
    reach = max(ledger[_LARGEST_REACH], reach)
    largest = max(ledger[_LARGEST_SQUARE], reach * reach)
    return rate.at(ledger[_ROUNDS], ledger[_SQUARES], largest), reach


@kernel(inline=True)
def keep_sum(slots, total):  # type: ignore[no-untyped-def]
    """Store S and tell whether it must be summed afresh."""
    slots[_SUM] = total
    slots[_PEAK] = max(slots[_PEAK], total)
    slots[_UPDATES] += 1.0
    if not total < np.inf:
        return True
    return total < SHRUNK * slots[_PEAK] or slots[_UPDATES] >= UPDATES_BETWEEN_SUMS


@kernel(inline=True)
def leap_limit(mirror, slots):  # type: ignore[no-untyped-def]
    """Return the phi beyond which one coordinate leaps too far for the averages."""
    return LEAP * slots[_SUM] if slots[_SUM] > 0.0 and not mirror.separable() else np.inf


@kernel(inline=True)
def extend_prefix(slots, kappa):  # type: ignore[no-untyped-def]
    """Add kappa_t to the prefix sum and tell whether the averages must be settled."""
    slots[_PREFIX] += kappa
    base = slots[_BASE]
    if base == 0.0:
        slots[_BASE] = kappa
        return False
    return not base < kappa * KAPPA_DRIFT or not kappa < base * KAPPA_DRIFT


@kernel(inline=True)
def _add_regularizer(slots, ledger, sigma, kappa, slope, p, total):  # type: ignore[no-untyped-def]
    """Enter the part (sigma/2)||w||^2 of a round, and the gradient it adds to z."""
    # In this order, since kappa^2 may overflow where the product does not.
    half_square = kappa * (kappa * slots[_SUM])
    ledger[_REGULARIZER] += sigma * half_square
    own = (ledger[_ROUNDS] + 16.0) * EPSILON * slots[_SUM]
    ledger[_REGULARIZER_SLACK] += sigma * (kappa * (kappa * (slots[_SUM_ERROR] + own)))
    # The sum itself is rounded once a round.
    ledger[_REGULARIZER_SLACK] += EPSILON * ledger[_REGULARIZER]
    square = slope * slope * total + sigma * (2.0 * slope * p + 2.0 * sigma * half_square)
    ledger[_CURVED_SQUARES] += square / ledger[_ROUNDS]
    ledger[_LARGEST_CURVED_SQUARE] = max(ledger[_LARGEST_CURVED_SQUARE], square)


@kernel
def linear_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    averages,
    plain,
    distance,
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
    """Run the lazy pass for a map with phi'(a) = a; return (next row, why it stopped)."""
    # Said aloud, the width of a record is a constant that addresses are made of.
    assert state.shape[1] == averages.columns(LINEAR_COLUMNS, LINEAR_AVERAGED)
    sigma = rate.strong_convexity()
    needs_sum = sigma > 0.0 or not mirror.separable()
    sound = np.uint64(trusted)
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(indptr, indices, values, width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        # Read once: the compiler must assume that what is written below may change them.
        label, mass = y[t], weight[t]
        threshold = mirror.threshold(ledger[_ROUNDS])
        raw, total, reach = read_row(
            mirror, plain, distance, state, threshold, indptr, indices, values, t
        )
        if t >= trusted and not reach <= LARGEST_FEATURE:
            return np.int64(t), _UNSOUND
        norm = row_norm(mirror, total, reach)
        if not mass * norm < LARGEST_GRADIENT:
            return np.int64(t), _OVERFLOW
        eta, farthest = next_rate(loss, rate, ledger, norm, mass)
        # Before the first gradient theta is 0 and the rate may be unbounded: weights are 0.
        kappa = mirror.kappa(slots[_SUM], 0.0, eta) if eta < UNBOUNDED else 0.0
        p = kappa * raw
        steepness = loss.slope(label, p)
        if not playable(loss, label, mass, p, steepness, norm):
            return np.int64(t), _OVERFLOW
        ledger[_LARGEST_REACH] = farthest
        predictions[t] = p
        slope = step_slope(loss, label, mass, p, steepness, conservative)
        settle = averages.kept() and extend_prefix(slots, kappa)
        # The step comes first: the ledger is brought up to date while it is under way.
        if slope != 0.0:
            add_row(averages, state, -slope, slots[_PREFIX], indptr, indices, values, t)
        value = loss.value(label, p)
        enter_round(loss, ledger, label, mass, p, value, steepness, reach, norm, eta, conservative)
        if sigma > 0.0:
            _add_regularizer(slots, ledger, sigma, kappa, slope, p, total)
        stop = _DONE
        if needs_sum and slope != 0.0:
            change = slope * (0.5 * slope * total - raw)
            if keep_sum(slots, slots[_SUM] + change):
                stop = _RESUM
            # The two terms of the change are at most 4 and 4 peaks, their dot products
            # wrong by one rounding a feature.
            features = values.shape[1] if values.ndim == 2 else state.shape[0]
            if values.ndim == 1:
                features = min(features, np.int64(indptr[t + np.uint64(1)] - indptr[t]))
            slots[_SUM_ERROR] += (features + 16.0) * 8.0 * EPSILON * slots[_PEAK]
        if stop != _DONE or settle:
            return np.int64(t) + 1, stop if stop != _DONE else _SETTLE
    return y.shape[0], _DONE


@kernel
def mapped_pass(  # type: ignore[no-untyped-def]
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
    """Run the lazy pass for any other map; return (next row, why it stopped)."""
    assert state.shape[1] == averages.columns(MAPPED_COLUMNS, MAPPED_AVERAGED)
    homogeneous = mirror.homogeneous()
    work = np.zeros(WORK)
    sound = np.uint64(trusted)
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(indptr, indices, values, width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        # Read once: the compiler must assume that what is written below may change them.
        label, mass = y[t], weight[t]
        raw, total, reach, local, low, high = read_mapped_row(
            mirror, state, indptr, indices, values, t
        )
        if t >= trusted and not reach <= LARGEST_FEATURE:
            return np.int64(t), _UNSOUND
        norm = row_norm(mirror, total, reach)
        if not mass * norm < LARGEST_GRADIENT:
            return np.int64(t), _OVERFLOW
        eta, farthest = next_rate(loss, rate, ledger, norm, mass)
        if not homogeneous:
            if eta < slots[_INNER]:
                slots[_WANTED] = eta
                return np.int64(t), _RATE
            eta = slots[_INNER]
        known = eta < UNBOUNDED or not homogeneous
        kappa = mirror.kappa(slots[_SUM], slots[_REFERENCE], eta) if known else 0.0
        p = kappa * raw
        steepness = loss.slope(label, p)
        if not playable(loss, label, mass, p, steepness, norm):
            return np.int64(t), _OVERFLOW
        ledger[_LARGEST_REACH] = farthest
        predictions[t] = p
        slope = step_slope(loss, label, mass, p, steepness, conservative)
        value = loss.value(label, p)
        enter_round(loss, ledger, label, mass, p, value, steepness, reach, norm, eta, conservative)
        if mirror.multiplicative():
            observe_features(ledger, slope, eta, kappa * local, low, high)
        settle = averages.kept() and extend_prefix(slots, kappa)
        stop = _DONE
        if slope != 0.0:
            change, largest, size = add_mapped_row(
                mirror,
                averages,
                state,
                -slope,
                slots[_INNER],
                slots[_REFERENCE],
                slots[_PREFIX],
                leap_limit(mirror, slots),
                work,
                indptr,
                indices,
                values,
                t,
            )
            if not mirror.separable():
                if keep_sum(slots, slots[_SUM] + change) or mirror.out_of_range(
                    slots[_SUM], largest, size, slots[_REFERENCE]
                ):
                    stop = _RESUM
        if stop != _DONE or settle:
            return np.int64(t) + 1, stop if stop != _DONE else _SETTLE
    return y.shape[0], _DONE
