"""Predictors to compare with: corners, random ones, and the best that independent solvers find."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, minimize

from noregret import losses
from tests.truth.referee import Referee, fractions, in_doubles, slopes

Vector = npt.NDArray[np.float64]


class Class:
    """A class of predictors: ball of an exponent q, "simplex" or "subsimplex", of a radius.

    With `sizes` m it is the ball of m u, in the 2-norm.
    """

    def __init__(self, shape: str, radius: float, sizes: Vector | None = None) -> None:
        self.shape, self.radius, self.sizes = shape, radius, sizes
        self.q = math.nan if shape in ("simplex", "subsimplex") else float(shape)

    def length(self, u: Vector) -> np.longdouble:
        """Return the norm of u, or its sum for a simplex."""
        long = abs(u.astype(np.longdouble))
        if self.sizes is not None:
            long = long * self.sizes
        largest = long.max(initial=np.longdouble(0))
        if math.isnan(self.q) or self.q == 1.0:
            return np.longdouble(long.sum())
        if self.q == math.inf or largest == 0.0:
            return np.longdouble(largest)
        total = ((long / largest) ** np.longdouble(self.q)).sum()
        return np.longdouble(largest * total ** (1 / np.longdouble(self.q)))

    def holds(self, u: Vector) -> bool:
        """Tell whether u belongs to the class, exactly for the polyhedra and the 2-norm."""
        exact, radius = fractions(u), Fraction(self.radius)
        if self.sizes is not None:
            exact = [v * m for v, m in zip(exact, fractions(self.sizes), strict=True)]
        if self.shape == "simplex":
            return min(exact) >= 0 and sum(exact) == radius
        if self.shape == "subsimplex":
            return min(exact) >= 0 and sum(exact) <= radius
        if self.q == 1.0:
            return sum(map(abs, exact)) <= radius
        if self.q == math.inf:
            return max(map(abs, exact)) <= radius
        if self.q == 2.0:
            return sum(v * v for v in exact) <= radius**2
        return bool(self.length(u) * np.longdouble(1 + 1e-16) <= self.radius)

    def fitted(self, u: Vector) -> Vector | None:
        """Return u moved into the class, near its surface if it was outside; None if in vain."""
        if self.shape == "simplex":
            return self._on_simplex(u)
        if self.shape == "subsimplex":
            u = np.maximum(u, 0.0)
        with np.errstate(all="ignore"):
            length = self.length(u)
            if length > self.radius:
                u = (u.astype(np.longdouble) * (self.radius / length)).astype(np.float64)
        for _ in range(6):
            if not np.all(np.isfinite(u)):
                return None
            if self.holds(u):
                return u
            u = u * (1.0 - 4e-16)
        return None

    def near(self, u: Vector) -> Vector:
        """Return u moved into the class up to rounding, for solvers."""
        if self.shape in ("simplex", "subsimplex"):
            u = np.maximum(u, 0.0)
        total = float(np.linalg.norm(u, 1.0 if math.isnan(self.q) else self.q))
        if self.shape == "simplex" or total > self.radius:
            return u * (self.radius / total) if total > 0.0 else u + self.radius / len(u)
        return u

    def _on_simplex(self, u: Vector) -> Vector | None:
        """Round to multiples of radius/2^20, which add up exactly."""
        u = np.maximum(np.nan_to_num(u, posinf=0.0), 0.0)
        total = float(u.sum())
        share = u / total if 0.0 < total < math.inf else np.full(len(u), 1.0 / len(u))
        units = np.floor(share * 2**20)
        units[int(np.argmax(share))] += 2**20 - units.sum()
        u = units * (self.radius / 2**20)
        return u if self.holds(u) else None

    def corner(self, z: Vector) -> Vector:
        """Return the u with the least <u, z>."""
        if self.shape in ("simplex", "subsimplex"):
            u = np.zeros(len(z))
            best = int(np.argmin(z))
            u[best] = self.radius if self.shape == "simplex" or z[best] < 0.0 else 0.0
            return u
        size = np.abs(z)
        largest = float(size.max(initial=0.0))
        if largest == 0.0:
            return np.zeros(len(z))
        if self.q == 1.0:
            u = np.zeros(len(z))
            best = int(np.argmax(size))
            u[best] = -math.copysign(self.radius, z[best])
            return u
        power = 0.0 if self.q == math.inf else 1.0 / (self.q - 1.0)
        direction = -np.sign(z) * (size / largest) ** power
        with np.errstate(all="ignore"):
            unit = direction.astype(np.longdouble) / Class(self.shape, 1.0).length(direction)
            return (unit * self.radius).astype(np.float64)


def comparators(
    random: np.random.Generator, referee: Referee, ball: Class, z: Vector, natural: float
) -> list[Vector]:
    """Return predictors of the class, the best that was found among them.

    `natural` is a norm at which predictions are of order 1.
    """
    d = len(z)
    if ball.sizes is not None:
        # The same in the units of the class; a feature that it does not measure has no loss.
        units = np.where(ball.sizes > 0.0, ball.sizes, 1.0)
        rows = (referee.X / units, referee.y, referee.weight)
        plain = Referee(referee.loss, *rows, referee.sigma, referee.offset)
        found = comparators(random, plain, Class(ball.shape, ball.radius), z / units, natural)
        found.append(found[-1] + np.where(ball.sizes > 0.0, 0.0, 1e9))
        fitted = [ball.fitted(v / units) for v in found]
        return [u for u in fitted if u is not None]
    tried = [np.zeros(d), ball.corner(z), -ball.corner(z)]
    for size in (ball.radius, min(natural, ball.radius), 1e-3 * natural):
        direction = random.normal(size=d)
        tried.append(direction / np.linalg.norm(direction) * size)
    if ball.radius > 0.0 and len(referee.X):
        tried += best_found(referee, ball, tried, natural)
    fitted = [ball.fitted(u) for u in tried]
    return [u for u in fitted if u is not None]


def best_found(referee: Referee, ball: Class, starts: list[Vector], natural: float) -> list[Vector]:
    """Return what solvers make of a problem scaled to features of order 1."""
    size = float(np.abs(referee.X).max(initial=0.0))
    heavy = float(referee.weight.max(initial=0.0))
    if not (1e-290 < size and 1e-290 < heavy):
        return []
    radius = ball.radius * size
    if not 1e-6 < radius:
        return []
    # Far beyond the natural size nothing new is found, and the solvers lose their way.
    radius = min(radius, 1e6 * max(1.0, float(np.abs(referee.y).max(initial=0.0))))
    problem = _Problem(referee, size, heavy, Class(ball.shape, radius))
    found = [problem.descended(start * size) for start in (starts[1], starts[4])]
    polyhedral = (losses.Hinge, losses.Absolute, losses.EpsilonInsensitive)
    if type(referee.loss) in polyhedral and referee.sigma == 0.0 and ball.q != 2.0:
        found.append(problem.linear_program())
    elif ball.q == 2.0:
        found.append(problem.sequential(found[0]))
    with np.errstate(all="ignore"):
        return [u / size for u in found if u is not None and np.all(np.isfinite(u / size))]


class _Problem:
    """The sum of losses with rows and weights of order 1."""

    def __init__(self, referee: Referee, size: float, heavy: float, ball: Class) -> None:
        self.referee, self.ball = referee, ball
        self.size, self.heavy = size, heavy
        self.X = referee.X / size
        self.weight = referee.weight / heavy
        self.curvature = referee.sigma * len(self.X) / (heavy * size * size)

    def objective(self, v: Vector) -> tuple[float, Vector]:
        """Return the objective and a subgradient."""
        loss, y, p = self.referee.loss, self.referee.y, self.X @ v + self.referee.offset
        value = float(self.weight @ in_doubles(loss, y, p)) + 0.5 * self.curvature * float(v @ v)
        return value, self.X.T @ (self.weight * slopes(loss, y, p)) + self.curvature * v

    def descended(self, start: Vector, steps: int = 40) -> Vector:
        """Return the best of a few normalised projected subgradient steps."""
        v = best = self.ball.near(start)
        least = math.inf
        reach = min(self.ball.radius, 10.0)
        for k in range(steps):
            value, gradient = self.objective(v)
            if value < least:
                least, best = value, v
            length = float(np.linalg.norm(gradient))
            if not 0.0 < length < math.inf:
                break
            v = self.ball.near(v - reach / (1.0 + k) / length * gradient)
        return best

    def sequential(self, start: Vector) -> Vector | None:
        """Return what SLSQP finds in the Euclidean ball."""
        square = self.ball.radius**2
        scale = max(abs(self.objective(start)[0]), 1e-12)
        if not (math.isfinite(scale) and math.isfinite(square)):
            return None

        def scaled(v: Vector) -> tuple[float, Vector]:
            value, gradient = self.objective(v)
            return value / scale, gradient / scale

        inside = {"type": "ineq", "fun": lambda v: 1.0 - float(v @ v) / square}
        result = minimize(
            scaled, start, jac=True, method="SLSQP", constraints=[inside], options={"maxiter": 25}
        )
        return np.asarray(result.x, np.float64)

    def linear_program(self) -> Vector | None:
        """Return the optimum over a polyhedron, by linear programming."""
        (n, d), loss, y = self.X.shape, self.referee.loss, self.referee.y
        offset = self.referee.offset
        if float(np.maximum(np.abs(y), np.abs(offset)).max()) > 1e12:
            return None
        # Variables u+ >= 0, u- >= 0 and slacks s_t >= loss_t.
        wide = np.hstack([self.X, -self.X])
        if isinstance(loss, losses.Hinge):
            rows, limits = [-y[:, None] * wide], [y * offset - loss.margin]
        else:
            tube = loss.epsilon if isinstance(loss, losses.EpsilonInsensitive) else 0.0
            rows, limits = [wide, -wide], [y - offset + tube, offset - y + tube]
        matrix = np.vstack([np.hstack([r, -np.eye(n)]) for r in rows])
        bounds: list[tuple[float, float | None]] = [(0.0, None)] * (2 * d + n)
        total, sums = np.concatenate([np.ones(2 * d), np.zeros(n)])[None, :], [self.ball.radius]
        equal = None
        if self.ball.shape in ("simplex", "subsimplex"):
            bounds[d : 2 * d] = [(0.0, 0.0)] * d
        if self.ball.q == math.inf:
            bounds[: 2 * d] = [(0.0, self.ball.radius)] * (2 * d)
        elif self.ball.shape == "simplex":
            equal = total
        elif self.ball.q == 1.0 or self.ball.shape == "subsimplex":
            matrix = np.vstack([matrix, total])
            limits.append(np.array(sums))
        else:
            return None
        costs = np.concatenate([np.zeros(2 * d), self.weight])
        result = linprog(
            costs,
            matrix,
            np.concatenate(limits),
            equal,
            sums if equal is not None else None,
            bounds,
        )
        return None if result.x is None else result.x[:d] - result.x[d : 2 * d]
