"""The loops of Hedge, and the running sums from which its certificate is read.

A round takes one pass over the experts for the mean, one for the new weights.

Weights are w_i = e^(-eta (C_i - r)) / S with C_i the expert's cost so far, r a reference not above
the least C_i by much and S the sum: nothing underflows but what does not matter.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from noregret.elementary import exp
from noregret.jit import add_compensated, kernel
from noregret.passes.promises import promise_broken

#: The kinds of rates: a fixed one, c/sqrt(t), c/sqrt(2^m) anew in rounds 2^m, and ln d / gaps.
FIXED, ANYTIME, DOUBLING, ADAPTIVE = range(4)
#: Sums of parts below this are taken from a new reference.
_LEAST = 1e-200

#: Below this eta (max z - min z) the gap is a series.
SMALL_STEP = 1e-4


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
    #: and where the loss was looked at in the round before.
    PROMISE_BROKEN = 20
    BROKEN_PROMISE = 21
    LAST_POINT = 22


# Kernels index by plain integers.
_ROUNDS, _LOSS, _GAP = int(ExpertSum.ROUNDS), int(ExpertSum.LOSS), int(ExpertSum.GAP)
_SQUARES, _VARIANCE = int(ExpertSum.SQUARES), int(ExpertSum.VARIANCE)
_RANGES, _WIDEST = int(ExpertSum.RANGES), int(ExpertSum.WIDEST)
_LOWEST, _HIGHEST = int(ExpertSum.LOWEST), int(ExpertSum.HIGHEST)
_LOWEST_STEP, _MAGNITUDE = int(ExpertSum.LOWEST_STEP), int(ExpertSum.MAGNITUDE)
_ETA, _LAST_ETA, _EPOCHS = int(ExpertSum.ETA), int(ExpertSum.LAST_ETA), int(ExpertSum.EPOCHS)
_REFERENCE, _TOTAL = int(ExpertSum.REFERENCE), int(ExpertSum.TOTAL)
_OWN, _OWN_SIZE = int(ExpertSum.OWN), int(ExpertSum.OWN_SIZE)
_BROKEN, _WHICH = int(ExpertSum.PROMISE_BROKEN), int(ExpertSum.BROKEN_PROMISE)
_LAST_POINT = int(ExpertSum.LAST_POINT)


@kernel
def enter(book, low, high, mean, variance, gap, eta):  # type: ignore[no-untyped-def]
    """Enter a round whose costs lie in [low, high], with their mean and variance under w."""
    width = high - low
    book[_ROUNDS] += 1.0
    add_compensated(book, _LOSS, mean)
    book[_GAP] += gap
    book[_SQUARES] += variance + mean * mean
    book[_VARIANCE] += variance
    book[_RANGES] += width * width
    book[_WIDEST] = max(book[_WIDEST], width)
    book[_LOWEST] = min(book[_LOWEST], low)
    book[_HIGHEST] = max(book[_HIGHEST], high)
    if low < 0.0:
        book[_LOWEST_STEP] = min(book[_LOWEST_STEP], eta * low)
    book[_MAGNITUDE] += max(abs(low), abs(high))
    book[_LAST_ETA] = eta


@kernel
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


@kernel
def _weigh(totals, reference, eta, parts):  # type: ignore[no-untyped-def]
    """Set the parts, from another reference if need be; return that and their sum."""
    if eta < np.inf:
        total = _fill(totals, reference, eta, parts)
        if _LEAST < total < np.inf:
            return reference, total
    least = totals.min()
    if eta < np.inf:
        return least, _fill(totals, least, eta, parts)
    # Follow the leaders, all of them alike.
    total = 0.0
    for i in range(totals.shape[0]):
        parts[i] = 1.0 if totals[i] <= least else 0.0
        total += parts[i]
    return least, total


@kernel
def _least_of_leaders(parts, costs):  # type: ignore[no-untyped-def]
    least = np.inf
    for i in range(costs.shape[0]):
        if parts[i] > 0.0:
            least = min(least, costs[i])
    return least


@kernel
def _next_eta(kind, scale, book):  # type: ignore[no-untyped-def]
    """Return the rate of the coming round; `scale` is ln d for the adaptive rate."""
    coming = book[_ROUNDS] + 1.0
    if kind == ANYTIME:
        return scale / np.sqrt(coming)
    if kind == DOUBLING and np.int64(coming) & (np.int64(coming) - 1) == 0:
        return scale / np.sqrt(coming)
    if kind == ADAPTIVE:
        return scale / book[_GAP] if book[_GAP] > 0.0 else np.inf
    return book[_ETA]


@kernel
def hedge_step(costs, low, high, kind, scale, parts, totals, past, book):  # type: ignore[no-untyped-def]
    """Suffer one round of costs within [low, high], and weigh the experts for the next.

    Returns <w, z>. `past` takes the costs of the epochs that a doubling rate has ended.
    """
    eta, reference, old = book[_ETA], book[_REFERENCE], book[_TOTAL]
    first, second = _meet(parts, costs, low, totals)
    first /= old
    mean = min(low + first, high)
    variance = max(second / old - first * first, 0.0)
    if eta < np.inf:
        third = 0.0
        if eta * (high - low) < SMALL_STEP:
            third = _third(parts, costs, mean, eta) / old
        reference, total = _weigh(totals, reference + low, eta, parts)
        shifted = np.log(total / old) / eta + (low - (reference - book[_REFERENCE]))
        gap = gap_of(mean, variance, third, low, high, shifted, eta)
    else:
        gap = max(mean - _least_of_leaders(parts, costs), 0.0)
    enter(book, low, high, mean, variance, gap, eta)
    coming = _next_eta(kind, scale, book)
    if kind == DOUBLING and coming != eta:
        book[_EPOCHS] += 1.0 / eta
        past += totals
        totals[:] = 0.0
        reference = 0.0
    if coming != eta or eta == np.inf:
        reference, total = _weigh(totals, reference, coming, parts)
    book[_ETA], book[_REFERENCE], book[_TOTAL] = coming, reference, total
    return mean


@kernel
def hedge_rounds(costs, lows, highs, kind, scale, parts, totals, past, book, losses):  # type: ignore[no-untyped-def]
    """Play a round for every row of costs."""
    for t in range(costs.shape[0]):
        losses[t] = hedge_step(costs[t], lows[t], highs[t], kind, scale, parts, totals, past, book)


@kernel
def forecast_rounds(  # type: ignore[no-untyped-def]
    loss,
    linear,
    predictions,
    y,
    weight,
    kind,
    scale,
    parts,
    totals,
    past,
    suffered,
    book,
    forecasts,
):
    """Mix the rows of predictions, suffer the loss of the mixture, and charge the experts.

    An expert is charged its own loss, or with `linear` its prediction times the slope of the
    loss at the mixture. `suffered` sums the experts' own losses. Returns the rounds played: it
    stops before one whose numbers overflow, with the book of the rounds before it.
    """
    count = predictions.shape[1]
    costs, own = np.empty(count), np.empty(count)
    for t in range(predictions.shape[0]):
        row = predictions[t]
        p = min(max(_dot(parts, row) / book[_TOTAL], row.min()), row.max())
        steepness, height = loss.slope(y[t], p), loss.value(y[t], p)
        slope = weight[t] * steepness
        value = weight[t] * height
        low, high, size = np.inf, -np.inf, abs(value)
        for i in range(count):
            own[i] = weight[t] * loss.value(y[t], row[i])
            costs[i] = slope * row[i] if linear else own[i]
            low, high = min(low, costs[i]), max(high, costs[i])
            size = max(size, abs(own[i]), abs(costs[i]))
        if not size <= 1e150:
            return t
        forecasts[t] = p
        add_compensated(book, _OWN, value)
        book[_OWN_SIZE] += size
        suffered += own
        hedge_step(costs, low, high, kind, scale, parts, totals, past, book)
        if loss.checked() and book[_BROKEN] == 0.0:
            last, rounds = book[_LAST_POINT], book[_ROUNDS]
            which = promise_broken(loss, rounds, last, y[t], p, height, steepness)
            if which > 0.0:
                book[_BROKEN], book[_WHICH] = rounds, which
            book[_LAST_POINT] = p
    return predictions.shape[0]
