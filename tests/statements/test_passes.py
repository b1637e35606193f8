"""A sum over several passes says so: on the examples themselves its floor would be false."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret.sklearn import OnlineClassifier, OnlineRegressor
from tests.cli.conftest import call as call
from tests.cli.program import Call

ROWS = "+1 1:1\n-1 1:1\n+1 1:1\n"


@pytest.mark.parametrize("rate", ["scale_free", "grid"])
def test_an_estimator_names_the_passes_of_its_fit(rate: str) -> None:
    X, y = np.ones((4, 1)), np.array([1.0, -1.0, 1.0, -1.0])
    model = OnlineRegressor("absolute", rate=rate, passes=3, shuffle=False).fit(X, y)
    text = str(model.certificate_)
    assert text.startswith("Certificate after 12 rounds, Absolute, over 3 passes")
    assert "lost at least that much by Absolute, over 3 passes" in text
    model.partial_fit(X, y)
    assert "Absolute, over 1 to 3 passes" in str(model.certificate_)
    assert "passes" not in str(OnlineRegressor(rate=rate, passes=1).fit(X, y).certificate_)


@pytest.mark.parametrize(
    "options", [{}, {"rate": "grid"}, {"rate": "scale_free", "multiclass": "softmax"}]
)
def test_so_do_several_classes(options: dict[str, Any]) -> None:
    X, y = np.eye(3), np.arange(3)
    found = OnlineClassifier(passes=2, **options).fit(X, y).certificate_
    assert found.rounds == 6 and found.objective.endswith(", over 2 passes")
    assert found.objective in str(found).splitlines()[0]


def test_commands_name_the_passes_over_each_input(tmp_path: Path, call: Call) -> None:
    (tmp_path / "a.svm").write_text(ROWS)
    (tmp_path / "b.svm").write_text(ROWS)
    first, model = str(tmp_path / "a.svm"), str(tmp_path / "m.nr")
    once = call("learn", first)
    assert ", over " not in once.stdout
    run = call("learn", first, "--passes", "3", "--save", model)
    assert "Certificate after 9 rounds, Logistic, over 3 passes" in run.stdout
    assert "by Logistic, over 3 passes" in run.stdout
    shown = call("inspect", model).stdout
    assert "by Logistic, over 3 passes" in shown and "progressive, first pass: " in shown
    assert "by Logistic, over 3 passes" in " ".join(call("audit", model).stdout.split())
    # One more pass over the same file, and one over another.
    run = call("learn", first, "--resume", model, "--save", model)
    assert "Certificate after 12 rounds, Logistic, over 4 passes" in run.stdout
    run = call("learn", str(tmp_path / "b.svm"), "--resume", model)
    assert "Certificate after 15 rounds, Logistic, over 1 to 4 passes" in run.stdout
