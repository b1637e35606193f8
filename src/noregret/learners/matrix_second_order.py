"""The engine of second-order rates for several scores: one triangle, a row of targets a score."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.learners.matrix_engines import MatrixEngine
from noregret.learners.second_order_engine import SecondOrderEngine, new_triangle
from noregret.learners.unit_free_engines import SizedEngine
from noregret.norms import norm_upper
from noregret.passes.descent import triangle
from noregret.passes.frame import Rule
from noregret.passes.matrices.matrix_second_order import ScoresMemory, SecondOrderScoresRule
from noregret.proof.evidence import FeatureSizes


class MatrixSized(MatrixEngine, SizedEngine):
    """Scores whose class is sum (m_i u_ik)^2 <= radius^2, with sizes of its own for each score."""

    def sizes(self) -> Vector:
        """Return max(largest |x_i| seen by each class, SMALLEST_SIZE), 0 for one never seen."""
        return self.matrix(super().sizes())

    def scaled_lengths(self) -> tuple[float, float, float]:
        """Return ||Z / m||_F, rounded up, ||m W||_F and the smallest m."""
        largest = self.state[:, self.size_column]
        smallest = float(largest.min(where=largest > 0.0, initial=1.0))
        weights: Vector = self.sizes() * self.matrix(self.weights(np.zeros(0)))
        gradient = self.matrix(self.state[:, 0]).ravel()
        return self.length_of(gradient), norm_upper(weights.ravel(), 2.0), smallest

    def evidence(self) -> FeatureSizes:
        """Return the lengths in units of the features' sizes; nothing is proved of the steps."""
        return FeatureSizes(None, None, *self.scaled_lengths(), sizes=self.sizes().ravel())


class MatrixSecondOrder(MatrixSized, SecondOrderEngine):  # type: ignore[misc]
    """Scores whose steps take the curvature of all rounds into account, by one matrix."""

    def begin(self, dimension: int) -> None:
        """Allocate the state of a learner that has seen nothing: `dimension` records."""
        self._require_narrow(self.dimension)
        super(SecondOrderEngine, self).begin(dimension)
        self._whole = new_triangle(self.dimension, self.outputs)
        self._make_room()
        self._cut(self.dimension)

    @property
    def size(self) -> int:
        """About how many numbers `arrays` has."""
        records = self.outputs * self.dimension * (self.columns + 1)
        return records + self.dimension * self.dimension // 2

    def enlarge(self, outputs: int, dimension: int) -> None:
        """Make room for more classes or features, whose records and targets are zeros."""
        self._require_narrow(dimension)
        kept = self._whole
        super().enlarge(outputs, dimension)
        known, wide = kept.target.shape
        self._whole.upper[:wide, :wide] = kept.upper
        self._whole.target[:known, :wide] = kept.target
        self._whole.inverse[:wide] = kept.inverse

    def grow(self, dimension: int) -> None:
        """Make room for more features, or drop unused ones."""
        self._require_narrow(dimension)
        MatrixEngine.grow(self, dimension)
        self._cut(dimension)

    def rule(self) -> Rule:
        """Return the rule of the rate."""
        return SecondOrderScoresRule(self.loss, self.mirror, self.rate)  # type: ignore[arg-type]

    def memory(self) -> Any:
        """Return the arrays that the rule keeps from row to row."""
        scores, slopes = self._buffers
        return ScoresMemory(
            self.records, self.slots, self.triangle, self._ahead, self._room, scores, slopes,
            self.work[0, : self.outputs],
        )  # fmt: skip

    def prediction(self) -> None:
        """Return None: rows are predicted by the weights."""

    def written(self) -> tuple[Vector, ...]:
        """Return the scalars and the triangle; the copy of it that grows is scratch."""
        return SecondOrderEngine.written(self)

    def weights(self, ledger: Vector | None = None) -> Vector:
        """Return the weights of every score, the solution of U w_k = v_k."""
        weights = np.zeros((self.outputs, self.capacity))
        for target, column in zip(self.triangle.target, weights, strict=True):
            triangle.read_weights(
                self.triangle.upper, target, self.triangle.inverse, column[: self.dimension]
            )
        return weights.ravel()

    def arrays(self) -> dict[str, Vector]:
        """Return the arrays that a model file keeps: of the triangle the rows end to end."""
        return MatrixEngine.arrays(self) | self.packed()
