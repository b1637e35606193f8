"""What all estimators share: checks as scikit-learn asks for them, rows to the core, pickles.

And regressors of streams: real targets, row by row or all at once.
"""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-any-return, no-untyped-call"
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from noregret.arguments import ArgumentError
from noregret.arrays import refuse_kind, refuse_masked
from noregret.experts.representative import linear_part
from noregret.losses import Loss
from noregret.passes.checks import sound_rows
from noregret.rows.examples import CHUNK, Rows, as_labels, as_rows, as_weights
from noregret.sklearn.rows import Feeder, Order
from noregret.turns import one_at_a_time
from noregret.vocabulary.words import spec

Vector = npt.NDArray[np.float64]

FLOATS = [np.float64, np.float32]
_NATIVE = {np.dtype(kind) for kind in FLOATS}


class RowEstimator(BaseEstimator):
    """A core learner behind scikit-learn's names."""

    #: The core learner, once there is one; it knows a constant feature if one is wanted.
    _learner: Any
    _feeder: Feeder
    #: The labels of the losses that it takes.
    _labels: str
    fit_intercept: bool
    n_features_in_: int

    #: Make a learner that has seen nothing; check all rows of `fit`; learn rows in an order. Those
    #: of classes are in `stream`, those of targets in `StreamRegressor`.
    _open: Callable[[], None]
    _all_rows: Callable[[Any, Any, Any], tuple[Rows, Order, Any, Vector]]
    _play: Callable[[Rows, Any, Vector | None, Order | None], None]

    def __init__(self, **parameters: Any) -> None:
        """Keep the parameters under their names, as scikit-learn asks for it."""
        self.__dict__.update(parameters)

    def _chosen_loss(self) -> Loss:
        """Return the loss of a word, or the loss itself, for labels of the estimator's kind."""
        loss: Loss = spec(self.loss, "loss")
        if loss.labels != self._labels:
            kind = "two classes" if self._labels == "sign" else "real targets"
            raise ArgumentError("loss", f"expected one of {kind}", self.loss, "loss")
        return loss

    def _dimension(self) -> int:
        return int(self.n_features_in_) + bool(self.fit_intercept)

    def _is_single(self, X: Any, y: Any) -> bool:
        """Tell whether X is one row and y one label that need no checks but the core's."""
        return (
            type(X) is np.ndarray
            and type(y) is np.ndarray
            and y.shape == (1,)
            and X.dtype in _NATIVE
            and "_learner" in self.__dict__
            and X.shape == (1, self.n_features_in_)
            and "feature_names_in_" not in self.__dict__
        )

    def _quick_rows(self, X: Any) -> Rows | None:
        """Return rows that need no check but the core's own, which leaves all as it was.

        They are arrays of floats as wide as those before, few enough for one chunk.
        """
        if not hasattr(self, "_learner") or hasattr(self, "feature_names_in_"):
            return None
        if type(X) is np.ndarray:
            plain = X.ndim == 2 and X.flags.c_contiguous
            size = X.size
        else:
            plain = sparse.issparse(X) and X.format == "csr" and X.ndim == 2
            size = X.nnz if plain else 0
        if (
            not plain
            or X.dtype not in FLOATS
            or X.dtype.byteorder == ">"
            or X.shape[1] != self.n_features_in_
            or not X.shape[0]
            or size > CHUNK
        ):
            return None
        return as_rows(X)

    def _checked(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Return rows, or rows and y, that scikit-learn and the core accept."""
        # scikit-learn drops masks and takes dates as numbers.
        refuse_masked("X", X)
        refuse_kind("X", getattr(X, "dtype", None), "Mm")
        refuse_masked("y", y)
        checked = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=np.float32 if _is_narrow(X) else FLOATS,
            order="C",
            **options,
        )
        if options.get("reset", True):
            self._feeder = Feeder(bool(self.fit_intercept))
        if isinstance(y, str):
            return sound_rows(as_rows(checked), 0)
        return sound_rows(as_rows(checked[0]), 0), checked[1]

    def _checked_weight(self, sample_weight: Any, rows: Rows, **options: Any) -> Vector | None:
        if sample_weight is None:
            return None
        refuse_masked("sample_weight", sample_weight)
        refuse_kind("sample_weight", getattr(sample_weight, "dtype", None), "Mm")
        checked = _check_sample_weight(
            sample_weight,
            np.empty((len(rows), 0)),
            dtype=np.float64,
            ensure_non_negative=True,
            **options,
        )
        return as_weights(checked, len(rows))

    @contextmanager
    def _as_it_was_if_refused(self) -> Iterator[None]:
        """Take back what is set within if it ends in a refusal, so that nothing has changed."""
        before = dict(vars(self))
        rounds = _rounds(before.get("_learner"))
        try:
            yield
        except (OverflowError, TypeError, ValueError) as error:
            # A row that overflows is refused alone: those before it are kept.
            if (
                not isinstance(error, OverflowError)
                or _rounds(vars(self).get("_learner")) == rounds
            ):
                self.__dict__ = before
            raise

    def _scores(self, X: Any) -> Vector:
        """Return the core's predictions for the rows."""
        check_is_fitted(self)
        rows = self._quick_rows(X)
        if rows is None:
            rows = self._checked(X, reset=False)
        # A feeder of its own: several threads may predict at once.
        feeder = Feeder(self._feeder.constant)
        try:
            parts = [self._learner.predict(chunk) for _, chunk in feeder.chunks(rows)]
        except ValueError:
            self._checked(X, reset=False)
            raise
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    @property
    def certificate_(self) -> Any:
        """What the rounds played so far prove; every pass over a row is a round."""
        check_is_fitted(self)
        return self._learner.certificate()

    def _weights(self) -> Vector:
        """Return a row of weights a score, or the weights of the one score of a regressor."""
        return self._learner.weights()

    @property
    def coef_(self) -> Vector:
        """The weights of the features: of two classes one row, of more a row a class."""
        check_is_fitted(self)
        return self._weights()[..., : self.n_features_in_]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        # The turn of a thread is not part of the model, nor is what is found again.
        for name in ("_learning_turn", "_codes"):
            state.pop(name, None)
        if "_feeder" in state:
            # Buffers are room, not knowledge.
            state["_feeder"] = Feeder(self._feeder.constant)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def require_count(name: str, value: Any) -> int:
    """Return a whole number of at least 1, or refuse it by its name."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
        raise ArgumentError(name, "expected a whole number of at least 1", value)
    return int(value)


def _rounds(learner: Any) -> int:
    """Return how many rows a learner has learnt; an optimum of all rows has learnt none yet."""
    return int(getattr(learner, "rounds", 0))


def _is_narrow(X: Any) -> bool:
    """Tell whether X is a data frame of float32, which numpy alone need not see."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    return all(dtype == nw.Float32 for dtype in frame.schema.values())


class StreamRegressor(RegressorMixin, RowEstimator):
    """Plays rows of real targets to a core learner."""

    _labels = "real"

    def _all_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Order, Vector, Vector]:
        """Return all rows, and the places, targets and weights of those that weigh something."""
        # What was learnt before is forgotten, also if these rows cannot be learnt.
        self.__dict__.pop("_learner", None)
        rows, targets = self._checked(X, y, y_numeric=True)
        weight = self._checked_weight(sample_weight, rows)
        kept = np.arange(len(rows)) if weight is None else np.flatnonzero(weight)
        masses = np.ones(len(kept)) if weight is None else weight[kept]
        return rows, kept, as_labels(targets, len(rows), self._chosen_loss())[kept], masses

    @one_at_a_time
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows one after the other; rows of weight 0 change nothing."""
        return self._learn(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Self:
        try:
            if sample_weight is None and self._is_single(X, y) and y.dtype == np.float64:
                self._learner.learn(self._feeder.single(X), y, None)
                return self
            rows = self._quick_rows(X) if sample_weight is None else None
            plain = type(y) is np.ndarray and y.dtype == np.float64 and y.ndim == 1
            if rows is not None and plain and len(y) == len(rows):
                self._play(rows, y, None, None)
                return self
        except ValueError:
            self._checked(X, y, y_numeric=True, reset=False)
            raise
        with self._as_it_was_if_refused():
            opened = hasattr(self, "_learner")
            rows, targets = self._checked(X, y, y_numeric=True, reset=not opened)
            # All of them before any chunk is learnt.
            targets = as_labels(targets, len(rows), self._chosen_loss())
            weight = self._checked_weight(sample_weight, rows, allow_all_zero_weights=True)
            if not opened:
                self._open()
            order = None
            if weight is not None and not weight.all():
                order = np.flatnonzero(weight)
                targets, weight = targets[order], weight[order]
            self._play(rows, targets, weight, order)
        return self

    def _play(self, rows: Rows, y: Vector, weight: Vector | None, order: Order | None) -> None:
        """Learn the rows of the order; targets and weights are in that order already."""
        for part, chunk in self._feeder.chunks(rows, order):
            self._learner.learn(chunk, y[part], None if weight is None else weight[part])

    def predict(self, X: Any) -> Vector:
        """Return a prediction a row."""
        return self._scores(X)

    def _weights(self) -> Vector:
        return linear_part(self._learner).weights

    @property
    def intercept_(self) -> float:
        """What predictions have beside <coef_, x>."""
        check_is_fitted(self)
        return float(self._weights()[-1]) if self._feeder.constant else 0.0
