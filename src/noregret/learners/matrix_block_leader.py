"""The engine of `rates.BlockLeader` for several scores: one block, a quadratic a score."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.learners.block_leader_engine import BlockLeaderEngine, Past, new_block
from noregret.learners.matrix_second_order import MatrixSized
from noregret.passes.descent.block_leader import Column, HeldRows, Scalar
from noregret.passes.frame import Rule
from noregret.passes.matrices.matrix_block_leader import BlockLeaderScoresRule, ScoresMemory
from noregret.passes.matrices.score_leading import expand_scores, lead_scores, new_score_room

#: The most numbers of the matrices of all scores.
LARGEST = 1 << 20


class MatrixBlockLeader(MatrixSized, BlockLeaderEngine):
    """Scores whose weights are those of the leader of all rows, found anew now and then."""

    def begin(self, dimension: int) -> None:
        """Allocate the state of a learner that has seen nothing: `dimension` records."""
        self.require_narrow(self.dimension)
        super(BlockLeaderEngine, self).begin(dimension)
        self.held = new_block(self.rate, self.dimension)
        self.past = self._empty()

    def _empty(self) -> Past:
        """Return the quadratics before the first row; none where they would be too large."""
        d, many = self.dimension, self.outputs if self.leading else 0
        return Past(np.ones(d), np.zeros((many, d)), np.zeros((many, d, d)))

    @property
    def leading(self) -> bool:
        """Whether leaders are found: not where scores and features are too many."""
        return self.outputs * self.dimension**2 <= LARGEST

    def enlarge(self, outputs: int, dimension: int) -> None:
        """Make room for more classes or features, whose records and quadratics are zeros."""
        self.require_narrow(dimension)
        held, past, count = self.held, self.past, int(self.slots[Scalar.HELD])
        super().enlarge(outputs, dimension)
        self._take_over(held, past, count)

    def grow(self, dimension: int) -> None:
        """Make room for more features, or drop unused ones."""
        self.require_narrow(dimension)
        held, past, count = self.held, self.past, int(self.slots[Scalar.HELD])
        MatrixSized.grow(self, dimension)
        self._take_over(held, past, count)

    def _take_over(self, held: HeldRows, past: Past, count: int) -> None:
        """Take what was known over into arrays of another shape."""
        self.held, self.past = held.widened(self.dimension, count), past.within_shape(self._empty())

    @property
    def size(self) -> int:
        """About how many numbers `arrays` has."""
        records = self.outputs * self.dimension * self.columns
        held = int(self.slots[Scalar.HELD]) * self.dimension
        return records + self.past.matrix.size + held

    def rule(self) -> Rule:
        """Return the rule of the rate."""
        return BlockLeaderScoresRule(self.loss, self.mirror)  # type: ignore[arg-type]

    def memory(self) -> Any:
        """Return the arrays that the rule keeps from row to row."""
        scores, slopes = self._buffers
        return ScoresMemory(self.records, self.slots, self.held, scores, slopes)

    def lead(self, ending: bool) -> None:
        """Find the leader of all rows so far; expand the block about it if it ends."""
        if not self.leading:
            self.slots[Scalar.HELD] = 0.0
            return
        m = self.units(self.records[0, : self.dimension])
        given, past = self.held.within(m, int(self.slots[Scalar.HELD])), self.past.within(m)
        weights = self.records[:, : self.dimension, Column.WEIGHT] * m
        room = new_score_room(len(given.y), *weights.shape)
        prior = self.rate.prior
        lead_scores(self.loss, given, past.slopes, past.matrix, prior, weights, room)
        self.records[:, : self.dimension, Column.WEIGHT] = weights / m
        if ending:
            expand_scores(self.loss, given, weights, past.slopes, past.matrix, room)
            self.start_block(past)

    def weights(self, ledger: Vector | None = None) -> Vector:
        """Return the weights of every score."""
        return self.state[:, Column.WEIGHT].copy()

    def arrays(self) -> dict[str, Vector]:
        """Return the arrays that a model file keeps, the rows held back among them."""
        return MatrixSized.arrays(self) | self.kept_rows()
