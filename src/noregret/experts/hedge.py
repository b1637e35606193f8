"""Hedge: weights that fall exponentially with the costs, at a rate that may tune itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector, as_count
from noregret.experts.checks import as_distribution, as_interval
from noregret.experts.expert_certificate import ExpertCertificate, rounding_slack
from noregret.experts.expert_game import CostGame, Weighing
from noregret.experts.rounds import ExpertSum, hedge_rounds
from noregret.files.fields import Setting


class Hedge(CostGame):
    """Hedge, or Weighted Majority: play w_i proportional to exp(-eta (cost of expert i so far)).

    Each round: play w, see the costs z of all d experts, pay <w, z>. Costs lie in [low, high].
    `eta`: a number; "anytime", sqrt(8 ln d / t) / (high - low) in round t; "doubling", the rate of
    2^m rounds from round 2^m on, anew; or "adaptive", AdaHedge: ln d over the sum of the
    mixability gaps <w, z> + (1/eta) ln sum_i w_i exp(-eta z_i) so far. AdaHedge needs no promise:
    low and high are infinite by default.

    >>> learner = Hedge(3, eta=0.5)
    >>> costs = [[0.5, 0, 1], [1, 0.25, 0], [0, 1, 0.5], [0.75, 0.5, 0]]
    >>> round(float(learner.learn(costs).sum()), 11)
    1.95606185566
    >>> learner.certificate().best_loss
    1.5

    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 3.1;
    de Rooij et al., Follow the Leader If You Can, Hedge If You Must, 2014, for AdaHedge.
    """

    _FIELDS = (
        Setting("experts"),
        Setting("eta", "_eta"),
        Setting("low"),
        Setting("high"),
        *CostGame._STATE,
    )

    def __init__(
        self,
        experts: int,
        eta: float | str = "adaptive",
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        self._eta = eta
        free = eta == "adaptive"
        low = (-math.inf if free else 0.0) if low is None else low
        high = (math.inf if free else 1.0) if high is None else high
        self.low, self.high = as_interval(low, high)
        self._state = Weighing(experts, eta, self.high - self.low)

    def _play(self, table: Vector, lows: Vector, highs: Vector, paid: Vector) -> None:
        state = self._state
        hedge_rounds(
            table, lows, highs, state.kind, state.scale, state.parts, state.totals, state.past,
            state.book, paid,
        )  # fmt: skip

    def certificate(self) -> ExpertCertificate:
        """Return the loss beside that of every expert, with the theorems."""
        state = self._state
        return ExpertCertificate(
            state.title,
            self.rounds,
            state.loss,
            state.costs,
            rounding_slack(self.experts, state.book),
            state.facts().bounds(),
            mix_loss=state.loss - float(state.book[ExpertSum.GAP]),
        )


def weighted_majority(experts: int, rounds: int | None = None, eta: float | None = None) -> Hedge:
    """Return Weighted Majority with eta = sqrt(ln d / T) for T rounds, or with its eta.

    Costs in [0, 1]. Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization,
    Theorem 3.1.

    >>> weighted_majority(16, rounds=100).eta == math.sqrt(math.log(16) / 100)
    True
    """
    if (rounds is None) == (eta is None):
        raise ValueError("give rounds or eta, and not both")
    if rounds is not None:
        count = max(as_count("experts", experts), 2)
        eta = math.sqrt(math.log(count) / as_count("rounds", rounds))
    assert eta is not None
    return Hedge(experts, eta)


def draw(weights: Any, u: float) -> int:
    """Return the smallest i with u < w_0 + ... + w_i, the last one if rounding leaves none.

    With u uniform on [0, 1) expert i is drawn with probability w_i. Reference: Shalev-Shwartz,
    Online Learning and Online Convex Optimization, section 2.1.1.

    >>> [draw([0.2, 0.5, 0.3], u) for u in (0.1, 0.2, 0.69, 0.7)]
    [0, 1, 1, 2]
    """
    if not 0.0 <= u < 1.0:
        raise ValueError(f"u must be a number in [0, 1), got {u}")
    vector = as_distribution("weights", weights, np.size(weights))
    place = int(np.searchsorted(np.cumsum(vector), u, side="right"))
    return min(place, len(vector) - 1)
