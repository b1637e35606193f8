"""Regressors of streams: real targets, row by row or all at once."""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-any-return, no-untyped-call"
from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from noregret.rows.examples import Rows, as_labels
from noregret.sklearn.estimator import RowEstimator, Vector
from noregret.sklearn.rows import Order
from noregret.turns import one_at_a_time


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
        return self._learner.weights

    @property
    def intercept_(self) -> float:
        """What predictions have beside <coef_, x>."""
        check_is_fitted(self)
        return float(self._weights()[-1]) if self._feeder.constant else 0.0
