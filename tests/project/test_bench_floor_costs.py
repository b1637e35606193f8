"""The figures of `bench.floor_costs`, on a generated stream."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bench import floor_costs, floor_problems


def test_costs_of_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 3)), random.choice([-1.0, 1.0], 200)
    monkeypatch.setitem(floor_problems.OWN, "spambase", lambda: (sp.csr_matrix(X), y))
    found = {one.kept: one for one in floor_costs.costs("spambase", 1)}
    assert list(found) == ["off", "blocks", "parabolas"]
    assert found["off"].ratio == found["off"].median_ratio == 1.0
    assert found["off"].held_bytes < found["blocks"].held_bytes < found["parabolas"].held_bytes
    assert all(one.held_bytes <= one.largest_bytes for one in found.values())
    assert all(one.nanoseconds > 0.0 and one.print_seconds > 0.0 for one in found.values())
