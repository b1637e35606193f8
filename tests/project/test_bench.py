"""The benchmarks run, and all contestants learn the same weights, on a tiny set."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import __main__ as program
from bench import speed
from bench.data import Data, make
from bench.timing import Line, Times, interleave

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def data() -> Data:
    return make(rows=1_500, features=300, nonzeros=12)


def test_rows_are_canonical_and_of_unit_norm(data: Data) -> None:
    X = data.X.copy()
    X.has_canonical_format = False
    X.has_sorted_indices = False
    before = X.indices.copy()
    X.sum_duplicates()
    assert np.array_equal(before, X.indices)
    assert np.sqrt(X.multiply(X).sum(axis=1)) == pytest.approx(np.ones((1_500, 1)), rel=1e-5)
    assert set(data.y) == {-1.0, 1.0}
    assert make(rows=1_500, features=300, nonzeros=12).X.data == pytest.approx(data.X.data, abs=0)


def test_contestants_agree(data: Data, tmp_path: Path) -> None:
    learner = speed.learner()
    learner.learn(data.X, data.y)
    for name, run in speed.bare_loops(data, tmp_path).items():
        assert run() == pytest.approx(learner.weights, rel=1e-9, abs=1e-9), name
    assert np.spacing(1e-307) > 0.0, "a C library has turned off small numbers"
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    for model in (speed.sklearn_call(data), speed.sklearn_chunks(data)):
        assert model.coef_[0] == pytest.approx(learner.weights, rel=1e-3, abs=1e-3)
    own = speed.learner(loss=speed.OwnLogistic())
    own.learn(data.X, data.y)
    assert own.weights == pytest.approx(learner.weights, rel=1e-12)


def test_ratios_and_bars() -> None:
    times = Times({"a": [2.0, 6.0, 3.0], "b": [1.0, 2.0, 2.0]})
    assert (times.ratio("a", "b"), times.median_ratio("a", "b")) == (2.0, 2.0)
    assert Line.of("a / b", times, "a", "b", at_most=2.0).met
    assert not Line.of("a / b", times, "a", "b", at_least=2.5).met
    assert Line("a", 1.0).met is None
    assert [len(turns) for turns in interleave({"x": int, "y": float}, 3).seconds.values()] == [
        3,
        3,
    ]


def test_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table, figures = tmp_path / "table.md", tmp_path / "figures.json"
    options = ["--rows", "400", "--turns", "1", "--only", "loops", "--json", str(figures)]
    monkeypatch.setattr(sys, "argv", ["bench", *options, "--markdown", str(table)])
    program.main()
    lines = json.loads(figures.read_text())["lines"]
    assert all(line["value"] > 0.0 for line in lines)
    assert all(line["what"] in table.read_text() for line in lines)
