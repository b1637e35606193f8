"""The loops of Hedge, and the running sums from which its certificate is read.

A round takes one pass over the experts for the mean, one for the new weights.

Weights are w_i = e^(-eta (C_i - r)) / S with C_i the expert's cost so far, r a reference near
the least C_i and S the sum: only negligible weights underflow.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from noregret.elementary import exp
from noregret.jit import add_compensated, kernel
from noregret.passes.promises import promise_broken

#: The kinds of rates: a fixed one, c/sqrt(t), c/sqrt(2^m) restarted in rounds 2^m, ln d / gaps.
FIXED, ANYTIME, DOUBLING, ADAPTIVE = range(4)
#: Below this sum the parts are computed from a new reference.
_LEAST = 1e-200
#: Below this eta (max z - min z) the gap is computed by a series.
SMALL_STEP = 1e-4
#: A forecaster stops before a loss beyond this: its square would overflow.
LARGEST_LOSS = 1e150


class ExpertSum(IntEnum):
    """Places in the book. Compensated sums keep in the next place what an addition lost."""

    ROUNDS = 0
    #: Sum of <w_t, z_t>.
    LOSS = 1
    LOSS_LOW = 2
    #: Sum of the mixability gaps delta_t = <w_t, z_t> + (1/eta_t) ln sum_i w_(t,i) e^(-eta_t z_i).
    GAP = 3
    #: Sums over rounds of sum_i w_i z_i^2, of the variance of z under w, of (max z - min z)^2.
    SQUARES = 4
    VARIANCE = 5
    RANGES = 6
    #: The largest max z - min z, the extremes of all costs, and the least eta_t z_(t,i).
    WIDEST = 7
    LOWEST = 8
    HIGHEST = 9
    LOWEST_STEP = 10
    #: Sum of max_i |z_(t,i)|, which rounding errors are proportional to.
    MAGNITUDE = 11
    #: The rate of the coming round; the one of the last.
    ETA = 12
    LAST_ETA = 13
    #: Sum of 1/eta over the epochs of a doubling rate that have ended.
    EPOCHS = 14
    #: Weights are parts over their TOTAL, parts are e^(-eta (costs - REFERENCE)).
    REFERENCE = 15
    TOTAL = 16
    #: Sum of the forecaster's own losses f_t(sum_i w_i p_i), and of the sizes of its terms.
    OWN = 17
    OWN_LOW = 18
    OWN_SIZE = 19
    #: The first round that broke a promise of a loss of one's own (0: none), which promise it was,
    #: and the prediction at which the loss was checked in the round before.
    PROMISE_BROKEN = 20
    BROKEN_PROMISE = 21
    LAST_POINT = 22


@kernel(inner=True)
def enter(book, low, high, mean, variance, gap, eta):  # type: ignore[no-untyped-def]
    """Enter a round whose costs lie in [low, high], with their mean and variance under w."""
    width = high - low
    book[ExpertSum.ROUNDS] += 1.0
    add_compensated(book, ExpertSum.LOSS, mean)
    book[ExpertSum.GAP] += gap
    book[ExpertSum.SQUARES] += variance + mean * mean
    book[ExpertSum.VARIANCE] += variance
    book[ExpertSum.RANGES] += width * width
    book[ExpertSum.WIDEST] = max(book[ExpertSum.WIDEST], width)
    book[ExpertSum.LOWEST] = min(book[ExpertSum.LOWEST], low)
    book[ExpertSum.HIGHEST] = max(book[ExpertSum.HIGHEST], high)
    if low < 0.0:
        book[ExpertSum.LOWEST_STEP] = min(book[ExpertSum.LOWEST_STEP], eta * low)
    book[ExpertSum.MAGNITUDE] += max(abs(low), abs(high))
    book[ExpertSum.LAST_ETA] = eta


@kernel(inner=True)
def gap_of(mean, variance, third, low, high, shifted, eta):  # type: ignore[no-untyped-def]
    """Return the mixability gap, `shifted` being (1/eta) ln sum_i w_i e^(-eta (z_i - low)).

    Where eta (high - low) is small the difference of mean and mix loss would be rounding alone,
    and the series (eta/2) Var - third / (6 eta) is used, `third` the third central moment of
    eta z, which cannot overflow there as that of z can. 0 <= gap <= eta width^2 / 8.
    """
    width = high - low
    gap = (mean - low) + shifted
    if eta * width < SMALL_STEP:
        gap = 0.5 * eta * variance - third / (6.0 * eta)
    return min(max(gap, 0.0), 0.125 * eta * width * width, mean - low)


@kernel(fast=True)
def _meet(parts, costs, low, totals):  # type: ignore[no-untyped-def]
    """Return the sums of e_i a_i and e_i a_i^2, a_i = z_i - low, and add z to the totals."""
    first, second = 0.0, 0.0
    for i in range(np.uint64(costs.shape[0])):
        a = costs[i] - low
        first += parts[i] * a
        second += parts[i] * a * a
        totals[i] += costs[i]
    return first, second


@kernel(fast=True)
def _third(parts, costs, mean, eta):  # type: ignore[no-untyped-def]
    """Return the sum of e_i (eta (z_i - mean))^3."""
    total = 0.0
    for i in range(np.uint64(costs.shape[0])):
        a = eta * (costs[i] - mean)
        total += parts[i] * a * a * a
    return total


@kernel(fast=True)
def _dot(parts, values):  # type: ignore[no-untyped-def]
    """Return the sum of e_i v_i."""
    total = 0.0
    for i in range(np.uint64(values.shape[0])):
        total += parts[i] * values[i]
    return total


@kernel(fast=True)
def _fill(totals, reference, eta, parts):  # type: ignore[no-untyped-def]
    """Set the parts to e^(-eta (C_i - reference)) and return their sum."""
    total = 0.0
    for i in range(np.uint64(totals.shape[0])):
        part = exp(eta * (reference - totals[i]))
        parts[i] = part
        total += part
    return total


@kernel(inner=True)
def _weigh(totals, reference, eta, parts):  # type: ignore[no-untyped-def]
    """Set the parts, from another reference if need be; return that and their sum."""
    if eta < np.inf:
        total = _fill(totals, reference, eta, parts)
        if _LEAST < total < np.inf:
            return reference, total
    least = np.inf
    for i in range(np.uint64(totals.shape[0])):
        least = min(least, totals[i])
    if eta < np.inf:
        return least, _fill(totals, least, eta, parts)
    # Follow the leaders, with equal weights.
    count = 0.0
    for i in range(np.uint64(totals.shape[0])):
        parts[i] = 1.0 if totals[i] <= least else 0.0
        count += parts[i]
    return least, count


@kernel(inner=True)
def _least_of_leaders(parts, costs):  # type: ignore[no-untyped-def]
    least = np.inf
    for i in range(np.uint64(costs.shape[0])):
        if parts[i] > 0.0:
            least = min(least, costs[i])
    return least


@kernel(inner=True)
def _next_eta(state):  # type: ignore[no-untyped-def]
    """Return the rate of the coming round; `scale` is ln d for the adaptive rate."""
    coming, gaps = state.book[ExpertSum.ROUNDS] + 1.0, state.book[ExpertSum.GAP]
    fresh = np.int64(coming) & (np.int64(coming) - 1) == 0
    if state.kind == ANYTIME or (state.kind == DOUBLING and fresh):
        return state.scale / np.sqrt(coming)
    if state.kind == ADAPTIVE:
        return state.scale / gaps if gaps > 0.0 else np.inf
    return state.book[ExpertSum.ETA]


@kernel(inner=True)
def hedge_step(state, costs, low, high):  # type: ignore[no-untyped-def]
    """Suffer one round of costs within [low, high], and weigh the experts for the next.

    Returns <w, z>. `state` is a `Weighing`.
    """
    parts, totals, past, book = state.parts, state.totals, state.past, state.book
    eta, reference, old = book[ExpertSum.ETA], book[ExpertSum.REFERENCE], book[ExpertSum.TOTAL]
    first, second = _meet(parts, costs, low, totals)
    first /= old
    mean = min(low + first, high)
    variance = max(second / old - first * first, 0.0)
    if eta < np.inf:
        third = 0.0
        if eta * (high - low) < SMALL_STEP:
            third = _third(parts, costs, mean, eta) / old
        reference, total = _weigh(totals, reference + low, eta, parts)
        shifted = np.log(total / old) / eta + (low - (reference - book[ExpertSum.REFERENCE]))
        gap = gap_of(mean, variance, third, low, high, shifted, eta)
    else:
        gap = max(mean - _least_of_leaders(parts, costs), 0.0)
    enter(book, low, high, mean, variance, gap, eta)
    coming = _next_eta(state)
    if state.kind == DOUBLING and coming != eta:
        book[ExpertSum.EPOCHS] += 1.0 / eta
        for i in range(np.uint64(totals.shape[0])):
            past[i] += totals[i]
            totals[i] = 0.0
        reference = 0.0
    if coming != eta or eta == np.inf:
        reference, total = _weigh(totals, reference, coming, parts)
    book[ExpertSum.ETA], book[ExpertSum.REFERENCE], book[ExpertSum.TOTAL] = coming, reference, total
    return mean


@kernel
def hedge_rounds(state, costs, lows, highs, losses):  # type: ignore[no-untyped-def]
    """Play a round for every row of costs."""
    for t in range(costs.shape[0]):
        losses[t] = hedge_step(state, costs[t], lows[t], highs[t])


@kernel
def forecast_rounds(loss, linear, predictions, labels, state, suffered, forecasts):  # type: ignore[no-untyped-def]
    """Mix the rows of predictions, suffer the loss of the mixture, and charge the experts.

    An expert is charged its own loss, or with `linear` its prediction times the slope of the
    loss at the mixture. `suffered` sums the experts' own losses. Returns the rounds played: it
    stops before one whose numbers overflow, with the book of the rounds before it.
    """
    book, count = state.book, predictions.shape[1]
    costs, own = np.empty(count), np.empty(count)
    for t in range(predictions.shape[0]):
        row, y, weight = predictions[t], labels.y[t], labels.weight[t]
        p = min(max(_dot(state.parts, row) / book[ExpertSum.TOTAL], row.min()), row.max())
        steepness, height = loss.slope(y, p), loss.value(y, p)
        slope, value = weight * steepness, weight * height
        low, high, size = np.inf, -np.inf, abs(value)
        for i in range(count):
            own[i] = weight * loss.value(y, row[i])
            costs[i] = slope * row[i] if linear else own[i]
            low, high = min(low, costs[i]), max(high, costs[i])
            size = max(size, abs(own[i]), abs(costs[i]))
        if not size <= LARGEST_LOSS:
            return t
        forecasts[t] = p
        add_compensated(book, ExpertSum.OWN, value)
        book[ExpertSum.OWN_SIZE] += size
        suffered += own
        hedge_step(state, costs, low, high)
        if loss.checked() and book[ExpertSum.PROMISE_BROKEN] == 0.0:
            last, rounds = book[ExpertSum.LAST_POINT], book[ExpertSum.ROUNDS]
            which = promise_broken(loss, rounds, last, y, p, height, steepness)
            if which > 0.0:
                book[ExpertSum.PROMISE_BROKEN], book[ExpertSum.BROKEN_PROMISE] = rounds, which
            book[ExpertSum.LAST_POINT] = p
    return predictions.shape[0]
