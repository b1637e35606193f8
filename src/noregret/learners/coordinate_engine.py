"""The engine of lazy mirror descent with one adaptive rate a feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.learners.engines import Engine
from noregret.passes.descent import coordinate
from noregret.passes.frame import Rule
from noregret.passes.slots import Slot
from noregret.proof.evidence import CoordinateRates, Evidence


class CoordinateEngine(Engine):
    """Lazy descent with one adaptive rate a feature."""

    widths = coordinate.WIDTHS
    value_column = int(coordinate.Column.THETA)
    accumulator_column = int(coordinate.Column.TOTAL)
    work_shape = coordinate.WORK

    def rule(self) -> Rule:
        """Return the per-coordinate rule."""
        rate: Any = self.rate
        return coordinate.CoordinateRule(
            self.loss, self.mirror, rate, self.averages, self.conservative
        )

    def own_records(self) -> bool:
        """Return True: a feature's average is brought up to date where its record is read."""
        return True

    def written(self) -> tuple[Vector, ...]:
        """Return the scalars."""
        return (self.slots,)

    def kappa(self, ledger: Vector) -> float:
        """Return 1: each weight has a factor of its own."""
        return 1.0

    def weights(self, ledger: Vector) -> Vector:
        """Return theta_i factor_i, theta_i softly thresholded if the map asks for it."""
        weights: Vector = super().weights(ledger) * self.factors()
        return weights

    def sum_of_iterates(self) -> Vector:
        """Return the sums of weights, brought up to the last round."""
        since = self.slots[Slot.PREFIX] - self.state[:, coordinate.Column.SINCE]
        weights = self.state[:, self.value_column] * self.factors()
        total: Vector = self.state[:, self.accumulator_column] + weights * since
        return total

    def factors(self) -> Vector:
        """Return w_i / theta_i."""
        result = np.empty(len(self.state))
        steepest = coordinate.steepest_slope.py_func(self.loss)
        coordinate.factors(self.rate, steepest, self.state, result)
        return result

    def evidence(self) -> Evidence:
        """Return the rate and the sum of z_i^2 of each feature."""
        return CoordinateRates(self.factors(), self.state[:, coordinate.Column.SQUARES].copy())
