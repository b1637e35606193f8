"""A model in Python: what the command line wrote, opened with its columns, labels and course."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.evaluate import Holdout
from tests.cli.conftest import call
from tests.cli.program import Call, svmlight
from tests.sizes import sized

__all__ = ["call"]

CITIES = ("Bonn", "Rome", "Oslo")


def table(rows: int, seed: int = 0, kinds: tuple[str, ...] = ("no", "yes")) -> list[dict[str, Any]]:
    """Rows of numbers and categories with a label that a linear predictor mostly gets right."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(rows):
        age, city = float(np.round(rng.normal(), 3)), int(rng.integers(3))
        score = age + (city == 1) + 0.3 * rng.normal()
        label = kinds[int(np.clip(score > 0.3, 0, 1)) + (len(kinds) > 2 and score > 1.2)]
        found.append({"age": age, "city": CITIES[city], "label": label})
    return found


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    names = list(rows[0])
    lines = [",".join(names), *(",".join(str(row[name]) for name in names) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def learnt(call: Call, *arguments: object) -> Any:
    run = call("learn", *arguments, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), {}),
        (("--rate", "scale-free"), {"rate": "scale_free"}),
        (("--loss", "hinge", "--update", "exact", "-C", "0.5"), {"update": "exact", "C": 0.5}),
        (("--mirror", "ball", "--radius", "2"), {"mirror": "ball", "radius": 2.0}),
        (("--multiclass",), {"multiclass": True}),
    ],
)
def test_python_and_the_command_line_learn_the_same_model(
    tmp_path: Path, call: Call, options: tuple[str, ...], words: dict[str, Any]
) -> None:
    rows = table(
        sized(30, 120), kinds=("a", "b", "c") if words.get("multiclass") else ("no", "yes")
    )
    path, saved = write_csv(tmp_path / "t.csv", rows), tmp_path / "m.nr"
    printed = learnt(call, path, *options, "--holdout", "5", "--passes", "2", "--save", saved)
    loss = "hinge" if "exact" in options else None
    model = nr.Model(loss, **words).learn(path, holdout=5, passes=2)
    opened = nr.open_model(saved)
    assert model.certificate().as_dict(1.0) == opened.certificate().as_dict(1.0)
    assert model.points == opened.points
    assert model.metrics == opened.metrics == printed["metrics"]
    assert model.held_metrics == opened.held_metrics == printed["holdout"]
    mine = tmp_path / "mine.nr"
    model.save(mine)
    assert mine.read_bytes() == saved.read_bytes()


def test_predictions_of_a_frame_with_other_columns_in_another_order(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rows = table(80)
    model = nr.Model().learn(write_csv(tmp_path / "t.csv", rows))
    frame = pandas.DataFrame(rows)
    shuffled = frame[["city", "label", "age"]].assign(more=1.5)
    by_file = model.predict(tmp_path / "t.csv")
    np.testing.assert_array_equal(model.predict(shuffled), by_file)
    np.testing.assert_array_equal(model.predict(shuffled.drop(columns="label")), by_file)
    features = [{"age": row["age"], "city": row["city"]} for row in rows]
    np.testing.assert_array_equal(model.predict(features), by_file)
    assert model.predict(features[0]).tolist() == by_file[:1].tolist()
    chances = model.predict(features, "probability")
    np.testing.assert_allclose(chances, 1.0 / (1.0 + np.exp(-by_file)), rtol=1e-14)
    labels = model.predict(features, "label")
    assert labels.tolist() == ["yes" if margin > 0.0 else "no" for margin in by_file]
    assert model.classes == ["no", "yes"]


def test_several_classes(tmp_path: Path) -> None:
    rows = table(200, kinds=("a", "b", "c"))
    model = nr.Model(multiclass=True).learn(write_csv(tmp_path / "t.csv", rows))
    names = model.predict(tmp_path / "t.csv")
    scores = model.predict(tmp_path / "t.csv", "score")
    chances = model.predict(tmp_path / "t.csv", "probability")
    assert model.classes == sorted(model.classes, key=[row["label"] for row in rows].index)
    assert names.tolist() == [model.classes[k] for k in scores.argmax(axis=1)]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    with pytest.raises(ArgumentError, match="one of label, score, probability") as refused:
        model.predict(tmp_path / "t.csv", "margin")
    assert (refused.value.argument, refused.value.found) == ("kind", "margin")


def test_a_run_that_stopped_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    text = svmlight(90)
    path = tmp_path / "a.svm"
    path.write_text(text)
    whole = nr.Model(rate="scale-free").learn(path, holdout=Holdout(share=0.2, seed=3))
    path.write_text("".join(text.splitlines(keepends=True)[:37]))
    half = nr.Model(rate="scale-free").learn(path, holdout=Holdout(share=0.2, seed=3))
    half.save(tmp_path / "half.nr")
    path.write_text(text)
    resumed = nr.open_model(tmp_path / "half.nr").resume()
    np.testing.assert_array_equal(resumed.learner.weights, whole.learner.weights)
    assert resumed.points == whole.points and resumed.held_metrics == whole.held_metrics
    path.write_text(svmlight(90, seed=8))
    with pytest.raises(ValueError, match="not the same input"):
        nr.open_model(tmp_path / "half.nr").resume()


def test_an_audit(tmp_path: Path, call: Call) -> None:
    path, saved = tmp_path / "a.svm", tmp_path / "m.nr"
    path.write_text(svmlight(60))
    model = nr.Model("hinge", mirror="ball", radius=2.0).learn(path).learn(path, passes=2)
    model.save(saved)
    audited = model.audit()
    assert audited.holds is True and audited.failed == 0
    assert audited.conclusion in str(audited)
    printed = json.loads(call("audit", saved, "--json").stdout)
    assert printed["statements"] == audited.as_dict()["statements"]
    path.write_text(svmlight(60, seed=9))
    changed = model.audit()
    assert changed.holds is None and "it changed since" in str(changed)


def test_what_was_learnt_from_memory_is_audited_with_the_same_objects() -> None:
    rows = [({"a": row["age"], "city": row["city"]}, row["label"]) for row in table(50)]
    model = nr.Model("hinge", mirror="ball", radius=2.0).learn(rows).learn(rows)
    assert model.certificate().rounds == 100
    # Objects have no name: nobody knows that they are the same examples twice.
    assert model.certificate().passes == (1, 1)
    assert model.audit().holds is None
    assert model.audit([rows, rows]).holds is True
    assert model.audit([rows, rows[:10]]).holds is None


def test_nothing_learnt_yet_and_wrong_words() -> None:
    model = nr.Model()
    assert model.rounds == 0
    with pytest.raises(ValueError, match="the model has learnt nothing yet: call learn first"):
        model.certificate()
    with pytest.raises(ValueError, match="no such loss, did you mean logistic"):
        nr.Model("logistik")
    with pytest.raises(ValueError, match="passes=0: expected at least 1"):
        model.learn([({"a": 1}, 1)], passes=0)


def test_a_bad_row_keeps_what_was_learnt_before() -> None:
    rows: list[Any] = [({"a": 1.0 + k}, k % 2) for k in range(20)]
    model = nr.Model().learn(rows)
    rows[10] = ({"a": "x"}, "what")
    with pytest.raises(ValueError, match="example 11"):
        model.learn(rows)
    assert model.rounds == 30 and model.record.position.examples == 10


def test_labels_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text(svmlight(40, labels=(7, 9)))
    model = nr.Model(labels=(9, 7)).learn(path)
    assert model.classes == [9.0, 7.0]
    with pytest.raises(ValueError, match="expected one of margin"):
        nr.Model("squared").learn(path).predict(path, "label")


def score(model: dict[str, Any], row: dict[str, Any]) -> list[float]:
    """Score a row with plain Python, as a program without noregret would."""
    low, high = model["range"]
    scores = []
    for part in model["scores"]:
        total = model["offset"] + part["intercept"]
        for name, value in row.items():
            if name in model["categorical"] or isinstance(value, str):
                name, value = f"{name}={value}", 1.0
            elif value is None:
                name, value = f"{name}=missing", 1.0
            total += part["coefficients"].get(name, 0.0) * float(value)
        total = total if low is None else max(total, low)
        scores.append(total if high is None else min(total, high))
    return scores


@pytest.mark.parametrize(
    "options",
    [
        {"rate": "scale-free"},
        {"rate": "scale-free", "multiclass": True},
        {"rate": "scale-free", "loss": "squared"},
        {"loss": "hinge", "update": "exact"},
    ],
    ids=str,
)
def test_a_scorer_in_plain_python(tmp_path: Path, options: dict[str, Any]) -> None:
    rows = table(90, kinds=("a", "b", "c") if "multiclass" in options else ("no", "yes"))
    if options.get("loss") == "squared":
        rows = [row | {"label": 3.0 + row["age"]} for row in rows]
    path = write_csv(tmp_path / "t.csv", rows)
    model = nr.Model(options.pop("loss", None), **options).learn(path)
    exported = json.loads(model.to_json())
    kind = "score" if "multiclass" in options else "margin"
    features = [{"age": row["age"], "city": row["city"]} for row in rows]
    made = np.array([score(exported, row) for row in features])
    expected = model.predict(features, kind).reshape(made.shape)
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-14)
    assert [str(label) for label in exported["labels"]] == [str(one) for one in model.classes]


def test_numbered_features_are_exported_by_number(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text(svmlight(50))
    model = nr.Model(rate="scale-free").learn(path)
    exported = json.loads(model.to_json())
    assert set(exported["scores"][0]["coefficients"]) == {"1", "2", "3", "4", "5"}
    text = path.read_text().splitlines()[0].split()[1:]
    row = {name: float(value) for name, value in (pair.split(":") for pair in text)}
    assert score(exported, row) == pytest.approx(model.predict(path)[:1].tolist(), rel=1e-12)


def test_hashed_features_are_not_exported(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", table(30))
    with pytest.raises(ValueError, match="the features are hashed"):
        nr.Model(bits=10).learn(path).to_json()


@pytest.mark.parametrize("multiclass", [False, True])
def test_contributions_sum_to_the_score(tmp_path: Path, multiclass: bool) -> None:
    rows = table(60, kinds=("a", "b", "c") if multiclass else ("no", "yes"))
    path = write_csv(tmp_path / "t.csv", rows)
    model = nr.Model(multiclass=multiclass, rate="scale-free").learn(path)
    features = [{"age": row["age"], "city": row["city"]} for row in rows[:5]]
    made = model.predict(features, "score" if multiclass else "margin")
    expected = made.max(axis=1) if multiclass else made
    for row, total, given in zip(model.explain(features), expected, features, strict=True):
        assert sum(part for _, _, part in row) == pytest.approx(total, rel=1e-12)
        sizes = [abs(part) for _, _, part in row]
        assert sizes == sorted(sizes, reverse=True)
        assert {name for name, _, _ in row} == {"intercept", "age", f"city={given['city']}"}


def test_a_report_and_what_a_notebook_shows(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    model = nr.Model("hinge")
    assert repr(model) == "<Model(loss='hinge'): 0 rounds>"
    assert "0 rounds" in model._repr_html_()
    model.learn(write_csv(tmp_path / "t.csv", table(60)))
    model.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>") and page.count("<svg") >= 5
    assert "city=Rome" in page
    assert "certified floor" in model._repr_html_()
    assert "held out" not in str(model) and "progressive: accuracy" in str(model)
