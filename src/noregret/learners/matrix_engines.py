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
from noregret.learners.engines import Engine, LinearEngine, MappedEngine
from noregret.losses import ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.descent import scale_free
from noregret.passes.descent.scale_free import Scalar
from noregret.passes.frame import block
from noregret.passes.matrices import matrix_lazy as matrix
from noregret.passes.matrices.matrix_implicit import matrix_implicit_pass
from noregret.passes.matrices.matrix_scale_free import matrix_scale_free_pass
from noregret.passes.switches import distance
from noregret.proof.evidence import FeatureSizes
from noregret.proof.ledger import SMALLEST_SIZE
from noregret.rates import Rate
from noregret.rounding.slack import ROOT_UNDERFLOW, grown
from noregret.rows.examples import Rows

Vector = npt.NDArray[np.float64]


class MatrixEngine(Engine):
    """What the three share: a shape of classes and features, and room to grow in both."""

    #: Whether room is made for features that may come.
    growable = True
    #: Number of known features.
    dimension: int = 0

    def __init__(self, loss: Any, mirror: Mirror, rate: Rate, conservative: bool) -> None:
        super().__init__(loss, mirror, rate, False, conservative)
        self.outputs = self.capacity = 0

    def open(self, outputs: int, dimension: int) -> None:
        """Take the state of a learner that has seen nothing."""
        self.outputs, self.dimension = outputs, dimension
        self.capacity = self._room(dimension)
        self.begin(outputs * self.capacity)

    def _room(self, dimension: int) -> int:
        return 1 << (dimension - 1).bit_length() if self.growable and dimension else dimension

    def enlarge(self, outputs: int, dimension: int) -> None:
        """Make room for more classes or features, whose records are zeros."""
        kept = self.records[:, : self.dimension].copy()
        slots = self.slots.copy()
        self.open(outputs, dimension)
        self.records[: len(kept), : kept.shape[1]] = kept
        self._keep_slots(slots)

    def grow(self, dimension: int) -> None:
        """Make room for more features, or drop unused ones."""
        if dimension > self.capacity:
            self.enlarge(self.outputs, dimension)
        self.dimension = dimension

    def _keep_slots(self, slots: Vector) -> None:
        self.slots = slots

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

    def call(
        self, rows: Rows, y: Vector, weight: Vector, row: int, ledger: Vector, predictions: Vector
    ) -> Call:
        """Return the linear pass and what it is called with."""
        plain = self.mirror.plain_rows()
        return matrix.matrix_linear_pass, (
            self.loss, self.mirror, self.averages, plain, distance(len(self.state)), self.rate,
            block(rows), y, weight, row, self.records, self.slots, ledger, predictions,
            self.conservative,
        )  # fmt: skip


class MatrixImplicit(MatrixLinear):
    """Descent whose every step is the exact dual step of its round, with the map `Euclidean`."""

    def call(
        self, rows: Rows, y: Vector, weight: Vector, row: int, ledger: Vector, predictions: Vector
    ) -> Call:
        """Return the implicit pass and what it is called with."""
        return matrix_implicit_pass, (
            self.loss, self.mirror, self.averages, True, distance(len(self.state)), self.rate,
            block(rows), y, weight, row, self.records, ledger, predictions,
        )  # fmt: skip


class MatrixMapped(MatrixEngine, MappedEngine):
    """Lazy descent for every other map."""

    def __init__(self, loss: Any, mirror: Mirror, rate: Rate, conservative: bool) -> None:
        super().__init__(loss, mirror, rate, conservative)
        self.growable = mirror.phi(0.0, mirror.reference(0.0, 0.0)) == 0.0

    def call(
        self, rows: Rows, y: Vector, weight: Vector, row: int, ledger: Vector, predictions: Vector
    ) -> Call:
        """Return the mapped pass and what it is called with."""
        return matrix.matrix_mapped_pass, (
            self.loss, self.mirror, self.averages, self.rate, block(rows), y, weight, row,
            self.records, self.slots, self.work, ledger, predictions, self.conservative,
        )  # fmt: skip


class MatrixScaleFree(MatrixEngine):
    """The directions and multipliers of `ScaleFree`, a set of them a class."""

    widths = (scale_free.COLUMNS, scale_free.COLUMNS)

    def begin(self, dimension: int) -> None:
        """Take the state of a learner that has seen nothing."""
        super().begin(dimension)
        self.slots = np.zeros((self.outputs, len(Scalar)))
        self.slots[:, [Scalar.FIRST, Scalar.SECOND]] = scale_free.STARTS
        if not np.isfinite(self.loss.lipschitz()):
            # Margins are counted in units of 1, and so is the first guess of a slope.
            self.slots[:, Scalar.STEEPEST] = 1.0

    def _keep_slots(self, slots: Vector) -> None:
        self.slots[: len(slots)] = slots

    def call(
        self, rows: Rows, y: Vector, weight: Vector, row: int, ledger: Vector, predictions: Vector
    ) -> Call:
        """Return the pass and what it is called with, from `row` on."""
        return matrix_scale_free_pass, (
            self.loss, self.mirror, block(rows), y, weight, row, self.records, self.slots, ledger,
            predictions,
        )  # fmt: skip

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

    def evidence(self) -> FeatureSizes:
        """Return the lengths in units of the features' sizes."""
        return FeatureSizes(None, None, *self.scaled_lengths())

    def sizes(self) -> Vector:
        """Return the largest |x_i| seen by each class: SMALLEST_SIZE if less, 0 if it is 0."""
        largest = self.matrix(self.state[:, 2])
        return np.where(largest > 0.0, np.maximum(largest, SMALLEST_SIZE), 0.0)


def choose_matrix_engine(
    loss: ScoreLoss, mirror: Mirror, rate: Rate, conservative: bool, implicit: bool
) -> MatrixEngine:
    """Return the engine of a combination that was checked."""
    kind: Any = MatrixLinear if mirror.linear() else MatrixMapped
    if implicit:
        kind = MatrixImplicit
    if rate.scaled():
        kind = MatrixScaleFree
    engine: MatrixEngine = kind(loss, mirror, rate, conservative)
    return engine
