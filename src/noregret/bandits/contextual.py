"""Contextual bandits by reduction: linear learners predict the cost of each arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Vector, as_count
from noregret.bandits.bandit_certificate import BanditCertificate
from noregret.bandits.decisions import Decision, Log
from noregret.bandits.exploration import Exploration, draw_rows
from noregret.bandits.policy import Decisions, Kept, Policy
from noregret.files.fields import Setting
from noregret.learners import MirrorDescent
from noregret.proof.certificate import Certificate
from noregret.proof.protocol import indented
from noregret.rows.examples import Rows
from noregret.turns import one_at_a_time


@dataclass(frozen=True, eq=False)
class ContextualCertificate(BanditCertificate):
    """The cost of the policy beside that of every constant arm, and the regressors' certificate."""

    regression: Certificate | None = None

    def _lines(self) -> list[str]:
        return [*super()._lines(), *regression_lines(self.regression)]


def regression_lines(regression: Certificate | None) -> list[str]:
    """Return the lines about the regressors in a printed certificate."""
    if regression is None or not regression.rounds:
        return []
    heading = "  cost regression, costs in units of their range:"
    return [heading, *indented(regression.text())]


class ContextualBandit(Policy):
    """A policy that sees a context, draws an arm and learns from the cost of that arm alone.

    One linear learner predicts the cost of every arm from the context, with weights of its own for
    each arm and a constant feature; `exploration` turns predictions into probabilities. Costs come
    back by decision id, late and in any order; contexts wait with their decisions. Where arms come
    with features of their own, see `ArmFeatureBandit`.

    >>> from noregret.bandits import EpsilonGreedy
    >>> policy = ContextualBandit(arms=2, exploration=EpsilonGreedy(0.1), seed=0)
    >>> for t in range(300):
    ...     decision = policy.decide([1.0, t % 2])
    ...     policy.learn(decision.id, cost=float(decision.arm != t % 2))
    >>> policy.predict([[1.0, 0.0], [1.0, 1.0]]).argmin(axis=1)
    array([0, 1])

    References: Bietti, Agarwal, Langford, A Contextual Bandit Bake-off, 2021; Foster and Rakhlin,
    Beyond UCB, 2020.
    """

    _FIELDS = (Setting("copies", "arms", keyword="arms"), *Policy._FIELDS)

    def __init__(
        self,
        arms: int,
        exploration: Exploration | None = None,
        learner: MirrorDescent | None = None,
        costs: tuple[float, float] = (0.0, 1.0),
        importance: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Make a policy.

        `exploration` is `InverseGap()` by default. `learner` is a fresh `MirrorDescent` for real
        targets, by default on the squared loss with nothing to tune; it sees costs in units of
        their range. `importance` weighs examples by 1/probability, and is off because the noise
        costs more than it gains on every set we have measured. The certificate of the regression
        says different things: without it, about the predictions of the arms that were drawn, whose
        squared error is what the inequality of `InverseGap` pays with; with it, in expectation over
        the draws, about the predictions of all arms in all contexts alike. Both are about
        predictions made when costs come: those of the decisions if each cost comes before the next.
        """
        super().__init__(as_count("arms", arms), exploration, learner, costs, importance, seed)
        self._choices = self._copies

    @property
    def arms(self) -> int:
        """The number of arms."""
        return self._copies

    def predict(self, X: Any) -> Vector:
        """Return the predicted cost of every arm for each context."""
        low, high = self.costs
        return low + (high - low) * self._of_all_arms(self._contexts(X))[0]

    def probabilities(self, X: Any) -> Vector:
        """Return the probability of every arm for each context, as the coming decision has it."""
        predicted = self._of_all_arms(self._contexts(X))[0]
        return self._explored(predicted, np.zeros(len(predicted)))

    def _of_all_arms(self, rows: Rows) -> tuple[Vector, Rows]:
        return self._predicted(rows, np.tile(np.arange(self.arms), (len(rows), 1)))

    def decide(self, x: Any) -> Decision:
        """Draw an arm for one context; tell its cost later by `learn(decision.id, cost)`."""
        return self.decide_row(self._contexts(x))

    def decide_row(self, rows: Rows) -> Decision:
        """Draw an arm for one row that was checked before."""
        if len(rows) != 1:
            raise ValueError(f"decide takes one context, got {len(rows)}: use decide_many")
        ids, arms, chances = self._decide(rows)
        return Decision(int(ids[0]), int(arms[0]), float(chances[0]))

    def decide_many(self, X: Any) -> Decisions:
        """Draw an arm for each context, all with the regressors as they are."""
        return self._decide(self._contexts(X))

    @one_at_a_time
    def _decide(self, rows: Rows) -> Decisions:
        predicted, every = self._of_all_arms(rows)
        chances = self._explored(predicted, np.arange(len(rows), dtype=np.float64))
        arms = draw_rows(chances, self._rng.random(len(rows)))
        drawn = chances[np.arange(len(rows)), arms]
        self._width = max(self._width, rows.width)
        # Without a chance there is nothing to estimate from, and never will be.
        self._estimates[(chances == 0.0).any(axis=0)] = np.nan
        ids = np.empty(len(rows), np.int64)
        for k, (arm, chance) in enumerate(zip(arms.tolist(), drawn.tolist(), strict=True)):
            ids[k] = self._keep(every, k * self.arms + arm, arm, chance, self.arms)
        return Decisions(ids, arms, drawn)

    def _estimate(self, kept: Kept, unit: float) -> None:
        self._estimates[kept.arm] += unit / kept.probability

    def learn_logged(self, X: Any, arms: Any, costs: Any, propensities: Any) -> None:
        """Learn from somebody else's decisions: contexts, arms, costs, and their probabilities.

        They count neither as rounds nor as cost of this policy.
        """
        log = Log(arms, costs, propensities, self.arms, self.costs)
        self._learn_rows(X, log, log.arms)

    def certificate(self) -> ContextualCertificate:
        """Return what is known about the run so far, as a value that later rounds do not change.

        The estimates are of constant arms, by importance weighting: without bias provided that
        which costs have come does not depend on the arms drawn; NaN for an arm that some decision
        gave no chance.
        """
        low, high = self.costs
        width, rounds, cost = high - low, self.rounds, self._counts["cost"]
        return ContextualCertificate(
            algorithm=f"a contextual bandit, {self.exploration}",
            rounds=rounds,
            cost=low * rounds + width * cost,
            estimates=low * rounds + width * self._estimates,
            estimated_regret=width * (cost - float(np.fmin.reduce(self._estimates))),
            waiting=len(self._waiting),
            regression=self._learner.certificate(),
        )
