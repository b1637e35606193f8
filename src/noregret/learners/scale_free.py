"""The engine of `rates.ScaleFree`: state, scalars and what they mean as one predictor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.jit import Call
from noregret.learners.engines import Vector
from noregret.learners.sized import SizedEngine
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.descent import scale_free
from noregret.passes.descent.scale_free import Column, Scalar
from noregret.passes.frame import Rule
from noregret.rates import Rate
from noregret.rounding.slack import ROOT_UNDERFLOW, grown


class ScaleFreeEngine(SizedEngine):
    """Two adaptive directions a feature with learnt multipliers; keeps no average."""

    widths = (scale_free.COLUMNS, scale_free.COLUMNS)
    size_column = int(Column.SIZE)

    def __init__(self, loss: Loss, mirror: Mirror, rate: Rate, *options: Any) -> None:
        super().__init__(loss, mirror, rate, *options)
        self.real = loss.labels == "real"

    def begin(self, dimension: int) -> None:
        """Take the state of a learner that has seen nothing."""
        super().begin(dimension)
        self.slots = np.zeros(len(Scalar))
        self.slots[[Scalar.FIRST, Scalar.SECOND]] = scale_free.STARTS
        if not self.real and not np.isfinite(self.loss.lipschitz()):
            # Margins are measured in units of 1, and so is the first guess of a slope.
            self.slots[Scalar.STEEPEST] = 1.0

    def rule(self) -> Rule:
        """Return the rule of `rates.ScaleFree`."""
        return scale_free.ScaleFreeRule(self.loss, self.mirror, self.real)

    def prediction(self, columns: Any, values: Vector) -> Call:
        """Return the kernel that predicts one row, and its arguments."""
        return scale_free.predict_row, (self.real, self.state, self.slots, columns, values)

    def weights(self, ledger: Vector) -> Vector:
        """Return the weights, as far as they do not depend on the coming row."""
        weights = np.empty(len(self.state))
        scale_free.read_weights(self.real, self.state, self.slots, weights)
        return weights

    @property
    def offset(self) -> float:
        """What is added to <w, x>: the mean of the real labels seen."""
        return float(self.slots[Scalar.CENTRE])

    def finish(self, raw: Any) -> Any:
        """Return the predictions, one or many, that <w, x> stands for."""
        if not self.real:
            return raw
        low, high = self.slots[Scalar.LOW], self.slots[Scalar.HIGH]
        return np.minimum(np.maximum(raw + self.offset, low), high)

    def scaled_lengths(self) -> tuple[float, float, float]:
        """Return ||Z_i / m_i||_2, rounded up, ||(m_i w_i, offset)||_2 and the smallest m_i."""
        gradient, weights, smallest = scale_free.scaled_squares(self.real, self.state, self.slots)
        terms = 2.0 * scale_free.BLOCK + len(self.state) / scale_free.BLOCK
        length = grown(math.sqrt(gradient), terms) + ROOT_UNDERFLOW
        return length, math.hypot(math.sqrt(weights), self.offset), smallest
