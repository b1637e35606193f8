"""A batch problem, a solution of it, and the two numbers between which its minimum lies.

Minimise over w  P(w) = sum_i c_i f(y_i, <w, x_i> + o_i) + b F(w), F the regulariser of a
mirror map, or the sum alone over the ball ||w|| <= radius. A dual variable is the slope s_i of
row i; with g = sum_i c_i s_i x_i and theta = -g / b, for any slopes

    D(s) = sum_i c_i (s_i o_i - f*(y_i, s_i)) - b G(theta)  <=  P(w)  for every w,

where G is the conjugate of F, and b G(theta) becomes radius ||g|| for the ball. Reference:
Zhang, On the Dual Formulation of Regularized Linear Systems with Convex Risks, eq. 4 to 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noregret import mirrors
from noregret.arguments import refuse
from noregret.arrays import Vector, as_positive, real_array
from noregret.batch.objective import Objective, dual_parts, loss_roundings, loss_upper, sum_of
from noregret.combinations import require_kind
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes import sync
from noregret.passes.checks import sound_rows
from noregret.passes.dual import gap
from noregret.passes.dual.dual import squares as row_squares
from noregret.passes.frame import block
from noregret.passes.rows import Block
from noregret.proof.convexity import require_convex
from noregret.proof.statement import Proof, plain, row
from noregret.proof.wording import assumption_lines
from noregret.rounding import down, up, up_minus
from noregret.rows.examples import Rows, as_labels, as_offsets, as_rows, as_weights
from noregret.shards import Shards

#: Roundings of a weight that the link computed, with room for weights just outside the map's set.
LINK_ERRORS = 16.0
#: Columns of a printed solution; what its dictionary holds.
WIDTHS = (28, 18)
SUMMARY = ("objective", "primal", "dual", "gap", "passes", "converged")


@dataclass(frozen=True, eq=False)
class Problem(Objective):
    """Rows, labels, example weights c, offsets o, and the objective over them.

    >>> from noregret import losses
    >>> problem = Problem.of([[1.0], [2.0]], [1, -1], losses.Hinge(), strength=0.5)
    >>> len(problem.rows), problem.strength, problem.mirror
    (2, 0.5, Euclidean())
    """

    rows: Rows
    y: Vector
    weight: Vector
    offset: Vector
    loss: Loss
    mirror: Mirror
    #: b, the factor of the regulariser; 0 if a radius takes its place.
    strength: float
    radius: float | None = None
    shards: Shards = field(default=Shards(), repr=False)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        loss: Loss,
        mirror: Mirror | None = None,
        strength: float = 0.0,
        weight: Any = None,
        offset: Any = None,
        radius: float | None = None,
    ) -> Problem:
        """Check the input and return the problem."""
        if not isinstance(loss, Loss):
            raise ValueError(f"loss must be one of nr.losses or your own Loss, got {loss!r}")
        if not loss.has_conjugate():
            raise ValueError(
                f"{type(loss).__name__} has no conjugate(y, s), which every dual needs"
            )
        mirror = mirrors.Euclidean() if mirror is None else mirror
        require_kind("mirror", mirror)
        if radius is None:
            strength = as_positive("strength", strength)
        else:
            radius = as_positive("radius", radius)
            if strength != 0.0 or not mirror.euclidean():
                raise ValueError("radius stands alone: no strength, no mirror other than Euclidean")
        if not type(loss).__module__.startswith("noregret.losses."):
            require_convex(loss)
        rows = some_rows(X)
        terms = as_labels(y, len(rows), loss), as_weights(weight, len(rows))
        offsets = as_offsets(offset, len(rows))
        mirror = mirror.resolved(rows.width)
        # Refuse a map without an upper bound on its conjugate here, before any work.
        mirror.conjugate_upper(np.zeros(1), 1.0, 0.0, 1.0)
        return cls(sound_rows(rows, 0), *terms, offsets, loss, mirror, float(strength), radius)

    @property
    def block(self) -> Block:
        """The rows as the bundle that kernels take."""
        return block(self.rows)

    @property
    def terms(self) -> gap.Terms:
        """Labels, weights and offsets as the bundle that kernels take."""
        return gap.Terms(self.y, self.weight, self.offset)

    @property
    def width(self) -> int:
        """The number of weights."""
        return self.rows.width

    def cut(self, begin: int, end: int) -> Problem:
        """Return the problem of rows begin to end - 1 alone, as a view."""
        part, rows = slice(begin, end), self.rows.part(begin, end)
        terms = self.y[part], self.weight[part], self.offset[part]
        return Problem(rows, *terms, self.loss, self.mirror, self.strength, self.radius)

    def terms_of(self, begin: int, end: int) -> gap.Terms:
        """Return the terms of rows begin to end - 1."""
        return gap.Terms(*(column[begin:end] for column in self.terms))

    def piece(self, begin: int, end: int) -> tuple[Block, gap.Terms]:
        """Return rows begin to end - 1 and their terms, as bundles."""
        return block(self.rows.part(begin, end)), self.terms_of(begin, end)

    def describe(self) -> str:
        """Return what is minimised, in words."""
        extremes = float(self.weight.min()), float(self.weight.max())
        return self.words(sum_of(self.loss, *extremes, bool(self.offset.any())))

    def start(self, warm_start: Any = None) -> Vector:
        """Return slopes to start from: those given, else the allowed slopes nearest to 0."""
        return self.clipped(np.zeros(len(self.y)) if warm_start is None else warm_start)

    def initial_slopes(self) -> Vector:
        """Return the slopes that the loss itself would start from."""
        slopes = np.empty(len(self.y))
        gap.first_slopes(self.loss, self.y, slopes)
        return slopes

    def mean_square(self) -> float:
        """Return the mean of c_i ||x_i||^2 over the rows."""
        squares = np.empty(len(self.rows))
        row_squares(self.block, squares)
        return float(np.mean(self.weight * squares))

    def clipped(self, slopes: Any) -> Vector:
        """Return a copy of given slopes, clipped to the intervals where the dual is finite."""
        given = as_slopes(slopes, self.y.shape)
        gap.allowed_slopes(self.loss, self.y, given)
        return given

    def gradient(self, slopes: Vector) -> tuple[Vector, float, float, float]:
        """Return g = sum c_i s_i x_i and sum c_i (s_i o_i - f*(s_i)), each with its error.

        The error of g is one in the 1-norm.
        """
        count, shards = len(self.rows), self.shards
        states = np.zeros((shards.count, self.rows.width, 2))

        def summed(begin: int, end: int, state: Vector) -> Any:
            rows, terms = self.piece(begin, end)
            return gap.dual_sums(self.loss, rows, terms, slopes[begin:end], state)

        totals, magnitudes, travels = zip(*shards.each(count, summed, states), strict=True)
        shards.each(self.rows.width, lambda begin, end: gap.join(states, begin, end))
        found = float(sum(totals)), float(sum(magnitudes)), float(sum(travels))
        return dual_parts(states[0], count, shards.count, *found)

    def dual_lower(self, slopes: Vector) -> float:
        """Return D(s), rounded down: no w has a smaller objective."""
        return self.lower(*self.gradient(slopes))

    def primal_upper(self, weights: Vector, bias: float = 0.0) -> float:
        """Return P(w), rounded up; `bias` is added to every prediction."""
        with np.errstate(over="ignore", invalid="ignore"):

            def summed(begin: int, end: int) -> Any:
                piece = self.piece(begin, end)
                return gap.primal_sums(self.loss, *piece, bias, weights, LINK_ERRORS)

            totals, magnitudes = zip(*self.shards.each(len(self.rows), summed), strict=True)
            losses = loss_upper(
                len(self.rows), float(self.weight.sum()), loss_roundings(self.shards.count),
                sum(totals), sum(magnitudes),
            )  # fmt: skip
            return self.upper(weights, losses)


def as_slopes(warm_start: Any, shape: tuple[int, ...]) -> Vector:
    """Return a copy of given slopes; refuse another shape, infinities and NaN."""
    given = np.array(real_array("warm_start", warm_start), np.float64)
    refuse(
        {
            f"warm_start must hold finite slopes of shape {shape}, got the shape {given.shape}":
                given.shape != shape,
            "warm_start must hold finite slopes, not infinities or NaN":
                not np.all(np.isfinite(given)),
        }
    )  # fmt: skip
    return given


def some_rows(X: Any) -> Rows:
    """Return rows; refuse an X without rows or columns."""
    rows = as_rows(X)
    if len(rows) == 0 or rows.width == 0:
        raise ValueError(f"X has {len(rows)} rows and {rows.width} columns, expected some of both")
    return rows


def dual_state(mirror: Mirror, theta: Vector) -> tuple[Vector, float, float]:
    """Return theta beside v = phi'(theta), the reference of v, and S, all at rate 1."""
    state = np.zeros((len(theta), 2))
    state[:, 0] = theta
    reference = mirror.reference(*map(float, sync.extremes(state, 1.0)))
    return state, reference, float(sync.rebuild(mirror, state, 1.0, reference))


def link(mirror: Mirror, theta: Vector) -> Vector:
    """Return the weights grad G(theta) of a map at rate 1.

    >>> link(mirrors.Entropy(), np.array([0.0, math.log(3.0)])).round(12).tolist()
    [0.25, 0.75]
    """
    if mirror.linear():
        column, state = 0, theta[:, None].astype(np.float64)
        kappa = mirror.kappa(float(sync.half_square(state)), 0.0, 1.0)
    else:
        state, reference, total = dual_state(mirror, theta)
        column, kappa = 1, mirror.kappa(total, reference, 1.0)
    weights = np.empty(len(theta))
    sync.read_out(mirror, state, column, kappa, mirror.threshold(1.0), weights)
    return weights


def evaluate(problem: Problem, slopes: Vector) -> tuple[Vector, float, float]:
    """Return w = link(theta), P(w) rounded up and D(s) rounded down, all at the same slopes.

    The minimum of P lies between the two numbers, whatever the slopes are.

    >>> from noregret import losses
    >>> problem = Problem.of([[1.0], [2.0]], [1, -1], losses.Squared(), strength=2.0)
    >>> weights, primal, dual = evaluate(problem, np.array([-2.0 - 1 / 3, 2.0 - 2 / 3]))
    >>> weights.round(6).tolist(), round(primal, 6), round(dual, 6)
    ([-0.166667], 1.833333, 1.833333)
    """
    if problem.radius is not None:
        raise ValueError("slopes alone do not name weights in a ball without a regulariser")
    parts = problem.gradient(slopes)
    weights = link(problem.mirror, -parts[0] / problem.strength)
    return weights, problem.primal_upper(weights), problem.lower(*parts)


def closed(primal: float, dual: float, tol: float) -> bool:
    """Return whether a gap is within the tolerance; that of an infinite objective never is.

    >>> closed(2.0, 1.5, 0.25), closed(math.inf, 1.5, 0.25)
    (True, False)
    """
    return primal < math.inf and primal - dual <= tol * max(1.0, abs(primal))


@dataclass(frozen=True, eq=False)
class Solution(Proof):
    """The best predictor found, and how far it can be from the best there is.

    `alpha` holds the dual variables: the slope s_i of the loss that every row ended with, one
    a row, which is what `warm_start` takes. `dual <= minimum <= primal`, rounding included.
    """

    weights: Vector
    primal: float
    dual: float
    alpha: Vector
    passes: int
    converged: bool
    bias: float = 0.0
    #: What was minimised, in words.
    objective: str = field(default="objective", repr=False)
    #: What is taken on trust: the promises of a loss that is not one of this package.
    assumption: str | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """The duality gap, rounded up: no predictor is better than this one by more."""
        return up_minus(self.primal, self.dual)

    def as_dict(self) -> dict[str, Any]:
        """Return the objective in words and the numbers about it, without the weights."""
        return {name: plain(getattr(self, name)) for name in SUMMARY}

    def _lines(self) -> list[str]:
        lines = solution_lines(self, "no predictor has less than")
        if self.bias:
            lines.append(row("bias", f"{self.bias:.6g}", widths=WIDTHS))
        return [*lines, self._norm_row(), *assumption_lines(self)]

    def _norm_row(self) -> str:
        norm = float(np.linalg.norm(self.weights))
        return row("norm of the weights", f"{norm:.6g}", widths=WIDTHS)


def solution_lines(found: Any, dual: str) -> list[str]:
    """Return the heading, the objective, the number that `dual` names and the gap."""
    state = "converged" if found.converged else "stopped"
    return [
        f"Best in hindsight, {found.objective}: {state} after {found.passes:,} passes",
        row("objective", up(found.primal, 10), widths=WIDTHS),
        row(dual, down(found.dual, 10), widths=WIDTHS),
        row("gap", up(found.gap, 3), widths=WIDTHS),
    ]
