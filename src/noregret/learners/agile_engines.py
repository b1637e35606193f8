"""The engines of agile descent: steps from the weights, projections on a domain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.domains import ClippedSimplex
from noregret.learners.engines import Engine
from noregret.passes.descent import agile, clipped_simplex
from noregret.passes.descent.groups import Column, Mark, Memory, Node, Single
from noregret.passes.descent.implicit import SEARCH, ImplicitAgileRule
from noregret.passes.frame import Rule
from noregret.passes.slots import Slot


class AgileEngine(Engine):
    """Descent that projects on a domain after every step, with Z kept beside theta.

    The rule always keeps the average; records are equally wide without one.
    """

    widths = (agile.AgileRule.width,) * 2
    value_column = int(agile.Column.VALUE)
    accumulator_column = int(agile.Column.ACCUMULATOR)
    work_shape = (SEARCH,)
    always_averages = True

    def begin(self, dimension: int) -> None:
        """Start at the projection of link(0)."""
        super().begin(dimension)
        start = float(self.mirror.phi_prime(0.0, self.mirror.reference(0.0, 0.0)))
        theta = self.state[:, agile.Column.THETA]
        if self.domain.is_simplex():
            theta[:] = self.domain.project(np.full(dimension, start)) if dimension else 0.0
        elif self.domain.separable() and self.domain.clamp(start) != start:
            theta[:] = self.mirror.inverse(self.domain.clamp(start))
        self.resum()

    def rule(self) -> Rule:
        """Return the agile rule, explicit or implicit."""
        kind = ImplicitAgileRule if self.implicit else agile.AgileRule
        return kind(self.loss, self.mirror, self.rate, self.conservative, self.domain, self.clip)

    def written(self) -> tuple[Vector, ...]:
        """Return the scalars."""
        return (self.slots,)

    def resum(self) -> None:
        """Fold the global factor into theta, recompute v and S, and stay within a ball."""
        self.settle()
        self.state[:, agile.Column.THETA] *= self.slots[Slot.FACTOR]
        self.slots[Slot.FACTOR] = 1.0
        self.rebuild(1.0)
        if self.domain.is_ball():
            total, reference = float(self.slots[Slot.SUM]), float(self.slots[Slot.REFERENCE])
            length = math.sqrt(2.0 * self.mirror.psi(max(total, 0.0), reference))
            if length > self.domain.extent():
                self.slots[Slot.FACTOR] = self.domain.extent() / length

    def inner(self, ledger: Vector) -> float:
        """Return 1: theta already contains the rates."""
        return 1.0

    def gradient(self) -> Vector:
        """Return the Z that the rule kept."""
        return self.state[:, agile.Column.GRADIENT].copy()


class ClippedSimplexEngine(Engine):
    """Agile descent with weights not below alpha / n of their sum."""

    widths = (clipped_simplex.ClippedSimplexRule.width,) * 2
    by_record = False
    work_shape = (SEARCH,)
    always_averages = True
    domain: ClippedSimplex

    def begin(self, dimension: int) -> None:
        """Start at uniform weights, all in one group."""
        super().begin(dimension)
        self.heap = np.zeros((dimension, len(Single)))
        self.groups = np.zeros((dimension + 1, len(Node)))
        self.state[:, Column.PLACE] = -1.0
        self.slots[[Mark.FACTOR, Mark.SUM, Mark.NODES]] = 1.0
        self.groups[0] = -1.0, 1.0 / max(dimension, 1), dimension, 0.0, -1.0

    def new_slots(self) -> Vector:
        """Return the scalars of a pass that has seen nothing."""
        return np.zeros(len(Mark))

    def rule(self) -> Rule:
        """Return the rule, explicit or implicit."""
        kind = (
            clipped_simplex.ImplicitClippedSimplexRule
            if self.implicit
            else clipped_simplex.ClippedSimplexRule
        )
        mirror: Any = self.mirror
        return kind(self.loss, mirror, self.rate, self.conservative, self.domain.alpha)

    def memory(self) -> Memory:
        """Return the arrays that the rule keeps from row to row."""
        return Memory(self.state, self.slots, self.heap, self.groups, self.work)

    def _settled(self) -> Vector:
        """Return records with the value and the average of every weight, without the scale."""
        state = self.state.copy()
        # Copies: a lookup compresses the path to its group, and reading must not change a learner.
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

    def restore(self, arrays: dict[str, Vector]) -> None:
        """Restore the arrays of a model file, or refuse indices that lead out of them."""
        super().restore(arrays)
        if not _is_linked(self.state[:, Column.PLACE], self.heap, self.groups, self.slots):
            raise ValueError("heap and groups do not fit together, expected those of one learner")


def _is_linked(places: Vector, heap: Vector, groups: Vector, slots: Vector) -> bool:
    """Return whether the indices that the compiled rule follows are sound and have no cycle.

    The rule does not check them: a forged index would read or write outside the arrays.
    """
    counts, n = slots[[Mark.SINGLES, Mark.NODES, Mark.TOP]], len(places)
    if not _are_indices(counts, [0, 0, -1], n):
        return False
    singles, nodes, node = counts.astype(np.int64).tolist()
    members, links = heap[:singles, Single.MEMBER], groups[:nodes, [Node.PARENT, Node.BELOW]]
    if not (
        node < nodes
        and _are_indices(places, -nodes, singles - 1)
        and _are_indices(members, 0, n - 1)
        and _are_indices(links, -1, nodes - 1)
    ):
        return False
    ancestors, below = links.astype(np.int64).T
    stack: list[int] = []
    while node >= 0 and len(stack) <= nodes:
        stack.append(node)
        node = int(below[node])
    # The groups on the stack are roots: merging two of them makes no cycle.
    rooted = len(stack) <= nodes and np.all(ancestors[stack] < 0)
    for _ in range(nodes.bit_length()):
        # After k steps this is the ancestor 2^k generations up, -1 above a root.
        ancestors = np.where(ancestors < 0, -1, ancestors[ancestors])
    placed = np.array_equal(places[members.astype(np.int64)], np.arange(singles))
    alone = np.count_nonzero(places >= 0.0) == singles
    return bool(rooted and placed and alone and np.all(ancestors < 0))


def _are_indices(given: Vector, least: Any, most: int) -> bool:
    return bool(np.all((given >= least) & (given <= most) & (given == np.floor(given))))
