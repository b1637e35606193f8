"""The benchmark of the batch solver measures what it says."""

from __future__ import annotations

import numpy as np
import pytest

from bench import dual
from bench.data import make

pytestmark = pytest.mark.compiled


def test_our_objective_is_that_of_the_solution() -> None:
    data = make(rows=300, features=50, nonzeros=8)
    for task in dual.TASKS:
        best = dual.nr.hindsight(data.X, data.y, task.loss, l2=task.strength, tol=1e-9)
        assert task.objective(data, best.weights) == pytest.approx(best.primal, rel=1e-6)


def test_the_loosest_tolerance_is_found() -> None:
    def fit(tolerance: float) -> np.ndarray:
        return np.array([tolerance])

    assert dual.loosest(fit, (1.0, 0.1, 0.01), lambda w: w[0] <= 0.1) == 1
    with pytest.raises(RuntimeError, match="no tolerance"):
        dual.loosest(fit, (1.0, 0.1), lambda w: False)


def test_everybody_is_measured_at_the_same_accuracy() -> None:
    pytest.importorskip("liblinear", reason="liblinear-official is not installed")
    data = make(rows=500, features=60, nonzeros=8)
    lines = [line for task in dual.TASKS for line in dual.measure(data, task, 2)]
    assert [line.at_most for line in lines if line.at_most] == [0.8, 0.85, 1.05]
    assert sum("saga" in line.what for line in lines) == 1
    assert all(line.value > 0.0 for line in lines)
