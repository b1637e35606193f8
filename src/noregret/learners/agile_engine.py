"""The engine of agile descent, and the choice among the engines of one score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.domains import Domain
from noregret.jit import Call
from noregret.learners.engines import (
    CoordinateEngine,
    Engine,
    LinearEngine,
    MappedEngine,
    Vector,
)
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes import sync
from noregret.passes.descent import agile
from noregret.passes.descent.implicit import SEARCH
from noregret.passes.slots import Slot
from noregret.rates import PerCoordinate, Rate
from noregret.rows.examples import Rows


class AgileEngine(Engine):
    """Descent that projects on a domain after every step, with Z kept beside theta.

    Records are as wide without an average as with one, and the pass keeps it in any case.
    """

    widths = (agile.COLUMNS, agile.COLUMNS)
    value_column = 1
    accumulator_column = 2

    def __init__(
        self,
        loss: Loss,
        mirror: Mirror,
        rate: Rate,
        conservative: bool,
        domain: Domain,
        clip: float,
        implicit: bool,
    ) -> None:
        super().__init__(loss, mirror, rate, True, conservative)
        self.domain, self.clip = domain, clip
        self.search = np.empty(SEARCH) if implicit else None

    def begin(self, dimension: int) -> None:
        """Start at the projection of link(0)."""
        super().begin(dimension)
        reference = self.mirror.reference(0.0, 0.0)
        start = np.full(dimension, self.mirror.phi_prime(0.0, reference))
        if self.domain.is_simplex():
            self.state[:, 0] = self.domain.project(start) if dimension else start
        elif self.domain.separable():
            clamped = [self.domain.clamp(float(v)) for v in start[:1]]
            if clamped and clamped[0] != start[0]:
                self.state[:, 0] = self.mirror.inverse(clamped[0])
        self.resum()

    def call(
        self, rows: Rows, y: Vector, weight: Vector, row: int, ledger: Vector, predictions: Vector
    ) -> Call:
        """Return the agile pass and what it is called with."""
        return agile.agile_pass, (
            self.loss, self.mirror, self.rate, self.domain, rows.indptr, rows.indices, rows.values,
            rows.width, rows.trusted, y, weight, row, self.state, self.slots, ledger,
            predictions, self.conservative, self.clip, self.search,
        )  # fmt: skip

    def resum(self) -> None:
        """Fold the global factor into theta, recompute v and S, and stay within a ball."""
        self.settle()
        self.state[:, 0] *= self.slots[Slot.FACTOR]
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
        """Return the Z that the pass kept."""
        return self.state[:, 3].copy()


def choose_engine(
    loss: Loss,
    mirror: Mirror,
    rate: Rate,
    domain: Domain,
    is_lazy: bool,
    averaging: bool,
    conservative: bool,
    clip: float | None,
    implicit: bool,
) -> Engine:
    """Return the engine of a combination that was checked."""
    if not is_lazy:
        limit = math.inf if clip is None else clip
        return AgileEngine(loss, mirror, rate, conservative, domain, limit, implicit)
    kind: Any = MappedEngine
    if isinstance(rate, PerCoordinate):
        kind = CoordinateEngine
    elif mirror.linear():
        kind = LinearEngine
    engine: Engine = kind(loss, mirror, rate, averaging, conservative)
    return engine
