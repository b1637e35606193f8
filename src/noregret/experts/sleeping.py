"""Experts that sleep: advice from those awake, compared with each on its own waking rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Indices, Vector, as_count, as_positive, refuse_masked
from noregret.elementary import exp
from noregret.experts.advice import STEEPEST, as_interval, as_table, one_round, require_within
from noregret.experts.expert_certificate import sum_slack
from noregret.files.fields import Array, Saved, Setting
from noregret.jit import add_compensated, kernel
from noregret.proof.ledger import require_room
from noregret.proof.statement import (
    RANGE,
    ROUNDING,
    Measured,
    Proof,
    Statement,
    contradicted,
    measured,
    row,
)
from noregret.rounding import rounding_error, up
from noregret.turns import one_at_a_time

#: Rows of the state, one number an expert: ln(w_i / first weight), the sum of <w, z> - z_i and
#: that of the gaps over its waking rounds, how many these are, and the sum of max |z| of them.
_LOGS, _REGRET, _GAP, _AWAKE, _SIZE = range(5)


@kernel
def sleeping_rounds(costs, awake, eta, state, totals, losses):  # type: ignore[no-untyped-def]
    """Play a round for every row; `totals` holds rounds, loss and the part its sum lost."""
    count = costs.shape[1]
    for t in range(costs.shape[0]):
        least, most = np.inf, -np.inf
        for i in range(count):
            if awake[t, i]:
                least, most = min(least, costs[t, i]), max(most, costs[t, i])
        # Scale the weights before and after by their own largest: neither sum underflows to 0.
        top, new_top = -np.inf, -np.inf
        for i in range(count):
            if awake[t, i]:
                top = max(top, state[_LOGS, i])
                new_top = max(new_top, state[_LOGS, i] + eta * (least - costs[t, i]))
        mass, mean, new = 0.0, 0.0, 0.0
        for i in range(count):
            if awake[t, i]:
                part = exp(state[_LOGS, i] - top)
                mass += part
                mean += part * (costs[t, i] - least)
                new += exp(state[_LOGS, i] + eta * (least - costs[t, i]) - new_top)
        mean = min(least + mean / mass, most)
        mixed = min(max(least + ((top - new_top) - np.log(new / mass)) / eta, least), mean)
        gap = mean - mixed
        for i in range(count):
            if awake[t, i]:
                # The sleeping ones are charged the mix loss, which leaves their weights alone.
                state[_LOGS, i] += eta * (mixed - costs[t, i])
                state[_REGRET, i] += mean - costs[t, i]
                state[_GAP, i] += gap
                state[_AWAKE, i] += 1.0
                state[_SIZE, i] += max(abs(least), abs(most))
        totals[0] += 1.0
        add_compensated(totals, 1, mean)
        losses[t] = mean


@dataclass(frozen=True, eq=False)
class SleepingCertificate(Proof):
    """The loss of the learner beside that of each expert, over the expert's waking rounds.

    `regret[i]` is the learner's loss minus the expert's over those rounds, rounded up, and
    `bound[i]` = ln d / eta + the gaps of these rounds, at most ln d / eta + eta R^2 n_i / 8;
    infinite where the run contradicts the theorem.
    Reference: Freund, Schapire, Singer, Warmuth, Using and Combining Predictors That Specialize,
    1997, Theorem 1.
    """

    rounds: int
    loss: float
    awake: Indices
    regret: Vector
    bound: Vector
    in_advance: Vector

    @property
    def worst(self) -> int:
        """The expert against whom the regret is largest, the first of them."""
        return int(np.argmax(self.regret))

    def describe(self) -> str:
        """Return the competitors in words."""
        return "any expert in its waking rounds"

    @property
    def bounds(self) -> list[Statement]:
        """The theorems on the regret against the expert with the largest."""
        return [
            self._bound("after the fact", self.bound, "ln d/eta + gaps"),
            self._bound("in advance", self.in_advance, "Freund et al. 1997"),
        ]

    def _bound(self, name: str, values: Vector, reference: str) -> Statement:
        value, against = float(values[self.worst]), f"loss of expert {self.worst}"
        reason = contradicted(RANGE) if math.isinf(value) else ""
        return Statement(name, reference, value, applies=not reason, reason=reason, against=against)

    def _lines(self) -> list[str]:
        worst = self.worst
        note = f"against expert {worst} in its {self.awake[worst]:,} waking rounds, measured"
        return [
            f"Certificate after {self.rounds:,} rounds of specialists, {len(self.awake):,} experts",
            measured("loss", self.loss, self.rounds),
            row("largest regret", f"{self.regret[worst]:.6g}", note),
            *(
                row(bound.name, up(bound.value), bound.reference)
                if bound.applies
                else f"  {bound.name:<26}not applicable: {bound.reason}"
                for bound in self.bounds
            ),
        ]


class Specialists(Saved):
    """Weights over experts of which only some are awake in a round.

    Each round: play w restricted to those awake, see their costs z, pay the mean; those awake are
    multiplied by exp(-eta z_i) and together keep the weight that they had. eta is above 0. Costs
    lie in [low, high] [default: 0 and 1]. Reference: see `SleepingCertificate`.

    >>> learner = Specialists(3, eta=1.0)
    >>> learner.suffer([0.0, 1.0, 0.0], awake=[True, True, False])
    0.5
    >>> learner.weights().round(6)
    array([0.487372, 0.179294, 0.333333])
    >>> learner.weights([False, True, True]).round(6)
    array([0.      , 0.349755, 0.650245])
    """

    _KIND = "game"
    _FIELDS = (
        *map(Setting, ("experts", "eta", "low", "high")),
        Array("specialists", "_state"),
        Array("totals"),
    )

    def __init__(self, experts: int, eta: float, low: float = 0.0, high: float = 1.0) -> None:
        self.experts = as_count("experts", experts)
        self.eta = as_positive("eta", eta, STEEPEST)
        self.low, self.high = as_interval(low, high)
        if not math.isfinite(self.high - self.low):
            raise ValueError(f"low and high must be finite, got {low} and {high}")
        self._state, self._totals = np.zeros((5, self.experts)), np.zeros(3)

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self._totals[0])

    def weights(self, awake: Any = None) -> Vector:
        """Return the weights of the coming round if these are awake; all of them by default."""
        logs = self._state[_LOGS]
        if awake is not None:
            logs = np.where(self._awake(awake, 1)[0], logs, -math.inf)
        parts = np.exp(logs - logs.max())
        return np.asarray(parts / parts.sum())

    def suffer(self, costs: Any, awake: Any) -> float:
        """Pay for one round and learn from it; costs of sleeping experts are not looked at."""
        return float(self.learn(one_round("costs", costs, self.experts), awake)[0])

    @one_at_a_time
    def learn(self, costs: Any, awake: Any) -> Vector:
        """Play a round for every row of costs; return the cost paid in each.

        `awake` tells for each cost whether its expert is awake. A round in which all sleep, or a
        waking cost outside [low, high], raises ValueError and leaves the learner as it was.
        """
        table = as_table("costs", costs, self.experts)
        mask = self._awake(awake, len(table))
        table = np.where(mask, table, self.low)
        require_within("costs", table, self.low, self.high)
        require_room(self.rounds, len(table))
        paid = np.empty(len(table))
        sleeping_rounds(table, mask, self.eta, self._state, self._totals, paid)
        return paid

    def _awake(self, awake: Any, rounds: int) -> Any:
        refuse_masked("awake", awake)
        mask = np.ascontiguousarray(np.atleast_2d(np.asarray(awake)))
        if mask.dtype != np.bool_ or mask.shape != (rounds, self.experts):
            raise ValueError(
                f"awake must be booleans of shape ({rounds}, {self.experts}), got {mask.dtype} of "
                f"shape {mask.shape}"
            )
        if not mask.any(axis=1).all():
            raise ValueError(f"awake row {mask.any(axis=1).argmin()}: all experts are asleep")
        return mask

    def certificate(self) -> SleepingCertificate:
        """Return the regret against each expert on its waking rounds, with the bounds."""
        state, width = self._state, self.high - self.low
        slack = sum_slack(self.experts, self.rounds, state[_SIZE])
        regret, price = state[_REGRET] + slack, math.log(self.experts) / self.eta
        ahead = price + 0.125 * self.eta * width * width * state[_AWAKE]
        return SleepingCertificate(
            self.rounds,
            float(self._totals[1] + self._totals[2]),
            state[_AWAKE].astype(np.int64),
            regret,
            self._judged(price + state[_GAP], regret, slack),
            self._judged(ahead, regret, slack),
        )

    def _judged(self, values: Vector, regret: Vector, slack: Vector) -> Vector:
        """Return each theorem's bound, infinite where the run contradicts it."""
        size = slack + ROUNDING * self._state[_SIZE]
        # The logarithms of the weights are right to a few roundings for each expert and round.
        size += rounding_error(self.rounds * (2.0 * self.experts + 64.0), 1.0) / self.eta
        return np.array(
            [
                Measured(r, s, RANGE).judge(v)[0]
                for v, r, s in zip(values, regret, 2.0 * size, strict=True)
            ]
        )
