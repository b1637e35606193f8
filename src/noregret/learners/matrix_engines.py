"""The engines of learners of several scores: the state of an engine of one score, K times.

`state` is the matrix flattened, class after class, so that the engines of one score can recompute
its sums, move its reference and read its weights. Each class has room for `capacity` features;
unused records are zeros.
"""

from __future__ import annotations

import copy
import math

import numpy as np

from noregret.arrays import Vector
from noregret.jit import Call, entry
from noregret.learners.engines import Engine, LinearEngine, MappedEngine, room_for
from noregret.learners.one_row import NO_FEATURES, Columns, OneRow
from noregret.learners.unit_free_engines import ScaleFreeEngine
from noregret.losses import ScoreLoss
from noregret.passes.checks import SOUND, check_rows
from noregret.passes.descent import scale_free
from noregret.passes.frame import Labels, block, play
from noregret.passes.matrices.matrix_lazy import (
    ImplicitScoresRule,
    LinearScoresRule,
    MappedScoresRule,
)
from noregret.passes.matrices.matrix_scale_free import ScaleFreeScoresRule, Work, score_row
from noregret.passes.matrices.score_columns import (
    MEASURES,
    ColumnsMemory,
    RoundsMemory,
    ScoreColumnsRule,
    ScoreLedgerRule,
)
from noregret.passes.matrices.score_rounds import Memory, score_rows
from noregret.passes.rows import TOGETHER
from noregret.passes.slots import Stop
from noregret.rounding import ROOT_UNDERFLOW, grown
from noregret.rows.examples import Rows
from noregret.shards import Shards, cores


class MatrixEngine(Engine):
    """Base of these engines: a matrix of classes and features that can grow in both."""

    #: Number of scores, of known features, and of features that there is room for.
    outputs = capacity = 0
    dimension: int = 0

    @property
    def growable(self) -> bool:
        """Whether phi(0) = 0: records of zeros for features and scores to come add nothing to S."""
        return self.mirror.phi(0.0, self.mirror.reference(0.0, 0.0)) == 0.0

    def open(self, outputs: int, dimension: int) -> None:
        """Allocate the state of a learner that has seen nothing."""
        self.outputs, self.dimension, self.prediction_shape = outputs, dimension, (outputs,)
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
        # A new view: a `OneRow` bound to the old one then binds itself again.
        self.state = self.state[:]

    def memory(self) -> Memory:
        """Return the arrays that the rule keeps from row to row."""
        scores, slopes = self._buffers
        return Memory(self.records, self.slots, scores, slopes, self.work)

    def written(self) -> tuple[Vector, ...]:
        """Return the scalars."""
        return (self.slots,)

    @property
    def records(self) -> Vector:
        """The state, class by class."""
        return self.state.reshape(self.outputs, self.capacity, self.columns)

    def matrix(self, flat: Vector) -> Vector:
        """Return a number a record as a matrix, a row a class."""
        return flat.reshape(self.outputs, self.capacity)[:, : self.dimension]

    def weights_of(self, columns: Columns, ledger: Vector) -> Vector:
        """Return the weights of some features, a row each, without reading the others."""
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


#: Features times scores from which several threads learn scores of their own.
WORTH_PARTING = 1 << 24
#: They must read this many features for each that is copied to undo what a thread refuses.
WORTH_COPYING = 4


class MatrixScaleFree(MatrixEngine, ScaleFreeEngine):
    """The directions and multipliers of `ScaleFree`, a set of them a class."""

    kind = ScaleFreeScoresRule
    loss: ScoreLoss  # type: ignore[assignment]

    def run(
        self, rows: Rows, y: Vector, weight: Vector, ledger: Vector, predictions: Vector
    ) -> tuple[int, Stop]:
        """Play the rows; where scores learn by themselves and it pays, several at a time."""
        if self._worth_parting(rows) and self._parted(rows, y, weight, ledger, predictions):
            return len(y), Stop.DONE
        return super().run(rows, y, weight, ledger, predictions)

    def _worth_parting(self, rows: Rows) -> bool:
        return (
            bool(self.loss.separate)
            and self.outputs > 1
            and rows.stored * self.outputs >= WORTH_PARTING
            and rows.stored >= WORTH_COPYING * self.capacity
            and cores() > 1
        )

    def _parted(
        self, rows: Rows, y: Vector, weight: Vector, ledger: Vector, predictions: Vector
    ) -> bool:
        """Let threads learn ranges of scores; return False and change nothing if one refuses."""
        before = self.state.copy(), self.slots.copy(), ledger.copy()
        count = min(cores(), self.outputs)
        parted = Shards(count, count)
        given, rule = block(rows), ScoreColumnsRule(self.loss, self.mirror, self.real)

        def learnt(first: int, last: int) -> tuple[int, Vector, Vector]:
            made, measures = np.empty((len(y), last - first)), np.empty((len(y), MEASURES))
            own = Labels(
                np.ascontiguousarray(y[:, first:last]) if y.ndim == 2 else y - first, weight
            )
            scores, slopes = np.empty((2, last - first))
            memory = ColumnsMemory(
                self.records[first:last], self.slots[first:last], scores, slopes,
                np.empty(self.work_shape), measures,
            )  # fmt: skip
            _, stop = play(rule, given, own, 0, memory, np.empty(0), made)
            return stop, made, measures

        stops, made, measures = zip(*parted.each(self.outputs, learnt), strict=True)
        if all(stop == Stop.DONE for stop in stops):
            np.concatenate(made, axis=1, out=predictions)
            # Scores that were added later have not seen the sizes of all features.
            measures[0][:, 2] = np.max([one[:, 2] for one in measures], axis=0)
            rounds = RoundsMemory(measures[0], predictions, np.empty(self.outputs))
            checked = given._replace(trusted=len(y))
            rule_of_all = ScoreLedgerRule(self.loss, self.mirror)
            _, stop = play(rule_of_all, checked, Labels(y, weight), 0, rounds, ledger, predictions)
            if stop == Stop.DONE:
                return True
        self.state[:], self.slots[:], ledger[:] = before
        return False

    def new_slots(self) -> Vector:
        """Return the scalars of a pass that has seen nothing, a row of them a score."""
        return np.tile(super().new_slots(), (self.outputs, 1))

    def prediction(self) -> Call:
        """Return the kernel that scores one row, and its first arguments."""
        return score_row, (self.records, self.slots)

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
        """Return max(largest |x_i| seen by each class, SMALLEST_SIZE), 0 for one never seen."""
        return self.matrix(super().sizes())


class OneScores(OneRow):
    """The pass of a learner of several scores, bound to everything but the row."""

    engine: MatrixEngine

    def _prepare(self) -> None:
        self._check = entry((check_rows, (self._indptr, *NO_FEATURES, 1)))
        if self._direct is not None:
            self._predict = entry(
                (self._direct[0], (*self._direct[1], *NO_FEATURES, self._prediction[0]))
            )

    def predict(self, columns: Columns, values: Vector) -> Vector | None:
        """Return the scores, None if the row is unsound or there is no direct kernel."""
        scores = np.empty(self.engine.outputs)
        if self._direct is None or not self._predict(*self._direct[1], columns, values, scores):
            return None
        return scores

    def product(self, columns: Columns, values: Vector) -> Vector | None:
        """Return x W with the weights of the coming round, None if the row is unsound."""
        span = np.array([0, len(columns)], np.uint64)
        sound = self._check(span, columns, values, self._width)[1] == SOUND
        if not (self.engine.by_record and sound):
            return None
        scores = np.empty(self.engine.outputs)
        places = np.arange(len(columns), dtype=np.uint32)
        score_rows(
            self.engine.weights_of(columns, self._ledger), span, places, values, scores[None]
        )
        return scores
