"""Sums over several passes say so."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from noregret.sklearn import OnlineClassifier, OnlineRegressor
from tests.cli.conftest import call as call
from tests.cli.program import Call, svmlight

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.where(X[:, 0] > 0.0, 1, 0)
SEVERAL = np.digitize(X[:, 0], [-0.5, 0.5])


def test_an_estimator_names_its_passes() -> None:
    model = OnlineRegressor(passes=3, random_state=0).fit(X, X[:, 0])
    proof = model.certificate_
    assert proof.rounds == 60 and proof.objective == "Squared, over 3 passes"
    assert "Certificate after 60 rounds, Squared, over 3 passes" in str(proof)
    assert "lost at least that much by Squared, over 3 passes" in str(proof)
    assert proof.as_dict()["objective"] == "Squared, over 3 passes"
    once = OnlineRegressor(passes=1, random_state=0).fit(X, X[:, 0]).certificate_
    assert once.objective == "Squared"


def test_rows_after_the_passes_are_named() -> None:
    model = OnlineClassifier(passes=4, random_state=0).fit(X, Y)
    assert model.certificate_.objective == "Logistic, over 4 passes"
    model.partial_fit(X[:7], Y[:7])
    assert model.certificate_.objective == "Logistic, over 4 passes and 7 rounds more"
    copy = pickle.loads(pickle.dumps(model))
    assert copy.certificate_.objective == model.certificate_.objective
    # What was learnt row by row, and once only, has no passes.
    fresh = OnlineClassifier(passes=4).partial_fit(X, Y)
    assert fresh.certificate_.objective == "Logistic"


def test_a_fit_that_diverges_says_that_its_last_pass_is_unfinished() -> None:
    from noregret import rates

    model = OnlineRegressor(rate=rates.Constant(2.0), passes=50, shuffle=False)
    with pytest.raises(OverflowError):
        model.fit(X, X[:, 0])
    proof = model.certificate_
    assert proof.rounds > 20 and proof.rounds < 50 * 20
    passes = -(-(proof.rounds + 1) // 20)
    assert proof.objective == f"Squared, over {passes} passes, the last unfinished"


@pytest.mark.parametrize("rate", ["scale_free", "coin_betting", "grid"])
def test_several_classes_name_their_passes(rate: str) -> None:
    model = OnlineClassifier(rate=rate, passes=2, random_state=0).fit(X, SEVERAL)
    text = str(model.certificate_)
    assert "over 2 passes" in text.splitlines()[0]
    assert model.certificate_.objective.endswith(", over 2 passes")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.svm"
    path.write_text(svmlight(50))
    return path


def test_the_command_line_names_its_passes(rows: Path, tmp_path: Path, call: Call) -> None:
    model, options = tmp_path / "m.nr", ("--mirror", "ball", "--radius", "3")
    run = call("learn", rows, *options, "--passes", 3, "--save", model)
    assert run.returncode == 0, run.stderr
    assert "Certificate after 150 rounds, Logistic, over 3 passes" in run.stdout
    assert "lost at least that much by Logistic, over 3 passes" in run.stdout
    told = json.loads(call("inspect", model, "--json").stdout)["certificate"]
    assert told["objective"] == "Logistic, over 3 passes"
    text = call("inspect", model).stdout
    assert "over 3 passes" in text and "progressive, first pass: " in text
    words = json.loads(call("audit", model, rows, "--json").stdout)["statements"]
    (claim,) = [one["statement"] for one in words if "lost at least" in one["statement"]]
    assert claim.endswith("by Logistic, over 3 passes")
    once = call("learn", rows, *options).stdout
    assert "passes" not in once


def test_inputs_with_different_passes(rows: Path, tmp_path: Path, call: Call) -> None:
    model, other = tmp_path / "m.nr", tmp_path / "other.svm"
    other.write_text(svmlight(20, seed=8))
    assert call("learn", rows, "--passes", 2, "--save", model).returncode == 0
    run = call("learn", other, "--resume", model, "--save", model)
    assert run.returncode == 0, run.stderr
    assert "Certificate after 120 rounds, Logistic, over 2 and 1 passes of 2 inputs" in run.stdout
