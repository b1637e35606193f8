"""The dual of a loss with negative values counts what its rows bring in before any step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors


@dataclass(frozen=True)
class Lowered(losses.Squared):
    """(p - y)^2 - 1, whose conjugate at 0 is 1."""

    nonnegative: ClassVar[bool] = False

    def value(self, y: float, p: float) -> float:
        return (p - y) * (p - y) - 1.0

    def conjugate(self, y: float, s: float) -> float:
        return s * y + 0.25 * s * s + 1.0


def test_the_dual_of_a_loss_below_0() -> None:
    X, y = np.array([[1.0, 0.5], [-0.5, 1.0], [0.3, 0.7]]), [1.0, -0.5, 0.25]
    duals = []
    for loss in (losses.Squared(), Lowered()):
        learner = nr.DualAscent(loss, mirrors.Euclidean(), 0.5)
        learner.learn(X, y, [1.0, 2.0, 1.0])
        duals.append(learner.dual)
    # Every row lowers D by C times its weight.
    assert duals[1] == pytest.approx(duals[0] - 0.5 * 4.0, rel=1e-12)
