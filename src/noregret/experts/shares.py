"""Experts that take turns: fixed share and projection share, against sequences that switch.

Exponential updates after which some weight is given to all, so that no weight vanishes. One
implementation of the update w_i e^(-eta z_i) and of its two shares serves the experts here and the
mixture of constrained gradient descents that tracks a moving target.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noregret.arrays import Vector, as_count, as_positive
from noregret.domains.medians import clipped_multiplier
from noregret.elementary import exp
from noregret.experts import expert_theorems
from noregret.experts.advice import as_interval
from noregret.experts.expert_certificate import ExpertCertificate
from noregret.experts.hedge import CostGame, weighing
from noregret.experts.hedge_rounds import SMALL_STEP, ExpertSum, enter, gap_of
from noregret.files.fields import Setting
from noregret.jit import kernel
from noregret.rounding import exact, rounding_error

UPDATES = ("fixed", "projection")
#: Smallest alpha: a smaller one, divided among many experts, could underflow to 0.
LEAST_SHARE = 1e-280
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


@kernel(inner=True)
def _spread(weights, total, alpha):  # type: ignore[no-untyped-def]
    """Fixed share: w_i <- (1 - alpha) w_i / total + alpha / n."""
    kept, given = (1.0 - alpha) / total, alpha / weights.shape[0]
    for i in range(np.uint64(weights.shape[0])):
        weights[i] = kept * weights[i] + given


@kernel
def _lift(weights, alpha):  # type: ignore[no-untyped-def]
    """Projection share: the relative-entropy projection on {w_i >= alpha / n, sum w_i = 1}."""
    multiplier = clipped_multiplier(weights.copy(), alpha)
    least = alpha / weights.shape[0]
    for i in range(np.uint64(weights.shape[0])):
        weights[i] = max(least, multiplier * weights[i])


@kernel
def share_rounds(state, alpha, projected, costs, lows, highs, losses):  # type: ignore[no-untyped-def]
    """Play a round for every row of costs: update exponentially, then share.

    `state` is a `Weighing` whose parts sum to 1.
    """
    weights, totals, book = state.parts, state.totals, state.book
    eta = book[ExpertSum.ETA]
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


@dataclass(frozen=True, eq=False)
class ShareCertificate(ExpertCertificate):
    """The certificate of a share, which also speaks about sequences of experts."""

    alpha: float = field(kw_only=True)
    #: The rate, and the sum of the mixability gaps.
    eta: float = field(kw_only=True)
    gaps: float = field(kw_only=True)

    def switching_bound(self, switches: int) -> float:
        """Return a bound on the regret against every sequence of experts with that many switches.

        (1/eta)(ln n + k ln(n-1) + k ln(1/b) + (T-1-k) ln(1/(1-b))) + sum of the gaps, with
        b = alpha (n-1)/n, rounded up. Reference: Herbster and Warmuth, Tracking the Best Linear
        Predictor, Theorem 10.
        """
        if as_count("switches", switches, least=0) >= max(self.rounds, 1):
            raise ValueError(f"switches must be 0 ... {self.rounds - 1}, got {switches}")
        eta, gaps, n = self.eta, self.gaps, len(self.totals)
        price = expert_theorems.switching_price(n, self.alpha, self.rounds, switches)
        # Weights, and the logarithms of their sums in the gaps, are right to a few roundings for
        # each expert and round; over eta as the price is.
        roundings = self.rounds * (2.0 * n + 64.0) + 64.0 * abs(price)
        error = rounding_error(roundings, 1.0) / eta
        return price / eta + gaps + error + self.slack + rounding_error(self.rounds, gaps)

    def best_alpha(self, switches: int) -> float:
        """Return the alpha at which the bound for that many switches is least."""
        as_count("switches", switches, least=0)
        if self.rounds < 2:
            return 1.0
        n = len(self.totals)
        return min(1.0, switches / (self.rounds - 1) * n / max(n - 1, 1))


class Shares(CostGame):
    """Exponential weights of which a part alpha is given to all after every round.

    w_m proportional to w exp(-eta z), then "fixed": w <- (1 - alpha) w_m + alpha / n, or
    "projection": the w with w_i >= alpha / n nearest to w_m in relative entropy, in O(n).
    Costs lie in [low, high].

    >>> learner = Shares(3, eta=1.0, alpha=0.6)
    >>> costs = [[0.5, 0, 1], [1, 0.25, 0], [0, 1, 0.5], [0.75, 0.5, 0]]
    >>> round(float(learner.learn(costs).sum()), 11)
    1.90227322755
    >>> round(learner.certificate().switching_bound(2) + 0.25, 10)
    5.3686278062

    References: Herbster and Warmuth, Tracking the Best Expert (fixed share) and Tracking the Best
    Linear Predictor (projection, Theorem 7).
    """

    _FIELDS = (
        *map(Setting, ("experts", "eta", "alpha", "update", "low", "high")),
        *CostGame._STATE,
    )

    def __init__(
        self,
        experts: int,
        eta: float,
        alpha: float,
        update: str = "fixed",
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        if update not in UPDATES:
            raise ValueError(f"update must be 'fixed' or 'projection', got {update!r}")
        self.alpha = as_positive("alpha", alpha, 1.0)
        if self.alpha < LEAST_SHARE:
            raise ValueError(f"alpha must be at least {LEAST_SHARE:g}, got {alpha}")
        self.update = update
        self.low, self.high = as_interval(low, high)
        self._state = weighing(experts, as_positive("eta", eta), self.high - self.low)
        self._state.parts[:] /= self.experts
        self._state.book[ExpertSum.TOTAL] = 1.0

    def _play(self, table: Vector, lows: Vector, highs: Vector, paid: Vector) -> None:
        share_rounds(self._state, self.alpha, self.update == "projection", table, lows, highs, paid)

    def certificate(self) -> ShareCertificate:
        """Return the loss beside that of every expert, with the theorems."""
        state, run, gaps = self._state, self._state.measured(), self._state.sum(ExpertSum.GAP)
        price = expert_theorems.switching_price(self.experts, self.alpha, self.rounds, 0) / self.eta
        spread = 0.125 * self.eta * state.sum(ExpertSum.RANGES)
        reference = "Herbster, Warmuth 2001, Theorem 10"
        bounds = [
            run.state("one expert, after the fact", reference, price + gaps),
            run.state("one expert, observed ranges", reference, price + spread),
        ]
        return ShareCertificate(
            f"{self.update} share, eta {exact(self.eta)}, alpha {exact(self.alpha)}",
            self.rounds,
            state.loss,
            state.costs,
            state.slack,
            bounds if self.rounds else [],
            mix_loss=state.loss - gaps,
            alpha=self.alpha,
            eta=self.eta,
            gaps=gaps,
        )
