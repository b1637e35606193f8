"""Newton steps over all rows at once, for when visits one by one keep correcting one another.

The dual D is raised by a proximal point method: the next slopes maximise
D(s) - (delta/2) sum c_i (s_i - given_i)^2. That is the dual of the problem with every loss
smoothed by delta around the given slopes (`passes.dual.joint`), which is solved for theta (and a
bias beta) by a semismooth Newton method with w = link(theta): with A = sum c_i a_i' x_i x_i', a_i
the answer of row i, and W the derivative of the link, the step satisfies

    (b I + A W) dtheta = -(b theta + sum c_i a_i x_i).

W is a diagonal matrix plus one of rank 1, so that a factor W = L L' is known and the matrix of
the system, b I + L' A L, is symmetric. Where losses have no kinks delta is 0 and one such
solution is the answer; elsewhere delta follows the gap, and the rate is better than linear.
Reference: Rockafellar, Augmented Lagrangians and Applications of the Proximal Point Algorithm;
Li, Sun, Toh, A Highly Efficient Semismooth Newton Augmented Lagrangian Method, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noregret.arrays import Vector
from noregret.batch.dual_newton import RESIDUAL
from noregret.batch.problem import dual_state, link
from noregret.batch.shard import Size
from noregret.mirrors import Mirror
from noregret.passes.dual import joint
from noregret.passes.dual.dual import inner
from noregret.workers import Workers, whole

#: The matrix of a step is formed up to this size, if that takes no longer than GRADIENTS
#: conjugate gradient iterations, which need only apply it.
LARGEST_MATRIX = 3000
GRADIENTS = 100
#: Most Newton steps of a round.
MOST_STEPS = 20
#: A round ends when its own gap is this part of the proximal term.
ENOUGH = 0.2
#: Most halvings of a step, and the part of the predicted descent that is required.
HALVINGS, PROMISED = 20, 1e-4
#: A round ends when its own gap is this part of the wanted gap.
GOAL = 0.1
#: Factor of delta after a round that converged, and after one that did not.
NARROWER, WIDER = 0.3, 3.0
#: Factor of weights on the boundary of a ball that brings them inside.
INSIDE = 1.0 - 1e-12
#: Parts of the way to the slopes of a round, tried in turn.
PARTS = (1.0, 0.5, 0.25, 0.1, 0.03)
#: Least curvature of a bias, as the part of the rows that is then treated as curved.
LEAST_BEND = 1e-3


@dataclass(eq=False)
class Point:
    """A theta and a bias, with the value of the smoothed problem there; shards have its slopes."""

    theta: Vector
    bias: float
    #: Column 0 theta, column 1 v = phi'(theta).
    state: Vector
    reference: float
    total: float
    kappa: float
    weights: Vector
    value: float
    mirror: Mirror

    @property
    def growth(self) -> float:
        """dS/dtheta_j over v_j, one number for all j: a reference may scale v."""
        j = int(np.argmax(np.abs(self.state[:, 1])))
        a = float(self.theta[j])
        near = float(joint.nearby(self.mirror, a, self.reference))
        rise = self.mirror.phi(a + near, self.reference) - self.mirror.phi(a - near, self.reference)
        scale = 2.0 * near * float(self.state[j, 1])
        # Where it underflows, v is too small for S to depend on theta.
        return rise / scale if scale != 0.0 else 0.0


class Pulled(NamedTuple):
    """g = sum c_i s_i x_i plus the tilt; sums of s_i o_i - f*(s_i), (s_i - given_i)^2 and s_i.

    The latter are over all rows, each times c_i.
    """

    vector: Vector
    lower: float
    away: float
    excess: float


class Joint:
    """The smoothed problem around the given slopes of all shards, and Newton's method for it.

    Args:
        objective: its loss, map and strength; a `Problem` is one.
        workers: the shards of the rows (`batch.shard`).
        size: the size of all shards together.
        delta: how far losses are smoothed, 0 for the losses themselves.
        free: whether there is a bias that the regulariser does not count.
        tilt: t of a term <t, w> added to the objective [default: none].
    """

    def __init__(
        self,
        objective: Any,
        workers: Workers,
        size: Size,
        delta: float,
        free: bool,
        tilt: Vector | None = None,
    ) -> None:
        self.objective, self.workers, self.size = objective, workers, size
        self.delta, self.free, self.tilt = delta, free, tilt
        self.steps = 0
        self.solved = False
        #: How far the last step moved the bias; before a step it may be anywhere.
        self.swing = math.inf

    def width(self, here: Point, gap: float) -> float:
        """Return a delta with which the proximal term is about the gap."""
        away = self.pull(here).away
        return 2.0 * gap / away if 0.0 < away < math.inf else 0.0

    def point(self, theta: Vector, bias: float) -> Point:
        """Return the point with its value, which may be infinite or not a number."""
        mirror = self.objective.mirror
        state, reference, total = dual_state(mirror, theta)
        weights = link(mirror, theta)
        value = self.answer(weights, bias)
        if total > 0.0 or mirror.separable():
            value += self.objective.strength * (
                float(theta @ weights) - mirror.psi(total, reference)
            )
        if self.tilt is not None:
            value += float(self.tilt @ weights)
        kappa = mirror.kappa(total, reference, 1.0)
        return Point(theta, bias, state, reference, total, kappa, weights, value, mirror)

    def answer(self, weights: Vector, bias: float) -> float:
        """Let all shards answer with their slopes; return the value of the smoothed losses."""
        return float(sum(self.workers.call("answer", weights, bias, self.delta)))

    def pull(self, here: Point) -> Pulled:
        """Return sum c_i s_i x_i plus the tilt, and further sums at the slopes of this point."""
        vector, rest = self.workers.add("pull", here.bias)
        pulled = whole(vector) if self.tilt is None else whole(vector) + self.tilt
        return Pulled(pulled, *map(float, np.sum(rest, axis=0)))

    def apart(self, here: Point, pulled: Pulled) -> tuple[float, float]:
        """Return the gap of the smoothed problem, and the proximal term."""
        objective, lower = self.objective, pulled.lower
        _, reference, total = dual_state(objective.mirror, -pulled.vector / objective.strength)
        if total > 0.0 or objective.mirror.separable():
            lower -= objective.strength * objective.mirror.psi(total, reference)
        back = 0.5 * self.delta * pulled.away
        return here.value - (lower - back), back

    def solve(self, here: Point, goal: float, most: int) -> Point:
        """Return a point near the minimum of the smoothed problem, after at most `most` steps."""
        while self.steps < most:
            pulled = self.pull(here)
            gap, back = self.apart(here, pulled)
            if self.free and pulled.excess != 0.0:
                # That gap is for this bias alone: add what another one may gain.
                gap += abs(pulled.excess) * self.swing
            if gap <= max(goal, ENOUGH * back):
                self.solved = True
                break
            self.steps += 1
            there = self.step(here, pulled)
            if there is None and here.kappa < 1.0 and self.objective.mirror.half_square():
                # Beyond a ball weights do not react to theta: start where they just do.
                here = self.point(INSIDE * here.weights, here.bias)
                there = self.step(here, self.pull(here))
            if there is None:
                # The slopes are those of the last point that was tried.
                self.answer(here.weights, here.bias)
                break
            self.swing = abs(there.bias - here.bias)
            here = there
        return here

    def step(self, here: Point, pulled: Pulled) -> Point | None:
        """Return the point after a Newton step that lowers the value, if there is one."""
        mirror, b = self.objective.mirror, self.objective.strength
        bends = float(sum(self.workers.call("bend", self.delta)))
        diagonal = np.empty(len(here.theta))
        joint.stiffness(mirror, here.theta, -pulled.vector / b, here.reference, diagonal)
        excess = pulled.excess if self.free else 0.0
        force = np.append(b * here.theta + pulled.vector, excess)
        factor = Factor.of(here, diagonal * here.kappa, mirror)
        held = LEAST_BEND * self.size.weight / max(self.delta, 1.0)
        # Where all losses are nearly flat a bias moves by 1 at a time, not by less.
        held = min(held, abs(excess))
        rest = max(held - bends, 0.0) if self.free else 1.0
        base = np.append(np.full(len(here.theta), b), rest)
        image = self._image(bends)
        moved = image.solve(factor, base, force)
        change = -(force + image(moved))[:-1] / b
        slant = float(force @ moved)
        if not slant < 0.0:
            return None
        for halving in range(HALVINGS):
            length = 0.5**halving
            theta = np.empty_like(change)
            joint.limited_step(mirror, here.theta, length * change, here.reference, diagonal, theta)
            with np.errstate(all="ignore"):
                there = self.point(theta, here.bias + length * float(moved[-1]))
            if there.value <= here.value + PROMISED * length * slant:
                return there
        return None

    def _image(self, bends: float) -> Image:
        matrix = None
        if narrow(self.size, self.objective.width):
            matrix, _ = self.workers.add("squares")
            if not self.free:
                matrix[-1, :] = matrix[:, -1] = 0.0
        return Image(self.workers, bends, self.free, matrix)


def narrow(size: Size, width: int) -> bool:
    """Return whether forming and factoring a matrix is cheaper than conjugate gradients."""
    formed = size.pairs + width**3 / 3.0
    return width <= LARGEST_MATRIX and formed <= 4.0 * GRADIENTS * size.features


@dataclass(frozen=True, eq=False)
class Image:
    """The matrix A of a step, bordered by that of a bias: formed, or only applied."""

    workers: Workers
    #: The sum of all bends.
    bends: float
    free: bool
    matrix: Vector | None

    def __call__(self, v: Vector) -> Vector:
        """Return A v."""
        if self.matrix is not None:
            return np.asarray(self.matrix @ v)
        found, sums = self.workers.add("image", v[:-1], v[-1] if self.free else 0.0)
        return np.append(whole(found), sum(sums) if self.free else 0.0)

    def solve(self, factor: Factor, base: Vector, force: Vector) -> Vector:
        """Return L y with (base + L' A L) y = -L' force."""
        right = -factor.transposed(force)
        if self.matrix is not None:
            inside = factor.around(self.matrix)
            inside[np.diag_indices(len(right))] += base
            joint.solve(inside, right)
            return factor.times(right)

        def curve(y: Vector) -> Vector:
            return np.asarray(base * y + factor.transposed(self(factor.times(y))))

        squares, _ = self.workers.add("diagonal")
        diagonal = np.append(whole(squares), self.bends if self.free else 0.0)
        scale = base + np.square(factor.root) * diagonal
        return factor.times(conjugate_gradients(curve, right, scale, GRADIENTS))


@dataclass(frozen=True)
class Factor:
    """L with L L' = W, the derivative of the link, and 1 for a bias: diag(root) (I - part z z')."""

    root: Vector
    z: Vector
    part: float

    @classmethod
    def of(cls, here: Point, diagonal: Vector, mirror: Mirror) -> Factor:
        """Return the factor of diag + (dkappa/dS) v (dS/dtheta)'."""
        root = np.sqrt(diagonal)
        v = here.state[:, 1]
        z = np.divide(v, root, out=np.zeros_like(v), where=root > 0.0)
        length = float(z @ z)
        part = 0.0
        if not mirror.separable() and length > 0.0 and here.total > 0.0:
            low, high = here.total * (1.0 - joint.NEAR), here.total * (1.0 + joint.NEAR)
            bend = mirror.kappa(high, here.reference, 1.0) - mirror.kappa(low, here.reference, 1.0)
            # Inside a ball kappa does not bend; a tiny S has no other number next to it.
            bend *= here.growth / (high - low) if bend != 0.0 else 0.0
            # (I - part z z')^2 = I + bend z z'; a convex G leaves the root real.
            part = (1.0 - math.sqrt(max(1.0 + bend * length, 0.0))) / length
        return cls(np.append(root, 1.0), np.append(z, 0.0), part)

    def times(self, y: Vector) -> Vector:
        """Return L y."""
        return np.asarray(self.root * (y - (self.part * float(self.z @ y)) * self.z))

    def transposed(self, u: Vector) -> Vector:
        """Return L' u."""
        scaled: Vector = self.root * u
        return scaled - (self.part * float(self.z @ scaled)) * self.z

    def around(self, matrix: Vector) -> Vector:
        """Return L' matrix L."""
        inner: Vector = self.root[:, None] * matrix * self.root
        if self.part == 0.0:
            return inner
        side = inner @ self.z
        cross = np.outer(self.part * self.z, side)
        square = self.part * self.part * float(self.z @ side)
        return inner - cross - cross.T + square * np.outer(self.z, self.z)


def newton_round(
    objective: Any,
    workers: Workers,
    size: Size,
    start: tuple[Vector, float],
    delta: float,
    gap: float,
    goal: float,
    most: int,
    free: bool = False,
    tilt: Vector | None = None,
    follow: bool = True,
) -> tuple[Point, int, float, bool]:
    """Solve the problem smoothed around the given slopes, by at most `most` Newton steps.

    Args:
        objective: its loss, map and strength.
        workers: the shards of the rows.
        size: the size of all shards together.
        start: theta and the bias to start from.
        delta: the largest width of the smoothing; losses without kinks need none.
        gap: the gap of the given slopes, which that width follows.
        goal: the gap at which the whole run ends.
        most: steps, at most.
        free: whether there is a bias that the regulariser does not count [default: False].
        tilt: t of a term <t, w> added to the objective [default: none].
        follow: whether the width follows the gap, too; after a round that was not solved it must
            not, or that round would be played again and again [default: True].

    Returns the point found, the steps made, the largest width for the next round, and whether the
    round was solved.
    """
    smooth = objective.loss.curvature() < math.inf
    round_ = Joint(objective, workers, size, 0.0, free, tilt)
    if not smooth:
        if follow:
            delta = min(delta, round_.width(round_.point(*start), gap))
        round_ = Joint(objective, workers, size, delta, free, tilt)
    here = round_.point(*start)
    if not here.value < math.inf:
        return here, 0, delta, False
    here = round_.solve(here, GOAL * goal, most)
    wider = NARROWER if round_.solved else WIDER
    return here, round_.steps, delta * wider, round_.solved


def conjugate_gradients(
    curve: Callable[[Vector], Vector], right: Vector, diagonal: Vector, budget: int
) -> Vector:
    """Return an approximate solution of curve(d) = right."""
    found = np.zeros_like(right)
    residual = right.copy()
    scaled = residual / diagonal
    direction = scaled.copy()
    size = first = float(inner(residual, scaled))
    for _ in range(budget):
        if not size > RESIDUAL * RESIDUAL * first:
            break
        image = curve(direction)
        along = float(inner(direction, image))
        if not 0.0 < along < math.inf:
            break
        step = size / along
        found += step * direction
        residual -= step * image
        scaled = residual / diagonal
        new = float(inner(residual, scaled))
        direction = scaled + (new / size) * direction
        size = new
    return found
