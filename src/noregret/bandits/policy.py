"""What policies that see features share: cost regressors, exploration, late costs, files."""

from __future__ import annotations

import itertools
import os
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from noregret.bandits.crossing import crossed, joined
from noregret.bandits.decisions import Decision, Waiting, as_cost, as_range, cost_of_reward
from noregret.bandits.exploration import Exploration, InverseGap, as_probabilities
from noregret.bandits.logs import Log
from noregret.bandits.randomness import generator, generator_from_header, generator_to_header
from noregret.files import store
from noregret.learners import MirrorDescent
from noregret.losses import Squared
from noregret.mirrors import Euclidean
from noregret.oco.losses import number
from noregret.passes.checks import sound_rows
from noregret.proof.ledger import require_room
from noregret.rates import ScaleFree
from noregret.rows.examples import Rows, as_rows
from noregret.turns import one_at_a_time
from noregret.visible import shown

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_COUNTS = ("rounds", "cost", "logged")


class Decisions(NamedTuple):
    """Decisions for many contexts, as arrays."""

    ids: Indices
    arms: Indices
    probabilities: Vector


class Kept(NamedTuple):
    """What a decision needs when its cost comes: the arm, of how many, and its crossed row."""

    arm: int
    probability: float
    choices: int
    columns: npt.NDArray[np.uint32]
    values: Vector


class Policy:
    """A linear learner that predicts costs, and the decisions that wait for theirs."""

    #: How many arms each decision is among, None where that differs.
    _choices: int | None = None

    def __init__(
        self,
        copies: int,
        exploration: Exploration | None,
        learner: MirrorDescent | None,
        costs: tuple[float, float],
        importance: bool,
        seed: int | np.random.Generator | None,
    ) -> None:
        """Make the books."""
        #: How many weights a feature has.
        self._copies = copies
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
        self._estimates = np.zeros(copies)
        self._counts = dict.fromkeys(_COUNTS, 0.0)

    @property
    def learner(self) -> MirrorDescent:
        """The cost regressors: weights of arm a at the columns a, a + arms, a + 2 arms, ...

        The first group of columns is the constant feature; where arms have features of their own
        they share the weights, as if there were one arm.
        """
        return self._learner

    @property
    def rounds(self) -> int:
        """How many decisions have had their cost."""
        return int(self._counts["rounds"])

    @property
    def waiting(self) -> list[Decision]:
        """The decisions whose cost has not come."""
        kept = self._waiting.kept.items()
        return [Decision(k, each.arm, each.probability) for k, each in kept]

    @property
    def _columns(self) -> int:
        return (self._width + 1) * self._copies

    def _contexts(self, X: Any) -> Rows:
        rows = sound_rows(as_rows(X), 0)
        if rows.dense and self._width and rows.width != self._width:
            raise ValueError(f"X has {rows.width} columns, the policy knows {self._width}")
        return rows

    def _predicted(self, rows: Rows, arms: Indices) -> tuple[Vector, Rows]:
        """Return the predicted unit costs of arms in contexts, and the rows they were made from."""
        every = crossed(rows, arms, self._copies)
        return np.clip(self._learner.predict(every).reshape(arms.shape), 0.0, 1.0), every

    def _explored(self, predicted: Vector, ahead: Vector) -> Vector:
        """Return the probabilities of the decision `ahead` steps from now, 0 for the next one."""
        times = self._waiting.made + 1.0 + ahead
        chances = self.exploration.probabilities(predicted, times)
        return as_probabilities(str(self.exploration), chances, *predicted.shape)

    def _keep(self, every: Rows, row: int, arm: int, chance: float, choices: int) -> int:
        """Let a decision wait, with its row of all those that predictions were made from."""
        cut = slice(int(every.indptr[row]), int(every.indptr[row + 1]))
        # Copies: a view would keep the rows of all arms alive.
        columns, values = every.indices[cut].copy(), every.values[cut].astype(np.float64)
        return self._waiting.add(Kept(arm, chance, choices, columns, values))

    def _estimate(self, kept: Kept, unit: float) -> None:
        """Enter a unit cost into the estimates of what others would have cost."""
        raise NotImplementedError

    def learn(self, decision: Decision | int, cost: float) -> None:
        """Tell the cost of a decision, by itself or by its id: in any order, once.

        Input that cannot be used raises ValueError and leaves the policy as it was.
        """
        self.learn_many([decision], [cost])

    def reward(self, decision: Decision | int, reward: float) -> None:
        """Tell a reward within the promised range: the cost is low + high - reward."""
        self.learn(decision, cost_of_reward(reward, *self.costs))

    @one_at_a_time
    def learn_many(self, decisions: Any, costs: Any) -> None:
        """Tell the costs of many decisions, learnt in this order.

        Input that cannot be used raises ValueError and leaves the policy as it was. Regressors
        that diverge raise OverflowError: the decisions before are settled, the others wait.
        """
        low, high = self.costs
        named = decisions.ids if isinstance(decisions, Decisions) else decisions
        found = [self._waiting.find(each) for each in named]
        values = [as_cost(each, low, high) for each in costs]
        if len(found) != len(values):
            raise ValueError(f"got {len(found)} decisions and {len(values)} costs")
        ids = sorted(each for each, _ in found)
        for one, other in itertools.pairwise(ids):
            if one == other:
                raise ValueError(f"decision {one} is named twice")
        require_room(self.rounds, len(values))
        units = np.array([(value - low) / (high - low) for value in values])
        chances = np.array([kept.probability for _, kept in found])
        rows = joined([(kept.columns, kept.values) for _, kept in found], self._columns)
        before = self._learner.rounds
        try:
            self._learner.learn(rows, units, 1.0 / chances if self.importance else None)
        finally:
            learnt = self._learner.rounds - before
            for (settled, kept), unit in zip(found[:learnt], units[:learnt].tolist(), strict=True):
                self._waiting.settle(settled)
                self._estimate(kept, unit)
                self._counts["cost"] += unit
                self._counts["rounds"] += 1.0

    @one_at_a_time
    def _learn_rows(self, X: Any, log: Log, arms: Indices) -> None:
        """Learn from a log, for which each row is crossed with its arm."""
        rows = self._contexts(X)
        if len(log) != len(rows):
            raise ValueError(f"got {len(rows)} contexts and {len(log)} arms")
        require_room(int(self._counts["logged"]), len(rows))
        low, high = log.range
        units = (log.outcomes - low) / (high - low)
        weights = 1.0 / log.propensities if self.importance else None
        before = self._learner.rounds
        try:
            self._learner.learn(crossed(rows, arms[:, None], self._copies), units, weights)
        finally:
            learnt = self._learner.rounds - before
            if learnt:
                self._width = max(self._width, rows.width)
            self._counts["logged"] += learnt

    @one_at_a_time
    def forget(self, decision: Decision | int) -> None:
        """Give up waiting for the cost of a decision."""
        self._waiting.settle(self._waiting.find(decision)[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write policy, regressors, waiting decisions, generator; `nr.load` resumes to the bit."""
        header = {
            "bandit": type(self).__name__,
            "copies": self._copies,
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
            "waiting_choices": np.array([each.choices for each in kept], np.int64),
            "waiting_probabilities": np.array([each.probability for each in kept], np.float64),
            "waiting_starts": rows.indptr,
            "waiting_columns": rows.indices,
            "waiting_values": rows.values,
        }
        self._learner.save(path, store.Extra(header, arrays))

    @classmethod
    def _made(cls, copies: int, options: tuple[Any, ...]) -> Self:
        """Return a fresh policy from what a file says."""
        raise NotImplementedError

    @classmethod
    def _from_file(cls, learner: Any, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        if not isinstance(learner, MirrorDescent):
            raise ValueError(f"its regressors are a {type(learner).__name__}")
        exploration = store.component_from_header(header["exploration"], Exploration)
        costs, importance = tuple(header["costs"]), bool(header["importance"])
        policy = cls._made(header["copies"], (exploration, None, costs, importance))
        policy._learner = learner
        policy._rng = generator_from_header(header["generator"])
        policy._counts = {name: number(name, header["counts"][name]) for name in _COUNTS}
        if min(policy._counts.values()) < 0.0 or policy._counts["rounds"] % 1.0:
            raise ValueError(f"counts are {shown(header['counts'])}")
        if arrays["estimates"].shape != (policy._copies,) or arrays["estimates"].dtype != float:
            raise ValueError(f"estimates have shape {arrays['estimates'].shape}")
        policy._estimates = arrays["estimates"]
        for name in ("made", "width"):
            if type(header[name]) is not int or not 0 <= header[name] < 2**53:
                raise ValueError(f"{name} is {shown(header[name])}, expected a whole number")
        policy._waiting.made, policy._width = header["made"], header["width"]
        starts, columns, values = (arrays[f"waiting_{k}"] for k in ("starts", "columns", "values"))
        sound_rows(as_rows(Rows(starts, columns, values, policy._columns)), 0)
        for k, made in enumerate(arrays["waiting"].tolist()):
            arm, choices = (int(arrays[f"waiting_{name}"][k]) for name in ("arms", "choices"))
            chance = float(arrays["waiting_probabilities"][k])
            sound = 0 <= made < policy._waiting.made and 0 <= arm < choices
            if not sound or not 0.0 < chance <= 1.0 or policy._choices not in (None, choices):
                raise ValueError(f"decision {made} for arm {arm} was never made")
            cut = slice(int(starts[k]), int(starts[k + 1]))
            policy._waiting.kept[made] = Kept(arm, chance, choices, columns[cut], values[cut])
        return policy
