"""The table of cells measures what it says."""

from __future__ import annotations

import numpy as np
import pytest

from bench import narrow
from bench.data import make
from bench.dual import TASKS


def cell(ours: list[float], rival: list[float] | None) -> narrow.Cell:
    seconds = {"ours": ours} | ({} if rival is None else {"fast": rival, "slow": [9.0, 9.0]})
    return narrow.Cell("a9a", "hinge", 1e-3, seconds, dict.fromkeys(seconds, 0.1))


def test_a_cell_is_against_the_fastest_rival() -> None:
    found = cell([1.0, 3.0], [2.0, 2.0])
    assert (found.rival, found.ratio, found.median) == ("fast", 0.5, 1.0)
    assert "missed" not in found.line()
    slow = cell([3.0, 3.0], [2.0, 2.0])
    assert slow.line().endswith("missed")
    alone = cell([1.0, 1.0], None)
    assert (alone.rival, alone.ratio) == (None, 0.0) and "no rival" in alone.line()
    assert narrow.summary([found, slow, alone])[1] == "cells above 1: 1 of 3, worst 1.50"


def test_tolerances_are_swept_from_the_loosest() -> None:
    def fit(tolerance: float) -> np.ndarray:
        return np.array([tolerance])

    found = narrow.swept(fit, lambda w: w[0] <= 0.03)
    assert 0.01 < found[0] <= 0.03 and found == sorted(found, reverse=True)
    assert narrow.swept(fit, lambda w: False) == []


@pytest.mark.compiled
def test_everybody_reaches_the_accuracy_in_every_turn() -> None:
    pytest.importorskip("liblinear", reason="liblinear-official is not installed")
    data = make(rows=600, features=20, nonzeros=5)
    for task in TASKS:
        for found in narrow.measure("made", data, task, (1e-2, 1e-4), 2, True):
            assert found.rival is not None and found.ratio > 0.0
            assert all(len(times) == 2 for times in found.seconds.values())
