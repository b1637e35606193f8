"""Engines that do not depend on units: features are measured by the largest |x_i| seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.learners.engines import Engine, Vector
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.proof.evidence import Evidence, FeatureSizes
from noregret.proof.ledger import SMALLEST_SIZE
from noregret.rates import Rate


class SizedEngine(Engine):
    """What the engines share whose class is sum (m_i u_i)^2 <= radius^2; they keep no average."""

    #: Column of the largest |x_i|.
    size_column: int

    def __init__(
        self, loss: Loss, mirror: Mirror, rate: Rate, averaging: bool, *options: Any
    ) -> None:
        super().__init__(loss, mirror, rate, False, *options)

    def scaled_lengths(self) -> tuple[float, float, float]:
        """Return ||Z_i / m_i||_2, rounded up, ||(m_i w_i, offset)||_2 and the smallest m_i."""
        raise NotImplementedError

    def sizes(self) -> Vector:
        """Return the largest |x_i| seen, a feature: SMALLEST_SIZE if it is less, 0 if it is 0."""
        largest = self.state[:, self.size_column]
        return np.where(largest > 0.0, np.maximum(largest, SMALLEST_SIZE), 0.0)

    def evidence(self) -> Evidence:
        """Return the lengths in units of the features' sizes."""
        return FeatureSizes(None, None, *self.scaled_lengths())
