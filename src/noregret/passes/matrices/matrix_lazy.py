"""The lazy pass for a matrix of weights, a column a score: theta_k <- theta_k - g_k x.

`state` is class-major: state[k] is what the passes of one score keep, so that their loops over
a row serve each score in turn. S is summed over all scores: the map is that of the flattened
matrix, and z = g (x) x has the dual norm ||g||_* ||x||_*. Rows are sound when they come here.
Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import add_compensated, kernel
from noregret.passes.promises import keep_score_promises
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    LARGEST_LOSS,
    LARGEST_PREDICTION,
    enter_loss,
    row_norm,
)
from noregret.passes.rows import add_mapped_row, add_row, read_mapped_row, read_row, row_at
from noregret.passes.slots import Slot, Stop, keep_sum, leap_limit, rate_within
from noregret.proof.ledger import Entry
from noregret.rates import UNBOUNDED
from noregret.rounding.slack import two_sum

_INTERCEPT = int(Entry.INTERCEPT)
_COUNTED = int(Entry.COUNTED)
_COUNTED_LOSS = int(Entry.COUNTED_LOSS)
_MAGNITUDE = int(Entry.MAGNITUDE)
_TRAVEL = int(Entry.TRAVEL)
_SQUARES = int(Entry.SQUARES)
_RATED_SQUARES = int(Entry.RATED_SQUARES)
_LARGEST_SQUARE = int(Entry.LARGEST_SQUARE)
_LARGEST_COUNTED_ROW = int(Entry.LARGEST_COUNTED_ROW)
_LARGEST_REACH = int(Entry.LARGEST_REACH)
_LIGHTEST = int(Entry.LIGHTEST)
_HEAVIEST = int(Entry.HEAVIEST)

_SUM = int(Slot.SUM)
_REFERENCE = int(Slot.REFERENCE)
_INNER = int(Slot.INNER)

_DONE = int(Stop.DONE)
_RESUM = int(Stop.RESUM)
_RATE = int(Stop.RATE)
_OVERFLOW = int(Stop.OVERFLOW)


@kernel(inline=True)
def playable_scores(mass, value, s, slopes, norm):  # type: ignore[no-untyped-def]
    """Tell whether scores, their loss and its squared gradient can be entered in a sum."""
    sound = mass * abs(value) < LARGEST_LOSS
    for k in range(np.uint64(s.shape[0])):
        slope = abs(slopes[k])
        sound = (
            sound
            and abs(s[k]) < LARGEST_PREDICTION
            and mass * (slope * abs(s[k])) < LARGEST_LOSS
            and mass * slope * norm < LARGEST_GRADIENT
        )
    return sound


@kernel(inline=True)
def enter_scores(  # type: ignore[no-untyped-def]
    loss, mirror, ledger, target, mass, s, slopes, value, reach, norm, eta, conservative
):
    """Enter the loss suffered at the scores in the ledger; tell whether its plane was counted.

    As for one score, a conservative learner counts the supporting plane on mistakes only.
    """
    mistake = enter_loss(loss, ledger, target, mass, s, value, norm, eta)
    if loss.checked():
        keep_score_promises(loss, ledger, target, s, slopes, value)
    if conservative:
        if not mistake:
            return False
        ledger[_COUNTED] += 1.0
        add_compensated(ledger, _COUNTED_LOSS, mass * value)
        ledger[_LARGEST_COUNTED_ROW] = max(ledger[_LARGEST_COUNTED_ROW], norm)
        ledger[_LIGHTEST] = min(ledger[_LIGHTEST], mass)
        ledger[_HEAVIEST] = max(ledger[_HEAVIEST], mass)
    intercept = mass * loss.intercept(target, s, slopes, value)
    size = loss.slope_mass(slopes, value)
    powers = 0.0
    lift = 0.0
    for k in range(np.uint64(s.shape[0])):
        powers = mirror.norm_term(powers, slopes[k])
        lift += abs(slopes[k]) * (1.0 + abs(s[k]))
    add_compensated(ledger, _INTERCEPT, intercept)
    ledger[_MAGNITUDE] += abs(intercept) + mass * lift
    ledger[_TRAVEL] += mass * size * reach
    length = mass * row_norm(mirror, powers, size) * norm
    square = length * length
    ledger[_SQUARES] += square
    ledger[_RATED_SQUARES] += eta * square
    ledger[_LARGEST_SQUARE] = max(ledger[_LARGEST_SQUARE], square)
    return True


@kernel
def matrix_linear_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    averages,
    plain,
    distance,
    rate,
    rows,
    labels,
    weight,
    first,
    state,
    slots,
    ledger,
    scores,
    conservative,
):
    """Run the pass for a map with phi'(a) = a; return (next row, why it stopped)."""
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    outputs = np.uint64(state.shape[0])
    steepest = loss.slope_norm(state.shape[0])
    raws = np.empty(state.shape[0])
    slopes = np.empty(state.shape[0])
    for t in range(np.uint64(first), np.uint64(labels.shape[0])):
        target, mass, s = labels[t], weight[t], scores[t]
        row = row_at(indptr, indices, values, t)
        total = 0.0
        reach = 0.0
        for k in range(outputs):
            raws[k], total, reach = read_row(mirror, plain, distance, state[k], 0.0, row)
        norm = row_norm(mirror, total, reach)
        if not mass * norm < LARGEST_GRADIENT:
            return np.int64(t), _OVERFLOW
        eta, farthest = rate_within(steepest, rate, ledger, norm, mass)
        # Before the first gradient theta is 0 and the rate may be unbounded: weights are 0.
        kappa = mirror.kappa(slots[_SUM], 0.0, eta) if eta < UNBOUNDED else 0.0
        for k in range(outputs):
            s[k] = kappa * raws[k]
        value = loss.value_and_slopes(target, s, slopes)
        if not playable_scores(mass, value, s, slopes, norm):
            return np.int64(t), _OVERFLOW
        ledger[_LARGEST_REACH] = farthest
        if not enter_scores(
            loss, mirror, ledger, target, mass, s, slopes, value, reach, norm, eta, conservative
        ):
            continue
        change = 0.0
        for k in range(outputs):
            slope = mass * slopes[k]
            if slope != 0.0:
                add_row(averages, state[k], -slope, 0.0, row)
                change += slope * (0.5 * slope * total - raws[k])
        if not mirror.separable() and keep_sum(slots, slots[_SUM] + change):
            return np.int64(t) + 1, _RESUM
    return labels.shape[0], _DONE


@kernel
def matrix_mapped_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    averages,
    rate,
    rows,
    labels,
    weight,
    first,
    state,
    slots,
    work,
    ledger,
    scores,
    conservative,
):
    """Run the pass for any other map; return (next row, why it stopped)."""
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    homogeneous = mirror.homogeneous()
    outputs = np.uint64(state.shape[0])
    steepest = loss.slope_norm(state.shape[0])
    slopes = np.empty(state.shape[0])
    for t in range(np.uint64(first), np.uint64(labels.shape[0])):
        target, mass, s = labels[t], weight[t], scores[t]
        row = row_at(indptr, indices, values, t)
        total = 0.0
        reach = 0.0
        for k in range(outputs):
            s[k], total, reach, _, _, _ = read_mapped_row(mirror, state[k], row)
        norm = row_norm(mirror, total, reach)
        if not mass * norm < LARGEST_GRADIENT:
            return np.int64(t), _OVERFLOW
        eta, farthest = rate_within(steepest, rate, ledger, norm, mass)
        if not homogeneous:
            if eta < slots[_INNER]:
                work[0, 0] = eta
                return np.int64(t), _RATE
            eta = slots[_INNER]
        known = eta < UNBOUNDED or not homogeneous
        kappa = mirror.kappa(slots[_SUM], slots[_REFERENCE], eta) if known else 0.0
        for k in range(outputs):
            s[k] *= kappa
        value = loss.value_and_slopes(target, s, slopes)
        if not playable_scores(mass, value, s, slopes, norm):
            return np.int64(t), _OVERFLOW
        ledger[_LARGEST_REACH] = farthest
        if not enter_scores(
            loss, mirror, ledger, target, mass, s, slopes, value, reach, norm, eta, conservative
        ):
            continue
        change = 0.0
        largest = -np.inf
        size = 0.0
        for k in range(outputs):
            slope = mass * slopes[k]
            if slope != 0.0:
                limit = leap_limit(mirror, slots)
                moved, highest, longest = add_mapped_row(
                    mirror, averages, state[k], work, slots, -slope, limit, row
                )
                change += moved
                largest = max(largest, highest)
                size = max(size, longest)
        if not mirror.separable() and (
            keep_sum(slots, slots[_SUM] + change)
            or mirror.out_of_range(slots[_SUM], largest, size, slots[_REFERENCE])
        ):
            return np.int64(t) + 1, _RESUM
    return labels.shape[0], _DONE


@kernel(fast=True)
def score_rows(weights, indptr, indices, values, scores):  # type: ignore[no-untyped-def]
    """Write x_t W into row t of `scores`; features beyond the weights count as weight 0."""
    known = np.uint64(weights.shape[0])
    outputs = np.uint64(weights.shape[1])
    for t in range(np.uint64(scores.shape[0])):
        for k in range(outputs):
            scores[t, k] = 0.0
        if values.ndim == 2:
            for j in range(min(np.uint64(values.shape[1]), known)):
                x = np.float64(values[t, j])
                for k in range(outputs):
                    scores[t, k] += weights[j, k] * x
        else:
            for place in range(indptr[t], indptr[t + np.uint64(1)]):
                i = np.uint64(indices[place])
                if i < known:
                    x = np.float64(values[place])
                    for k in range(outputs):
                        scores[t, k] += weights[i, k] * x


@kernel
def score_losses(loss, y, weight, scores, counts):  # type: ignore[no-untyped-def]
    """Return sum_t weight_t f(y_t, s_t) over the first counts_t scores of each row, compensated."""
    total = 0.0
    low = 0.0
    slopes = np.empty(scores.shape[1])
    for t in range(np.uint64(y.shape[0])):
        played = counts[t]
        term = weight[t] * loss.value_and_slopes(y[t], scores[t, :played], slopes[:played])
        total, lost = two_sum(total, term)
        low += lost
    return total + low
