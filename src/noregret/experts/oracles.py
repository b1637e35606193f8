"""Comparators in hindsight: the best expert, sequence of experts, and convex combination.

`best_combination` minimises F(w) = sum_t f(y_t, <w, p_t>) over the simplex. Any slopes s_t give a
floor: F(u) >= sum_t a_t + min_i sum_t s_t p_(t,i) for every u of the simplex, a_t the height at 0
of the line with slope s_t below f. Losses with kinks are smoothed, f_q(p) = min_v f(v) +
(v - p)^2 / (2 q), whose slope at p is that of f at the minimiser, and q falls until the gap is
small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Indices, Matrix, Vector, as_count, as_positive
from noregret.experts.advice import LARGEST, as_table, require_within
from noregret.losses import Loss
from noregret.rounding import UNDERFLOW, rounding_error
from noregret.rows.examples import as_labels

#: Multipliers above minus this part of the gradient's size count as not negative.
_TOLERANCE = 1e-13
#: Most Newton steps for one smoothing, and most smoothings.
_STEPS = 100
_SMOOTHINGS = 60
#: Ratio of the next smoothing q to the last.
_RATIO = 0.25


def _table(name: str, values: Any) -> Matrix:
    table = as_table(name, values)
    require_within(name, table, -LARGEST, LARGEST)
    if not table.size:
        raise ValueError(f"{name} has shape {table.shape}, expected rounds and experts")
    return table


def best_expert(costs: Any) -> tuple[int, float]:
    """Return the expert that cost least over all rows, the first of them, and its cost.

    >>> best_expert([[0.5, 0, 1], [1, 0.25, 0]])
    (1, 0.25)
    """
    totals = [math.fsum(column) for column in _table("costs", costs).T]
    best = int(np.argmin(totals))
    return best, totals[best]


@dataclass(frozen=True, eq=False)
class Sequences:
    """The best sequences of experts: `costs[k]` with at most k switches, `path` for the most."""

    costs: Vector
    path: Indices


def best_sequence(costs: Any, switches: int) -> Sequences:
    """Return the least cost of a sequence of experts with at most k switches, k = 0 ... switches.

    V_k(t, i) = z_(t,i) + min(V_k(t-1, i), min_j V_(k-1)(t-1, j)), exact but for the rounding of its
    sums; O(T d) time for each k.

    >>> costs = [[0.5, 0, 1], [1, 0.25, 0], [0, 1, 0.5], [0.75, 0.5, 0]]
    >>> found = best_sequence(costs, 3)
    >>> found.costs, found.path
    (array([1.5 , 0.5 , 0.25, 0.  ]), array([1, 2, 0, 2]))
    """
    table = _table("costs", costs)
    rounds, count = table.shape
    levels = as_count("switches", switches, least=0) + 1
    # The cost so far by switches allowed and last expert.
    value = np.repeat(table[:1], levels, axis=0)
    switched = np.zeros((rounds, levels, count), np.bool_)
    leader = np.zeros((rounds, levels), np.int64)
    for t in range(1, rounds):
        leader[t] = value.argmin(axis=1)
        least = value[np.arange(levels), leader[t]]
        fresh = np.concatenate([[math.inf], least[:-1]])[:, None]
        switched[t] = fresh < value
        value = np.minimum(value, fresh) + table[t]
    path = np.empty(rounds, np.int64)
    level, expert = levels - 1, int(value[-1].argmin())
    for t in range(rounds - 1, -1, -1):
        path[t] = expert
        if switched[t, level, expert]:
            level -= 1
            expert = int(leader[t, level])
    return Sequences(value.min(axis=1), path)


@dataclass(frozen=True, eq=False)
class Combination:
    """The best convex combination, up to a proved gap: floor <= least loss <= loss."""

    weights: Vector
    loss: float
    floor: float

    @property
    def gap(self) -> float:
        """How far the loss can be from the least, at most."""
        return self.loss - self.floor


def best_combination(predictions: Any, outcomes: Any, loss: Loss, tol: float = 1e-6) -> Combination:
    """Return the convex combination of experts with the least loss on all rows, and a proof.

    A row of `predictions` holds what each expert predicted in a round. It stops when the gap is
    at most tol max(1, |loss|), or mostly room for rounding, or when no step makes it smaller.

    >>> from noregret import losses
    >>> best = best_combination([[0.0, 1.0], [0.0, 1.0]], [0.25, 0.75], losses.Squared())
    >>> best.weights.round(6), round(best.loss, 9)
    (array([0.5, 0.5]), 0.125)
    """
    table = _table("predictions", predictions)
    search = _Search(table, as_labels(outcomes, len(table), loss), loss, as_positive("tol", tol))
    if not math.isfinite(search.loss):
        raise ValueError(f"{loss} of the mean prediction is not finite in some row of predictions")
    smooth = 0.0 < loss.curvature() < math.inf or not math.isfinite(loss.lipschitz())
    q = 0.0 if smooth else float(np.square(np.ptp(table, axis=1)).mean()) + 1e-30
    for _ in range(_SMOOTHINGS):
        if search.improve(q) or q == 0.0:
            break
        q *= _RATIO
    return Combination(search.best, search.loss, search.floor)


class _Search:
    """Newton's method on the simplex, and the best weights and floor met on its way."""

    def __init__(self, table: Matrix, y: Vector, loss: Loss, tol: float) -> None:
        self.table, self.y, self.function, self.tol = table, y.tolist(), loss, tol
        self.sizes = np.abs(table).max(axis=1)
        # Steps ignore the mean of a row, which all combinations share.
        self.spread = table - table.mean(axis=1, keepdims=True)
        self.w = np.full(table.shape[1], 1.0 / table.shape[1])
        self.best, self.loss, self.floor = self.w, math.inf, -math.inf
        #: How much of the loss and of the floor is room for rounding.
        self.above = self.below = 0.0
        self._look(self.w, 0.0)

    def improve(self, q: float) -> bool:
        """Minimise the problem smoothed by q; tell whether the gap is small enough."""
        before = math.inf
        for _ in range(_STEPS):
            value, slopes, noise = self._look(self.w, q)
            gap = self.loss - self.floor
            if gap <= max(self.tol * max(1.0, abs(self.loss)), 2.0 * (self.above + self.below)):
                return True
            gradient = self.spread.T @ slopes
            direction = self._target(gradient, self._curvatures(q)) - self.w
            # The direction sums to 0: a level taken off the gradient changes nothing but rounding.
            fall = float((gradient - gradient.min()) @ direction)
            # Where the decrease is below rounding, take full steps as long as the gap falls.
            if fall > -noise and not gap < 0.9 * before:
                return False
            before, step = gap, 1.0
            while step > 1e-12:
                trial = self.w + step * direction
                if self._look(trial, q)[0] <= value + 1e-4 * step * fall + noise:
                    break
                step *= 0.5
            else:
                return False
            self.w = np.maximum(trial, 0.0)
            self.w /= self.w.sum()
        return False

    def _target(self, gradient: Vector, curvatures: Vector) -> Vector:
        """Return the minimum of the quadratic model on the simplex."""
        A = (self.spread * curvatures[:, None]).T @ self.spread
        # Add a small ridge: the model must be strictly convex.
        scale = float(np.trace(A)) / len(A)
        np.fill_diagonal(A, A.diagonal() + 1e-10 * scale + 1e-12 * (1.0 + np.abs(gradient).max()))
        return simplex_minimum(A, A @ self.w - gradient, self.w)

    def _slope(self, y: float, p: float, q: float) -> float:
        loss = self.function
        return loss.slope(y, p) if q == 0.0 else loss.proximal_slope(y, p, q, 0.0)

    def _curvatures(self, q: float) -> Vector:
        """Return the second derivatives at the current weights, by differences of slopes."""
        result = np.empty(len(self.y))
        for t, (y, p) in enumerate(zip(self.y, (self.table @ self.w).tolist(), strict=True)):
            step = 1e-5 * (abs(p) + self.sizes[t]) if q == 0.0 else 1e-3 * math.sqrt(q)
            step = min(step, 0.5 * abs(p)) if p != 0.0 and q == 0.0 else step
            rise = self._slope(y, p + step, q) - self._slope(y, p - step, q)
            result[t] = max(rise, 0.0) / (2.0 * step) if step > 0.0 else 0.0
        return result

    def _look(self, w: Vector, q: float) -> tuple[float, Vector, float]:
        """Return value, slopes and rounding of the problem; keep better weights and floors."""
        values, lines, smoothed, slopes = [], [], [], np.empty(len(self.y))
        loss, made = self.function, (self.table @ w).tolist()
        for t, (y, p) in enumerate(zip(self.y, made, strict=True)):
            slopes[t] = s = self._slope(y, p, q)
            near = p - q * s
            value = loss.value(y, near)
            values.append(loss.value(y, p))
            lines.append(loss.intercept(y, near, value, s))
            smoothed.append(value + 0.5 * q * s * s)
        total = math.fsum(values)
        if total < self.loss:
            reached = self._most(w, made)
            if reached < self.loss:
                self.best, self.loss, self.above = w.copy(), reached, reached - total
        error = rounding_error(64.0, math.fsum(map(abs, lines)) + abs(total))
        error += rounding_error(len(values) + 64.0, float(np.abs(slopes) @ self.sizes))
        error += (len(values) + 1.0) * UNDERFLOW
        floor = math.fsum(lines) + float((slopes @ self.table).min()) - error
        if floor > self.floor:
            self.floor, self.below = floor, error
        return math.fsum(smoothed), slopes, rounding_error(8.0, math.fsum(map(abs, smoothed)))

    def _most(self, w: Vector, made: list[float]) -> float:
        """Return an upper bound on the loss of w, given its rounded predictions."""
        # Weights that sum to 1 but for rounding; a convex loss is largest at an end.
        error = rounding_error(len(w) + 4.0, np.abs(self.table) @ w)
        most = [
            max(self.function.value(y, p - e), self.function.value(y, p + e))
            for y, p, e in zip(self.y, made, error.tolist(), strict=True)
        ]
        total = math.fsum(most) + rounding_error(64.0, math.fsum(map(abs, most)))
        return total + len(most) * UNDERFLOW


def simplex_minimum(A: Matrix, b: Vector, start: Vector) -> Vector:
    """Return the p of the simplex with the least p'Ap/2 - b'p, A positive definite.

    A primal active-set method from a feasible start: minimise on the face of the current
    support, walk there until a component vanishes, else let in the component with the most
    negative multiplier. It ends, since every face is minimised at most once.

    >>> simplex_minimum(np.eye(3), np.array([1.0, 0.5, -3.0]), np.ones(3) / 3)
    array([0.75, 0.25, 0.  ])
    """
    p = start.copy()
    free = p > 0.0
    for _ in range(50 * len(p) + 100):
        face = np.flatnonzero(free)
        inverse = np.linalg.solve(
            A[np.ix_(face, face)], np.column_stack([b[face], np.ones(len(face))])
        )
        # A q = b + level on the face, with the level at which q sums to 1.
        level = (1.0 - inverse[:, 0].sum()) / inverse[:, 1].sum()
        q = inverse[:, 0] + level * inverse[:, 1]
        outward = q < 0.0
        if outward.any():
            here = p[face]
            reach = np.where(outward, here / np.where(outward, here - q, 1.0), np.inf)
            first = int(np.argmin(reach))
            p[face] = np.maximum(here + min(float(reach[first]), 1.0) * (q - here), 0.0)
            p[face[first]] = 0.0
            free[face[first]] = False
            continue
        p[:] = 0.0
        p[face] = q
        multipliers = np.where(free, 0.0, A @ p - b - level)
        entering = int(np.argmin(multipliers))
        size = float(np.abs(A @ np.abs(p)).max() + np.abs(b).max())
        if multipliers[entering] >= -_TOLERANCE * size:
            return p
        free[entering] = True
    raise ArithmeticError("the active-set method did not end: A is too near to singular")
