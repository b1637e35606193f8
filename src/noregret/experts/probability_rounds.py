"""The loop that mixes probabilities, and the running sums from which its certificate is read.

Shares v_k are kept as logarithms that sum to ln 1 = 0: a share that is negligible now is not lost.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from noregret.elementary import exp, log1p_unit
from noregret.jit import add_compensated, kernel

#: A round is refused if the losses so far, or a product in their certificate, could overflow.
LARGEST_SUM = 1e302


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
    return top + np.log(total)


@kernel(inner=True)
def mixed_margin(loss, logs, row, sides):  # type: ignore[no-untyped-def]
    """Return p = ln sum_k v_k s(p_k) - ln sum_k v_k s(-p_k), s(p) = 1 / (1 + e^-p).

    -ln s(p) is the logistic loss for the label +1, -ln s(-p) that for -1. They are written to
    `sides`, those for +1 first; both are the loss at |p| and the part of p that is on the wrong
    side. The third row of `sides` is scratch.
    """
    least, most, terms = np.inf, -np.inf, sides[2]
    for k in range(np.uint64(row.shape[0])):
        p = row[k]
        least, most = min(least, p), max(most, p)
        near = loss.value(1.0, abs(p))
        sides[0, k] = near + max(-p, 0.0)
        sides[1, k] = near + max(p, 0.0)
        terms[k] = logs[k] - sides[0, k]
    up = log_sum(terms)
    for k in range(np.uint64(row.shape[0])):
        terms[k] = logs[k] - sides[1, k]
    return min(max(up - log_sum(terms), least), most)


@kernel(inner=True)
def _learn(logs, costs, count, sharing):  # type: ignore[no-untyped-def]
    """Set v_k <- v_k e^(-costs_k) / sum, then v_k <- (1 - a) v_k + a / K with a = 1/(count + 1)."""
    for k in range(np.uint64(logs.shape[0])):
        logs[k] -= costs[k]
    total = log_sum(logs)
    kept = -np.log1p(1.0 / count)
    given = -np.log(logs.shape[0] * (count + 1.0))
    for k in range(np.uint64(logs.shape[0])):
        logs[k] -= total
        if sharing:
            mine = logs[k] + kept
            logs[k] = max(mine, given) + log1p_unit(exp(-abs(mine - given)))


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
    """Charge the experts for a round that is in the book; `own` are their losses, overwritten.

    A round of weight 0 tells nothing: neither losses nor shares move.
    """
    if weight > 0.0:
        book = state.book
        book[MixtureSum.WEIGHED] += 1.0
        part = weight / book[MixtureSum.LARGEST_WEIGHT] if sharing else weight
        for k in range(np.uint64(own.shape[0])):
            state.totals[k] += weight * own[k]
            own[k] *= part
        _learn(state.logs, own, book[MixtureSum.WEIGHED], sharing)


@kernel
def probability_rounds(loss, sharing, predictions, labels, state, forecasts):  # type: ignore[no-untyped-def]
    """Mix the rows of margins, suffer the loss of the mixture, and charge the experts.

    Losses enter the shares divided by the largest weight so far, this round's included, or by 1
    without sharing. Returns the rounds played: it stops before one whose losses overflow, with the
    book of the rounds before it.
    """
    logs = state.logs
    own, sides = np.empty(predictions.shape[1]), np.empty((3, predictions.shape[1]))
    for t in range(predictions.shape[0]):
        row, y, weight = predictions[t], labels.y[t], labels.weight[t]
        p = mixed_margin(loss, logs, row, sides)
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
def probability_forecasts(loss, logs, predictions, forecasts):  # type: ignore[no-untyped-def]
    """Mix the rows of margins with the same shares."""
    sides = np.empty((3, predictions.shape[1]))
    for t in range(predictions.shape[0]):
        forecasts[t] = mixed_margin(loss, logs, predictions[t], sides)
