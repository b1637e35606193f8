"""What a learner does with a single row: the same as with many, without what surrounds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.learners.base import Learner
from noregret.learners.engines import Engine
from noregret.learners.one_row import Columns, OneRow, as_row
from noregret.rows.examples import Rows
from noregret.turns import Turn, one_at_a_time, taken, turn_of

Vector = npt.NDArray[np.float64]


class SingleRowLearner(Learner):
    """A learner whose engine can be given one row after the other."""

    _engine: Engine | None
    _ledger: Vector
    _one: OneRow | None
    _learning_turn: Turn

    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X."""
        raise NotImplementedError

    def predict(self, X: Any) -> Vector:
        """Return the prediction for each row of X."""
        raise NotImplementedError

    def _finished(self, products: Any) -> Any:
        """Return the predictions, one or many, that <w, x> stands for."""
        raise NotImplementedError

    def learn_one(self, indices: Any, values: Any, y: float, weight: float = 1.0) -> float:
        """Learn one row, given by its columns and their values; return the prediction before it.

        It does what `learn` does with that row, to the bit, and costs little more than the
        round itself where `indices` is an array of uint32 and `values` one of float64.

        >>> import noregret as nr
        >>> squared, euclidean = nr.losses.Squared(), nr.mirrors.Euclidean()
        >>> learner = nr.MirrorDescent(squared, euclidean, nr.rates.Constant(0.25))
        >>> learner.learn_one([0, 7], [1.0, 2.0], 1), learner.predict_one([7], [1.0])
        (0.0, 1.0)
        """
        columns, features = as_row(indices, values)
        # The turn of `one_at_a_time`, written out: passing arguments on would cost as much again.
        try:
            turn: Turn = self._learning_turn
        except AttributeError:
            turn = turn_of(self)
        mine = True
        try:
            try:
                turn.pop()
            except IndexError:
                mine = False
                raise taken(self) from None
            prediction = self.learn_row(columns, features, y, weight)
        finally:
            if mine:
                turn.append(None)
        if prediction is None:
            return float(self.learn(self._as_rows(columns, features), y, weight)[0])
        return prediction

    def learn_row(self, columns: Columns, values: Vector, y: float, weight: float) -> float | None:
        """Learn one row as `learn_one` does; None, with nothing changed, if that needs `learn`.

        For a caller that lets one thread at a time come here, and whose arrays are those that
        `as_row` returns.
        """
        one = self._bound()
        if one is None or one.restarting:
            return None
        prediction = one.learn(columns, values, y, weight)
        if prediction is None and self.growable:
            prediction = self._learn_wider(one, columns, values, y, weight)
        if prediction is not None:
            self._weights = None
        return prediction

    def _learn_wider(
        self, one: OneRow, columns: Columns, values: Vector, y: float, weight: float
    ) -> float | None:
        """Learn a row with features that are new; None, with nothing changed, if it has none."""
        known = self.dimension
        if len(columns) == 0 or columns[-1] < known:
            return None
        one.engine.grow(int(columns[-1]) + 1)
        one.bind()
        prediction = one.learn(columns, values, y, weight)
        if prediction is None:
            one.engine.grow(known)
        return prediction

    def predict_one(self, indices: Any, values: Any) -> float:
        """Return the prediction for one row, given by its columns and their values."""
        columns, features = as_row(indices, values)
        one = self._one
        if one is None or one.engine is not self._engine or one.state is not one.engine.state:
            one = self._bound_to_read()
        if one is not None:
            prediction = one.predict(columns, features)
            if prediction is not None:
                return prediction
            product = one.product(columns, features)
            if product is not None:
                return float(self._finished(product))
        return float(self.predict(self._as_rows(columns, features))[0])

    def _bound(self) -> OneRow | None:
        """Return what plays single rows, None before there is an engine."""
        engine, one = self._engine, self._one
        if engine is None:
            return None
        if one is None or one.engine is not engine:
            one = self._one = OneRow(engine, self._ledger)
        elif one.state is not engine.state:
            one.bind()
        return one

    def _bound_to_read(self) -> OneRow | None:
        """Bind the pass for a reader, but not while another thread learns: that one may."""
        try:
            return _bind(self)
        except RuntimeError:
            return None

    def _as_rows(self, columns: Columns, values: Vector) -> Rows:
        """Return one row that is as wide as the learner, or wider where it has to be."""
        width = max(self.dimension, int(columns.max()) + 1 if len(columns) else 0)
        if not self._is_open() and not self._growable:
            raise ValueError(
                "this map must know its features in advance: make the learner with dimension="
            )
        return Rows(np.array([0, len(columns)], np.uint64), columns, values, width)


@one_at_a_time
def _bind(learner: Any) -> OneRow | None:
    bound: OneRow | None = learner._bound()
    return bound
