"""Weights that never die: exponential updates after which some weight is given to all.

One implementation of the update w_i e^(-eta z_i) and of its two shares serves the experts here
and the mixture of constrained gradient descents that tracks a moving target.
"""

from __future__ import annotations

import numpy as np

from noregret.domains.medians import floored_multiplier
from noregret.elementary import exp
from noregret.experts.rounds import SMALL_STEP, ExpertSum, enter, gap_of
from noregret.jit import kernel

_ETA = int(ExpertSum.ETA)
#: The largest rate of a mixture.
_STEEPEST = 1e300


@kernel(fast=True)
def _temper(weights, costs, least, eta):  # type: ignore[no-untyped-def]
    """Multiply the weights by e^(-eta (z_i - least)) and return their sum."""
    total = 0.0
    for i in range(np.uint64(costs.shape[0])):
        weights[i] *= exp(eta * (least - costs[i]))
        total += weights[i]
    return total


@kernel
def _spread(weights, total, alpha):  # type: ignore[no-untyped-def]
    """Fixed share: w_i <- (1 - alpha) w_i / total + alpha / n."""
    count = weights.shape[0]
    kept, given = (1.0 - alpha) / total, alpha / count
    for i in range(count):
        weights[i] = kept * weights[i] + given


@kernel
def _lift(weights, alpha):  # type: ignore[no-untyped-def]
    """Projection share: the relative-entropy projection on {w_i >= alpha / n, sum w_i = 1}."""
    floor = alpha / weights.shape[0]
    multiplier = floored_multiplier(weights.copy(), alpha)
    for i in range(weights.shape[0]):
        weights[i] = max(floor, multiplier * weights[i])


@kernel
def share_rounds(costs, lows, highs, alpha, projected, weights, totals, book, losses):  # type: ignore[no-untyped-def]
    """Play a round for every row of costs: update exponentially, then share."""
    eta = book[_ETA]
    for t in range(costs.shape[0]):
        z, low, high = costs[t], lows[t], highs[t]
        first, second, third = 0.0, 0.0, 0.0
        for i in range(z.shape[0]):
            a = z[i] - low
            first += weights[i] * a
            second += weights[i] * a * a
            totals[i] += z[i]
        mean = min(low + first, high)
        if eta * (high - low) < SMALL_STEP:
            for i in range(z.shape[0]):
                third += weights[i] * (eta * (z[i] - mean)) ** 3
        total = _temper(weights, z, low, eta)
        variance = max(second - first * first, 0.0)
        gap = gap_of(mean, variance, third, low, high, np.log(total) / eta, eta)
        enter(book, low, high, mean, variance, gap, eta)
        if projected:
            _lift(weights, alpha)
        else:
            _spread(weights, total, alpha)
        losses[t] = mean


@kernel
def mix_rounds(loss, members, y, weight, reach, shares, totals, predictions):  # type: ignore[no-untyped-def]
    """Mix the members' predictions round by round, at rates that have no unit.

    The rate of a round is 1/(2 m) with m the mixture's own average loss so far, and a part
    1/(t+1) of every share is given to all. `totals` holds rounds and summed loss; predictions
    are kept within `reach`.
    """
    count = members.shape[0]
    losses = np.empty(count)
    for t in range(y.shape[0]):
        p = 0.0
        for k in range(count):
            p += shares[k] * members[k, t]
        p = min(max(p, -reach[t]), reach[t])
        predictions[t] = p
        totals[0] += 1.0
        totals[1] += weight[t] * abs(loss.value(y[t], p))
        best = np.inf
        for k in range(count):
            losses[k] = weight[t] * loss.value(y[t], members[k, t])
            best = min(best, losses[k])
        if totals[1] > 0.0:
            # Losses that are denormal numbers must not make the rate infinite.
            eta = min(totals[0] / (2.0 * totals[1]), _STEEPEST)
            total = _temper(shares, losses, best, eta)
            _spread(shares, total, 1.0 / (totals[0] + 1.0))
