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
#: Rows whose margins are measured together.
TOGETHER = np.uint64(64)

_0 = np.uint64(0)


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


class Side(IntEnum):
    """Rows of a table with a column a margin p: ln(1 + e^-|p|), s(p) and s(-p).

    With s(p) = 1 / (1 + e^-p), -ln s(p) is the logistic loss for the label +1, -ln s(-p) that for
    -1. Both are the loss at |p| and the part of p that is on the wrong side.
    """

    NEAR = 0
    UP = 1
    DOWN = 2


SIDES = len(Side)


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
def measure(margins, begin, count, sides):  # type: ignore[no-untyped-def]
    """Write the `Side` of margins from place `begin` on: many at a time, in vector registers."""
    for j in range(count):
        p = margins[begin + j]
        tail = exp(-abs(p))
        likely = 1.0 / (1.0 + tail)
        sides[Side.NEAR, j] = log1p_unit(tail)
        sides[Side.UP, j] = likely if p > 0.0 else tail * likely
        sides[Side.DOWN, j] = tail * likely if p > 0.0 else likely


@kernel(inline=True)
def mixed_margin(state, sharing, row, sides, at, logs):  # type: ignore[no-untyped-def]
    """Return p = ln sum_k v_k s(p_k) - ln sum_k v_k s(-p_k), and both sums.

    The `sides` of the row begin at place `at`; `logs` is scratch.
    """
    shares, least, most, up, down = state.shares, np.inf, -np.inf, 0.0, 0.0
    for k in range(np.uint64(row.shape[0])):
        up += shares[k] * sides[Side.UP, at + k]
        down += shares[k] * sides[Side.DOWN, at + k]
        least, most = min(least, row[k]), max(most, row[k])
    if min(up, down) > LEAST_CHANCE:
        p = log(up / down)
    else:
        # All experts are all but certain of one label: products would underflow.
        log_shares(state, sharing, logs[0])
        for k in range(np.uint64(row.shape[0])):
            near = sides[Side.NEAR, at + k]
            logs[1, k] = logs[0, k] - (near + max(-row[k], 0.0))
            logs[0, k] -= near + max(row[k], 0.0)
        p = log_sum(logs[1]) - log_sum(logs[0])
    return min(max(p, least), most), up, down


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


@kernel(inline=True)
def _learn(shares, costs, part, count, sharing):  # type: ignore[no-untyped-def]
    """Set v_k <- v_k e^(-part costs_k) / sum, then give shares back.

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
    _give_back(shares, total, count, sharing)


@kernel(inline=True)
def _give_back(shares, total, count, sharing):  # type: ignore[no-untyped-def]
    """Set v_k <- v_k / total, then v_k <- (1 - a) v_k + a / K, a = 1/(count + 1), if shared."""
    kept = count / (count + 1.0) if sharing else 1.0
    scale, given = kept / total, (1.0 - kept) / shares.shape[0]
    for k in range(np.uint64(shares.shape[0])):
        shares[k] = scale * shares[k] + given


@kernel(inline=True)
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


@kernel(inline=True)
def _count(state, own, weight):  # type: ignore[no-untyped-def]
    """Add a round of a weight above 0 to the losses of the experts."""
    state.book[MixtureSum.WEIGHED] += 1.0
    for k in range(np.uint64(own.shape[0])):
        state.totals[k] += weight * own[k]


@kernel(inline=True)
def charge(state, own, weight, sharing):  # type: ignore[no-untyped-def]
    """Charge the experts for a round that is in the book; `own` are their losses.

    A round of weight 0 tells nothing: neither losses nor shares move.
    """
    if weight > 0.0:
        book = state.book
        _count(state, own, weight)
        part = weight / book[MixtureSum.LARGEST_WEIGHT] if sharing else 1.0
        costs = own if sharing else state.totals
        _learn(state.shares, costs, part, book[MixtureSum.WEIGHED], sharing)


@kernel(inline=True)
def charge_chances(state, own, weight, chances, total):  # type: ignore[no-untyped-def]
    """Charge experts that share, in a round of the largest weight so far.

    `chances` are those of the label, e^-own, and `total` their mean by the shares.
    """
    _count(state, own, weight)
    shares = state.shares
    for k in range(np.uint64(own.shape[0])):
        shares[k] *= chances[k]
    _give_back(shares, total, state.book[MixtureSum.WEIGHED], True)


@kernel
def probability_rounds(loss, sharing, predictions, labels, state, forecasts):  # type: ignore[no-untyped-def]
    """Mix the rows of margins, suffer the loss of the mixture, and charge the experts.

    Losses enter the shares divided by the largest weight so far, this round's included, or by 1
    without sharing. Returns the rounds played: it stops before one whose losses overflow, with the
    book of the rounds before it.
    """
    rounds, experts = np.uint64(predictions.shape[0]), np.uint64(predictions.shape[1])
    own, logs = np.empty((2, experts)), np.empty((2, experts))
    losses, chances = own[0], own[1]
    sides, margins = np.empty((SIDES, TOGETHER * experts)), predictions.reshape(-1)
    for t in range(rounds):
        row, y, weight = predictions[t], labels.y[t], labels.weight[t]
        at = t % TOGETHER * experts
        if at == _0:
            measure(margins, t * experts, min(TOGETHER, rounds - t) * experts, sides)
        p, up, down = mixed_margin(state, sharing, row, sides, at, logs)
        value = weight * loss.value(y, p)
        size = value
        for k in range(experts):
            losses[k] = sides[Side.NEAR, at + k] + max(-y * row[k], 0.0)
            chances[k] = sides[Side.UP, at + k] if y > 0.0 else sides[Side.DOWN, at + k]
            size = max(size, weight * losses[k])
        if not enter_mixture(state.book, value, size, weight, LARGEST_SUM):
            return t
        forecasts[t] = p
        total, largest = up if y > 0.0 else down, state.book[MixtureSum.LARGEST_WEIGHT]
        if sharing and 0.0 < weight == largest and total > LEAST_CHANCE:
            charge_chances(state, losses, weight, chances, total)
        else:
            charge(state, losses, weight, sharing)
    return rounds


@kernel
def probability_forecasts(sharing, predictions, state, forecasts):  # type: ignore[no-untyped-def]
    """Mix the rows of margins with the same shares."""
    experts = np.uint64(predictions.shape[1])
    sides, logs = np.empty((SIDES, experts)), np.empty((2, experts))
    for t in range(np.uint64(predictions.shape[0])):
        measure(predictions[t], _0, experts, sides)
        forecasts[t], _, _ = mixed_margin(state, sharing, predictions[t], sides, _0, logs)
