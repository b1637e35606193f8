"""Contextual bandits by reduction: a linear learner predicts the cost of each arm.

The arms are the same each time, or come with features of their own, other arms each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Indices, Vector, as_count
from noregret.bandits.bandit_certificate import BanditCertificate, CostProof, heading
from noregret.bandits.decisions import Decision, Log
from noregret.bandits.exploration import Exploration
from noregret.bandits.policy import Decisions, Policy
from noregret.files.fields import Field, Setting
from noregret.learners import MirrorDescent
from noregret.proof.certificate import Certificate
from noregret.proof.statement import Statement, indented, measured
from noregret.rows.examples import Rows


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
    return ["  cost regression, costs in units of their range:", *indented(regression.text())]


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
        squared error bounds the regret by the inequality of `InverseGap`; with it, in expectation
        over the draws, about the predictions of all arms in all contexts alike. Both are about
        predictions made when costs come: those of the decisions if each cost comes before the next.
        """
        self.arms = self._choices = as_count("arms", arms)
        super().__init__(self.arms, exploration, learner, costs, importance, seed)

    def _choice(self, rows: Rows) -> tuple[Indices, int]:
        return np.tile(np.arange(self.arms), (len(rows), 1)), self.arms

    def decide(self, x: Any) -> Decision:
        """Draw an arm for one context; report its cost later by `learn(decision.id, cost)`."""
        return self.decide_row(self._contexts(x))

    def decide_row(self, rows: Rows) -> Decision:
        """Draw an arm for one row that was checked before."""
        if len(rows) != 1:
            raise ValueError(f"decide takes one context, got {len(rows)}: use decide_many")
        return self._decide_one(rows)

    def decide_many(self, X: Any) -> Decisions:
        """Draw an arm for each context, all with the regressors as they are."""
        return self._decide(X)

    def learn_logged(self, X: Any, arms: Any, costs: Any, propensities: Any) -> None:
        """Learn from logged decisions of another policy: contexts, arms, costs, and probabilities.

        They count neither as rounds nor as cost of this policy.
        """
        log = Log(arms, costs, propensities, self.arms, self.costs)
        self._learn_rows(X, log, log.arms)

    def certificate(self) -> ContextualCertificate:
        """Return the certificate of the rounds so far, which later rounds do not change.

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
            regression=self.learner.certificate(),
        )


@dataclass(frozen=True, eq=False)
class ArmFeatureCertificate(CostProof):
    """The cost of the policy beside that of drawing evenly, and the regressor's certificate."""

    algorithm: str
    #: Estimated cost, had each arm been drawn with the same probability in every round; NaN where
    #: an arm had no chance, so that nothing can be estimated.
    even: float
    regression: Certificate
    #: Decisions whose cost has not come, which no sum contains.
    waiting: int = 0

    def describe(self) -> str:
        """Return the competitors in words."""
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
    arms share: the costs of one arm inform predictions for the others, and for arms never seen.
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
        return np.asarray(super().predict(X)[0])

    def probabilities(self, X: Any) -> Vector:
        """Return the probability of each arm, a row of X each, as the coming decision has it."""
        return np.asarray(super().probabilities(X)[0])

    def _choice(self, rows: Rows) -> tuple[Indices, int]:
        if not len(rows):
            raise ValueError("X has no rows: a decision needs at least one arm")
        return np.zeros((len(rows), 1), np.int64), len(rows)

    def decide(self, X: Any) -> Decision:
        """Draw one of the arms, a row of X each; report its cost by `learn(decision.id, cost)`."""
        return self._decide_one(X)

    def learn_logged(self, X: Any, costs: Any, propensities: Any) -> None:
        """Learn from logged decisions of another policy: rows of the arms drawn, costs, chances.

        They count neither as rounds nor as cost of this policy.
        """
        arms = np.zeros(len(np.atleast_1d(np.asarray(costs))), np.int64)
        self._learn_rows(X, Log(arms, costs, propensities, 1, self.costs), arms)

    def certificate(self) -> ArmFeatureCertificate:
        """Return the certificate of the rounds so far, which later rounds do not change.

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
            regression=self.learner.certificate(),
            waiting=len(self._waiting),
        )

    def _check_loaded(self) -> None:
        """Refuse counts that no policy has, and weights for each arm."""
        super()._check_loaded()
        if self._copies != 1:
            raise ValueError(f"copies is {self._copies!r}, expected 1")
