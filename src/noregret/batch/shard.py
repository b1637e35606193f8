"""The rows of one shard with their dual variables, where they live, and what a solver asks of them.

A solver knows the weights and the objective; it never sees rows. It calls these methods on all
shards at once (`noregret.workers`) and adds what they return: sums over the rows, and vectors as
long as the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from noregret import mirrors
from noregret.arrays import Vector
from noregret.batch.ascent import records_of, seed_state
from noregret.batch.dual_newton import DualStep
from noregret.batch.problem import LINK_ERRORS, Problem
from noregret.batch.shard_balance import BalanceStep
from noregret.batch.verifying import Witness
from noregret.batch.work_shares import visits_of
from noregret.passes import sync
from noregret.passes.dual import dual, gap, joint
from noregret.passes.frame import block
from noregret.passes.rows import Block
from noregret.workers import packed


class Size(NamedTuple):
    """Sums over the rows of a shard, or of all of them: how much work there is."""

    rows: int
    #: Stored features, and the sum of the squares of their number a row.
    features: float
    pairs: float
    weight: float
    #: The least and the largest example weight.
    lightest: float
    heaviest: float
    #: Rows that count, and whether some of them have an offset.
    counted: int
    offsets: bool

    @classmethod
    def total(cls, sizes: list[Any]) -> Size:
        """Return the size of all shards together."""
        one = [cls(*size) for size in sizes]
        return cls(
            sum(size.rows for size in one), sum(size.features for size in one),
            sum(size.pairs for size in one), sum(size.weight for size in one),
            min(size.lightest for size in one), max(size.heaviest for size in one),
            sum(size.counted for size in one), any(size.offsets for size in one),
        )  # fmt: skip


class Shard(BalanceStep, DualStep, Witness):
    """Rows of a problem with their slopes, the dual variables.

    Args:
        problem: the rows, and the objective that they share with all shards.
        slopes: the slopes, which are changed in place [default: those of a cold start].
        given: the slopes around which Newton steps smooth the losses [default: a copy].
        seed: of the order of visits, a whole number >= 0 [default: 0].
        number: which shard this is, from 0 [default: 0].
    """

    def __init__(
        self,
        problem: Problem,
        slopes: Vector | None = None,
        given: Vector | None = None,
        seed: int = 0,
        number: int = 0,
    ) -> None:
        self.problem, self.number = problem, number
        self.slopes = problem.start() if slopes is None else slopes
        self.given = self.slopes.copy() if given is None else given
        self.random = self.first_random = np.uint64(seed_state([seed, number]))
        self._predictions = self._bends = np.empty(0)
        self._before = np.empty(0)
        self._memory: dual.Memory | None = None
        #: Rows still active, those of them visited since they were shuffled, and rows of a turn.
        self._active = self._visited = self._turn = 0

    @property
    def _block(self) -> Block:
        return block(self.problem.rows)

    def size(self) -> Size:
        """Return how many rows, features and weights there are."""
        problem, rows = self.problem, self.problem.rows
        counts = np.full(len(rows), rows.width) if rows.dense else np.diff(rows.indptr)
        lengths = counts.astype(np.float64)
        c = problem.weight
        return Size(
            len(rows), float(lengths.sum()), float(lengths @ lengths), float(c.sum()),
            float(c.min()), float(c.max()), int(np.count_nonzero(c)), bool(problem.offset.any()),
        )  # fmt: skip

    # Both sides of the gap, with what bounds their rounding.

    def dual_sums(self, which: str = "slopes", part: float = 1.0) -> tuple[Vector, Any]:
        """Return sum c_i s_i x_i as a twofold sum, and the sums of `gap.dual_sums`.

        which: "slopes", or "offered": the part `part` of the way from the given slopes to them.
        """
        slopes = self.slopes if which == "slopes" else self.offered(part)
        state = np.zeros((self.problem.rows.width, 2))
        return state, gap.dual_sums(
            self.problem.loss, self._block, self.problem.terms, slopes, state
        )

    def offered(self, part: float) -> Vector:
        """Return slopes on the way from the given ones to the present ones."""
        if part == 0.0:
            # A Newton step may have led to infinite slopes, which 0 does not cancel.
            return self.given.copy()
        if part == 1.0:
            # Exactly these: slopes at the ends of their intervals must not leave them.
            return self.slopes.copy()
        return self.given + part * (self.slopes - self.given)

    def take(self, part: float) -> None:
        """Move the slopes, and the given ones, to this part of the way between both."""
        self.slopes[:] = self.offered(part)
        self.given[:] = self.slopes

    def primal_sums(self, weights: Vector, bias: float) -> tuple[float, float]:
        """Return the sums of `gap.primal_sums`."""
        problem = self.problem
        found = gap.primal_sums(
            problem.loss, self._block, problem.terms, bias, weights, LINK_ERRORS
        )
        return float(found[0]), float(found[1])

    # Newton's method for the losses smoothed by delta around the given slopes.

    def answer(self, weights: Vector, bias: float, delta: float) -> float:
        """Write the slopes with which the smoothed losses answer; return the sum of values."""
        problem, rows = self.problem, self.problem.rows
        found = np.empty(len(rows))
        sync.predict_rows(weights, rows.indptr, rows.indices, rows.values, found)
        self._predictions = found + (problem.offset + bias)
        return float(
            joint.answer(
                problem.loss, problem.terms, self._predictions, self.given, delta, self.slopes
            )
        )

    def pull(self, bias: float) -> tuple[Vector, tuple[float, float, float]]:
        """Return sum c_i s_i x_i; sum c_i (s_i (o_i + bias) - f*(s_i)), c (s - given)^2 and c s."""
        problem = self.problem
        pulled = joint.pull(self._block, problem.weight * self.slopes)
        terms = problem.terms._replace(offset=problem.offset + bias)
        lower = float(joint.conjugates(problem.loss, terms, self.slopes))
        with np.errstate(over="ignore", invalid="ignore"):
            away = float(problem.weight @ np.square(self.slopes - self.given))
        return pulled, (lower, away, float(problem.weight @ self.slopes))

    def bend(self, delta: float) -> float:
        """Find the derivatives c_i a_i' of the answers; return their sum."""
        problem = self.problem
        self._bends = np.empty(len(problem.y))
        joint.bends(
            problem.loss, problem.terms, self._predictions, self.given, delta, self.slopes,
            self._bends,
        )  # fmt: skip
        return float(self._bends.sum())

    def squares(self) -> tuple[Vector, None]:
        """Return sum c_i a_i' x_i x_i', bordered by that of a constant feature."""
        width = self.problem.rows.width + 1
        matrix = np.empty((width, width))
        joint.squares(self._block, self._bends, matrix)
        return matrix, None

    def image(self, v: Vector, bias: float) -> tuple[Vector, float]:
        """Return the matrix of `squares` times (v, bias), without forming it."""
        rows = self.problem.rows
        found = np.empty(len(rows))
        sync.predict_rows(v, rows.indptr, rows.indices, rows.values, found)
        predictions = self._bends * (found + bias)
        return joint.pull(self._block, predictions), float(predictions.sum())

    def diagonal(self) -> tuple[Vector, None]:
        """Return the diagonal of the matrix of `squares`."""
        values = np.square(self.problem.rows.values)
        return joint.pull(self._block._replace(values=values), self._bends), None

    # Dual coordinate ascent beside the other shards.

    def visit(
        self,
        weights: Vector,
        spread: float,
        far: float,
        every: int,
        turns: int,
        shares: Sequence[int] | None = None,
    ) -> tuple[Any, tuple[int, int, float, float, float, float, float]]:
        """Visit one part in `turns` of the active rows as if others took the same steps.

        shares: how much of that part each shard visits (`work_shares`) [default: all].

        Returns the step of theta, and: rows still active, rows visited, the largest movement, the
        sampled losses and parts of the gap, the squared lengths of the visits and of the step.
        See `passes.dual.dual.ascend`.
        """
        problem, memory = self.problem, self._ready()
        local = weights.copy()
        self._before = self.slopes.copy()
        # A turn of no rows: all were put aside, and some of them came back since.
        if self._visited >= self._active or self._turn == 0:
            self._visited = 0
            self._turn = -(-self._active // turns)
            self.random = np.uint64(
                dual.shuffle(memory.order, np.uint64(self._active), self.random)
            )
        begin = self._visited
        full = self._turn
        count = full if shares is None else visits_of(shares[self.number], full)
        end = min(begin + count, self._active)
        mine = memory._replace(theta=local, order=memory.order[begin:end])
        course = dual.Course(np.uint64(end - begin), far, np.uint64(every))
        left, largest, lost, apart, length = dual.ascend(
            problem.loss, mirrors.Euclidean(), self._block, mine, 0.0, course, spread
        )
        # Rows put aside go behind the active ones.
        stay = begin + int(left)
        later, aside = memory.order[end : self._active].copy(), memory.order[stay:end].copy()
        memory.order[stay : self._active] = np.concatenate((later, aside))
        self._active -= len(aside)
        self._visited = stay
        self.slopes[:] = memory.records[:, dual.SLOPE]
        local -= weights
        local /= spread
        step = packed(local)
        square = float(dual.inner(local, local))
        found = float(largest), float(lost), float(apart), float(length), square
        return step, (self._active, end - begin, *found)

    def settle(self, gamma: float) -> None:
        """Take the part gamma of the changes of the last visit."""
        self.slopes[:] = self._before + gamma * (self.slopes - self._before)

    def revive(self, weights: Vector) -> int:
        """Make rows active again whose slope is not the best one; return how many there are."""
        problem, memory = self.problem, self._ready()
        counted = len(memory.order)
        memory.order[self._active :].sort()
        # The rows that come back wait for the next turn through all.
        self._active = int(
            dual.revive(
                problem.loss, mirrors.Euclidean(), self._block, memory._replace(theta=weights),
                0.0, np.uint64(self._active), np.uint64(counted),
            )
        )  # fmt: skip
        return self._active

    def _ready(self) -> dual.Memory:
        """Return records with the present slopes."""
        if self._memory is None:
            records = records_of(self.problem, self.slopes)
            order = np.flatnonzero(self.problem.weight).astype(np.uint32)
            self._memory = dual.Memory(records, np.empty(0), order)
            self._active = self._visited = len(order)
        self._memory.records[:, dual.SLOPE] = self.slopes
        return self._memory

    def candidates(self) -> tuple[dual.Memory, int]:
        """Return the records; the active rows may be free."""
        return self._ready(), self._active

    def adopt(self, chosen: Any, slopes: Vector) -> None:
        """Give new slopes to some rows."""
        self.slopes[chosen] = slopes

    def forget(self) -> None:
        """Drop what was derived from the problem."""
        self._memory = None
        self._active = self._visited = self._turn = 0

    # What a checkpoint keeps.

    def kept(self) -> dict[str, Any]:
        """Return the state as arrays and numbers."""
        order = np.empty(0, np.uint32) if self._memory is None else self._memory.order
        return {
            "slopes": self.slopes.copy(), "given": self.given.copy(), "order": order.copy(),
            "random": int(self.random), "turn": [self._active, self._visited, self._turn],
        }  # fmt: skip

    def restore(self, kept: dict[str, Any]) -> None:
        """Go back to a state that was kept."""
        self.slopes[:], self.given[:] = kept["slopes"], kept["given"]
        self.random, self._memory = np.uint64(kept["random"]), None
        if len(kept["order"]):
            self._ready().order[:] = kept["order"]
        self._active, self._visited, self._turn = kept["turn"]
