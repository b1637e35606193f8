"""The loop that mixes probabilities, and the running sums from which its certificate is read.

A share that is given back never falls below 1/((t + 1) K) after t rounds, so that shares are kept
as they are, not as logarithms.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from noregret.elementary import exp, log, log1p_unit
from noregret.jit import add_compensated, kernel

#: A round is refused if the losses so far, or a product in their certificate, could overflow.
LARGEST_SUM = 1e302
#: Mean chances down to this are sums of products that do not underflow.
LEAST_CHANCE = 1e-290


class MixtureSum(IntEnum):
    """Places in the book. Compensated sums keep in the next place what an addition lost."""

    ROUNDS = 0
    #: Rounds of a weight above 0, and the largest weight: theorems count these alone.
    WEIGHED = 1
    LARGEST_WEIGHT = 2
    #: Sum of the losses of the mixture.
    OWN = 3
    OWN_LOW = 4
    #: Sum of the largest loss of a round, the mixture's and the experts', and of ROUNDS times
    #: the largest weight so far: rounding errors are proportional to these.
    SIZE = 5
    WEIGHTS = 6


@kernel(inner=True)
def log_sum(terms):  # type: ignore[no-untyped-def]
    """Return ln sum_k e^(terms_k), from the largest term."""
    top = -np.inf
    for k in range(np.uint64(terms.shape[0])):
        top = max(top, terms[k])
    total = 0.0
    for k in range(np.uint64(terms.shape[0])):
        total += exp(terms[k] - top)
    return top + log(total)


@kernel(inner=True)
def mixed_margin(state, sharing, row, sides):  # type: ignore[no-untyped-def]
    """Return p = ln sum_k v_k s(p_k) - ln sum_k v_k s(-p_k), s(p) = 1 / (1 + e^-p).

    -ln s(p) is the logistic loss for the label +1, -ln s(-p) that for -1. They are written to
    `sides`, those for +1 first; both are the loss at |p| and the part of p that is on the wrong
    side. The other rows of `sides` are scratch.
    """
    shares, least, most, up, down = state.shares, np.inf, -np.inf, 0.0, 0.0
    for k in range(np.uint64(row.shape[0])):
        p = row[k]
        tail = exp(-abs(p))
        near, likely = log1p_unit(tail), shares[k] / (1.0 + tail)
        sides[0, k] = near + max(-p, 0.0)
        sides[1, k] = near + max(p, 0.0)
        up += likely if p > 0.0 else tail * likely
        down += tail * likely if p > 0.0 else likely
        least, most = min(least, p), max(most, p)
    if min(up, down) > LEAST_CHANCE:
        p = log(up / down)
    else:
        # All experts are all but certain of one label: products would underflow.
        logs = sides[2]
        log_shares(state, sharing, logs)
        for k in range(np.uint64(row.shape[0])):
            sides[3, k] = logs[k] - sides[0, k]
            logs[k] -= sides[1, k]
        p = log_sum(sides[3]) - log_sum(logs)
    return min(max(p, least), most)


@kernel(inner=True)
def log_shares(state, sharing, logs):  # type: ignore[no-untyped-def]
    """Write ln v_k: without sharing from the losses, since e^(-losses) may have vanished."""
    shares, totals = state.shares, state.totals
    best = np.uint64(0)
    for k in range(np.uint64(totals.shape[0])):
        best = np.uint64(k) if totals[k] < totals[best] else best
    for k in range(np.uint64(totals.shape[0])):
        if sharing:
            logs[k] = log(shares[k])
        else:
            logs[k] = (totals[best] - totals[k]) + log(shares[best])


@kernel(inner=True)
def _learn(shares, costs, part, count, sharing):  # type: ignore[no-untyped-def]
    """Set v_k <- v_k e^(-part costs_k) / sum, then v_k <- (1 - a) v_k + a / K, a = 1/(count + 1).

    Without sharing `costs` are all that were ever charged, and v_k is e^(-costs_k) / sum: a share
    that vanishes comes back.
    """
    least, total = np.inf, 0.0
    for k in range(np.uint64(costs.shape[0])):
        least = min(least, costs[k])
    for k in range(np.uint64(costs.shape[0])):
        before = shares[k] if sharing else 1.0
        shares[k] = before * exp(part * (least - costs[k]))
        total += shares[k]
    kept = count / (count + 1.0) if sharing else 1.0
    given = (1.0 - kept) / shares.shape[0]
    for k in range(np.uint64(shares.shape[0])):
        shares[k] = kept * (shares[k] / total) + given


@kernel(inner=True)
def enter_mixture(book, value, size, weight, most):  # type: ignore[no-untyped-def]
    """Enter a round in the book; return whether its losses leave room for the sums."""
    if not book[MixtureSum.SIZE] + size <= most:
        return False
    largest = max(book[MixtureSum.LARGEST_WEIGHT], weight)
    book[MixtureSum.ROUNDS] += 1.0
    book[MixtureSum.LARGEST_WEIGHT] = largest
    book[MixtureSum.SIZE] += size
    book[MixtureSum.WEIGHTS] += largest
    add_compensated(book, MixtureSum.OWN, value)
    return True


@kernel(inner=True)
def charge(state, own, weight, sharing):  # type: ignore[no-untyped-def]
    """Charge the experts for a round that is in the book; `own` are their losses.

    A round of weight 0 tells nothing: neither losses nor shares move.
    """
    if weight > 0.0:
        book = state.book
        book[MixtureSum.WEIGHED] += 1.0
        for k in range(np.uint64(own.shape[0])):
            state.totals[k] += weight * own[k]
        part = weight / book[MixtureSum.LARGEST_WEIGHT] if sharing else 1.0
        costs = own if sharing else state.totals
        _learn(state.shares, costs, part, book[MixtureSum.WEIGHED], sharing)


@kernel
def probability_rounds(loss, sharing, predictions, labels, state, forecasts):  # type: ignore[no-untyped-def]
    """Mix the rows of margins, suffer the loss of the mixture, and charge the experts.

    Losses enter the shares divided by the largest weight so far, this round's included, or by 1
    without sharing. Returns the rounds played: it stops before one whose losses overflow, with the
    book of the rounds before it.
    """
    own, sides = np.empty(predictions.shape[1]), np.empty((4, predictions.shape[1]))
    for t in range(predictions.shape[0]):
        row, y, weight = predictions[t], labels.y[t], labels.weight[t]
        p = mixed_margin(state, sharing, row, sides)
        value = weight * loss.value(y, p)
        size = value
        for k in range(np.uint64(row.shape[0])):
            own[k] = sides[0, k] if y > 0.0 else sides[1, k]
            size = max(size, weight * own[k])
        if not enter_mixture(state.book, value, size, weight, LARGEST_SUM):
            return t
        forecasts[t] = p
        charge(state, own, weight, sharing)
    return predictions.shape[0]


@kernel
def probability_forecasts(sharing, predictions, state, forecasts):  # type: ignore[no-untyped-def]
    """Mix the rows of margins with the same shares."""
    sides = np.empty((4, predictions.shape[1]))
    for t in range(predictions.shape[0]):
        forecasts[t] = mixed_margin(state, sharing, predictions[t], sides)
