"""Policies that see features: cost regressors, exploration, late costs, files.

One linear learner has weights of its own for each arm, by contexts crossed with arms: feature j of
a context becomes column (j + 1) K + a for arm a of K, and column a is a constant, so that new
features add columns at the end.
"""

from __future__ import annotations

import itertools
import os
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from noregret.arrays import Indices, Vector
from noregret.bandits.decisions import Decider, Decision, Log, WaitingField, as_cost
from noregret.bandits.exploration import Exploration, InverseGap, as_probabilities, draw_rows
from noregret.files import store
from noregret.files.fields import (
    Array,
    Arrays,
    Count,
    Fields,
    Header,
    Numbers,
    Random,
    Setting,
)
from noregret.learners import MirrorDescent
from noregret.losses import Squared
from noregret.mirrors import Euclidean
from noregret.passes.checks import sound_rows
from noregret.proof.ledger import require_room
from noregret.rates import ScaleFree
from noregret.rows.examples import Rows, as_rows
from noregret.turns import one_at_a_time
from noregret.visible import shown

Row = tuple[npt.NDArray[np.uint32], Vector]

_COUNTS = ("rounds", "cost", "logged")
_NOTHING = np.zeros(1, np.uint32), np.zeros(1)


class Decisions(NamedTuple):
    """Decisions for many contexts, as arrays."""

    ids: Indices
    arms: Indices
    probabilities: Vector


class PendingRow(NamedTuple):
    """A waiting decision: the arm, its probability, the number of arms, and its crossed row."""

    arm: int
    probability: float
    choices: int
    columns: npt.NDArray[np.uint32]
    values: Vector


class PendingField(WaitingField):
    """The decisions of a policy in a file, with their crossed rows."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the decisions."""
        super().write(owner, header, arrays)
        kept = owner._waiting.values()
        rows = joined([(each.columns, each.values) for each in kept], owner._columns)
        arrays["waiting_choices"] = np.array([each.choices for each in kept], np.int64)
        arrays["waiting_starts"] = rows.indptr
        arrays["waiting_columns"] = rows.indices
        arrays["waiting_values"] = rows.values

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Let the decisions wait again, with rows that are sound."""
        starts, columns, values = (
            arrays[f"waiting_{name}"] for name in ("starts", "columns", "values")
        )
        sound_rows(as_rows(Rows(starts, columns, values, owner._columns)), 0)
        super().read(owner, header, arrays)

    def choices(self, owner: Any, arrays: Arrays, k: int) -> int:
        """Return how many arms the k-th decision was among, 0 if that is not possible."""
        choices = int(arrays["waiting_choices"][k])
        return choices if owner._choices in (None, choices) else 0

    def kept(self, arrays: Arrays, k: int, arm: int, chance: float) -> PendingRow:
        """Return the data of the k-th decision."""
        cut = slice(*arrays["waiting_starts"][k : k + 2].tolist())
        columns, values = arrays["waiting_columns"][cut], arrays["waiting_values"][cut]
        return PendingRow(arm, chance, int(arrays["waiting_choices"][k]), columns, values)


class Policy(Decider[PendingRow]):
    """A linear learner that predicts costs, and the decisions that wait for theirs."""

    _FIELDS: ClassVar[Fields] = (
        Setting("costs"),
        Setting("exploration", of=Exploration),
        Setting("importance"),
        Count("made", "_waiting.made"),
        Count("width"),
        Numbers("counts"),
        Random("generator", "_rng"),
        Array("estimates", missing=True),
        PendingField("waiting"),
    )
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
        super().__init__(costs, seed)
        #: The number of weights of each feature.
        self._copies = copies
        self.exploration = InverseGap() if exploration is None else exploration
        if not isinstance(self.exploration, Exploration):
            raise ValueError(f"exploration must be an Exploration, got {exploration!r}")
        if learner is None:
            learner = MirrorDescent(Squared(), Euclidean(), ScaleFree())
        if learner.loss.labels != "real":
            raise ValueError(
                "the learner predicts costs: its loss must take them, "
                f"not {type(learner.loss).__name__}"
            )
        if learner.rounds:
            raise ValueError(f"the learner must be fresh, it has learnt {learner.rounds} examples")
        self.importance = bool(importance)
        #: The cost regressors: weights of arm a at the columns a, a + arms, a + 2 arms, ...
        #: The first group of columns is the constant feature; where arms have features of their
        #: own they share the weights, as if there were one arm.
        self.learner = learner
        self._width, self._estimates = 0, np.zeros(copies)
        self._counts = dict.fromkeys(_COUNTS, 0.0)

    @property
    def rounds(self) -> int:
        """How many decisions have had their cost."""
        return int(self._counts["rounds"])

    @property
    def _columns(self) -> int:
        return (self._width + 1) * self._copies

    def _contexts(self, X: Any) -> Rows:
        rows = sound_rows(as_rows(X), 0)
        if rows.dense and self._width and rows.width != self._width:
            raise ValueError(f"X has {rows.width} columns, the policy knows {self._width}")
        return rows

    def _choice(self, rows: Rows) -> tuple[Indices, int]:
        """Return the arm of each copy of the rows, a row of copies a context, and of how many."""
        raise NotImplementedError

    def _predicted(self, rows: Rows) -> tuple[Vector, Rows]:
        """Return the predicted unit costs, a row a decision, and the rows they were made from."""
        arms, choices = self._choice(rows)
        every = crossed(rows, arms, self._copies)
        return np.clip(self.learner.predict(every).reshape(-1, choices), 0.0, 1.0), every

    def predict(self, X: Any) -> Vector:
        """Return the predicted cost of every arm, a row a decision."""
        low, high = self.costs
        return low + (high - low) * self._predicted(self._contexts(X))[0]

    def probabilities(self, X: Any) -> Vector:
        """Return the probability of every arm, as the coming decision has it, a row a decision."""
        predicted = self._predicted(self._contexts(X))[0]
        return self._explored(predicted, np.zeros(len(predicted)))

    def _explored(self, predicted: Vector, ahead: Vector) -> Vector:
        """Return the probabilities of the decision `ahead` steps from now, 0 for the next one."""
        chances = self.exploration.probabilities(predicted, self._waiting.made + 1.0 + ahead)
        return as_probabilities(str(self.exploration), chances, *predicted.shape)

    @one_at_a_time
    def _decide(self, X: Any) -> Decisions:
        """Draw the arms of decisions, all with the regressors as they are; X may be checked."""
        rows = X if isinstance(X, Rows) else self._contexts(X)
        predicted, every = self._predicted(rows)
        count, choices = len(predicted), predicted.shape[1]
        chances = self._explored(predicted, np.arange(count, dtype=np.float64))
        arms = draw_rows(chances, self._rng.random(count))
        drawn = chances[np.arange(count), arms]
        self._width = max(self._width, rows.width)
        # The cost of an arm that had probability 0 cannot be estimated, now or later.
        if not chances.all():
            hopeless = (chances == 0.0).any(axis=0).reshape(self._copies, -1).any(axis=1)
            self._estimates[hopeless] = np.nan
        ids = np.empty(count, np.int64)
        for k, (arm, chance) in enumerate(zip(arms.tolist(), drawn.tolist(), strict=True)):
            row = k * choices + arm
            cut = slice(int(every.indptr[row]), int(every.indptr[row + 1]))
            # Copies: a view would keep the rows of all arms alive.
            columns, values = every.indices[cut].copy(), every.values[cut].astype(np.float64)
            ids[k] = self._waiting.add(PendingRow(arm, chance, choices, columns, values))
        return Decisions(ids, arms, drawn)

    def _decide_one(self, X: Any) -> Decision:
        ids, arms, chances = self._decide(X)
        return Decision(int(ids[0]), int(arms[0]), float(chances[0]))

    def learn(self, decision: Decision | int, cost: float) -> None:
        """Report the cost of a decision, by itself or by its id: in any order, once.

        Input that cannot be used raises ValueError and leaves the policy as it was.
        """
        self.learn_many([decision], [cost])

    @one_at_a_time
    def learn_many(self, decisions: Any, costs: Any) -> None:
        """Report the costs of many decisions, learnt in this order.

        Input that cannot be used raises ValueError and leaves the policy as it was. Regressors
        that diverge raise OverflowError: the decisions before are settled, the others wait.
        """
        low, high = self.costs
        named = decisions.ids if isinstance(decisions, Decisions) else decisions
        found = [self._waiting.find(each) for each in named]
        values = [as_cost(each, low, high) for each in costs]
        if len(found) != len(values):
            raise ValueError(f"got {len(found)} decisions and {len(values)} costs")
        for one, other in itertools.pairwise(sorted(each for each, _ in found)):
            if one == other:
                raise ValueError(f"decision {one} is named twice")
        require_room(self.rounds, len(values))
        units = np.array([(value - low) / (high - low) for value in values])
        chances = np.array([kept.probability for _, kept in found])
        rows = joined([(kept.columns, kept.values) for _, kept in found], self._columns)
        before = self.learner.rounds
        try:
            self.learner.learn(rows, units, 1.0 / chances if self.importance else None)
        finally:
            learnt = self.learner.rounds - before
            for (settled, kept), unit in zip(found[:learnt], units[:learnt].tolist(), strict=True):
                del self._waiting[settled]
                # Arms that share their weights share one estimate, that of drawing them evenly.
                share = unit / kept.probability / (kept.choices / self._copies)
                self._estimates[kept.arm % self._copies] += share
                self._counts["cost"] += unit
                self._counts["rounds"] += 1.0

    @one_at_a_time
    def _learn_rows(self, X: Any, log: Log, arms: Indices) -> None:
        """Learn from a log, for which each row is crossed with its arm."""
        rows = self._contexts(X)
        if len(log) != len(rows):
            raise ValueError(f"got {len(rows)} contexts and {len(log)} arms")
        require_room(int(self._counts["logged"]), len(rows))
        weights = 1.0 / log.propensities if self.importance else None
        before = self.learner.rounds
        try:
            self.learner.learn(crossed(rows, arms[:, None], self._copies), log.units, weights)
        finally:
            learnt = self.learner.rounds - before
            if learnt:
                self._width = max(self._width, rows.width)
            self._counts["logged"] += learnt

    @one_at_a_time
    def forget(self, decision: Decision | int) -> None:
        """Give up waiting for the cost of a decision."""
        del self._waiting[self._waiting.find(decision)[0]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write policy, regressors, waiting decisions, generator; `nr.load` resumes to the bit."""
        self.learner.save(path, store.Extra(*self._to_file()))

    @classmethod
    def _beside(cls, learner: Any, header: Header, arrays: Arrays) -> Self:
        """Return the policy that was saved beside its learner."""
        if not isinstance(learner, MirrorDescent):
            raise ValueError(f"its regressors are a {type(learner).__name__}")
        policy = cls._from_file(header, arrays)
        policy.learner = learner
        return policy

    def _check_loaded(self) -> None:
        """Refuse counts that no policy has."""
        if min(self._counts.values()) < 0.0 or self._counts["rounds"] % 1.0:
            raise ValueError(f"counts are {shown(self._counts)}")


def crossed(rows: Rows, arms: Indices, count: int) -> Rows:
    """Return each context crossed with each arm in its row of `arms`, one after the other.

    >>> from noregret.rows.examples import as_rows
    >>> part = crossed(as_rows([[0.5, 2.0]]), np.array([[0, 2]]), 3)
    >>> part.indices, part.values
    (array([0, 3, 6, 2, 5, 8], dtype=uint32), array([1. , 0.5, 2. , 1. , 0.5, 2. ]))
    """
    size, copies = arms.shape
    width = (rows.width + 1) * count
    if width > 2**32:
        raise ValueError(f"{rows.width} features for each of {count} arms are more than 2^32")
    starts = np.zeros(size * copies + 1, np.uint64)
    columns, values = (_dense if rows.dense else _sparse)(rows, arms, count, starts)
    return Rows(starts, columns.astype(np.uint32), values, width, size * copies)


def _dense(
    rows: Rows, arms: Indices, count: int, starts: npt.NDArray[np.uint64]
) -> tuple[Indices, Vector]:
    shape = (*arms.shape, rows.width + 1)
    starts[:] = np.arange(0, arms.size * shape[2] + 1, shape[2])
    columns = np.arange(0, shape[2] * count, count) + arms[:, :, None]
    values = np.ones(shape)
    values[:, :, 1:] = rows.values[:, None, :]
    return columns.ravel(), values.ravel()


def _sparse(
    rows: Rows, arms: Indices, count: int, starts: npt.NDArray[np.uint64]
) -> tuple[Indices, Vector]:
    begins = rows.indptr.astype(np.int64)
    lengths = np.repeat(np.diff(begins) + 1, arms.shape[1])
    ends = np.cumsum(lengths)
    starts[1:] = ends
    firsts = ends - lengths
    # The k-th entry of a copy is the (k-1)-th of its context, behind the constant.
    shifts = np.repeat(begins[:-1], arms.shape[1]) - firsts - 1
    taken = np.arange(int(starts[-1])) + np.repeat(shifts, lengths)
    constant = np.zeros(len(taken), np.bool_)
    constant[firsts] = True
    taken[constant] = 0
    # Rows without features hold constants only: index an array of one zero instead.
    indices, stored = (rows.indices, rows.values) if len(rows.indices) else _NOTHING
    columns = np.where(constant, 0, indices[taken].astype(np.int64) + 1) * count
    columns += np.repeat(arms.ravel(), lengths)
    return columns, np.where(constant, 1.0, stored[taken].astype(np.float64))


def joined(parts: list[Row], width: int) -> Rows:
    """Return rows that were kept one by one.

    >>> joined([(np.array([0, 4], np.uint32), np.ones(2))], 6).indptr
    array([0, 2], dtype=uint64)
    """
    starts = np.zeros(len(parts) + 1, np.uint64)
    np.cumsum([len(columns) for columns, _ in parts], out=starts[1:])
    columns = np.concatenate([columns for columns, _ in parts] or [np.zeros(0, np.uint32)])
    values = np.concatenate([values for _, values in parts] or [np.zeros(0)])
    return Rows(starts, columns, values, width, len(parts))
