"""Merge the ledgers of several shards into the ledger of all their rounds.

The lines of all rounds prove one floor, whatever made the predictions: for every u,
sum f(u) >= sum_k a_k + <u, sum_k Z_k>. A merge is the ledger of the shards' rounds one after the
other, in the order of the shards; `RULES` says of every entry how it is merged, and a test asks for
the rule of a new one.
Rounding of the merge itself is added to the entries that the slack is computed from.

What is proved of one learner that steps on every row (theorems about its rates) is not proved of
several that were mixed: `MixedCertificate` withdraws these theorems and keeps the floors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.proof.certificate import Certificate
from noregret.proof.ledger import Entry, gradient_error, new_ledger, require_room
from noregret.proof.statement import Statement
from noregret.rounding import grown, rounding_error


class Rule(Enum):
    """How an entry of several ledgers becomes that of their merge."""

    #: Sum of whole numbers, which is exact.
    COUNT = "count"
    #: Sum of numbers >= 0 that is used as an upper bound: rounded up.
    UPPER = "upper"
    #: Sum whose error is added to REGULARIZER_SLACK.
    PLAIN = "plain"
    #: Sum of number and low-order part; what rounding leaves of it goes to MAGNITUDE.
    TWOFOLD = "twofold"
    #: Low-order part of the entry before it.
    LOW = "low"
    LARGEST = "largest"
    SMALLEST = "smallest"
    #: First round that broke a promise, counted through the shards in their order; 0: none.
    BROKEN = "broken"
    #: Which promise that round broke.
    PROMISE = "promise"
    #: The value of all shards if they agree, else that of an empty ledger.
    COMMON = "common"
    #: Not valid after a merge: replaced by a number that makes its theorem empty.
    WITHDRAWN = "withdrawn"


RULES: dict[Entry, Rule] = {
    Entry.ROUNDS: Rule.COUNT,
    Entry.MISTAKES: Rule.COUNT,
    Entry.LOSS: Rule.TWOFOLD,
    Entry.LOSS_LOW: Rule.LOW,
    Entry.INTERCEPT: Rule.TWOFOLD,
    Entry.INTERCEPT_LOW: Rule.LOW,
    Entry.COUNTED_LOSS: Rule.TWOFOLD,
    Entry.COUNTED_LOSS_LOW: Rule.LOW,
    Entry.COUNTED: Rule.COUNT,
    Entry.MAGNITUDE: Rule.UPPER,
    Entry.TRAVEL: Rule.UPPER,
    Entry.SQUARES: Rule.UPPER,
    Entry.RATED_SQUARES: Rule.UPPER,
    Entry.LARGEST_SQUARE: Rule.LARGEST,
    Entry.LARGEST_ROW: Rule.LARGEST,
    Entry.LARGEST_COUNTED_ROW: Rule.LARGEST,
    # Of several promised limits only the largest holds for the rows of all shards.
    Entry.ROW_LIMIT: Rule.LARGEST,
    Entry.LIMIT_BROKEN: Rule.BROKEN,
    Entry.FIRST_ETA: Rule.COMMON,
    Entry.LAST_ETA: Rule.COMMON,
    Entry.REGULARIZER: Rule.PLAIN,
    Entry.LOCAL_SQUARES: Rule.UPPER,
    Entry.LOWEST_FEATURE: Rule.SMALLEST,
    Entry.HIGHEST_FEATURE: Rule.LARGEST,
    Entry.FEATURE_BROKEN: Rule.BROKEN,
    Entry.LOWEST_STEP: Rule.SMALLEST,
    Entry.REGULARIZER_SLACK: Rule.UPPER,
    # A sum of squares over t, the number of the round, which a merge changes.
    Entry.CURVED_SQUARES: Rule.WITHDRAWN,
    Entry.LARGEST_CURVED_SQUARE: Rule.LARGEST,
    Entry.LARGEST_REACH: Rule.LARGEST,
    Entry.LIGHTEST: Rule.SMALLEST,
    Entry.HEAVIEST: Rule.LARGEST,
    Entry.STEP_BROKEN: Rule.BROKEN,
    Entry.WIDEST_ROW: Rule.LARGEST,
    # A shard divides by its own m_i, which is at most that of all rows: the sum stays above.
    Entry.SCALED_TRAVEL: Rule.UPPER,
    Entry.OFFSETS: Rule.LARGEST,
    Entry.LEAST_WEIGHT: Rule.SMALLEST,
    Entry.MOST_WEIGHT: Rule.LARGEST,
    Entry.PROMISE_BROKEN: Rule.BROKEN,
    Entry.BROKEN_PROMISE: Rule.PROMISE,
    # The next round of a merge would be compared with this point; 0 is as good as any.
    Entry.LAST_POINT: Rule.WITHDRAWN,
}
#: What replaces an entry that is not valid after a merge.
_EMPTY = {Entry.CURVED_SQUARES: math.inf, Entry.LAST_POINT: 0.0}


def merged_ledger(ledgers: Sequence[Vector]) -> Vector:
    """Return the ledger of the rounds of all shards, in the order of the shards.

    >>> a, b = new_ledger(), new_ledger()
    >>> a[[Entry.ROUNDS, Entry.LOSS]] = 2.0, 1e16
    >>> b[[Entry.ROUNDS, Entry.LOSS, Entry.LIMIT_BROKEN]] = 3.0, 1.0, 2.0
    >>> both = merged_ledger([a, new_ledger(), b])
    >>> both[[Entry.ROUNDS, Entry.LOSS, Entry.LOSS_LOW, Entry.LIMIT_BROKEN]].tolist()
    [5.0, 1e+16, 1.0, 4.0]
    """
    played = [ledger for ledger in ledgers if ledger[Entry.ROUNDS] > 0.0]
    if len(played) < 2:
        return played[0].copy() if played else new_ledger()
    result = new_ledger()
    for place, rule in RULES.items():
        values = [float(ledger[place]) for ledger in played]
        if rule is Rule.COUNT:
            for value in values:
                require_room(int(result[place]), int(value))
                result[place] += value
        elif rule is Rule.UPPER:
            result[place] += _upper(values)
        elif rule is Rule.PLAIN:
            result[place] = _sum(values)
            result[Entry.REGULARIZER_SLACK] += rounding_error(1.0, abs(result[place]))
        elif rule is Rule.TWOFOLD:
            parts = values + [float(ledger[place + 1]) for ledger in played]
            result[place] = _sum(parts)
            result[place + 1] = _sum([*parts, -float(result[place])])
            # The low part is rounded once: the certificate counts 32 roundings of MAGNITUDE.
            result[Entry.MAGNITUDE] += abs(result[place + 1])
        elif rule is Rule.LARGEST:
            result[place] = max(values)
        elif rule is Rule.SMALLEST:
            result[place] = min(values)
        elif rule is Rule.BROKEN:
            result[place] = _first_broken(played, place)[0]
        elif rule is Rule.PROMISE:
            result[place] = values[_first_broken(played, Entry.PROMISE_BROKEN)[1]]
        elif rule is Rule.COMMON:
            result[place] = values[0] if len(set(values)) == 1 else result[place]
        elif rule is Rule.WITHDRAWN:
            result[place] = _EMPTY[place]
    return result


def _sum(values: Sequence[float]) -> float:
    """Return the exact sum, rounded once; infinite if it overflows."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def _upper(values: Sequence[float]) -> float:
    """Return the sum of numbers >= 0, rounded up."""
    total = _sum(values)
    return math.nextafter(total, math.inf) if sum(map(bool, values)) > 1 else total


def _first_broken(played: Sequence[Vector], place: Entry) -> tuple[float, int]:
    """Return the first round that broke a promise and its shard; (0, 0) without one."""
    before = 0.0
    for shard, ledger in enumerate(played):
        if ledger[place] > 0.0:
            return before + float(ledger[place]), shard
        before += float(ledger[Entry.ROUNDS])
    return 0.0, 0


def merged_error(ledgers: Sequence[Vector], width: int) -> float:
    """Return an upper bound on the rounding error of sum_k Z_k in the 1-norm.

    Each Z_k has the error of its own rounds, not of all rounds. The sum over K shards along a
    binary tree adds log2 K roundings of numbers whose 1-norms add up to at most the travel.
    """
    own = [gradient_error(float(o[Entry.TRAVEL]), int(o[Entry.ROUNDS]), width) for o in ledgers]
    levels = (max(len(ledgers), 1) - 1).bit_length()
    travel = _upper([float(ledger[Entry.TRAVEL]) for ledger in ledgers])
    rounds = 2.0 * float(np.sum([ledger[Entry.ROUNDS] for ledger in ledgers]))
    return grown(_upper(own) + rounding_error(levels, grown(travel, rounds)), 4.0)


@dataclass(frozen=True, eq=False)
class MixedCertificate(Certificate):
    """The certificate of K shards whose learners are mixed: about the predictions that they made.

    `ledger` is merged, `gradient` is the sum of the shards' Z. Floors and regrets hold for every
    way to share the rows out and to mix. Theorems about one learner are withdrawn.
    """

    #: The number of shards, and how many rows each learns between two mixings.
    shards: int = 1
    every: int = 1
    #: Upper bound on the rounding error of `gradient` in the 1-norm, from `merged_error`.
    gradient_slack: float = math.inf

    @cached_property
    def delta(self) -> float:
        """Upper bound on the rounding error of Z in the 1-norm, and so in every p-norm."""
        return self.gradient_slack

    @property
    def whose(self) -> str:
        """Whose predictions the loss is of, in words."""
        if self.shards == 1:
            return "1 shard, which predicts with its own weights"
        return (
            f"{self.shards:,} shards, each predicting with its own weights, mixed every "
            f"{self.every:,} rows"
        )

    def bounds_for(self, radius: float | None = None) -> list[Statement]:
        """Return one statement that says why the theorems of the learner do not apply."""
        if self.broken is not None or not self.rounds:
            return []
        reason = "proved of one learner that steps on every row, not of shards that are mixed"
        name, reference = "regret bounds of one learner", "see noregret.proof.merging"
        return [Statement(name, reference, math.inf, applies=False, reason=reason)]

    def as_dict(self, radius: float | None = None) -> dict[str, Any]:
        """Return the certificate as plain numbers, ready for JSON."""
        return super().as_dict(radius) | {
            "shards": self.shards, "mixed_every": self.every, "whose_loss": self.whose,
        }  # fmt: skip

    def _summary(self) -> str:
        return f"{super()._summary()}, {self.whose}"

    def _lines(self, radius: float | None = None) -> list[str]:
        head, *lines = super()._lines(radius)
        lines = [head, f"  whose loss: {self.whose}", *lines]
        if self.shards > 1 and self.broken is None:
            lines += [
                "  the floor is that of all rows together: at least the sum of the floors of the",
                f"  {self.shards:,} shards (before a negative one is raised to 0), and as a rule",
                "  looser the more shards there are, since each of them learns fewer rows",
            ]
        return lines
