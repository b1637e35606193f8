"""One example at a time: the pass of a learner, bound to the arrays of a single row."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import real_array, refuse_masked
from noregret.jit import Call, entry
from noregret.learners.engines import Engine, MappedEngine
from noregret.learners.floored import FlooredEngine
from noregret.learners.scale_free import ScaleFreeEngine
from noregret.passes.descent.scale_free import predict_row
from noregret.passes.slots import Stop
from noregret.passes.sync import predict_rows, take_records
from noregret.proof.ledger import MOST_ROUNDS, Entry
from noregret.rows.examples import LARGEST_LABEL, LARGEST_WEIGHT, Rows

Columns = npt.NDArray[np.uint32]
Vector = npt.NDArray[np.float64]

_COLUMN, _FLOAT = np.dtype(np.uint32), np.dtype(np.float64)
_DONE, _RATE = int(Stop.DONE), int(Stop.RATE)
_ROUNDS = int(Entry.ROUNDS)
#: Compared with an entry of the ledger in every call: two floats compare faster.
_MOST_ROUNDS = float(MOST_ROUNDS)
#: Types of labels and weights on the fast path; `learn` takes or refuses others.
PLAIN = {float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_}


class BoundPass:
    """The compiled pass of an engine, ready for the features of one row after the other.

    All but the row is looked up once, so that a call costs little more than the round. What is
    not as it should be is left to the learner, which says what is wrong with it.
    """

    def __init__(self, engine: Engine, ledger: Vector, prediction: Vector) -> None:
        self.engine, self._ledger, self._prediction = engine, ledger, prediction
        self._indptr = np.zeros(2, np.uint64)
        self._entry = ledger.item
        self._y, self._weight = np.empty(1), np.empty(1)
        self._play = entry(self.bind())

    def bind(self) -> Call:
        """Look up all but the row; return the call of the pass, with a row of no features."""
        self.state = self.engine.state
        rows = Rows(self._indptr, np.zeros(0, _COLUMN), self._y[:0], len(self.state))
        call = self.engine.call(rows, self._y, self._weight, 0, self._ledger, self._prediction)
        arguments = call[1]
        place = next(k for k, one in enumerate(arguments) if one is rows.indices)
        assert arguments[place + 1] is rows.values
        self._before, self._after = arguments[:place], arguments[place + 2 :]
        return call

    def played(self, columns: Columns, values: Vector, y: float, weight: float) -> bool:
        """Play a row; tell whether that was done, or else nothing was changed."""
        if self._entry(_ROUNDS) >= _MOST_ROUNDS:
            return False
        self._indptr[1] = len(columns)
        self._y[0] = y
        self._weight[0] = weight
        row, stop = self._play(*self._before, columns, values, *self._after)
        if stop == _DONE:
            return True
        if stop == _RATE:
            again = partial(self._play, *self._before, columns, values, *self._after)
            row, stop = self.engine.play_at_lower_rate(row, again)
        if row == 0:
            return False
        if stop != _DONE:
            self.engine.answer(Stop(stop))
        return True


class OneRow(BoundPass):
    """The pass of a learner of one score."""

    def __init__(self, engine: Engine, ledger: Vector) -> None:
        # Weights are read by an engine whose records are those of the row alone.
        self._reader = copy.copy(engine)
        super().__init__(engine, ledger, np.empty(1))
        self._signs = engine.loss.labels == "sign"
        #: Whether the engine starts anew at times, which only `learn` does.
        self.restarting = engine.rate.restarts()
        self._lock = threading.Lock()
        # Of readers only: another thread may learn while they read.
        self._span, self._read = np.zeros(2, np.uint64), np.empty(1)
        self._order = np.zeros(0, _COLUMN)
        self._records = np.zeros((0, engine.columns))
        self._take = entry((take_records, (self.state, self._order, self._y, self._records)))
        predicting = self._y, self._indptr, self._order, self._y, self._prediction
        self._multiply = entry((predict_rows, predicting))
        self._predict: Callable[..., float] | None = None
        if isinstance(engine, ScaleFreeEngine):
            reading = engine.real, self.state, engine.slots, self._order, self._y
            self._predict = entry((predict_row, reading))
        self._by_record = _by_record(engine)

    def bind(self) -> Call:
        """Look up all but the row; return the call of the pass, with a row of no features."""
        self._reader.slots = self.engine.slots
        return super().bind()

    def learn(self, columns: Columns, values: Vector, y: float, weight: float) -> float | None:
        """Learn a row; return the prediction before it, None if the row was left alone."""
        if type(y) not in PLAIN or type(weight) not in PLAIN:
            return None
        try:
            known = y == 1.0 or y == -1.0 if self._signs else abs(y) <= LARGEST_LABEL
            known = known and 0.0 <= weight <= LARGEST_WEIGHT
        except TypeError:
            return None
        return (
            self._prediction.item() if known and self.played(columns, values, y, weight) else None
        )

    def predict(self, columns: Columns, values: Vector) -> float | None:
        """Return the prediction, None if the row cannot be read or the engine has no way to."""
        if self._predict is None:
            return None
        engine: Any = self.engine
        prediction = self._predict(engine.real, self.state, engine.slots, columns, values)
        return prediction if prediction == prediction else None

    def product(self, columns: Columns, values: Vector) -> float | None:
        """Return <w, x> with the weights of the coming round, None if the row cannot be read."""
        if not self._by_record:
            return None
        # Several threads may ask at a time, and the arrays are used by one after the other.
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


def _by_record(engine: Engine) -> bool:
    """Tell whether a weight depends on the record of its own feature and on scalars only."""
    if isinstance(engine, MappedEngine):
        # Else the rate inside phi may have to fall first, and with it all records change.
        return engine.mirror.homogeneous() or engine.rate.constant()
    return not isinstance(engine, FlooredEngine)


def as_row(indices: Any, values: Any) -> tuple[Columns, Vector]:
    """Return columns and values in the form that passes read, as they are where they have it.

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
