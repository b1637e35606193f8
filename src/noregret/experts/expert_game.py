"""What all games with experts keep: weights, costs so far, and the sums of the certificate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector, as_count, as_positive
from noregret.experts import expert_theorems
from noregret.experts.checks import as_table, one_round, require_within
from noregret.experts.expert_certificate import Facts, rounding_slack
from noregret.experts.rounds import ADAPTIVE, FIXED, ExpertSum
from noregret.files.fields import Array, Saved
from noregret.proof.ledger import require_room
from noregret.proof.statement import ROUNDING
from noregret.rounding.printed import exact
from noregret.rounding.slack import rounding_error
from noregret.turns import one_at_a_time

#: Rates by name, in the order of the kinds that the kernels know.
RATES = ("fixed", "anytime", "doubling", "adaptive")
_TITLES = ("Hedge, eta {}", "Hedge, anytime rate", "Hedge, doubling rate", "AdaHedge")


class Weighing:
    """The weights of d experts, and the sums from which a certificate is read.

    `eta` is a number, or "anytime" for sqrt(8 ln d / t) / R and "doubling" for
    sqrt(8 ln d / 2^m) / R from round 2^m on with everything else forgotten, R the promised width of
    the costs, or "adaptive" for ln d over the mixability gaps so far, which needs no promise.
    """

    def __init__(self, experts: int, eta: float | str, width: float) -> None:
        self.experts = as_count("experts", experts)
        self.width = width
        if isinstance(eta, str):
            if eta not in RATES[1:]:
                names = ", ".join(map(repr, RATES[1:]))
                raise ValueError(f"eta must be a number above 0 or one of {names}, got {eta!r}")
            self.kind = RATES.index(eta)
            if self.kind == ADAPTIVE:
                self.scale, first = math.log(self.experts), math.inf
            elif math.isfinite(width):
                self.scale = first = expert_theorems.tuned_rate(self.experts, 1.0, width)
            else:
                raise ValueError(f"eta={eta!r} needs costs of a promised range: give low and high")
        else:
            self.kind, self.scale, first = FIXED, 0.0, as_positive("eta", eta)
        self.book = np.zeros(len(ExpertSum))
        self.book[[ExpertSum.LOWEST, ExpertSum.HIGHEST]] = math.inf, -math.inf
        self.book[[ExpertSum.ETA, ExpertSum.TOTAL]] = first, self.experts
        self.parts = np.ones(self.experts)
        self.totals = np.zeros(self.experts)
        self.past = np.zeros(self.experts if RATES[self.kind] == "doubling" else 0)

    @property
    def title(self) -> str:
        """The algorithm in words."""
        return _TITLES[self.kind].format(exact(float(self.book[ExpertSum.ETA])))

    @property
    def weights(self) -> Vector:
        """The weights of the coming round."""
        return np.asarray(self.parts / self.book[ExpertSum.TOTAL])

    @property
    def costs(self) -> Vector:
        """What each expert was charged so far."""
        return self.totals + self.past if len(self.past) else self.totals.copy()

    @property
    def loss(self) -> float:
        """The sum of <w, z>."""
        return float(self.book[ExpertSum.LOSS] + self.book[ExpertSum.LOSS_LOW])

    def facts(self) -> Facts:
        """Return what the theorems speak about."""
        best = float(self.costs.min())
        slack = rounding_slack(self.experts, self.book)
        regret = self.loss - best + slack
        slack = 2.0 * slack + ROUNDING * (abs(self.loss) + abs(best))
        # Weights, and the logarithms of their sums that the gaps are made of, are right to a few
        # roundings for each expert and round, which a small rate magnifies.
        rounds, eta = float(self.book[ExpertSum.ROUNDS]), float(self.book[ExpertSum.LAST_ETA])
        roundings = rounds * (2.0 * self.experts + 64.0)
        slack += rounding_error(roundings, 1.0) / eta if eta > 0.0 else 0.0
        return Facts(self.experts, self.kind, self.book.copy(), self.width, best, regret, slack)


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
        return self._state.experts

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self._state.book[ExpertSum.ROUNDS])

    @property
    def eta(self) -> float:
        """The rate of the coming round; infinite while AdaHedge follows the leaders."""
        return float(self._state.book[ExpertSum.ETA])

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
        """Pay <weights, costs> and learn the costs of one round; return what was paid."""
        return float(self.learn(one_round("costs", costs, self.experts))[0])

    @one_at_a_time
    def learn(self, costs: Any) -> Vector:
        """Play a round for every row of costs; return what was paid in each.

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
