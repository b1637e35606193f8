"""How a learner of several scores keeps and moves its state: that of one score, K times.

`state` of an engine is the matrix flattened, class after class, so that sums afresh, moved
references and weights are those of the engines of one score. Each class has room for
`capacity` features, of which those not used are records of zeros.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.jit import Call
from noregret.learners.engines import Engine, LinearEngine, MappedEngine, room_for
from noregret.learners.unit_free_engines import ScaleFreeEngine
from noregret.losses import ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.descent import scale_free
from noregret.passes.matrices.matrix_lazy import (
    ImplicitScoresRule,
    LinearScoresRule,
    MappedScoresRule,
)
from noregret.passes.matrices.matrix_scale_free import ScaleFreeScoresRule, Work, score_row
from noregret.passes.matrices.score_rounds import Memory
from noregret.passes.rows import TOGETHER
from noregret.rates import Rate
from noregret.rounding.slack import ROOT_UNDERFLOW, grown

Vector = npt.NDArray[np.float64]


class MatrixEngine(Engine):
    """What all share: a shape of classes and features, and room to grow in both."""

    #: Number of scores, of known features, and of features that there is room for.
    outputs = capacity = 0
    dimension: int = 0

    @property
    def growable(self) -> bool:
        """Whether records of zeros are right for features and scores to come."""
        return True

    def open(self, outputs: int, dimension: int) -> None:
        """Take the state of a learner that has seen nothing."""
        self.outputs, self.dimension = outputs, dimension
        self.capacity = room_for(dimension) if self.growable else dimension
        self._buffers = np.empty((2, outputs))
        # Large enough for every rule.
        self.work_shape = len(Work), max(TOGETHER, outputs)
        self.begin(outputs * self.capacity)

    def enlarge(self, outputs: int, dimension: int) -> None:
        """Make room for more classes or features, whose records are zeros."""
        kept = self.records[:, : self.dimension].copy()
        slots = self.slots.copy()
        self.open(outputs, dimension)
        self.records[: len(kept), : kept.shape[1]] = kept
        self.slots[: len(slots)] = slots

    def grow(self, dimension: int) -> None:
        """Make room for more features, or drop unused ones."""
        if dimension > self.capacity:
            self.enlarge(self.outputs, dimension)
        self.dimension = dimension

    def memory(self) -> Memory:
        """Return the arrays that the rule keeps from row to row."""
        scores, slopes = self._buffers
        return Memory(self.records, self.slots, scores, slopes, self.work)

    @property
    def records(self) -> Vector:
        """The state, class by class."""
        return self.state.reshape(self.outputs, self.capacity, self.columns)

    def matrix(self, flat: Vector) -> Vector:
        """Return a number a record as a matrix, a row a class."""
        return flat.reshape(self.outputs, self.capacity)[:, : self.dimension]

    def weights_of(self, columns: npt.NDArray[np.uint32], ledger: Vector) -> Vector:
        """Return the weights of some features, a row each; the others are not read."""
        reader = copy.copy(self)
        reader.capacity = reader.dimension = len(columns)
        reader.state = self.records[:, columns].reshape(-1, self.columns)
        return np.ascontiguousarray(reader.matrix(reader.weights(ledger)).T)

    def arrays(self) -> dict[str, Vector]:
        """Return the arrays that a model file keeps."""
        return {"state": self.records[:, : self.dimension].swapaxes(0, 1), "slots": self.slots}


class MatrixLinear(MatrixEngine, LinearEngine):
    """Lazy descent for the maps whose stored value is theta itself."""

    kind = LinearScoresRule


class MatrixImplicit(MatrixLinear):
    """Descent whose every step is the exact dual step of its round, with the map `Euclidean`."""

    kind = ImplicitScoresRule


class MatrixMapped(MatrixEngine, MappedEngine):
    """Lazy descent for every other map."""

    kind = MappedScoresRule

    @property
    def growable(self) -> bool:
        """Whether phi(0) = 0, so that records of zeros add nothing to S."""
        return self.mirror.phi(0.0, self.mirror.reference(0.0, 0.0)) == 0.0


class MatrixScaleFree(MatrixEngine, ScaleFreeEngine):
    """The directions and multipliers of `ScaleFree`, a set of them a class."""

    kind = ScaleFreeScoresRule

    def new_slots(self) -> Vector:
        """Return the scalars of a pass that has seen nothing, a row of them a score."""
        return np.tile(super().new_slots(), (self.outputs, 1))

    def prediction(self, columns: Any, values: Vector) -> Call:
        """Return the kernel that scores one row, and its arguments but the scores."""
        return score_row, (self.records, self.slots, columns, values)

    def weights(self, ledger: Vector) -> Vector:
        """Return the weights, as far as they do not depend on the coming row."""
        weights = np.empty((self.outputs, self.capacity))
        for state, slots, column in zip(self.records, self.slots, weights, strict=True):
            scale_free.read_weights(False, state, slots, column)
        return weights.ravel()

    def scaled_lengths(self) -> tuple[float, float, float]:
        """Return ||Z / m||_F, rounded up, ||m W||_F and the smallest m."""
        gradient, weights, smallest = 0.0, 0.0, 1.0
        for state, slots in zip(self.records, self.slots, strict=True):
            part, other, least = scale_free.scaled_squares(False, state, slots)
            gradient += part
            weights += other
            smallest = min(smallest, least)
        terms = 2.0 * scale_free.BLOCK + self.capacity / scale_free.BLOCK + self.outputs
        length = grown(math.sqrt(gradient), terms) + ROOT_UNDERFLOW
        return length, math.sqrt(weights), smallest

    def sizes(self) -> Vector:
        """Return the largest |x_i| seen by each class: SMALLEST_SIZE if less, 0 if it is 0."""
        return self.matrix(super().sizes())


def choose_matrix_engine(
    loss: ScoreLoss, mirror: Mirror, rate: Rate, conservative: bool, implicit: bool
) -> MatrixEngine:
    """Return the engine of a combination that was checked."""
    kind: Any = MatrixLinear if mirror.linear() else MatrixMapped
    if implicit:
        kind = MatrixImplicit
    if rate.scaled():
        kind = MatrixScaleFree
    engine: MatrixEngine = kind(loss, mirror, rate, False, conservative)
    return engine
