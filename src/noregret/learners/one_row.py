"""The fast path for a single row: the compiled pass of an engine, bound to everything but the row.

Blocks of rows are validated, cut into chunks and backed up; a single row skips all that and costs
little more than its round. Unusual input (labels of other types, unsorted columns, a full ledger)
goes to `learn`, which accepts it or raises the error.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from numba.core.errors import NumbaError

from noregret.arrays import Vector, real_array, refuse_masked
from noregret.jit import Call, entry
from noregret.learners.base import Learner
from noregret.learners.engines import Engine
from noregret.passes.rows import Block
from noregret.passes.slots import Stop
from noregret.passes.sync import predict_rows, take_records
from noregret.proof.convexity import uncompiled
from noregret.proof.ledger import MOST_ROUNDS, Entry
from noregret.rates import Rate
from noregret.rows.examples import LARGEST_LABEL, LARGEST_WEIGHT, Rows
from noregret.turns import Turn, one_at_a_time, taken, turn_of

Columns = npt.NDArray[np.uint32]
#: What a learner predicts for a row: a number, or a vector of scores.
_Score = TypeVar("_Score", float, Vector)

_COLUMN, _FLOAT = np.dtype(np.uint32), np.dtype(np.float64)
#: The columns and values of a row without features.
_NO_COLUMNS = np.zeros(0, _COLUMN)
NO_FEATURES = _NO_COLUMNS, np.zeros(0)
_FLOATS = {np.dtype(np.float64), np.dtype(np.float32)}
_DONE, _RATE = int(Stop.DONE), int(Stop.RATE)
_ROUNDS = int(Entry.ROUNDS)
#: A float, since an entry of the ledger is compared with it in every call.
_MOST_ROUNDS = float(MOST_ROUNDS)
#: Types of labels and weights on the fast path; `learn` takes or refuses others.
PLAIN = {float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_}
#: The labels that a loss of one score takes, None for every finite number.
_LABELS = {"sign": frozenset((1.0, -1.0)), "real": None}


class OneRow:
    """The machine code of an engine's pass with its arguments; a call replaces the `Block`."""

    #: The dtype of rows that are dense, None for columns and values.
    dense: Any = None
    #: The machine code that predicts a row by itself, where an engine has one.
    _direct_entry: Callable[..., Any] | None = None
    _predict: Callable[..., Any]

    def __init__(self, engine: Engine, ledger: Vector, dense: Any = None) -> None:
        self.engine, self._ledger, self.dense = engine, ledger, dense
        # A copy of the engine reads the weights of a row: its records are those of the row alone.
        self._reader = copy.copy(engine)
        self._indptr, self._weight = np.zeros(2, np.uint64), np.empty(1)
        self._entry = ledger.item
        #: Whether the rate restarts the engine, which only `learn` does.
        self.restarting = engine.rate.restarts()
        try:
            self._play = entry(self.bind())
        except NumbaError as error:
            raise uncompiled(error, engine.loss, engine.mirror) from None
        if dense is None:
            self._prepare()

    def bind(self) -> Call:
        """Bind every argument but the row; return the call of the pass for an empty row."""
        engine, shape, kind = self.engine, self.engine.prediction_shape, self.engine.loss.labels
        self.state, self._width = engine.state, engine.dimension
        self._reader.slots = engine.slots
        self._labels = _LABELS.get(kind, frozenset(range(*shape) if kind == "class" else ()))
        self._prediction = np.empty((1, *shape))
        # Labels that are rows of numbers go to `learn`.
        self._y = np.empty((1, *shape) if self._labels == frozenset() else 1)
        self._taken: Callable[[], Any]
        self._taken = self._prediction[0].copy if shape else self._prediction.item
        self._direct = engine.prediction()
        if self._direct_entry is not None and self._direct is not None:
            self._predict = partial(self._direct_entry, *self._direct[1])
        columns, values = NO_FEATURES
        if self.dense is not None:
            values = np.zeros((1, self._width), self.dense)
        rows = Rows(self._indptr, columns, values, self._width)
        call = engine.call(rows, self._y, self._weight, 0, self._ledger, self._prediction)
        self._arguments = list(call[1])
        self._place = next(k for k, one in enumerate(call[1]) if type(one) is Block)
        return call

    def _prepare(self) -> None:
        """Compile the kernels that predict, with arrays of their own: another thread may learn."""
        self._lock = threading.Lock()
        self._order, none = NO_FEATURES
        self._span, self._read = np.zeros(2, np.uint64), np.empty(1)
        self._records = np.zeros((0, self.engine.columns))
        self._take = entry((take_records, (self.state, self._order, none, self._records)))
        self._multiply = entry((predict_rows, (none, self._span, self._order, none, self._read)))
        if self._direct is not None:
            self._direct_entry = entry((self._direct[0], (*self._direct[1], *NO_FEATURES)))
            self._predict = partial(self._direct_entry, *self._direct[1])

    def learn(self, columns: Columns, values: Vector, y: float, weight: float) -> Any:
        """Learn a row; return the prediction before it, None if `learn` has to take the row."""
        if type(y) not in PLAIN or type(weight) not in PLAIN:
            return None
        labels = self._labels
        known = abs(y) <= LARGEST_LABEL if labels is None else y in labels
        if known and 0.0 <= weight <= LARGEST_WEIGHT and self.played(columns, values, y, weight):
            return self._taken()
        return None

    def learn_dense(self, X: Any, y: Any) -> Vector | None:
        """Learn a matrix of one row; return the predictions, None if it was left alone."""
        if X.shape[1] != self._width or self.learn(_NO_COLUMNS, X, y.item(), 1.0) is None:
            return None
        return self._prediction.copy()

    def played(self, columns: Columns, values: Vector, y: float, weight: float) -> bool:
        """Play a row; return False, with nothing changed, if the pass refuses it."""
        if self._entry(_ROUNDS) >= _MOST_ROUNDS:
            return False
        # columns.size, not len(columns): an attribute costs less than a call.
        self._indptr[1] = columns.size
        self._y[0] = y
        self._weight[0] = weight
        # Block(...) itself takes several times as long.
        row = tuple.__new__(Block, (self._indptr, columns, values, self._width, 0))
        arguments = self._arguments
        arguments[self._place] = row
        reached, stop = self._play(*arguments)
        if stop == _DONE:
            return True
        if stop == _RATE:
            reached, stop = self.engine.play_at_lower_rate(reached, partial(self._play, *arguments))
        if reached == 0:
            return False
        if stop != _DONE:
            self.engine.answer(Stop(stop))
        return True

    def predict(self, columns: Columns, values: Vector) -> Any:
        """Return the prediction, None if the row is unsound or there is no direct kernel."""
        if self._direct is None:
            return None
        prediction: float = self._predict(columns, values)
        return prediction if prediction == prediction else None

    def product(self, columns: Columns, values: Vector) -> Any:
        """Return <w, x> with the weights of the coming round, None if the row is unsound."""
        if not self.engine.by_record:
            return None
        # Several threads may predict at a time, and they share these arrays.
        with self._lock:
            count = len(columns)
            if count > len(self._order):
                self._order = np.arange(2 * count, dtype=_COLUMN)
                self._records = np.empty((2 * count, self.state.shape[1]))
            reader = self._reader
            reader.state = self._records[:count]
            if not self._take(self.state, columns, values, reader.state):
                return None
            self._span[1] = count
            weights = reader.weights(self._ledger)
            self._multiply(weights, self._span, self._order, values, self._read)
            return self._read.item()


class SingleRowLearner(Learner, Generic[_Score]):
    """A learner with a fast path for single rows."""

    #: The class that plays single rows, and the conversion of one prediction out of many.
    _bound_pass: type[OneRow] = OneRow
    _alone: Callable[[Any], _Score]
    _one: OneRow | None = None
    #: The same for matrices of one row.
    _one_dense: OneRow | None = None
    _learning_turn: Turn

    @property
    def rate(self) -> Rate:
        """The rate."""
        return self._parts.rate

    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X."""
        raise NotImplementedError

    def predict(self, X: Any) -> Vector:
        """Return the prediction for each row of X."""
        raise NotImplementedError

    def _finished(self, products: Any) -> Any:
        """Return the predictions for <w, x>, one or many."""
        return products

    def learn_one(self, indices: Any, values: Any, y: Any, weight: float = 1.0) -> _Score:
        """Learn one row, given by its columns and their values; return the prediction before it.

        It does what `learn` does with that row, to the bit, and costs little more than the
        round itself where `indices` is an array of uint32 and `values` one of float64. The
        prediction is a number, or a vector of scores where the learner has several.

        >>> import noregret as nr
        >>> squared, euclidean = nr.losses.Squared(), nr.mirrors.Euclidean()
        >>> learner = nr.MirrorDescent(squared, euclidean, nr.rates.Constant(0.25))
        >>> learner.learn_one([0, 7], [1.0, 2.0], 1), learner.predict_one([7], [1.0])
        (0.0, 1.0)
        >>> learner = nr.MatrixDescent(nr.losses.MulticlassHinge(), rate=nr.rates.Constant(1))
        >>> learner.learn_one([0, 7], [1.0, 2.0], 1), learner.predict_one([7], [1.0])
        (array([0., 0.]), array([-2.,  2.]))
        """
        columns, features = as_row(indices, values)
        # `one_at_a_time`, inlined: a decorator that passes arguments on adds a tenth to the time.
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
            labels = self._labels_of_one(y)
            return self._alone(self.learn(self._as_rows(columns, features), labels, weight)[0])
        return prediction

    def learn_row(self, columns: Columns, values: Vector, y: Any, weight: float) -> _Score | None:
        """Learn one row as `learn_one` does; None, with nothing changed, if that needs `learn`.

        The caller admits one thread at a time and passes arrays as `as_row` returns them.
        """
        one = self._one
        # The test of `_bound`, inlined to save a call.
        if one is None or one.engine is not self._engine or one.state is not one.engine.state:
            one = self._bound()
        if one is None or one.restarting:
            return None
        prediction: _Score | None = one.learn(columns, values, y, weight)
        if prediction is None and self.growable:
            prediction = self._learn_wider(one, columns, values, y, weight)
        if prediction is not None:
            self._weights = None
            if self._lines is not None:
                self._lines.add_row(columns, values, y, weight)
        return prediction

    def _learn_single(self, X: Any, y: Any, weight: Any) -> Vector | None:
        """Learn a matrix of one row as `learn` does; None, with nothing changed, if it needs that.

        Blocks of rows are checked, cut and backed up, which takes ten times as long as one row.
        """
        # As wide as the learner, in arrays that compiled code takes as they are.
        if type(X) is not np.ndarray or type(y) is not np.ndarray or weight is not None:
            return None
        if X.ndim != 2 or X.shape[0] != 1 or y.shape != (1,) or not X.flags.carray:
            return None
        one, kind = self._one_dense, X.dtype
        if one is None or one.engine is not self._engine or one.dense is not kind:
            if self._engine is None or kind not in _FLOATS:
                return None
            one = self._one_dense = self._bound_pass(self._engine, self._ledger, kind)
        elif one.state is not one.engine.state:
            one.bind()
        if one.restarting:
            return None
        made = one.learn_dense(X, y)
        if made is not None:
            self._weights = None
            if self._lines is not None:
                self._lines.add_row(_NO_COLUMNS, X, y.item(), 1.0)
        return made

    def _learn_wider(
        self, one: OneRow, columns: Columns, values: Vector, y: Any, weight: float
    ) -> _Score | None:
        """Learn a row with features that are new; None, with nothing changed, if it has none."""
        known = self.dimension
        if len(columns) == 0 or columns[-1] < known:
            return None
        one.engine.grow(int(columns[-1]) + 1)
        one.bind()
        prediction: _Score | None = one.learn(columns, values, y, weight)
        if prediction is None:
            one.engine.grow(known)
        return prediction

    def predict_one(self, indices: Any, values: Any) -> _Score:
        """Return the prediction for one row, given by its columns and their values."""
        columns, features = as_row(indices, values)
        return self.predict_row(columns, features)

    def predict_row(self, columns: Columns, features: Vector) -> _Score:
        """Return the prediction for one row in arrays that `as_row` returns."""
        one = self._one
        if one is None or one.engine is not self._engine or one.state is not one.engine.state:
            one = self._bound_to_read()
        if one is not None:
            prediction: _Score | None = one.predict(columns, features)
            if prediction is not None:
                return prediction
            product = one.product(columns, features)
            if product is not None:
                return self._alone(self._finished(product))
        return self._alone(self.predict(self._as_rows(columns, features))[0])

    def _bound(self) -> OneRow | None:
        """Return the bound pass for single rows, None before there is an engine."""
        engine, one = self._engine, self._one
        if engine is None:
            return None
        if one is None or one.engine is not engine:
            one = self._one = self._bound_pass(engine, self._ledger)
        elif one.state is not engine.state:
            one.bind()
        return one

    _bound_in_turn = one_at_a_time(_bound)

    def _bound_to_read(self) -> OneRow | None:
        """Bind the pass for a reader; None while another thread learns, which may bind it."""
        try:
            return self._bound_in_turn()
        except RuntimeError:
            return None

    def _labels_of_one(self, y: Any) -> Any:
        """Return the label of one row as `learn` takes the labels of many."""
        return y

    def _as_rows(self, columns: Columns, values: Vector) -> Rows:
        """Return one row as wide as the learner, or wider if its columns need it."""
        width = max(self.dimension, int(columns.max()) + 1 if len(columns) else 0)
        return Rows(np.array([0, len(columns)], np.uint64), columns, values, width)


def as_row(indices: Any, values: Any) -> tuple[Columns, Vector]:
    """Return columns as uint32 and values as float64, without a copy if they have these types.

    >>> as_row([0, 3], [True, 2])
    (array([0, 3], dtype=uint32), array([1., 2.]))
    """
    if not (type(indices) is np.ndarray and indices.dtype is _COLUMN and indices.flags.carray):
        indices = _as_columns(indices)
    if not (type(values) is np.ndarray and values.dtype is _FLOAT and values.flags.carray):
        values = np.array(real_array("values", values), _FLOAT)
    if indices.shape != values.shape or values.ndim != 1:
        raise ValueError(
            f"indices and values have shapes {indices.shape} and {values.shape}, expected one and "
            "the same length"
        )
    return indices, values


def _as_columns(indices: Any) -> Columns:
    refuse_masked("indices", indices)
    try:
        given = np.asarray(indices)
    except ValueError as error:
        raise ValueError(f"indices must hold whole numbers: {error}") from error
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"indices must hold whole numbers, got {given.dtype}")
    if given.size and (given.min() < 0 or given.max() > 0xFFFFFFFF):
        raise ValueError("indices must be columns 0 ... 2^32 - 1")
    return given.astype(_COLUMN)
