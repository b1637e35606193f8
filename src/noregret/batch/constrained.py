"""The best fixed predictor under linear inequalities, each with a multiplier, and a proved gap.

    minimise over w  P(w) = sum_i c_i f(y_i, <w, x_i> + o_i) + b F(w)   subject to  A w <= r

A multiplier m_j >= 0 moves the constraint <a_j, w> <= r_j into the regulariser. For any slopes s
and any m >= 0, with g = sum_i c_i s_i x_i and G the conjugate of F,

    D(s, m) = sum_i c_i (s_i o_i - f*(y_i, s_i)) - <m, r> - b G(-(g + A^T m)/b)  <=  P(w)

for every w with A w <= r: D is at most P(w) + <m, A w - r>, and the last term is not above 0. The
maximum over (s, m) is the constrained minimum, since a feasible w exists and the constraints are
linear. For fixed multipliers it is an unconstrained problem with a linear term in the regulariser,
which dual ascent solves. phi(m) = max_s D(s, m) is concave with the gradient A w - r, w the
minimiser; an outer loop (L-BFGS-B, m >= 0) raises it, so that a violated constraint gets a larger
multiplier. Reference: Zhang, On the Dual Formulation of Regularized Linear Systems with Convex
Risks, the remark on primal inequality constraints after Algorithm 2; Rockafellar, Convex Analysis,
Corollary 28.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from scipy.optimize import linprog, minimize

from noregret import mirrors
from noregret.arguments import refuse
from noregret.arrays import Vector, as_positive
from noregret.batch.ascent import FAR, Ascent, Guess
from noregret.batch.problem import WIDTHS, Problem, Solution, closed, link, solution_lines
from noregret.batch.solver import Progress, Solver, require_options, trusted
from noregret.losses import Loss
from noregret.proof.statement import row
from noregret.proof.wording import assumption_lines
from noregret.rounding import EPSILON, rounding_error, up

#: The gap at which an inner problem counts as solved, as a part of the tolerance, and the factor
#: of this part after it was too large.
FIRST_SHARE, FINER = 1e-2, 1e-2
#: A point is strictly inside if it keeps this distance, relative to the size of the limits.
STRICTLY = 1e-9
#: How often the way towards a point inside is doubled before the search for a feasible w ends.
DOUBLINGS = 60


@dataclass(frozen=True, eq=False)
class ConstrainedSolution(Solution):
    """The best predictor found under the constraints, and how far it can be from the best.

    `dual <= minimum` over all w with A w <= limits always holds; `minimum <= primal` holds if
    `violation` is 0, when the weights meet every constraint, rounding included.
    """

    #: The multiplier m_j >= 0 of each constraint; at the optimum, minus the minimum's derivative by
    #: the limit, where it has one.
    multipliers: Vector = field(default_factory=lambda: np.zeros(0))
    #: An upper bound on max_j <a_j, w> - r_j, 0 where no constraint is violated.
    violation: float = 0.0

    def _lines(self) -> list[str]:
        met = "all hold" if self.violation == 0.0 else f"violated by {up(self.violation, 3)}"
        count, binding = len(self.multipliers), int(np.count_nonzero(self.multipliers))
        return [
            *solution_lines(self, "no feasible w has less than"),
            row(f"constraints, {binding:,} of {count:,} pull", met, widths=WIDTHS),
            self._norm_row(),
            *assumption_lines(self),
        ]


@dataclass(frozen=True, eq=False)
class Limits:
    """The constraints A w <= r, checked, and a point strictly inside where one was found."""

    A: Vector
    r: Vector
    squares: Vector
    inside: Vector | None

    @classmethod
    def of(cls, A: Any, limits: Any, width: int, radius: float | None) -> Limits:
        """Check the constraints, and find a point strictly inside."""
        rows = np.atleast_2d(np.asarray(A.toarray() if hasattr(A, "toarray") else A, np.float64))
        r = np.atleast_1d(np.asarray(limits, np.float64))
        finite = bool(np.isfinite(rows).all() and np.isfinite(r).all())
        refuse(
            {
                f"A has shape {rows.shape}, expected rows of {width} columns, as X has":
                    rows.ndim != 2 or rows.shape[1] != width or not len(rows),
                f"limits has shape {r.shape}, expected ({len(rows)},): one a row of A":
                    r.shape != (len(rows),),
                "A and limits must hold finite numbers; leave out a limit that is not": not finite,
            }
        )  # fmt: skip
        squares = np.einsum("ij,ij->i", rows, rows)
        empty = np.flatnonzero(squares == 0.0)
        if len(empty) and float(r[empty].min()) < 0.0:
            raise ValueError(
                f"row {empty[0]} of A is 0 and its limit {r[empty].min():g}: no w meets it"
            )
        return cls(rows, r, squares, _point_inside(rows, r, squares, radius))

    def excess(self, weights: Vector) -> Vector:
        """Return <a_j, w> - r_j, each rounded up."""
        size = np.abs(self.A) @ np.abs(weights) + np.abs(self.r)
        return np.asarray(self.A @ weights - self.r + rounding_error(len(weights) + 4.0, size))

    def repaired(self, weights: Vector) -> Vector:
        """Return the weights, moved as little as need be towards the point inside."""
        excess = self.excess(weights)
        if self.inside is None or not np.any(excess > 0.0):
            return weights
        room = -self.excess(self.inside)
        part = float(np.max(np.maximum(excess, 0.0) / (np.maximum(excess, 0.0) + room)))
        for _ in range(DOUBLINGS):
            moved = weights + part * (self.inside - weights)
            if not np.any(self.excess(moved) > 0.0):
                return moved
            part = min(2.0 * part + EPSILON, 1.0)
        return weights

    def violation(self, weights: Vector) -> float:
        """Return an upper bound on the largest excess, 0 if every constraint certainly holds."""
        return max(float(np.max(self.excess(weights), initial=0.0)), 0.0)


def _point_inside(A: Vector, r: Vector, squares: Vector, radius: float | None) -> Vector | None:
    """Return a point with room to every constraint, None if none was found.

    A linear programme maximises the least distance t <= 1 to the constraints. If the largest t is
    below 0, no w meets them all, which is refused. With a ball, the feasibility test uses the box
    around the ball and the point is sought in the box inside it.
    """
    norms = np.sqrt(squares)
    size = 1.0 + float(np.max(np.abs(r) / np.where(norms > 0.0, norms, 1.0), initial=0.0))
    point, room = _farthest(A, r, norms, radius)
    if room < -1e-7 * size:
        raise ValueError(
            f"no w meets all constraints: the closest misses one by a distance of {-room:g}"
        )
    if radius is not None:
        point, room = _farthest(A, r, norms, radius * (1.0 - STRICTLY) / math.sqrt(A.shape[1]))
    return point if room > STRICTLY * size else None


def _farthest(A: Vector, r: Vector, norms: Vector, bound: float | None) -> tuple[Vector, float]:
    """Return the point with |w_i| <= bound farthest inside the constraints, and how far."""
    low = None if bound is None else -bound
    found = linprog(
        np.append(np.zeros(A.shape[1]), -1.0), np.column_stack([A, norms]), r,
        bounds=[*[(low, bound)] * A.shape[1], (None, 1.0)],
    )  # fmt: skip
    return (found.x[:-1], float(found.x[-1])) if found.status == 0 else (np.zeros(0), 0.0)


@dataclass(eq=False)
class ConstrainedSolver(Solver):
    """Minimise under constraints: an inner ascent over slopes, an outer one over multipliers."""

    problem: Problem
    limits: Limits = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ascent = Ascent(self.problem, self.problem.start(), self.seed)
        self.multipliers = np.zeros(len(self.limits.r))
        #: The gap of an inner problem, as a part of the tolerance.
        self.share = FIRST_SHARE
        #: Norms of the constraints, 1 for a row of zeros.
        norms = np.sqrt(self.limits.squares)
        self.norms = np.where(norms == 0.0, 1.0, norms)

    def step(self) -> bool:
        """Raise phi until the gap is closed, the passes run out, or the line search fails.

        It fails when the inner solutions are less exact than the rise of phi.
        """
        try:
            minimize(
                self.negative, self.multipliers * np.sqrt(self.limits.squares), jac=True,
                method="L-BFGS-B", bounds=[(0.0, None)] * len(self.norms),
                options={"ftol": 0.0, "gtol": 0.0, "maxcor": 50},
            )  # fmt: skip
        except StopIteration:
            return True
        self.share *= FINER
        return False

    def negative(self, scaled: Vector) -> tuple[float, Vector]:
        """Return -phi and its gradient; multipliers come in units of 1/||a_j||."""
        self.press(np.maximum(scaled, 0.0) / self.norms)
        self.settle()
        if self.look().converged or self.passes >= self.max_passes:
            raise StopIteration
        return -self.value, (self.limits.r - self.limits.A @ self.minimiser) / self.norms

    def press(self, multipliers: Vector) -> None:
        """Move theta to other multipliers, and make all rows active again."""
        change = (multipliers - self.multipliers) @ self.limits.A
        self.ascent.theta -= change / self.problem.strength
        self.multipliers = multipliers
        self.ascent.active, self.ascent.far = self.ascent.counted, FAR

    def settle(self) -> None:
        """Raise D over the slopes until the gap at these multipliers is a part of the tolerance."""
        ascent, guess = self.ascent, Guess(self.share * self.tol)
        while self.passes < self.max_passes:
            largest = ascent.epoch(guess)
            self.passes += 1
            gap = guess.gap if self.best is None else self.best.gap
            self.report(gap, guess.primal, int(ascent.active))
            settled = largest == 0.0 or ascent.active == 0
            if settled or guess.gap <= guess.goal:
                if not ascent.revive():
                    return
            ascent.hurry(guess)

    def examine(self) -> ConstrainedSolution:
        """Return the exact evaluation at the slopes and multipliers so far.

        `value` and `minimiser` are then D at them and the w at which it is attained.
        """
        problem, limits, m = self.problem, self.limits, self.multipliers
        slopes = self.ascent.slopes
        g, delta, total, slack = problem.gradient(slopes)
        z = g + m @ limits.A
        count = len(m) + 4.0
        delta += rounding_error(count, float((m @ np.abs(limits.A)).sum()))
        delta += rounding_error(1.0, float(np.abs(z).sum()))
        slack += rounding_error(count, float(m @ np.abs(limits.r)))
        self.value = problem.lower(z, delta, total - float(m @ limits.r), slack)
        self.minimiser = link(problem.mirror, -z / problem.strength)
        weights = limits.repaired(self.minimiser)
        found = self.solution(weights, problem.primal_upper(weights), self.value, slopes)
        own = {
            "objective": f"{found.objective} subject to A w <= limits",
            "multipliers": m,
            "violation": limits.violation(weights),
        }
        return ConstrainedSolution(**(vars(found) | own))

    def kept(self, new: Solution) -> ConstrainedSolution:
        """Return the better weights with the better multipliers, which may be of two points."""
        assert isinstance(new, ConstrainedSolution)
        old = self.best
        enough = self.tol * max(1.0, float(np.abs(self.limits.r).max(initial=0.0)))
        if isinstance(old, ConstrainedSolution):
            if (old.violation > enough, old.primal) <= (new.violation > enough, new.primal):
                new = replace(new, weights=old.weights, violation=old.violation, primal=old.primal)
            if old.dual > new.dual:
                new = replace(new, dual=old.dual, alpha=old.alpha, multipliers=old.multipliers)
        near = new.violation <= enough
        return replace(new, converged=closed(new.primal, new.dual, self.tol) and near)


def hindsight_constrained(
    X: Any,
    y: Any,
    loss: Loss,
    A: Any,
    limits: Any,
    l2: float,
    radius: float | None = None,
    weight: Any = None,
    offset: Any = None,
    tol: float = 1e-6,
    max_passes: int = 10_000,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
) -> ConstrainedSolution:
    """Return the best fixed linear predictor with A w <= limits, with a certified duality gap.

    Minimises sum_i c_i f(y_i, <w, x_i> + o_i) + (l2/2) ||w||^2 subject to <a_j, w> <= limits_j
    for every row a_j of A, and to ||w||_2 <= radius if given, by dual ascent with a multiplier for
    each constraint that an outer loop adjusts. w_j >= 0 is the row -e_j with limit 0; an equality
    is two rows, which no point meets with room to spare, so that `violation` is then small, not 0.

    A: array or scipy sparse matrix, a row a constraint, a column a feature. limits: finite numbers,
    one a row. l2: strength of the regulariser, above 0. radius: of a ball, above 0 [default: none].
    weight, offset: of the examples, as in `hindsight`. tol: it stops when gap <= tol
    max(1, |primal|) [default: 1e-6]. max_passes: over the rows [default: 10,000].

    >>> import noregret as nr
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1]
    >>> best = nr.hindsight_constrained(X, y, nr.losses.Hinge(), [[1.0, 1.0]], [0.25], l2=1.0)
    >>> best.weights.round(3).tolist(), best.multipliers.round(3).tolist(), best.violation
    ([1.0, -0.75], [0.75], 0.0)

    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, constraints by
    multipliers.
    """
    require_options(tol, max_passes)
    mirror = mirrors.Euclidean() if radius is None else mirrors.Ball(as_positive("radius", radius))
    problem = Problem.of(X, y, loss, mirror, as_positive("l2", l2), weight, offset)
    checked = Limits.of(A, limits, problem.rows.width, radius)
    solver = ConstrainedSolver(
        problem, float(tol), int(max_passes), seed=seed, progress=progress, limits=checked
    )
    found = cast(ConstrainedSolution, solver.run())
    return trusted(found, loss, feasible=found.violation == 0.0)
