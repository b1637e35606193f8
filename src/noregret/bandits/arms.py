"""The base of bandits with finitely many arms: decisions, costs, sums, files."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import IntEnum
from typing import ClassVar

import numpy as np

from noregret.arrays import ArrayLike, Indices, Vector, as_count, first_true, real_array
from noregret.bandits.bandit_certificate import BanditCertificate
from noregret.bandits.decisions import Decider, Decision, WaitingField, as_cost
from noregret.files.fields import Array, Count, Fields, Random, Setting
from noregret.jit import add_compensated, kernel
from noregret.proof.ledger import require_room
from noregret.proof.statement import RANGE, ROUNDING, Measured, Statement
from noregret.rounding import rounding_error
from noregret.turns import one_at_a_time


class ArmSum(IntEnum):
    """Places in the book of a bandit; costs are counted in units of the promised range."""

    ROUNDS = 0
    COST = 1
    COST_LOW = 2
    #: Sum of the stability terms D_t, and of the simpler terms above them.
    DIVERGENCE = 3
    LOCAL = 4
    #: Sum of y_t - <w_t, z_t>: nonzero when a cost is late or IX biases the estimate.
    DRIFT = 5
    ETAS = 6
    #: The rate of the coming round, and the round in which it changes.
    ETA = 7
    NEXT = 8
    #: The factor of falling rates.
    SCALE = 9
    #: Subtracted from every estimate before weights are computed.
    SHIFT = 10
    #: The first decision that was made before an earlier one had its cost, and the first that
    #: was forgotten, counted from 1 (0: none).
    LATE = 11
    FORGOTTEN = 12


@kernel
def enter_cost(book, cost):  # type: ignore[no-untyped-def]
    """Count a round and add its cost, keeping what the addition loses.

    >>> book = np.zeros(len(ArmSum))
    >>> for cost in (1e16, 1.0, -1e16):
    ...     enter_cost(book, cost)
    >>> float(book[ArmSum.COST] + book[ArmSum.COST_LOW])
    1.0
    """
    add_compensated(book, ArmSum.COST, cost)
    book[ArmSum.ROUNDS] += 1.0


class ArmBandit(Decider[tuple[int, float]]):
    """A bandit that draws one of finitely many arms and learns from the cost of that arm alone."""

    algorithm: ClassVar[str]
    _FIELDS: ClassVar[Fields] = (
        Setting("arms"),
        Setting("costs"),
        Count("made", "_waiting.made"),
        Random("generator", "_rng"),
        Array("book", unbounded=True),
        Array("estimates"),
        WaitingField("waiting"),
    )

    def __init__(
        self, arms: int, costs: tuple[float, float], seed: int | np.random.Generator | None
    ) -> None:
        """Set all sums to 0."""
        self.arms = as_count("arms", arms)
        super().__init__(costs, seed)
        self._book = np.zeros(len(ArmSum))
        self._estimates = np.zeros(self.arms)

    @property
    def rounds(self) -> int:
        """How many decisions have had their cost."""
        return int(self._book.item(ArmSum.ROUNDS))

    @property
    def eta(self) -> float:
        """The rate of the coming round."""
        return float(self._book[ArmSum.ETA])

    def _draw(self, u: float) -> tuple[int, float]:
        """Return the arm at u of the distribution function, and its probability."""
        raise NotImplementedError

    def _suffer(self, arm: int, probability: float, cost: float) -> None:
        """Learn that a decision had a cost, in units of the range."""
        raise NotImplementedError

    def _play(self, draws: Vector, costs: Vector, arms: Indices) -> None:
        """Play many rounds against known costs, in units of the range."""
        raise NotImplementedError

    def _statements(self, reason: str) -> list[Statement]:
        """Return the theorems after a round or more, in units of the range.

        `reason` says why those that are not about this very path do not hold, or ''.
        """
        raise NotImplementedError

    @one_at_a_time
    def decide(self) -> Decision:
        """Draw an arm; report its cost later by `learn(decision.id, cost)`."""
        arm, probability = self._draw(self._rng.random())
        if self._waiting:
            self._note_late()
        return Decision(self._waiting.add((arm, probability)), arm, probability)

    def _note_late(self) -> None:
        """Enter in the book that the coming decision is made while another one waits."""
        if not self._book[ArmSum.LATE]:
            self._book[ArmSum.LATE] = self._waiting.made + 1

    @one_at_a_time
    def learn(self, decision: Decision | int, cost: float) -> None:
        """Report the cost of a decision, by itself or by its id: in any order, once.

        Input that cannot be used raises ValueError and leaves the bandit as it was.
        """
        number, (arm, probability) = self._waiting.find(decision)
        low, high = self.costs
        unit = (as_cost(cost, low, high) - low) / (high - low)
        require_room(self.rounds, 1)
        del self._waiting[number]
        self._suffer(arm, probability, unit)

    @one_at_a_time
    def forget(self, decision: Decision | int) -> None:
        """Give up waiting for the cost of a decision; no theorem in expectation holds after it."""
        number, _ = self._waiting.find(decision)
        del self._waiting[number]
        if not self._book[ArmSum.FORGOTTEN]:
            self._book[ArmSum.FORGOTTEN] = number + 1

    @one_at_a_time
    def play(self, costs: ArrayLike) -> Indices:
        """Play a round a row against costs that are known for every arm, and return the arms drawn.

        The bandit looks at the costs of these arms only; the draws are those of `decide`.
        """
        low, high = self.costs
        matrix = np.ascontiguousarray(real_array("costs", costs), np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != self.arms:
            raise ValueError(f"costs have shape {matrix.shape}, expected (rounds, {self.arms})")
        if at := first_true(~((matrix >= low) & (matrix <= high))):
            raise ValueError(
                f"costs must be within the promised [{low:g}, {high:g}], got {matrix[at]} "
                f"in row {at[0]} at arm {at[1]}"
            )
        require_room(self.rounds, len(matrix))
        if (low, high) != (0.0, 1.0):
            matrix = (matrix - low) / (high - low)
        arms = np.empty(len(matrix), np.int64)
        if self._waiting and len(matrix):
            self._note_late()
        self._play(self._rng.random(len(matrix)), matrix, arms)
        self._waiting.made += len(matrix)
        return arms

    def certificate(self) -> BanditCertificate:
        """Return the certificate of the rounds so far, which later rounds do not change."""
        low, high = self.costs
        width, book, rounds = high - low, self._book, self.rounds
        reason = ""
        if book[ArmSum.LATE]:
            reason = f"a cost was late since decision {int(book[ArmSum.LATE]) - 1}"
        if book[ArmSum.FORGOTTEN]:
            reason = f"decision {int(book[ArmSum.FORGOTTEN]) - 1} was forgotten"
        delta, floor = self._floor(reason)
        return BanditCertificate(
            algorithm=self.algorithm,
            rounds=rounds,
            cost=low * rounds + width * self._cost,
            estimates=low * rounds + width * self._estimates,
            estimated_regret=width * (self._cost - float(self._estimates.min())),
            statements=[
                _scaled(each, width) for each in (self._statements(reason) if rounds else [])
            ],
            delta=delta,
            floor=None if floor is None else _below(low * rounds + width * floor, low, rounds),
            waiting=len(self._waiting),
        )

    def _floor(self, reason: str) -> tuple[float | None, float | None]:
        return None, None

    @property
    def _cost(self) -> float:
        return float(self._book[ArmSum.COST] + self._book[ArmSum.COST_LOW])

    def _slack(self) -> float:
        """Return an upper bound on the relative rounding error of the sums of a statement."""
        return rounding_error(16.0 * (self.rounds + 8.0), 1.0)

    def _measured(self) -> Measured:
        """Return the cost minus the least estimate, which the theorems about a path bound."""
        least = float(self._estimates.min())
        size = self._cost + least + abs(float(self._book[ArmSum.DRIFT]))
        return Measured(self._cost - least, (self._slack() + ROUNDING) * size, RANGE)

    def _check_loaded(self) -> None:
        """Refuse a book and estimates that no bandit has written."""
        book = self._book
        rounds, next_round = float(book[ArmSum.ROUNDS]), float(book[ArmSum.NEXT])
        # Sums of squares may have overflowed, and their statements say so; the others cannot.
        squares = [ArmSum.NEXT, ArmSum.DIVERGENCE, ArmSum.LOCAL, ArmSum.ETAS]
        if not np.isfinite(np.delete(book, squares)).all() or not next_round > 0.0:
            raise ValueError("the book holds numbers that are not finite")
        if not 0.0 <= rounds <= 2.0**53 or rounds % 1.0:
            raise ValueError(f"the book counts {rounds:g} rounds")
        positive = np.delete(book, [ArmSum.COST_LOW, ArmSum.DRIFT, ArmSum.SHIFT])
        if not book[ArmSum.ETA] > 0.0 or not (positive >= 0.0).all():
            raise ValueError("the book holds sums that no run can have")
        if not (self._estimates >= 0.0).all():
            raise ValueError("estimates must be finite numbers >= 0")


def _scaled(each: Statement, width: float) -> Statement:
    if not each.applies:
        return each
    # One double further: among denormal numbers the relative error rounds to 0.
    value = each.value * width
    return replace(each, value=math.nextafter(value + rounding_error(4.0, abs(value)), math.inf))


def _below(value: float, low: float, rounds: int) -> float:
    """Return the floor, rounded down, at least the lowest promised costs."""
    least = low * rounds
    shaved = math.nextafter(value - rounding_error(8.0, abs(value) + abs(least)), -math.inf)
    if low == 0.0:
        return max(shaved, 0.0)
    return max(shaved, math.nextafter(least - rounding_error(4.0, abs(least)), -math.inf))
