"""The best predictor in a ball over rows on shards, without a regulariser, by Newton rounds.

    minimise over ||w|| <= B  sum_i c_i f(y_i, <w, x_i> + o_i)

A round solves the proximal problem with (b/2) ||w - v||^2 added: that is the map of the ball with
strength b and a term -b <v, w>. Then the centre v moves to its minimiser w. There g = b (v - w) in
the interior of the ball, so that the part <g, w> + B ||g|| of the gap (see `batch.radius`) is at
most 2 b B ||v - w||; on its boundary it is less. With b a part of gap / (B m), m the last movement
of the centre, every round that is solved and moves no farther makes the gap smaller by a factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.batch.newton import Point, newton_round
from noregret.batch.problem import Solution
from noregret.batch.shared import NO_SLOPES, SharedSolver
from noregret.mirrors import Ball

#: b B m as a part of the gap,
SHARE = 0.05
#: and the factor by which b rises at most: a smaller one makes Newton steps too long.
RISE = 10.0
#: Numbers that a checkpoint keeps beside those of every solver.
KEPT = ("force", "moved", "part")
#: Factor of the goal of a round after one that made no step.
FINER = 0.01


@dataclass(eq=False)
class RadiusRounds(SharedSolver):
    """The solver over shards for a problem with a radius: Newton rounds around a moving centre."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.newton = True
        self.centre: Vector = np.zeros(self.problem.width)
        #: b of the last round, 0 before the first, and how far the centre moved in it.
        self.force, self.moved = 0.0, 0.0
        #: The part of the usual goal that the next round has.
        self.part = 1.0

    def first_theta(self) -> Vector:
        """Return the theta of weights 0."""
        return np.zeros(self.problem.width)

    def play(self, gap: float, goal: float, most: int) -> tuple[Point, int]:
        """Return the point of a round around the centre, which moves to it."""
        problem = self.problem
        radius = problem.radius
        assert radius is not None
        size = SHARE * (gap if gap < math.inf else problem.size.weight) / radius
        if self.force == 0.0:
            force = size / radius
            theta = -problem.gradient()[0] / force
        else:
            # A round that was solved needs no larger force: it would only move less.
            rise = 1.0 if self.solved else RISE
            force = self.force * min(size / self.force / max(self.moved, 1e-300), rise)
            # What lies beyond the ball is the multiplier of its boundary, in units of the force.
            theta = self.centre + (self.force / force) * (self.theta - self.centre)
        around = replace(problem, mirror=Ball(radius), strength=force, radius=None)
        here, steps, self.delta, self.solved = newton_round(
            around, self.workers, problem.size, (theta, 0.0), self.delta, gap, self.part * goal,
            most, tilt=-force * self.centre, follow=self.solved,
        )  # fmt: skip
        if self.solved and steps == 0:
            # Near the best weights of this problem, and not of that in the ball.
            self.part *= FINER
        before, self.centre = self.centre, problem.inside(here.weights)
        self.moved = float(np.linalg.norm(self.centre - before))
        self.force = force
        return here, steps

    def examine(self) -> Solution:
        """Return the exact evaluation at the slopes and the centre so far."""
        problem = self.problem
        # The slopes of an unfinished round prove little.
        self.workers.call("take", 0.0)
        self.dual = problem.dual_lower()
        return self.solution(self.centre, problem.primal_upper(self.centre), self.dual, NO_SLOPES)

    def state(self) -> tuple[dict[str, Any], dict[str, Vector]]:
        """Return what the solver knows beside the shards, as numbers and as arrays."""
        numbers, arrays = super().state()
        numbers |= {name: getattr(self, name) for name in KEPT}
        return numbers, arrays | {"centre": self.centre.copy()}

    def go_back(self, numbers: dict[str, Any], arrays: dict[str, Vector]) -> None:
        """Return to a state that was kept."""
        super().go_back(numbers, arrays)
        for name in KEPT:
            setattr(self, name, numbers[name])
        self.centre = arrays["centre"].copy()
