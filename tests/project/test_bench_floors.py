"""The figures of `bench.floors`, on a generated stream."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bench import floors


@pytest.mark.parametrize("real", [False, True])
def test_floors_are_parts_of_the_best(monkeypatch: pytest.MonkeyPatch, real: bool) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3)) * [1.0, 10.0, 0.1]
    signal = X @ [1.0, -0.1, 3.0] + random.logistic(size=300)
    y = signal if real else np.sign(signal)
    monkeypatch.setitem(floors.OWN, "ccpp", lambda: (sp.csr_matrix(X), y))
    found = floors.measure("ccpp", sizes=(64, 300))
    assert found.features == 4 and found.radius > 0.0
    first, whole = found.blocks.values()
    least = 1.0 - 1e-9 if real else 0.9
    assert least <= first <= 1.0 + 1e-9 and max(least, 0.999) <= whole <= 1.0 + 1e-9
    assert 0.5 < found.lines <= 1.0 + 1e-9 and found.parabolas <= 1.0 + 1e-9
