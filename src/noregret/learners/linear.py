"""What all learners of linear predictors share: their parts, widths of input, and predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from noregret.learners.combination import Combination
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.checks import sound_rows
from noregret.passes.sync import predict_rows
from noregret.rows.examples import Rows, as_rows

Vector = npt.NDArray[np.float64]


class LinearLearner:
    """A learner with weights, opened for some number of features when it first sees any."""

    _parts: Combination
    #: Whether the number of features was given, and whether features may be added else.
    _fixed: bool
    _growable: bool
    #: The weights, once they were asked for after `learn`.
    _weights: Vector | None

    def _is_open(self) -> bool:
        """Tell whether there are arrays, for a known number of features."""
        raise NotImplementedError

    def _fresh(self, dimension: int) -> Self:
        """Return a learner of the same parts that is open and has seen nothing."""
        raise NotImplementedError

    def _read_weights(self) -> Vector:
        """Return the weights of an open learner."""
        raise NotImplementedError

    @property
    def dimension(self) -> int:
        """How many features are known."""
        raise NotImplementedError

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self._parts.loss

    @property
    def mirror(self) -> Mirror:
        """The mirror map."""
        return self._parts.mirror

    @property
    def growable(self) -> bool:
        """Whether features may be added to those that are known."""
        return self._growable and not self._fixed

    @property
    def weights(self) -> Vector:
        """The weights for the coming round, as far as they do not depend on its row.

        `Adaptive` and `PerCoordinate` rates may fall further once the row is known.
        """
        return self._current_weights().copy()

    def _current_weights(self) -> Vector:
        """Return the weights, computed once between two calls of `learn`."""
        if self._weights is None:
            if not self._is_open():
                return np.zeros(0)
            self._weights = self._read_weights()
        return self._weights

    def _products(self, X: Any) -> Vector:
        """Return <w, x> for each row with the weights of the coming round."""
        rows = as_rows(X)
        if not self._is_open() and not self._growable:
            return self._fresh(rows.width)._products(X)
        self._check_width(rows)
        rows = sound_rows(rows, 0)
        predictions = np.empty(len(rows))
        predict_rows(self._current_weights(), rows.indptr, rows.indices, rows.values, predictions)
        return predictions

    def _check_width(self, rows: Rows) -> None:
        """Refuse rows that are not as wide as this learner wants them."""
        if not self._is_open():
            if rows.width == 0 and not self._growable:
                raise ValueError("X has no columns, and this map must know its features in advance")
        elif rows.width != self.dimension and (self._fixed or not self._growable or rows.dense):
            raise ValueError(f"X has {rows.width} columns, the learner knows {self.dimension}")
