"""Decisions and their costs: those that wait, joined by id, and those of a log."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from noregret.arrays import Vector, as_count, as_number, as_real, real_array, refuse_masked
from noregret.files.fields import Arrays, Field, Header, Saved
from noregret.visible import shown

#: The data of a waiting decision: a tuple that begins with the arm and its probability.
Pending = TypeVar("Pending", bound=tuple[Any, ...])

#: Sums over 2^53 rounds of costs within this size are finite.
LARGEST = 1e290


class Decision(NamedTuple):
    """An arm that was drawn, and with which probability; its cost is reported under `id`."""

    id: int
    arm: int
    probability: float


class Waiting(dict[int, Pending]):
    """The data of each decision until its cost comes, by id; memory grows with these alone.

    Ids are 0, 1, 2, ...: one that is not waiting was settled before, or never given.
    """

    #: How many decisions were made so far.
    made = 0

    def add(self, kept: Pending) -> int:
        """Keep something for a new decision and return its id."""
        number = self.made
        self[number] = kept
        self.made = number + 1
        return number

    def find(self, decision: Decision | int) -> tuple[int, Pending]:
        """Return the id and the data of a decision that waits, or refuse it in one line.

        >>> Waiting().find(3)
        Traceback (most recent call last):
        ValueError: decision 3 is unknown: none were made so far
        """
        number = decision.id if isinstance(decision, Decision) else decision
        if type(number) is not int:
            # Integers of numpy are accepted, but neither True nor 1.5 names a decision.
            if isinstance(number, bool) or not isinstance(number, np.integer):
                raise ValueError(
                    f"a decision is named by its id, a whole number, got {shown(decision)}"
                )
            number = int(number)
        kept = self.get(number)
        if kept is not None:
            # Two bandits use the same ids; arm and probability tell their decisions apart.
            if isinstance(decision, Decision) and decision[1:] != kept[:2]:
                raise ValueError(f"decision {number} of this bandit is another: arm {kept[0]}")
            return number, kept
        if 0 <= number < self.made:
            raise ValueError(
                f"decision {number} is settled: its cost was reported or it was forgotten"
            )
        made = f"the ids so far are 0 to {self.made - 1}" if self.made else "none were made so far"
        raise ValueError(f"decision {number} is unknown: {made}")


class WaitingField(Field):
    """The decisions of `owner._waiting` in a file, with their arms and probabilities."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter ids, arms and probabilities."""
        kept = owner._waiting
        arrays["waiting"] = np.array(list(kept), np.int64)
        arrays["waiting_arms"] = np.array([each[0] for each in kept.values()], np.int64)
        arrays["waiting_probabilities"] = np.array([each[1] for each in kept.values()], np.float64)

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Let the decisions wait again, or refuse those that were never made."""
        columns = (arrays[f"waiting{each}"].tolist() for each in ("", "_arms", "_probabilities"))
        for k, (number, arm, chance) in enumerate(zip(*columns, strict=True)):
            choices = self.choices(owner, arrays, k)
            if not (0 <= number < owner._waiting.made and 0 <= arm < choices and 0 < chance <= 1):
                raise ValueError(
                    f"decision {number} for arm {arm} with probability {chance} was never made"
                )
            owner._waiting[int(number)] = self.kept(arrays, k, int(arm), float(chance))

    def choices(self, owner: Any, arrays: Arrays, k: int) -> int:
        """Return how many arms the k-th decision was among."""
        return int(owner.arms)

    def kept(self, arrays: Arrays, k: int, arm: int, chance: float) -> tuple[Any, ...]:
        """Return the data of the k-th decision."""
        return arm, chance


class Decider(Saved, Generic[Pending]):
    """A bandit whose decisions get their costs by id, late and in any order."""

    _KIND = "bandit"

    def __init__(self, costs: tuple[float, float], seed: int | np.random.Generator | None) -> None:
        self.costs = as_range(costs)
        self._rng = generator(seed)
        self._waiting: Waiting[Pending] = Waiting()

    @property
    def waiting(self) -> list[Decision]:
        """The decisions whose cost has not come."""
        return [Decision(number, *kept[:2]) for number, kept in self._waiting.items()]

    def learn(self, decision: Decision | int, cost: float) -> None:
        """Report the cost of a decision, by itself or by its id: in any order, once."""
        raise NotImplementedError

    def reward(self, decision: Decision | int, reward: float) -> None:
        """Report a reward within the promised range: the cost is low + high - reward."""
        self.learn(decision, cost_of_reward(reward, *self.costs))


def as_cost(cost: float, low: float, high: float) -> float:
    """Return the cost as a float, or refuse one outside the promised range.

    >>> as_cost(0.5, 0.0, 1.0)
    0.5
    """
    number = cost if type(cost) is float else as_number("the cost", cost)
    if not low <= number <= high:
        raise ValueError(f"the cost must be within the promised [{low:g}, {high:g}], got {cost}")
    return number


def cost_of_reward(reward: float, low: float, high: float) -> float:
    """Return the cost low + high - reward of a reward within the promised range.

    >>> cost_of_reward(0.25, 0.0, 1.0)
    0.75
    """
    # In this order nothing is lost where the ends are far from 0 and close to each other.
    return min(max(high - (as_cost(reward, low, high) - low), low), high)


def as_range(costs: tuple[float, float]) -> tuple[float, float]:
    """Return the promised range of the costs as two floats.

    >>> as_range((-1, 0))
    (-1.0, 0.0)
    """
    must = "must be a pair of numbers (low, high)"
    try:
        low, high = costs
    except (TypeError, ValueError) as error:
        raise ValueError(f"costs {must}, got {shown(costs)}") from error
    low, high = as_real("costs", low, must), as_real("costs", high, must)
    if not -LARGEST <= low < high <= LARGEST:
        raise ValueError(
            f"costs must be of size at most {LARGEST:g} with low < high, got ({low}, {high})"
        )
    return low, high


def generator(seed: int | np.random.Generator | None) -> np.random.Generator:
    """Return a random generator on PCG64, the kind that files hold.

    >>> generator(7).random() == generator(7).random()
    True
    """
    if isinstance(seed, np.random.Generator):
        if type(seed.bit_generator) is not np.random.PCG64:
            raise ValueError(
                "seed must be a number or a generator on PCG64, "
                f"got one on {type(seed.bit_generator).__name__}"
            )
        return seed
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise ValueError(f"seed must be a whole number, a generator or None, got {seed!r}")
    return np.random.Generator(np.random.PCG64(seed))


class Log:
    """Logged decisions of a past policy; outcomes are costs or rewards.

    `propensities` are the probabilities with which the logged arms were drawn, `outcome_range` is a
    promise about every outcome, on which finite-sample intervals rely.

    >>> len(Log([0, 1], [1.0, 0.0], [0.5, 0.5], arms=2))
    2
    """

    def __init__(
        self,
        arms_drawn: Any,
        outcomes: Any,
        propensities: Any,
        arms: int,
        outcome_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """Check the columns of a log."""
        self.count = as_count("arms", arms)
        self.range = low, high = as_range(outcome_range)
        refuse_masked("arms", arms_drawn)
        raw = np.atleast_1d(np.asarray(arms_drawn))
        if raw.ndim != 1 or raw.dtype.kind not in "iu":
            raise ValueError(f"arms must be a column of whole numbers, got {raw.dtype} {raw.shape}")
        self.arms = raw.astype(np.int64)
        self.outcomes = _column("outcomes", outcomes, len(raw))
        self.propensities = _column("propensities", propensities, len(raw))
        arm, outcome, chance = self.arms, self.outcomes, self.propensities
        for name, column, sound, expected in (
            ("arms", arm, (arm >= 0) & (arm < self.count), f"an arm from 0 to {self.count - 1}"),
            ("outcomes", outcome, (outcome >= low) & (outcome <= high),
             f"a number within the promised [{low:g}, {high:g}]"),
            ("propensities", chance, (chance > 0.0) & (chance <= 1.0), "a probability above 0"),
        ):  # fmt: skip
            if not sound.all():
                row = int(np.argmin(sound))
                raise ValueError(f"{name}: row {row} is {column[row]}, expected {expected}")
            # Read-only, so that the checks stay valid.
            column.flags.writeable = False

    @property
    def units(self) -> Vector:
        """The outcomes in units of their range."""
        low, high = self.range
        return np.asarray((self.outcomes - low) / (high - low))

    def __len__(self) -> int:
        return len(self.arms)


def _column(name: str, values: Any, count: int) -> Vector:
    column = np.atleast_1d(np.array(real_array(name, values), np.float64))
    if column.shape != (count,):
        raise ValueError(f"{name} have shape {column.shape}, expected ({count},): one a decision")
    return column
