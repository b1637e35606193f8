"""The engine of the entropy on a clipped simplex: state, heap, groups and their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.domains import ClippedSimplex
from noregret.learners.engines import Engine, Vector
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.descent import clipped_simplex
from noregret.passes.descent.clipped_simplex import (
    ClippedSimplexRule,
    ImplicitClippedSimplexRule,
)
from noregret.passes.descent.groups import Column, Mark, Memory, Node, Single
from noregret.passes.descent.implicit import SEARCH
from noregret.passes.frame import Rule
from noregret.rates import Rate


class ClippedSimplexEngine(Engine):
    """Agile descent with weights that are never below alpha / n of their sum."""

    widths = (clipped_simplex.COLUMNS, clipped_simplex.COLUMNS)
    by_record = False
    domain: ClippedSimplex

    def __init__(
        self, loss: Loss, mirror: Mirror, rate: Rate, averaging: bool, *options: Any
    ) -> None:
        super().__init__(loss, mirror, rate, True, *options)
        self.search = np.empty(SEARCH)
        self.heap = np.zeros((0, len(Single)))
        self.groups = np.zeros((1, len(Node)))

    def begin(self, dimension: int) -> None:
        """Start at the uniform weights, all of one group."""
        super().begin(dimension)
        self.slots = np.zeros(len(Mark))
        self.heap = np.zeros((dimension, len(Single)))
        self.groups = np.zeros((dimension + 1, len(Node)))
        self.state[:, Column.PLACE] = -1.0
        self.slots[[Mark.FACTOR, Mark.SUM, Mark.NODES]] = 1.0
        self.groups[0] = -1.0, 1.0 / max(dimension, 1), dimension, 0.0, -1.0

    def rule(self) -> Rule:
        """Return the rule, explicit or implicit."""
        kind = ImplicitClippedSimplexRule if self.implicit else ClippedSimplexRule
        mirror: Any = self.mirror
        return kind(self.loss, mirror, self.rate, self.domain.alpha, self.conservative)

    def memory(self) -> Memory:
        """Return the arrays that the rule keeps from row to row."""
        return Memory(self.state, self.slots, self.heap, self.groups, self.search)

    def _settled(self) -> Vector:
        """Return the records with every weight's own value and average, scale aside."""
        state = self.state.copy()
        # Looking a group up shortens the path to it, and reading must not change a learner.
        clipped_simplex.settle(state, self.groups.copy(), self.slots.copy())
        return state

    def weights(self, ledger: Vector) -> Vector:
        """Return the weights; rounding does not take them below alpha / n of their sum."""
        lowest = self.domain.floor(max(len(self.state), 1))
        return np.maximum(self.domain.scale * self._settled()[:, Column.VALUE], lowest)

    def gradient(self) -> Vector:
        """Return Z, the sum of the gradients counted since `begin`."""
        return self.state[:, Column.GRADIENT].copy()

    def sum_of_iterates(self) -> Vector:
        """Return the sum of the weights played since `begin`."""
        return -self.domain.scale * self._settled()[:, Column.ACCUMULATOR]

    def arrays(self) -> dict[str, Vector]:
        """Return the arrays that a model file keeps."""
        return super().arrays() | {"heap": self.heap, "groups": self.groups}
