"""EXP3-IX: implicit exploration, for statements that hold with high probability."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from noregret.bandits import theorems
from noregret.bandits.bandit_certificate import statement
from noregret.bandits.book import Sum
from noregret.bandits.decisions import as_float
from noregret.bandits.exp3 import Exp3, stretch
from noregret.proof.statement import Statement


class Exp3IX(Exp3):
    """EXP3 on the estimates z = cost / (w_arm + gamma) with gamma = eta/2, biased downwards.

    With probability at least 1 - delta no estimate exceeds the sum of its arm's costs by more than
    ln(d/delta) / eta, for all arms and all rounds together: a floor under the costs that every arm
    had in these rounds, from the costs of the pulled arms alone. Costs may depend on earlier draws;
    then the floor is under the costs as they were set, not as they would have been set for a
    player of one arm.
    Where the rate falls, it is held over stretches known in advance, and stretch k may fail with
    probability delta / (k (k + 1)): these add up to delta.
    Reference: Neu, Explore No More: Improved High-Probability Regret Bounds for Non-Stochastic
    Bandits, 2015; for all rounds together by Ville's inequality for the supermartingale of its
    Lemma 1, once for each stretch with the rate of that stretch, which is the least so far.

    >>> bandit = Exp3IX(arms=2, horizon=1000, seed=3)
    >>> arms = bandit.play(np.tile([0.9, 0.4], (1000, 1)))
    >>> bandit.certificate().floor <= 400.0
    True
    """

    algorithm = "EXP3-IX"
    _implicit = 0.5

    def __init__(
        self,
        arms: int,
        eta: float | None = None,
        horizon: int | None = None,
        costs: tuple[float, float] = (0.0, 1.0),
        delta: float = 0.05,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Make a bandit whose statements may fail with probability `delta`."""
        self.delta = as_float("delta must lie strictly between 0 and 1", delta)
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"delta must lie strictly between 0 and 1, got {delta}")
        super().__init__(arms, eta, horizon, costs, seed)

    def _failure(self) -> float:
        """Return the probability that the statements of the current stretch may fail with."""
        if self._book[Sum.NEXT] == math.inf:
            return self.delta
        k = stretch(self.rounds + 1)
        return self.delta / (k * (k + 1.0))

    def _excess(self) -> float:
        return theorems.implicit_excess(self.arms, self.eta, self._failure())

    def _floor(self, reason: str) -> tuple[float | None, float | None]:
        if reason or not self.rounds:
            return None, None
        least = float(self._estimates.min()) * (1.0 - self._slack())
        return self.delta, least - self._excess() * (1.0 + self._slack())

    def _statements(self, reason: str) -> list[Statement]:
        if not self.rounds:
            return []
        sure = f"with probability >= 1 - {self.delta!r}, in all rounds together"
        slack, claim = 1.0 + self._slack(), "cost - cost of any arm"
        etas = float(self._book[Sum.ETAS])
        # No arm can have cost less than nothing, whatever the estimates say.
        regret = self._cost - max(float(self._estimates.min()) - self._excess(), 0.0)
        promised = theorems.implicit_regret(self.arms, self.eta, etas, self._failure())
        return [
            *self._paths(),
            statement(
                "EXP3-IX, after the fact",
                "Neu 2015, Corollary 1",
                sure,
                claim,
                regret + self._slack() * (self._cost + abs(regret)),
                reason,
            ),
            statement(
                "EXP3-IX, in advance",
                "Neu 2015, proof of Theorem 1",
                sure,
                claim,
                promised * slack,
                reason,
            ),
        ]

    def _settings(self) -> dict[str, Any]:
        return {"delta": self.delta}

    @classmethod
    def _made(cls, header: dict[str, Any]) -> Self:
        return cls(header["arms"], eta=1.0, costs=tuple(header["costs"]), delta=header["delta"])
