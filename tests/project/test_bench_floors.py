"""The figures of `bench.floors`, on a generated stream."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bench import floor_problems, floors


@pytest.mark.parametrize("real", [False, True])
def test_floors_are_parts_of_the_best(monkeypatch: pytest.MonkeyPatch, real: bool) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3)) * [1.0, 10.0, 0.1]
    signal = X @ [1.0, -0.1, 3.0] + random.logistic(size=300)
    y = signal if real else np.sign(signal)
    monkeypatch.setitem(floor_problems.OWN, "ccpp", lambda: (sp.csr_matrix(X), y))
    found = floors.measure("ccpp", sizes=(64, 300))
    assert found.features == 4 and found.radius > 0.0
    first, whole = found.blocks.values()
    least = 1.0 - 1e-9 if real else 0.9
    assert least <= first <= 1.0 + 1e-9 and max(least, 0.999) <= whole <= 1.0 + 1e-9
    assert 0.5 < found.lines <= 1.0 + 1e-9 and found.parabolas <= 1.0 + 1e-9


def test_the_median_is_over_streams() -> None:
    def one(part: float, curved: float) -> floors.Figures:
        blocks = dict.fromkeys(("K=128", "K=1024", "K=4096"), part)
        return floors.Figures("a", 1, 1.0, 1.0, blocks, part, curved, {}, {})

    found = floors.medians([one(0.5, np.nan), one(0.9, 0.95), one(-3.0, 0.8)])
    assert found["K=1024"] == found["lines"] == pytest.approx(0.5)
    assert found["lines and parabolas"] == pytest.approx(0.2)


def test_a_wide_stream_has_floors_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    X = sp.random(120, 600, 0.02, "csr", random_state=random)
    y = random.choice([-1.0, 1.0], 120)
    monkeypatch.setitem(floor_problems.OWN, "ccpp", lambda: (X, y))
    found = floors.measure("ccpp", sizes=(16, 120))
    first, whole = found.blocks.values()
    assert 0.0 < first < whole <= 1.0 and whole > 0.9
    assert np.isnan(found.parabolas)
