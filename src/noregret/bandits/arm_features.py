"""Contextual bandits whose arms come with features of their own, other arms each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.bandits.bandit_certificate import CostProof, heading
from noregret.bandits.contextual import regression_lines
from noregret.bandits.decisions import Decision, Log
from noregret.bandits.exploration import Exploration, draw_rows
from noregret.bandits.policy import Kept, Policy
from noregret.files.fields import Field
from noregret.learners import MirrorDescent
from noregret.proof.certificate import Certificate
from noregret.proof.protocol import measured
from noregret.proof.statement import Statement
from noregret.rows.examples import Rows
from noregret.turns import one_at_a_time


@dataclass(frozen=True, eq=False)
class ArmFeatureCertificate(CostProof):
    """The cost of the policy beside that of drawing evenly, and the regressor's certificate."""

    algorithm: str
    rounds: int
    cost: float
    #: Estimated cost, had each arm been drawn with the same probability in every round; NaN where
    #: an arm had no chance, so that nothing can be estimated.
    even: float
    regression: Certificate
    #: Decisions whose cost has not come, which no sum contains.
    waiting: int = 0

    def describe(self) -> str:
        """Return in words whom the policy is compared with."""
        return "any arm, drawn with the same probability"

    @property
    def bounds(self) -> list[Statement]:
        """No theorem: the other policy is estimated."""
        return []

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return super().as_dict() | {"average_cost": self.average_cost}

    def _lines(self) -> list[str]:
        return [
            heading(self),
            measured("cost of the policy", self.cost, self.rounds),
            measured("any arm, estimated", self.even, self.rounds),
            *regression_lines(self.regression),
        ]


class ArmFeatureBandit(Policy):
    """A policy for arms that are rows of features, any number of them and others each time.

    The predicted cost of an arm with features x is w_0 + <w, x>, by one linear learner that all
    arms share: what is learnt about one arm tells about the others, and about arms never seen.
    `exploration` turns predictions into probabilities. Costs come back by decision id, late and in
    any order. Features of the situation that should matter differently for different arms are
    multiplied into their rows by the caller; alike in all rows they change no decision.

    >>> rng = np.random.default_rng(0)
    >>> policy = ArmFeatureBandit(seed=1)
    >>> for _ in range(300):
    ...     prices = rng.random((int(rng.integers(2, 6)), 1))
    ...     decision = policy.decide(prices)
    ...     policy.learn(decision.id, cost=float(prices[decision.arm, 0]))
    >>> int(policy.predict([[0.9], [0.2], [0.5]]).argmin())
    1

    References: Bietti, Agarwal, Langford, A Contextual Bandit Bake-off, 2021; Foster and Rakhlin,
    Beyond UCB, 2020.
    """

    _FIELDS = (Field("copies"), *Policy._FIELDS)

    def __init__(
        self,
        exploration: Exploration | None = None,
        learner: MirrorDescent | None = None,
        costs: tuple[float, float] = (0.0, 1.0),
        importance: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Make a policy; the arguments are those of `ContextualBandit`."""
        super().__init__(1, exploration, learner, costs, importance, seed)

    def predict(self, X: Any) -> Vector:
        """Return the predicted cost of each arm, a row of X each."""
        low, high = self.costs
        predicted: Vector = low + (high - low) * self._of_rows(self._contexts(X))[0][0]
        return predicted

    def probabilities(self, X: Any) -> Vector:
        """Return the probability of each arm, a row of X each, as the coming decision has it."""
        chances: Vector = self._explored(self._of_rows(self._contexts(X))[0], np.zeros(1))[0]
        return chances

    def _of_rows(self, rows: Rows) -> tuple[Vector, Rows]:
        if not len(rows):
            raise ValueError("X has no rows: a decision needs at least one arm")
        predicted, every = self._predicted(rows, np.zeros((len(rows), 1), np.int64))
        return predicted.reshape(1, -1), every

    @one_at_a_time
    def decide(self, X: Any) -> Decision:
        """Draw one of the arms, a row of X each; tell its cost by `learn(decision.id, cost)`."""
        rows = self._contexts(X)
        predicted, every = self._of_rows(rows)
        chances = self._explored(predicted, np.zeros(1))
        arm = int(draw_rows(chances, self._rng.random(1))[0])
        chance = float(chances[0, arm])
        self._width = max(self._width, rows.width)
        if (chances == 0.0).any():
            self._estimates[0] = np.nan
        return Decision(self._keep(every, arm, arm, chance, len(rows)), arm, chance)

    def _estimate(self, kept: Kept, unit: float) -> None:
        self._estimates[0] += unit / kept.probability / kept.choices

    def learn_logged(self, X: Any, costs: Any, propensities: Any) -> None:
        """Learn from somebody else's decisions: the row of the arm drawn, cost, probability.

        They count neither as rounds nor as cost of this policy.
        """
        arms = np.zeros(len(np.atleast_1d(np.asarray(costs))), np.int64)
        self._learn_rows(X, Log(arms, costs, propensities, 1, self.costs), arms)

    def certificate(self) -> ArmFeatureCertificate:
        """Return what is known about the run so far, as a value that later rounds do not change.

        The estimate of drawing evenly is by importance weighting: without bias provided that which
        costs have come does not depend on the arms drawn.
        """
        low, high = self.costs
        rounds = self.rounds
        return ArmFeatureCertificate(
            algorithm=f"a bandit on features of arms, {self.exploration}",
            rounds=rounds,
            cost=low * rounds + (high - low) * self._counts["cost"],
            even=low * rounds + (high - low) * float(self._estimates[0]),
            regression=self._learner.certificate(),
            waiting=len(self._waiting),
        )

    def _check_loaded(self) -> None:
        """Refuse counts that no policy has, and weights for each arm."""
        super()._check_loaded()
        if self._copies != 1:
            raise ValueError(f"copies is {self._copies!r}, expected 1")
