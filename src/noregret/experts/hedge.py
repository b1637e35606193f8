"""Hedge: weights that fall exponentially with the costs, at a rate that may tune itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector, as_count, as_positive
from noregret.experts import expert_theorems
from noregret.experts.advice import (
    as_distribution,
    as_interval,
    as_table,
    one_round,
    require_within,
)
from noregret.experts.expert_certificate import ExpertCertificate, Weighing
from noregret.experts.hedge_rounds import ADAPTIVE, DOUBLING, FIXED, ExpertSum, hedge_rounds
from noregret.files.fields import Array, Saved, Setting
from noregret.proof.ledger import require_room
from noregret.turns import one_at_a_time

#: Rates by name, in the order of the kinds that the kernels know.
RATES = ("fixed", "anytime", "doubling", "adaptive")


def weighing(experts: int, eta: float | str, width: float) -> Weighing:
    """Return equal weights for a rate.

    `eta` is a number, or "anytime" for sqrt(8 ln d / t) / R and "doubling" for
    sqrt(8 ln d / 2^m) / R from round 2^m on with everything else forgotten, R the promised width of
    the costs, or "adaptive" for ln d over the mixability gaps so far, which needs no promise.
    """
    d, kind = as_count("experts", experts), FIXED
    if isinstance(eta, str):
        if eta not in RATES[1:]:
            names = ", ".join(map(repr, RATES[1:]))
            raise ValueError(f"eta must be a number above 0 or one of {names}, got {eta!r}")
        kind = RATES.index(eta)
    if kind == FIXED:
        scale, first = 0.0, as_positive("eta", eta)
    elif kind == ADAPTIVE:
        scale, first = math.log(d), math.inf
    elif math.isfinite(width):
        scale = first = expert_theorems.tuned_rate(d, 1.0, width)
    else:
        raise ValueError(f"eta={eta!r} needs costs of a promised range: give low and high")
    book, past = np.zeros(len(ExpertSum)), np.zeros(d if kind == DOUBLING else 0)
    book[[ExpertSum.LOWEST, ExpertSum.HIGHEST]] = math.inf, -math.inf
    book[[ExpertSum.ETA, ExpertSum.TOTAL]] = first, d
    return Weighing(kind, scale, width, np.ones(d), np.zeros(d), past, book)


class WeightedGame(Saved):
    """A game with d experts in which weights are played and a cost is paid."""

    _KIND = "game"
    _state: Weighing
    #: The fields of a file that hold `_state`; sums may be infinite.
    _STATE = tuple(
        Array(name, f"_state.{name}", unbounded=True)
        for name in ("book", "parts", "totals", "past")
    )

    @property
    def experts(self) -> int:
        """How many experts there are."""
        return len(self._state.parts)

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self._state.book[ExpertSum.ROUNDS])

    @property
    def eta(self) -> float:
        """The rate of the coming round; infinite while AdaHedge follows the leaders."""
        return self._state.sum(ExpertSum.ETA)

    @property
    def weights(self) -> Vector:
        """The weights of the coming round."""
        return self._state.weights

    def _check_loaded(self) -> None:
        """Refuse weights that do not sum to 1."""
        with np.errstate(all="ignore"):
            weights = self.weights
        if not (np.all(weights >= 0.0) and abs(float(weights.sum()) - 1.0) <= 1e-6):
            raise ValueError("parts are not those of weights that sum to 1")


class CostGame(WeightedGame):
    """A game in which the costs of all experts are seen, within a promised range."""

    low: float
    high: float

    def suffer(self, costs: Any) -> float:
        """Pay <weights, costs> and learn the costs of one round; return the cost paid."""
        return float(self.learn(one_round("costs", costs, self.experts))[0])

    @one_at_a_time
    def learn(self, costs: Any) -> Vector:
        """Play a round for every row of costs; return the cost paid in each.

        Costs outside [low, high] raise ValueError and leave the learner as it was.
        """
        table = as_table("costs", costs, self.experts)
        lows, highs = require_within("costs", table, self.low, self.high)
        require_room(self.rounds, len(table))
        paid = np.empty(len(table))
        self._play(table, lows, highs, paid)
        return paid

    def _play(self, table: Vector, lows: Vector, highs: Vector, paid: Vector) -> None:
        """Play rows that are known to be sound."""
        raise NotImplementedError


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
        ends = (-math.inf, math.inf) if eta == "adaptive" else (0.0, 1.0)
        low, high = ends[0] if low is None else low, ends[1] if high is None else high
        self.low, self.high = as_interval(low, high)
        self._state = weighing(experts, eta, self.high - self.low)

    def _play(self, table: Vector, lows: Vector, highs: Vector, paid: Vector) -> None:
        hedge_rounds(self._state, table, lows, highs, paid)

    def certificate(self) -> ExpertCertificate:
        """Return the loss beside that of every expert, with the theorems."""
        state = self._state
        return ExpertCertificate(
            state.title,
            self.rounds,
            state.loss,
            state.costs,
            state.slack,
            state.bounds(),
            mix_loss=state.loss - state.sum(ExpertSum.GAP),
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
    if eta is None:
        eta = math.sqrt(math.log(max(as_count("experts", experts), 2)) / as_count("rounds", rounds))
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
    return min(int(np.searchsorted(np.cumsum(vector), u, side="right")), len(vector) - 1)
