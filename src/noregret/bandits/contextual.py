"""Contextual bandits by reduction: linear learners predict the cost of each arm."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from noregret import store
from noregret.bandits.certificate import BanditCertificate
from noregret.bandits.crossing import crossed, joined
from noregret.bandits.decisions import Decision, Waiting, as_arms, as_cost, as_range
from noregret.bandits.exploration import Exploration, InverseGap, as_probabilities, draw_rows
from noregret.bandits.logs import Log
from noregret.bandits.randomness import generator, generator_from_header, generator_to_header
from noregret.certificate import Certificate
from noregret.examples import Rows, as_rows
from noregret.learners import MirrorDescent
from noregret.losses import Squared
from noregret.mirrors import Euclidean
from noregret.oco.losses import number
from noregret.passes.checks import sound_rows
from noregret.rates import ScaleFree

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_COUNTS = ("rounds", "cost", "logged")


class Decisions(NamedTuple):
    """Decisions for many contexts, as arrays."""

    ids: Indices
    arms: Indices
    probabilities: Vector


class Kept(NamedTuple):
    """What a decision needs when its cost comes: the arm, its probability, its crossed row."""

    arm: int
    probability: float
    columns: npt.NDArray[np.uint32]
    values: Vector


@dataclass(frozen=True, eq=False)
class ContextualCertificate(BanditCertificate):
    """The cost of the policy beside that of every constant arm, and the regressors' certificate."""

    regression: Certificate | None = None

    def __str__(self) -> str:
        lines = [super().__str__()]
        if self.regression is not None and self.regression.rounds:
            inner = str(self.regression).splitlines()
            lines += ["  cost regression, costs in units of their range:"]
            lines += [f"  {line}" for line in inner]
        return "\n".join(lines)


class ContextualBandit:
    """A policy that sees a context, draws an arm and learns from the cost of that arm alone.

    One linear learner predicts the cost of every arm from the context, with weights of its own for
    each arm and a constant feature; `exploration` turns predictions into probabilities. Costs come
    back by decision id, late and in any order; contexts wait with their decisions.

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

        `exploration` is `InverseGap()` unless told. `learner` is a fresh `MirrorDescent` for real
        targets, by default on the squared loss with nothing to tune; it sees costs in units of
        their range. `importance` weighs examples by 1/probability: regressors then fit all contexts
        alike and not those in which their arm was preferred, at the price of noise, which costs
        more than it gains on every set we have measured.
        """
        self.arms = as_arms(arms)
        self.costs = as_range(costs)
        self.exploration = InverseGap() if exploration is None else exploration
        if not isinstance(self.exploration, Exploration):
            raise ValueError(f"exploration must be an Exploration, got {exploration!r}")
        if learner is None:
            learner = MirrorDescent(Squared(), Euclidean(), ScaleFree())
        if learner.loss.labels != "real":
            kind = type(learner.loss).__name__
            raise ValueError(f"the learner predicts costs: its loss must take them, not {kind}")
        if learner.rounds:
            raise ValueError(f"the learner must be fresh, it has learnt {learner.rounds} examples")
        self.importance = bool(importance)
        self._learner = learner
        self._rng = generator(seed)
        self._waiting: Waiting[Kept] = Waiting()
        self._width = 0
        self._estimates = np.zeros(self.arms)
        self._counts = dict.fromkeys(_COUNTS, 0.0)

    @property
    def learner(self) -> MirrorDescent:
        """The cost regressors: weights of arm a at the columns a, a + arms, a + 2 arms, ...

        The first group of columns is the constant feature.
        """
        return self._learner

    @property
    def rounds(self) -> int:
        """How many decisions have had their cost."""
        return int(self._counts["rounds"])

    @property
    def _columns(self) -> int:
        return (self._width + 1) * self.arms

    @property
    def waiting(self) -> list[Decision]:
        """The decisions whose cost has not come."""
        kept = self._waiting.kept.items()
        return [Decision(k, each.arm, each.probability) for k, each in kept]

    def predict(self, X: Any) -> Vector:
        """Return the predicted cost of every arm for each context."""
        low, high = self.costs
        return low + (high - low) * self._predicted(self._contexts(X))[0]

    def probabilities(self, X: Any) -> Vector:
        """Return the probability of every arm for each context, as the coming decision has it."""
        predicted = self._predicted(self._contexts(X))[0]
        return self._explored(predicted, np.full(len(predicted), self._waiting.made + 1.0))

    def _contexts(self, X: Any) -> Rows:
        rows = sound_rows(as_rows(X), 0)
        if rows.dense and self._width and rows.width != self._width:
            raise ValueError(f"X has {rows.width} columns, the policy knows {self._width}")
        return rows

    def _predicted(self, rows: Rows) -> tuple[Vector, Rows]:
        """Return the predicted unit costs, a row a context, and the rows they were made from."""
        arms = np.tile(np.arange(self.arms), (len(rows), 1))
        every = crossed(rows, arms, self.arms)
        flat = self._learner.predict(every)
        return np.clip(flat.reshape(arms.shape), 0.0, 1.0), every

    def _explored(self, predicted: Vector, times: Vector) -> Vector:
        chances = self.exploration.probabilities(predicted, times)
        return as_probabilities(str(self.exploration), chances, len(predicted), self.arms)

    def decide(self, x: Any) -> Decision:
        """Draw an arm for one context; tell its cost later by `learn(decision.id, cost)`."""
        ids, arms, chances = self.decide_many(x)
        if len(ids) != 1:
            raise ValueError(f"decide takes one context, got {len(ids)}: use decide_many")
        return Decision(int(ids[0]), int(arms[0]), float(chances[0]))

    def decide_many(self, X: Any) -> Decisions:
        """Draw an arm for each context, all with the regressors as they are."""
        rows = self._contexts(X)
        times = self._waiting.made + np.arange(1.0, len(rows) + 1.0)
        predicted, every = self._predicted(rows)
        chances = self._explored(predicted, times)
        arms = draw_rows(chances, self._rng.random(len(rows)))
        drawn = chances[np.arange(len(rows)), arms]
        self._width = max(self._width, rows.width)
        ids = np.empty(len(rows), np.int64)
        for k, (arm, chance) in enumerate(zip(arms.tolist(), drawn.tolist(), strict=True)):
            row = k * self.arms + arm
            cut = slice(int(every.indptr[row]), int(every.indptr[row + 1]))
            # Copies: a view would keep the rows of all arms alive.
            kept = Kept(
                arm, chance, every.indices[cut].copy(), every.values[cut].astype(np.float64)
            )
            ids[k] = self._waiting.add(kept)
        return Decisions(ids, arms, drawn)

    def learn(self, decision: Decision | int, cost: float) -> None:
        """Tell the cost of a decision, by itself or by its id: in any order, once.

        Input that cannot be used raises ValueError and leaves the policy as it was.
        """
        self.learn_many([decision], [cost])

    def reward(self, decision: Decision | int, reward: float) -> None:
        """Tell a reward within the promised range: the cost is low + high - reward."""
        low, high = self.costs
        self.learn(decision, min(max(low + high - as_cost(reward, low, high), low), high))

    def learn_many(self, decisions: Any, costs: Any) -> None:
        """Tell the costs of many decisions, learnt in this order; all of them or none."""
        low, high = self.costs
        found = [self._waiting.find(each) for each in decisions]
        values = [as_cost(each, low, high) for each in costs]
        if len(found) != len(values):
            raise ValueError(f"got {len(found)} decisions and {len(values)} costs")
        ids = sorted(each for each, _ in found)
        for one, other in itertools.pairwise(ids):
            if one == other:
                raise ValueError(f"decision {one} is named twice")
        units = np.array([(value - low) / (high - low) for value in values])
        chances = np.array([kept.probability for _, kept in found])
        rows = joined([(kept.columns, kept.values) for _, kept in found], self._columns)
        self._learner.learn(rows, units, 1.0 / chances if self.importance else None)
        for (settled, kept), unit in zip(found, units.tolist(), strict=True):
            self._waiting.settle(settled)
            self._estimates[kept.arm] += unit / kept.probability
            self._counts["cost"] += unit
            self._counts["rounds"] += 1.0

    def learn_logged(self, X: Any, arms: Any, costs: Any, propensities: Any) -> None:
        """Learn from somebody else's decisions: contexts, arms, costs, and their probabilities.

        They count neither as rounds nor as cost of this policy.
        """
        rows = self._contexts(X)
        low, high = self.costs
        log = Log(arms, costs, propensities, self.arms, (low, high))
        if len(log.arms) != len(rows):
            raise ValueError(f"got {len(rows)} contexts and {len(log.arms)} arms")
        units = (log.outcomes - low) / (high - low)
        weights = 1.0 / log.propensities if self.importance else None
        self._learner.learn(crossed(rows, log.arms[:, None], self.arms), units, weights)
        self._width = max(self._width, rows.width)
        self._counts["logged"] += len(rows)

    def forget(self, decision: Decision | int) -> None:
        """Give up waiting for the cost of a decision."""
        self._waiting.settle(self._waiting.find(decision)[0])

    def certificate(self) -> ContextualCertificate:
        """Return what is known about the run so far, as a value that later rounds do not change.

        The estimates are of constant arms, by importance weighting: without bias where every arm
        has a chance in every context.
        """
        low, high = self.costs
        width, rounds = high - low, self.rounds
        return ContextualCertificate(
            algorithm=f"a contextual bandit, {self.exploration}",
            rounds=rounds,
            cost=low * rounds + width * self._counts["cost"],
            estimates=low * rounds + width * self._estimates,
            waiting=len(self._waiting),
            regression=self._learner.certificate(),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write policy, regressors, waiting decisions and generator; `load` resumes to the bit.

        For `nr.load` the file is that of the regressors.
        """
        header = {
            "bandit": "ContextualBandit",
            "arms": self.arms,
            "costs": list(self.costs),
            "exploration": store.component_to_header(self.exploration),
            "importance": self.importance,
            "made": self._waiting.made,
            "width": self._width,
            "counts": self._counts,
            "generator": generator_to_header(self._rng),
        }
        kept = self._waiting.kept.values()
        rows = joined([(each.columns, each.values) for each in kept], self._columns)
        arrays: dict[str, Any] = {
            "estimates": self._estimates,
            "waiting": np.array(list(self._waiting.kept), np.int64),
            "waiting_arms": np.array([each.arm for each in kept], np.int64),
            "waiting_probabilities": np.array([each.probability for each in kept], np.float64),
            "waiting_starts": rows.indptr,
            "waiting_columns": rows.indices,
            "waiting_values": rows.values,
        }
        self._learner.save(path, store.Extra(header, arrays))

    @classmethod
    def _from_file(cls, learner: Any, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        if not isinstance(learner, MirrorDescent):
            raise ValueError(f"its regressors are a {type(learner).__name__}")
        exploration = store.component_from_header(header["exploration"], Exploration)
        costs, importance = tuple(header["costs"]), bool(header["importance"])
        policy = cls(header["arms"], exploration, None, costs, importance)
        policy._learner = learner
        policy._rng = generator_from_header(header["generator"])
        counts = header["counts"]
        policy._counts = {name: number(name, counts[name]) for name in _COUNTS}
        if arrays["estimates"].shape != (policy.arms,):
            raise ValueError(f"estimates have shape {arrays['estimates'].shape}")
        policy._estimates = arrays["estimates"]
        policy._waiting.made, policy._width = header["made"], header["width"]
        for name in ("made", "width"):
            if type(header[name]) is not int or not 0 <= header[name] < 2**53:
                raise ValueError(f"{name} is {store.shown(header[name])}, expected a whole number")
        starts, columns, values = (arrays[f"waiting_{k}"] for k in ("starts", "columns", "values"))
        sound_rows(as_rows(Rows(starts, columns, values, policy._columns)), 0)
        for k, made in enumerate(arrays["waiting"].tolist()):
            arm = int(arrays["waiting_arms"][k])
            chance = float(arrays["waiting_probabilities"][k])
            sound = 0 <= made < policy._waiting.made and 0 <= arm < policy.arms
            if not sound or not 0.0 < chance <= 1.0:
                raise ValueError(f"decision {made} for arm {arm} was never made")
            cut = slice(int(starts[k]), int(starts[k + 1]))
            policy._waiting.kept[made] = Kept(arm, chance, columns[cut], values[cut])
        return policy
