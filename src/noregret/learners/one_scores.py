"""What a learner of several scores does with a single row, without what surrounds many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.jit import entry
from noregret.learners.base import Learner
from noregret.learners.matrix_engines import MatrixEngine, MatrixScaleFree
from noregret.learners.one_row import PLAIN, BoundPass, Columns, as_row
from noregret.passes.checks import SOUND, check_rows
from noregret.passes.matrices.matrix_scale_free import score_row
from noregret.passes.matrices.score_rounds import score_rows
from noregret.rows.examples import LARGEST_WEIGHT, Rows
from noregret.turns import taken, turn_of

Vector = npt.NDArray[np.float64]


class OneScores(BoundPass):
    """The pass of a learner of several scores; rows are checked before, as it checks none."""

    engine: MatrixEngine

    def __init__(self, engine: MatrixEngine, ledger: Vector) -> None:
        super().__init__(engine, ledger, np.empty((1, engine.outputs)))
        columns = np.zeros(0, np.uint32)
        self._check = entry((check_rows, (self._indptr, columns, self._y, 1)))
        self._scores: Any = None
        if isinstance(engine, MatrixScaleFree):
            reading = engine.records, engine.slots, columns, self._y, self._prediction[0]
            self._scores = entry((score_row, reading))

    def learn(self, columns: Columns, values: Vector, y: float, weight: float) -> Vector | None:
        """Learn a row of known features; return the scores before it, None if it was left alone."""
        if type(y) not in PLAIN or type(weight) not in PLAIN:
            return None
        outputs, dimension = self.engine.outputs, self.engine.dimension
        try:
            if not (0.0 <= y < outputs and y == int(y) and 0.0 <= weight <= LARGEST_WEIGHT):
                return None
        except TypeError:
            return None
        self._indptr[1] = len(columns)
        if self._check(self._indptr, columns, values, dimension)[1] != SOUND:
            return None
        if not self.played(columns, values, y, weight):
            return None
        scores: Vector = self._prediction[0].copy()
        return scores

    def predict(self, columns: Columns, values: Vector) -> Vector | None:
        """Return the scores, None if the row cannot be read or the engine has no way to."""
        engine, scores = self.engine, np.empty(self.engine.outputs)
        if self._scores is not None:
            known = self._scores(engine.records, engine.slots, columns, values, scores)
            return scores if known else None
        span = np.array([0, len(columns)], np.uint64)
        sound = self._check(span, columns, values, engine.dimension)[1] == SOUND
        if not (engine.by_record and sound):
            return None
        places = np.arange(len(columns), dtype=np.uint32)
        weights = engine.weights_of(columns, self._ledger)
        score_rows(weights, span, places, values, scores[None])
        return scores


class SingleScoresLearner(Learner):
    """A learner of several scores whose engine can be given one row after the other."""

    _engine: MatrixEngine | None
    _one: OneScores | None

    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X."""
        raise NotImplementedError

    def predict(self, X: Any) -> Vector:
        """Return the scores of each row of X."""
        raise NotImplementedError

    def learn_one(self, indices: Any, values: Any, y: Any, weight: float = 1.0) -> Vector:
        """Learn one row, given by its columns and their values; return the scores before it.

        It does what `learn` does with that row, to the bit.

        >>> import noregret as nr
        >>> learner = nr.MatrixDescent(nr.losses.MulticlassHinge(), rate=nr.rates.Constant(1))
        >>> learner.learn_one([0, 7], [1.0, 2.0], 1), learner.predict_one([7], [1.0])
        (array([0., 0.]), array([-2.,  2.]))
        """
        columns, features = as_row(indices, values)
        turn, mine = turn_of(self), True
        try:
            try:
                turn.pop()
            except IndexError:
                mine = False
                raise taken(self) from None
            scores = self.learn_row(columns, features, y, weight)
        finally:
            if mine:
                turn.append(None)
        if scores is None:
            scores = self.learn(self._as_rows(columns, features), [y], weight)[0]
        return scores

    def learn_row(self, columns: Columns, values: Vector, y: Any, weight: float) -> Vector | None:
        """Learn one row as `learn_one` does; None, with nothing changed, if that needs `learn`.

        For a caller that lets one thread at a time come here, and whose arrays are those that
        `as_row` returns.
        """
        one = self._bound()
        if one is None or self.loss.labels != "class" or np.ndim(y) != 0:
            return None
        scores = one.learn(columns, values, y, weight)
        if scores is not None:
            self._weights = None
        return scores

    def predict_one(self, indices: Any, values: Any) -> Vector:
        """Return the scores of one row, given by its columns and their values."""
        columns, features = as_row(indices, values)
        one = self._bound()
        scores = None if one is None else one.predict(columns, features)
        if scores is not None:
            return scores
        found: Vector = self.predict(self._as_rows(columns, features))[0]
        return found

    def _bound(self) -> OneScores | None:
        """Return what plays single rows, None before there is an engine."""
        engine, one = self._engine, self._one
        if engine is not None and (one is None or one.state is not engine.state):
            one = self._one = OneScores(engine, self._ledger)
        return one

    def _as_rows(self, columns: Columns, values: Vector) -> Rows:
        width = max(self.dimension, int(columns.max()) + 1 if len(columns) else 0)
        return Rows(np.array([0, len(columns)], np.uint64), columns, values, width)
