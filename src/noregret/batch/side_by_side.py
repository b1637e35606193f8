"""Dual ascent on several shards at a time.

Before each epoch the rows are dealt anew to K shards, which work in turns: shard k starts from the
weights w of all and visits a part of its rows as if the others took steps like its own, so that a
step counts sigma' times in its predictions. It ends with a step D_k of theta, and theta moves by
gamma D, D = sum_k D_k. In units of the strength the dual then gains at least

    gamma (sigma'/2) (sum_k ||D_k||^2 + Q) - (gamma^2/2) ||D||^2,  0 <= gamma <= 1,

Q the sum of the squared lengths of the visits' steps: each visit maximises the dual over its slope
with the quadratic term times sigma', -f* is concave and the conjugate of the regulariser is
1-smooth. gamma is 1 where that is not negative, else what maximises it, so that the dual never
falls; it does not with a smaller gamma either, which is taken where ||theta||^2 would overflow.
sigma' is ||D||^2 / sum_k ||D_k||^2 of the turn before, within [1, K]: 1 if the shards' steps
are orthogonal, K if they are equal. In the first epoch it is K: slopes are then far from their
answers, most steps point the same way, and K times a shard's own steps stand for those of all.
Reference: Ma, Smith, Jaggi, Jordan, Richtarik, Takac, Adding vs. Averaging in Distributed
Primal-Dual Optimization, 2015: CoCoA+, with fixed shards, one turn, gamma = 1 and sigma' = K.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret import mirrors
from noregret.arrays import Vector
from noregret.batch.ascent import Ascent
from noregret.batch.problem import Problem
from noregret.passes.dual import dual
from noregret.passes.dual.dual import inner

#: Turns of an epoch, at most.
MOST_TURNS = 16
#: A turn visits at least this many features, and for each weight of each shard this many: threads
#: must be called, and their weights joined after it.
LEAST_TURN, WORTH_JOINING = 1 << 19, 12.0
#: An epoch of fewer features is visited by one thread: shards often need one more epoch, which
#: costs more than they save.
LEAST_EPOCH = 1 << 23


class SideBySide(Ascent):
    """Dual ascent whose epochs are shared out to the shards of the problem."""

    def __init__(
        self, problem: Problem, slopes: Vector, seed: int, centre: Vector | None = None
    ) -> None:
        super().__init__(problem, slopes, seed, centre)
        count, width = problem.shards.count, problem.rows.width
        #: The weights of every shard, and the step of all together.
        self.locals, self.whole = np.empty((count, width)), np.empty(width)
        #: sigma', and whether it follows the steps: after the first epoch.
        self.spread, self.adapting = float(count), False

    def visit(self, course: dual.Course) -> tuple[int, float, float, float]:
        """Visit the rows in turns of all shards, or alone if they are few."""
        active, rows = int(course.active), self.problem.rows
        features = rows.stored * active / len(rows)
        least = max(LEAST_TURN, WORTH_JOINING * self.locals.size)
        if features < LEAST_EPOCH:
            return super().visit(course)
        turns = int(min(max(features / least, 1.0), MOST_TURNS))
        kept: list[Any] = []
        aside: list[Any] = []
        sums = np.zeros((turns, 3))
        for turn in range(turns):
            begin, end = active * turn // turns, active * (turn + 1) // turns
            stay, settled, *sums[turn] = self._turn(course, self.order[begin:end])
            kept += stay
            aside += settled
        self.order[:active] = np.concatenate(kept + aside)
        self.adapting = True
        return sum(map(len, kept)), float(sums[:, 0].max()), *sums[:, 1:].sum(axis=0).tolist()

    def _turn(self, course: dual.Course, order: Any) -> tuple[Any, ...]:
        """Visit some rows; return those still active, those settled, and the sums of the visits."""
        problem, spread, shards = self.problem, self.spread, self.problem.shards
        kappa = problem.mirror.kappa(0.5 * self.square, 0.0, 1.0)

        def visited(begin: int, end: int, local: Vector) -> Any:
            np.multiply(self.theta, kappa, out=local)
            memory = dual.Memory(self.records, local, order[begin:end])
            mine = course._replace(active=np.uint64(end - begin))
            return dual.ascend(
                problem.loss, mirrors.Euclidean(), problem.block, memory, 0.0, mine, spread
            )

        def joined(begin: int, end: int) -> Any:
            return dual.join(self.theta, kappa, self.locals, spread, self.whole, begin, end)

        found = np.array(shards.each(len(order), visited, list(self.locals)), np.float64)
        parts, square = np.sum(shards.each(self.whole.size, joined), axis=0)
        gamma, spread = joint_step(parts, found[:, 4].sum(), square, spread, shards.count)
        if np.all(np.isfinite(self.whole)):
            gamma, self.theta[:] = moved(self.theta, self.whole, gamma)
        else:
            # No part of an infinite step can be taken: all slopes go back.
            gamma = 0.0
        if self.adapting:
            self.spread = spread
        pieces = shards.pieces(len(order))
        ends = [begin + int(left) for (begin, _), left in zip(pieces, found[:, 0], strict=True)]
        if gamma < 1.0:
            dual.retreat(self.records, order, gamma)
        stay = [order[begin:left].copy() for (begin, _), left in zip(pieces, ends, strict=True)]
        settled = [order[left:end].copy() for (_, end), left in zip(pieces, ends, strict=True)]
        return stay, settled, found[:, 1].max(), *found[:, 2:4].sum(axis=0)


def joint_step(
    parts: float, length: float, square: float, spread: float, shards: int
) -> tuple[float, float]:
    """Return gamma, the part of the joint step to take, and sigma' for the next turn.

    Args:
        parts: sum_k ||D_k||^2.
        length: Q, the sum of the squared lengths of the visits' steps.
        square: ||sum_k D_k||^2.
        spread: sigma' of this turn.
        shards: K.
    """
    if not square < math.inf:
        # ||D||^2 <= K sum_k ||D_k||^2, so that the gain is not negative up to sigma' / K.
        return spread / shards, spread
    gain = spread * (parts + length)
    gamma = 0.5 * gain / square if gain < square else 1.0
    return gamma, min(max(square / parts, 1.0), float(shards)) if parts > 0.0 else spread


def moved(theta: Vector, step: Vector, gamma: float) -> tuple[float, Vector]:
    """Return the part of the step to take, and theta moved by it.

    The part is gamma, halved until ||theta||^2 does not overflow, unless it did before the step.
    """
    if not np.all(np.isfinite(step)):
        raise OverflowError("a step of the weights overflows: scale the rows or raise the strength")
    there, limited = theta + gamma * step, math.isfinite(inner(theta, theta))
    while limited and not math.isfinite(inner(there, there)):
        gamma *= 0.5
        there = theta + gamma * step
    return gamma, there


def ascent_of(problem: Problem, slopes: Vector, seed: int, centre: Vector | None = None) -> Ascent:
    """Return dual ascent on the shards of the problem, or on all rows if there is one shard."""
    kind = SideBySide if problem.shards.count > 1 else Ascent
    return kind(problem, slopes, seed, centre)
