"""The best matrix of weights in hindsight, for losses of several scores.

Minimise over W  P(W) = sum_i c_i f(y_i, W^T x_i) + (b/2) ||W||_F^2. A dual variable is the row of
slopes g_i in R^K; with Z = sum_i c_i x_i g_i^T and any slopes

    D(g) = -sum_i c_i f*(y_i, g_i) - ||Z||_F^2 / (2 b)  <=  P(W)  for every W.

`OneAgainstRest` splits into one problem for each class, solved separately.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret import mirrors
from noregret.arrays import Vector, as_positive, real_array
from noregret.batch.ascent import curvatures, seed_state
from noregret.batch.objective import dual_floor, gradient_error, loss_upper, sum_error, sum_of
from noregret.batch.problem import LINK_ERRORS, Solution, as_slopes, closed, some_rows
from noregret.batch.solver import Solver
from noregret.losses.score_duals import allowed
from noregret.losses.scores import MulticlassHinge, ScoreLoss, Softmax
from noregret.norms import norm_upper
from noregret.passes.checks import sound_rows
from noregret.passes.dual import dual, dual_matrix
from noregret.passes.frame import Labels, block
from noregret.passes.rows import Block
from noregret.proof.certificate import ROUND_ERRORS
from noregret.rounding import certified_ceiling, exact, grown, rounding_error
from noregret.rows.examples import Rows, as_weights

#: The gap is computed exactly once an epoch's estimate of it is at most this multiple of the goal.
AHEAD = 2.0
#: Number of epochs after which rows put aside are visited again.
REVIVAL = 10


@dataclass(frozen=True, eq=False)
class MatrixProblem:
    """Rows, class indices, example weights c, and the objective over them.

    >>> problem = MatrixProblem.of([[1.0], [2.0]], [0, 1], Softmax(), 0.5, None)
    >>> len(problem.rows), problem.outputs
    (2, 2)
    """

    rows: Rows
    y: Vector
    weight: Vector
    loss: ScoreLoss
    strength: float
    outputs: int

    @classmethod
    def of(cls, X: Any, y: Any, loss: ScoreLoss, strength: float, weight: Any) -> MatrixProblem:
        """Check the input and return the problem."""
        if type(loss) is not Softmax and type(loss) is not MulticlassHinge:
            raise ValueError(
                f"{type(loss).__name__} has no dual here: use Softmax, MulticlassHinge or "
                "OneAgainstRest"
            )
        strength, rows = as_positive("l2", strength), some_rows(X)
        labels = class_indices(y, len(rows))
        return cls(
            sound_rows(rows, 0), labels, as_weights(weight, len(rows)), loss, strength,
            max(int(labels.max()) + 1, 2),
        )  # fmt: skip

    @property
    def block(self) -> Block:
        """The rows as the bundle that kernels take."""
        return block(self.rows)

    @property
    def labels(self) -> Labels:
        """Class indices and weights as the bundle that kernels take."""
        return Labels(self.y, self.weight)

    def describe(self) -> str:
        """Return what is minimised, in words."""
        losses = sum_of(self.loss, float(self.weight.min()), float(self.weight.max()))
        return f"{losses} + {exact(self.strength)} x Euclidean"

    def start(self, warm_start: Any) -> Vector:
        """Return slopes to start from: those given, moved to where the dual is finite, else 0."""
        shape = (len(self.rows), self.outputs)
        if warm_start is None:
            return np.zeros(shape)
        given = as_slopes(warm_start, shape)
        for target, slopes in zip(self.y, given, strict=True):
            allowed(target, slopes)
        return given

    def evaluate(self, slopes: Vector) -> tuple[Vector, float, float]:
        """Return W, P(W) rounded up and D(g) rounded down, all at the same slopes."""
        count, outputs = len(self.rows), self.outputs
        state = np.zeros((self.rows.width, outputs, 2))
        total, magnitude, travel = dual_matrix.dual_sums(
            self.loss, self.block, self.labels, slopes, state
        )
        gradient = state[:, :, 0] + state[:, :, 1]
        # The slopes of a row sum to 0 only up to one rounding for each class.
        delta = gradient_error(4.0 + 2.0 * outputs, count, gradient.size, travel)
        # The label's probability is 1 minus the others: rounding leaves |log| at most 37.
        slack = sum_error(2.0 * ROUND_ERRORS + 40.0 * outputs, count, magnitude)
        length = mirrors.Euclidean().conjugate_upper(-gradient.ravel(), 1.0 / self.strength, delta)
        with np.errstate(over="ignore"):
            weights = -gradient / self.strength
        # Neither these losses nor the regulariser are ever negative.
        lower = dual_floor(total, length, slack, nonnegative=True)
        return weights, self.primal_upper(weights), lower

    def primal_upper(self, weights: Vector) -> float:
        """Return P(W), rounded up."""
        with np.errstate(over="ignore", invalid="ignore"):
            sums = dual_matrix.primal_sums(
                self.loss, self.block, self.labels, np.ascontiguousarray(weights), LINK_ERRORS
            )
            total = float(self.weight.sum())
            roundings = 2.0 * ROUND_ERRORS + 2.0 * self.outputs
            value = loss_upper(len(self.weight), total, roundings, *sums)
            norm = norm_upper(weights.ravel(), 2.0)
            # Halve the norm, not the strength: half of the smallest strengths would be rounded.
            value += grown(self.strength * norm * (0.5 * norm), 8.0)
        return certified_ceiling(float(value))


def class_indices(y: Any, count: int) -> Vector:
    """Return class indices as floats; refuse other labels."""
    labels = np.array(real_array("y", y), np.float64)
    if labels.shape != (count,):
        raise ValueError(f"y has shape {labels.shape}, expected a class index for {count} rows")
    bad = np.flatnonzero(~((labels >= 0.0) & (labels < 2.0**31) & (labels == np.floor(labels))))
    if bad.size:
        raise ValueError(f"y row {bad[0]}: {labels[bad[0]]:g} is not a class index 0, 1, 2, ...")
    return labels


class MatrixSolver(Solver):
    """Minimise sum_i c_i f(y_i, W^T x_i) + (b/2) ||W||_F^2 by visits to rows in random order."""

    problem: MatrixProblem

    def __post_init__(self) -> None:
        super().__post_init__()
        problem = self.problem
        self.memory = dual_matrix.Memory(
            *curvatures(problem, "l2"),
            problem.start(self.warm_start),
            np.zeros((problem.rows.width, problem.outputs)),
            np.flatnonzero(problem.weight > 0.0).astype(np.uint32),
        )
        dual_matrix.gather(problem.block, self.memory)
        self.active = self.everything = np.uint64(len(self.memory.order))
        self.state = np.uint64(seed_state(self.seed))
        self.primal, self.goal = math.inf, 0.0

    def step(self) -> bool:
        """Visit the active rows; examine the slopes once the gap that they show is small."""
        problem, memory = self.problem, self.memory
        full = self.active == self.everything
        self.state = np.uint64(dual.shuffle(memory.order, self.active, self.state))
        left, lost, apart = dual_matrix.ascend(
            problem.loss, problem.block, problem.y, memory, self.active
        )
        if full:
            with np.errstate(over="ignore"):
                half = 0.5 * float(np.sum(memory.weights * memory.weights))
            self.primal = problem.strength * (lost + half)
            self.goal = AHEAD * self.tol * max(1.0, self.primal)
        self.active = np.uint64(left)
        # The visited rows' part of the gap.
        gap = float(problem.strength * apart)
        self.passes += 1
        self.report(gap, self.primal, int(self.active))
        ended = gap <= self.goal or self.active == 0
        if ended and not full:
            # Rows that were put aside contribute to the gap, too.
            self.active = self.everything
        elif ended:
            if self.look().converged or self.active == 0:
                return True
            self.goal *= 0.5
        if self.passes % REVIVAL == 0:
            self.active = self.everything
        return False

    def examine(self) -> Solution:
        """Return the exact evaluation at the slopes so far."""
        slopes = self.memory.slopes
        return self.solution(*self.problem.evaluate(slopes), slopes)


def solve_against_rest(
    solve_one: Callable[[Vector, Any, float], Solution],
    y: Any,
    count: int,
    tol: float,
    warm_start: Any,
) -> Solution:
    """Return the columns of all classes, each solved by `solve_one(labels, warm_start, tol)`."""
    labels = class_indices(y, count)
    outputs = max(int(labels.max(initial=0.0)) + 1, 2)
    starts = None if warm_start is None else as_slopes(warm_start, (count, outputs))
    # Gaps add up, and no part of the objective is larger than the whole.
    share = tol / outputs
    parts = [
        solve_one(
            np.where(labels == k, 1.0, -1.0),
            None if starts is None else np.ascontiguousarray(starts[:, k]),
            share,
        )
        for k in range(outputs)
    ]
    return beside(parts, tol)


def beside(parts: Sequence[Solution], tol: float) -> Solution:
    """Return the solutions of all classes as the columns of one."""
    outputs = len(parts)
    primal = math.fsum(part.primal for part in parts)
    lower = math.fsum(part.dual for part in parts)
    primal += rounding_error(outputs, abs(primal))
    lower -= rounding_error(outputs, abs(lower))
    return Solution(
        weights=np.stack([part.weights for part in parts], axis=1),
        primal=primal,
        dual=lower,
        alpha=np.stack([part.alpha for part in parts], axis=1),
        passes=max(part.passes for part in parts),
        converged=closed(primal, lower, tol),
        objective=f"{parts[0].objective}, one class against the rest",
    )
