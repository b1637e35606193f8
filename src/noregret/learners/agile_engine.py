"""The engine of agile descent: steps from the weights, projections on a domain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.learners.engines import Engine, Vector
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes import sync
from noregret.passes.descent import agile
from noregret.passes.descent.agile import AgileRule, Column
from noregret.passes.descent.implicit import SEARCH, ImplicitAgileRule
from noregret.passes.frame import Rule
from noregret.passes.slots import Slot
from noregret.rates import Rate


class AgileEngine(Engine):
    """Descent that projects on a domain after every step, with Z kept beside theta.

    Records are as wide without an average as with one, and the rule keeps it in any case.
    """

    widths = (agile.COLUMNS, agile.COLUMNS)
    value_column = int(Column.VALUE)
    accumulator_column = int(Column.ACCUMULATOR)

    def __init__(
        self, loss: Loss, mirror: Mirror, rate: Rate, averaging: bool, *options: Any
    ) -> None:
        super().__init__(loss, mirror, rate, True, *options)
        self.search = np.empty(SEARCH)

    def begin(self, dimension: int) -> None:
        """Start at the projection of link(0)."""
        super().begin(dimension)
        reference = self.mirror.reference(0.0, 0.0)
        start = np.full(dimension, self.mirror.phi_prime(0.0, reference))
        if self.domain.is_simplex():
            self.state[:, Column.THETA] = self.domain.project(start) if dimension else start
        elif self.domain.separable():
            clamped = [self.domain.clamp(float(v)) for v in start[:1]]
            if clamped and clamped[0] != start[0]:
                self.state[:, Column.THETA] = self.mirror.inverse(clamped[0])
        self.resum()

    def rule(self) -> Rule:
        """Return the agile rule, explicit or implicit."""
        kind = ImplicitAgileRule if self.implicit else AgileRule
        return kind(self.loss, self.mirror, self.rate, self.domain, self.conservative, self.clip)

    def memory(self) -> agile.Memory:
        """Return the arrays that the rule keeps from row to row."""
        return agile.Memory(self.state, self.slots, self.search)

    def resum(self) -> None:
        """Fold the global factor into theta, recompute v and S, and stay within a ball."""
        self.settle()
        self.state[:, Column.THETA] *= self.slots[Slot.FACTOR]
        self.slots[Slot.FACTOR] = 1.0
        reference = self.mirror.reference(*map(float, sync.extremes(self.state, 1.0)))
        self.slots[Slot.REFERENCE] = reference
        total = float(sync.rebuild(self.mirror, self.state, 1.0, reference))
        self._keep(total)
        if self.domain.is_ball():
            length = math.sqrt(2.0 * self.mirror.psi(max(total, 0.0), reference))
            if length > self.domain.extent():
                self.slots[Slot.FACTOR] = self.domain.extent() / length

    def kappa(self, ledger: Vector) -> float:
        """Return the global factor times the map's own."""
        s, reference = float(self.slots[Slot.SUM]), float(self.slots[Slot.REFERENCE])
        return float(self.slots[Slot.FACTOR]) * self.mirror.kappa(s, reference, 1.0)

    def gradient(self) -> Vector:
        """Return the Z that the rule kept."""
        return self.state[:, Column.GRADIENT].copy()
