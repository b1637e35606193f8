"""The balance of the slopes on all shards, which a bias without regularisation asks for.

The dual of a problem with a free bias is that without one under sum_i c_i s_i = 0. A proved bound
must not rely on a balance that is only nearly 0: for such slopes the minimum over the bias is minus
infinity. So the slopes are first balanced inside their intervals, each row moving in proportion to
its room on both sides. The remainder that rounding leaves is assigned to one row with room for it:
its convex conjugate is taken at the worse end of the shift, and the error of theta grows by the
shift times the row's 1-norm. The result is a true lower bound.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.batch.objective import Objective
from noregret.batch.problem import Problem
from noregret.passes.dual import dual_maps, gap
from noregret.rounding import grown, rounding_error
from noregret.workers import Workers

#: Most shifts of a balance; room that is infinite counts as 1 + |s|, which doubles with each.
MOST_SHIFTS = 1100


class BalanceStep:
    """The part of a shard in the balance of all slopes."""

    problem: Problem
    slopes: Vector

    def offered(self, part: float) -> Vector:
        """Return slopes on the way from the given ones to the present ones."""
        raise NotImplementedError

    def _ends(self) -> tuple[Vector, Vector]:
        """Return the lowest and the highest slope of every row."""
        problem = self.problem
        ends = np.empty(len(problem.y)), np.empty(len(problem.y))
        dual_maps.slope_ends(problem.loss, problem.y, *ends)
        return ends

    def end_sums(self) -> tuple[float, float]:
        """Return the sums of c_i times the lowest slopes and times the highest ones."""
        c = self.problem.weight
        # Of the rows that count: 0 times an infinite end is not a number.
        some = c > 0.0
        low, high = (float(np.sum(c[some] * end[some])) for end in self._ends())
        return low, high

    def ends_finite(self, side: int) -> bool:
        """Return whether the dual is finite where all slopes are lowest (0) or highest (1)."""
        problem, some = self.problem, self.problem.weight > 0.0
        conjugate = problem.loss.conjugate  # type: ignore[attr-defined]
        slopes = self._ends()[side]
        pairs = set(zip(problem.y[some].tolist(), slopes[some].tolist(), strict=True))
        return all(conjugate(y, s) < math.inf for y, s in pairs)

    def confine(self) -> None:
        """Bring the slopes into their intervals."""
        gap.allowed_slopes(self.problem.loss, self.problem.y, self.slopes)

    def _room(self) -> tuple[Vector, Vector]:
        """Return how far each slope may fall and rise, at most 1 + |s|."""
        low, high = self._ends()
        most = 1.0 + np.abs(self.slopes)
        return np.minimum(self.slopes - low, most), np.minimum(high - self.slopes, most)

    def room(self) -> tuple[float, ...]:
        """Return sum c_i s_i in two parts, and c_i times the room on both sides, below, above."""
        c = self.problem.weight
        below, above = self._room()
        sums = float(c @ np.minimum(below, above)), float(c @ below), float(c @ above)
        return (*_twofold(c * self.slopes), *sums)

    def shift(self, part: float, side: str) -> None:
        """Lower the slopes by a part of their room: on both sides, "below" or "above"."""
        below, above = self._room()
        rooms = {"both": np.minimum(below, above), "below": below, "above": above}
        self.slopes -= part * rooms[side]
        self.confine()

    def imbalance(self, which: str, part: float) -> tuple[float, float, float]:
        """Return sum c_i s_i in two parts, and the sum of the sizes of products that round."""
        c, s = self.problem.weight, self._chosen(which, part)
        products = c * s
        exact = (c == 0.0) | (c == 1.0) | (s == 0.0) | (np.abs(s) == 1.0)
        with np.errstate(over="ignore"):
            rounding = float(np.sum(np.abs(products[~exact])))
        return (*_twofold(products), grown(rounding, len(products)))

    def _chosen(self, which: str, part: float) -> Vector:
        return self.slopes if which == "slopes" else self.offered(part)

    def remainder(
        self, which: str, part: float, left: float, down: bool, up: bool
    ) -> tuple[float, float, float]:
        """Return the room of the row with most of it, and the errors that the remainder adds there.

        left: a bound on the remainder; down, up: the sides to which the row may have to move.
        The errors are those of the sum of conjugates and of g, infinite where there is no room.
        """
        problem, slopes = self.problem, self._chosen(which, part)
        c, (low, high) = problem.weight, self._ends()
        below, above = slopes - low, high - slopes
        room = np.minimum(below if down else math.inf, above if up else math.inf)
        capacity = c * np.minimum(room, 1.0)
        row = int(np.argmax(capacity))
        shift = 2.0 * left / c[row] if c[row] > 0.0 else math.inf
        if not shift < room[row]:
            return float(capacity[row]), math.inf, math.inf
        y, s = float(problem.y[row]), float(slopes[row])
        ends = [math.nextafter(s - shift, -math.inf)] if down else []
        ends += [math.nextafter(s + shift, math.inf)] if up else []
        conjugate = problem.loss.conjugate  # type: ignore[attr-defined]
        worse = max(conjugate(y, end) for end in ends) - conjugate(y, s)
        slack = 2.0 * (c[row] * max(worse, 0.0) + left * abs(problem.offset[row]))
        rows = problem.rows
        place = row if rows.dense else slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
        size = float(np.abs(rows.values[place], dtype=np.float64).sum())
        return float(capacity[row]), float(slack), 2.0 * left * size


def _twofold(values: Vector) -> tuple[float, float]:
    """Return a sum as two numbers, of which the second alone is rounded; infinite if it overflows.

    A Newton step may lead to infinite slopes, of which nothing is taken.
    """
    with np.errstate(over="ignore"):
        if not float(np.sum(np.abs(values))) < math.inf:
            return math.inf, 0.0
    total = math.fsum(values)
    return total, math.fsum(itertools.chain(values, (-total,)))


class Balance:
    """Brings the slopes on all shards to sum c_i s_i = 0 inside their intervals."""

    def __init__(self, objective: Objective, workers: Workers) -> None:
        self.objective, self.workers = objective, workers

    def require_best(self) -> None:
        """Refuse labels for which the losses fall forever along a bias."""
        for side, sums in enumerate(zip(*self.workers.call("end_sums"), strict=True)):
            extreme = (1.0, -1.0)[side] * float(sum(sums))
            only = extreme == 0.0 and not all(self.workers.call("ends_finite", side))
            if extreme > 0.0 or only:
                name = type(self.objective.loss).__name__
                raise ValueError(f"{name} falls forever along a bias on these labels: none is best")

    def balance(self) -> None:
        """Bring the slopes near to where they are to a balance, up to rounding."""
        self.workers.call("confine")
        for _ in range(MOST_SHIFTS):
            high, low, *rooms = zip(*self.workers.call("room"), strict=True)
            excess = math.fsum((*high, *low))
            both, below, above = (float(sum(room)) for room in rooms)
            if not excess < math.inf:
                return
            if both > 2.0 * abs(excess):
                self.workers.call("shift", excess / both, "both")
                return
            # Few rows have room on both sides: move those that have it on the side needed.
            side, room = ("below", below) if excess > 0.0 else ("above", above)
            if excess == 0.0 or room == 0.0:
                return
            self.workers.call("shift", max(min(excess / room, 1.0), -1.0), side)

    def lowered(self, parts: Any, which: str = "slopes", part: float = 1.0) -> Any:
        """Return g and the sum of conjugates with errors that cover the remainder of the balance.

        parts: those of `gradient` for the same slopes.
        """
        g, delta, total, slack = parts
        high, low, rounding = zip(*self.workers.call("imbalance", which, part), strict=True)
        excess = math.fsum((*high, *low))
        rounded = rounding_error(1.0, math.fsum(rounding)) + rounding_error(1.0, _size(low))
        left = abs(excess) + rounded
        if left > 0.0:
            # Where the sign of the remainder is known, one side suffices.
            down, up = excess > 0.0 or rounded > 0.0, excess < 0.0 or rounded > 0.0
            found = self.workers.call("remainder", which, part, left, down, up)
            _, more, wider = max(found, key=lambda one: one[0])
            delta, slack = delta + wider, slack + more
        return g, delta, total, slack


def _size(values: Any) -> float:
    return math.fsum(map(abs, values))
