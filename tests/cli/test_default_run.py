"""A run in which nothing is chosen: what a person and a program are told, saved and resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.experts import ScoreAggregate
from noregret.runs.record import load
from tests.cli.program import Call

X = np.random.default_rng(4).normal(size=(50, 3)).round(3)
SCORE = X @ [1.0, -1.0, 0.5]
LABELS = {
    "two": np.where(SCORE > 0.0, "up", "down").tolist(),
    "several": np.array(["low", "mid", "high"])[np.digitize(SCORE, [-0.5, 0.7])].tolist(),
    "numbers": SCORE.round(3).tolist(),
}
OPTIONS = {"two": (), "several": ("--multiclass",), "numbers": ("--loss", "squared")}
#: Of learners for narrow rows, as many as there are.
MADE: dict[str, Any] = {
    "two": nr.Mixture(nr.losses.Logistic()),
    "several": ScoreAggregate(),
    "numbers": nr.Mixture(nr.losses.Squared()),
}
WORDS = {
    kind: f"{made.loss}, mixture of {len(made.members)} learners"
    + " for narrow rows" * (kind != "several")
    for kind, made in MADE.items()
}


def written(path: Path, kind: str, rows: int = len(X)) -> Path:
    lines = (
        f"{a},{b},{c},{y}\n"
        for (a, b, c), y in zip(X[:rows].tolist(), LABELS[kind][:rows], strict=True)
    )
    path.write_text("a,b,c,kind\n" + "".join(lines))
    return path


@pytest.mark.parametrize("kind", OPTIONS)
def test_what_was_chosen_is_named_everywhere(tmp_path: Path, call: Call, kind: str) -> None:
    path, model = written(tmp_path / "a.csv", kind), tmp_path / "m.nr"
    run = call("learn", path, *OPTIONS[kind], "--save", model)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[1] == WORDS[kind]
    (floor,) = (line for line in lines if line.startswith("floor over"))
    assert "a member's weights then, features divided by their largest |x|" in floor
    told = json.loads(call("learn", path, *OPTIONS[kind], "--json").stdout)
    assert told["learner"] == WORDS[kind] and told["options"]["rate"] == "mixture"
    learner, record = load(model)
    count = len(learner.members)
    whose = f"member {learner.representative[0] + 1} of {count}"
    assert told["weights_of"].startswith(whose) and record.spec.rate == "mixture"
    shown = call("inspect", model).stdout
    assert f"learner\t{WORDS[kind]}\n" in shown and f"weights shown\tthose of {whose}" in shown
    assert ("beside an offset of" in shown) == (kind != "several")
    explained = call("explain", model, path, "--rows", "2").stdout
    assert whose in explained and "prediction, mixed" in explained
    audited = call("audit", model)
    assert audited.returncode == 0 and "FAIL" not in audited.stdout, audited.stdout


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_saved_run_goes_on_to_the_bit_and_predicts_as_the_mixture(
    tmp_path: Path, call: Call, kind: str
) -> None:
    path, whole, cut = (tmp_path / name for name in ("a.csv", "whole.nr", "cut.nr"))
    written(path, kind, 17)
    assert call("learn", path, *OPTIONS[kind], "--save", cut).returncode == 0
    written(path, kind)
    again = call("learn", path, "--resume", cut, "--same-input", "--save", cut)
    assert again.returncode == 0, again.stderr
    assert WORDS[kind] in again.stdout
    assert call("learn", path, *OPTIONS[kind], "--save", whole).returncode == 0
    if kind != "numbers":
        # The mean of the targets, for R2, is rounded once more where a run is cut.
        assert cut.read_bytes() == whole.read_bytes()
    bare = tmp_path / "bare.nr", tmp_path / "again.nr"
    for model, name in zip((whole, cut), bare, strict=True):
        load(model)[0].save(name)
    assert bare[0].read_bytes() == bare[1].read_bytes()
    learner = load(whole)[0]
    assert type(learner) is (ScoreAggregate if kind == "several" else nr.Mixture)
    rows = np.column_stack([X, np.ones(len(X))])
    names = nr.open_model(whole).names
    order = [["a", "b", "c", "intercept"].index(names.name(k)) for k in range(4)]
    made = call("predict", whole, path, "--as", "score" if kind == "several" else "margin").stdout
    skipped = 1 if kind == "several" else 0
    found = np.loadtxt(made.splitlines()[skipped:])
    np.testing.assert_allclose(found, learner.predict(rows[:, order]), rtol=1e-12)


def test_a_model_of_one_learner_resumes_as_one(tmp_path: Path, call: Call) -> None:
    path, model = written(tmp_path / "a.csv", "two"), tmp_path / "m.nr"
    alone = call("learn", path, "--rate", "scale-free", "--save", model)
    assert alone.stdout.splitlines()[1] == "Logistic(), Euclidean(), ScaleFree()"
    again = call("learn", path, "--resume", model, "--save", model, "--json")
    assert json.loads(again.stdout)["learner"] == "Logistic(), Euclidean(), ScaleFree()"
    assert load(model)[1].spec.rate == "scale-free"
    assert json.loads(again.stdout)["weights_of"] is None


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--mirror", "ball", "--radius", "2"), "Logistic(), Ball(radius=2.0), Adaptive()"),
        (("--eta", "0.5"), "Logistic(), Euclidean(), Adaptive(scale=0.5)"),
        (("--loss", "hinge", "--update", "exact"), "Hinge(margin=1.0), Euclidean(), update exact"),
        (("--loss", "hinge", "--update", "mistakes"), "Hinge(margin=1.0), Euclidean(), Adaptive("),
        (("--multiclass", "--loss", "hinge"), "OneAgainstRest(loss=Hinge(margin=1.0)), Euclidean"),
    ],
    ids=str,
)
def test_an_option_of_one_learner_makes_it_one(
    tmp_path: Path, call: Call, options: tuple[str, ...], parts: str
) -> None:
    run = call("learn", written(tmp_path / "a.csv", "two"), *options, "--json")
    told = json.loads(run.stdout)
    assert told["learner"].startswith(parts.removesuffix(")")) and told["weights_of"] is None
    assert (told["options"]["rate"] is None) == ("exact" in options)


def test_compare_says_what_the_default_is(tmp_path: Path, call: Call) -> None:
    path = written(tmp_path / "a.csv", "two")
    run = call("compare", path, "-l", "default", "-l", "scale-free")
    assert run.returncode == 0, run.stderr
    assert f"default is {WORDS['two']}" in run.stdout
    told = json.loads(call("compare", path, "-l", "default", "-l", "mixture", "--json").stdout)
    first, second = told["learners"]
    assert first["progress"] == second["progress"]


def test_the_command_line_learns_what_the_estimator_learns(tmp_path: Path, call: Call) -> None:
    online = pytest.importorskip("noregret.sklearn", reason="scikit-learn is not installed")
    path, model = written(tmp_path / "a.csv", "several"), tmp_path / "m.nr"
    run = call("learn", path, "--classes", "3", "--save", model, "--json")
    assert run.returncode == 0, run.stderr
    opened = nr.open_model(model)
    # Classes are numbered in the order of the file, the constant is the first column there.
    codes = np.array([opened.classes.index(name) for name in LABELS["several"]])
    ours = online.OnlineClassifier().partial_fit(X, codes, classes=[0, 1, 2])
    np.testing.assert_allclose(
        opened.predict(path, "probability"), ours.predict_proba(X), rtol=1e-9
    )
