"""The engine of the entropy on a simplex with a floor: state, heap, groups and their meaning."""

from __future__ import annotations

import numpy as np

from noregret.domains import ClippedSimplex
from noregret.jit import Call
from noregret.learners.engines import Engine, Vector
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.descent import floored, groups
from noregret.passes.descent.groups import Mark
from noregret.passes.descent.implicit import SEARCH
from noregret.rates import Rate
from noregret.rows.examples import Rows


class FlooredEngine(Engine):
    """Agile descent with weights that are never below alpha / n of their sum."""

    widths = (groups.COLUMNS, groups.COLUMNS)

    def __init__(
        self,
        loss: Loss,
        mirror: Mirror,
        rate: Rate,
        conservative: bool,
        domain: ClippedSimplex,
        implicit: bool,
    ) -> None:
        super().__init__(loss, mirror, rate, True, conservative)
        self.domain = domain
        self.search = np.empty(SEARCH) if implicit else None
        self.heap = np.zeros((0, groups.HEAP_COLUMNS))
        self.groups = np.zeros((1, groups.NODE_COLUMNS))

    def begin(self, dimension: int) -> None:
        """Start at the uniform weights, all of one group."""
        super().begin(dimension)
        self.slots = np.zeros(len(Mark))
        self.heap = np.zeros((dimension, groups.HEAP_COLUMNS))
        self.groups = np.zeros((dimension + 1, groups.NODE_COLUMNS))
        self.state[:, 3] = -1.0
        self.slots[[Mark.FACTOR, Mark.SUM, Mark.NODES]] = 1.0
        self.groups[0] = -1.0, 1.0 / max(dimension, 1), dimension, 0.0, -1.0

    def call(
        self, rows: Rows, y: Vector, weight: Vector, row: int, ledger: Vector, predictions: Vector
    ) -> Call:
        """Return the floored pass and what it is called with."""
        return floored.floored_pass, (
            self.loss, self.mirror, self.rate, self.domain.alpha, rows.indptr, rows.indices,
            rows.values, rows.width, rows.trusted, y, weight, row, self.state, self.heap,
            self.groups, self.slots, ledger, predictions, self.conservative, self.search,
        )  # fmt: skip

    def _settled(self) -> Vector:
        """Return the records with every weight's own value and average, scale aside."""
        state = self.state.copy()
        # Looking a group up shortens the way to it, and reading must not change a learner.
        floored.settle(state, self.groups.copy(), self.slots.copy())
        return state

    def weights(self, ledger: Vector) -> Vector:
        """Return the weights; rounding does not take them below the floor."""
        floor = self.domain.floor(max(len(self.state), 1))
        return np.maximum(self.domain.scale * self._settled()[:, 0], floor)

    def gradient(self) -> Vector:
        """Return Z, the sum of the gradients counted since `begin`."""
        return self.state[:, 2].copy()

    def sum_of_iterates(self) -> Vector:
        """Return the sum of the weights played since `begin`."""
        return -self.domain.scale * self._settled()[:, 1]

    def arrays(self) -> dict[str, Vector]:
        """Return the arrays that a model file keeps."""
        return super().arrays() | {"heap": self.heap, "groups": self.groups}
