"""Mixtures as JSON: the scorer that the documentation shows makes their predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.experts import Aggregate, ScoreAggregate
from noregret.runs.export import as_json
from noregret.runs.record import Record
from tests.runs.scorer import scored, shown
from tests.runs.test_model import write_csv

#: Losses of numbers.
NUMBERS = ("squared", "huber")
CITIES = ["Bonn", "Oslo", "Rome"]


def visits(loss: str, rows: int = 150, wide: int = 0) -> list[dict[str, Any]]:
    """Rows of numbers in odd units, one of them missing at times, and of categories."""
    rng = np.random.default_rng(5)
    found = []
    for k in range(rows):
        age, year, city = rng.normal(40.0, 10.0), rng.normal(1e6, 1e-2), int(rng.integers(3))
        target = 0.1 * (age - 40.0) + 50.0 * (year - 1e6) + (city == 1) + 0.3 * rng.normal()
        row = {
            "age": age if k % 7 else None,
            "year": year,
            "city": CITIES[city] if k % 11 else None,
        }
        if wide:
            row["street"] = f"s{rng.integers(wide)}"
        label = ("yes" if target > 0.3 else "no") if loss not in NUMBERS else 7.0 + target
        found.append(row | {"label": label})
    return found


def learnt(path: Path, rows: list[dict[str, Any]], **options: Any) -> Any:
    shown = [{name: "" if x is None else x for name, x in row.items()} for row in rows]
    return nr.Model(**options).learn(write_csv(path, shown))


def asked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without labels, and some that are far away, unknown or missing."""
    features = [{name: x for name, x in row.items() if name != "label"} for row in rows]
    far = features[1] | {"age": 1e5, "year": 1e6 + 0.03}
    return [
        *features,
        far,
        far | {"city": "Wien"},
        far | {"age": None},
        features[0] | {"city": None},
    ]


def close(made: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(made, expected.reshape(made.shape), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge", "huber"])
def test_a_mixture_is_scored_from_its_json(tmp_path: Path, loss: str) -> None:
    rows = visits(loss)
    model = learnt(tmp_path / "t.csv", rows, loss=loss, rate="mixture")
    expected = model.predict(asked(rows))
    assert np.ptp(expected) > 0.1
    close(scored(model, asked(rows)), expected)
    model.save(tmp_path / "m.model")
    again = nr.open_model(tmp_path / "m.model")
    assert again.to_json() == model.to_json()
    exported = json.loads(model.to_json())
    assert exported["format"] == "noregret mixture"
    total = sum(one["share"] for one in [*exported["members"], exported["stack"]])
    assert total == pytest.approx(1.0, abs=1e-12)
    # The same rows, one of them of another share: the shares count.
    exported["members"][0]["share"] += 0.5
    moved = shown()["score"](exported, asked(rows)[3])
    assert abs(moved[0] - expected[3]) > 1e-6


def test_rows_of_many_features_have_linear_members(tmp_path: Path) -> None:
    rows = visits("logistic", 1500, wide=900)
    model = learnt(tmp_path / "t.csv", rows, loss="logistic", rate="mixture")
    assert model.learner.wide
    assert all(one["standardized"] is None for one in json.loads(model.to_json())["members"])
    close(scored(model, asked(rows[:60])), model.predict(asked(rows[:60])))


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_members_that_are_outgrown_by_and_by(tmp_path: Path, loss: str) -> None:
    rows = visits(loss, 150)
    given = [({k: x for k, x in row.items() if k != "label"}, row["label"]) for row in rows]
    wide = {"age": 41.0, **{f"street {k}": 1.0 for k in range(600)}}
    half = {"age": 41.0, **{f"street {k}": 1.0 for k in range(200)}}
    seen = [*asked(rows[:20]), half, wide]
    # The wide row is held out: its features have names, and it is not learnt.
    model = nr.Model(loss, rate="mixture").learn([*given[:59], (half, given[0][1])])
    model.learn([*given[60:119], (wide, given[0][1])], holdout=60)
    assert not model.learner.outgrown and not model.learner.wide
    assert [member.outgrown for member in model.learner.learners[:-1]].count(True) >= 1
    made = scored(model, seen)
    close(made, model.predict(seen))
    assert abs(made[-1, 0] - made[-2, 0]) > 1e-3
    model.learn([*given[120:], (wide, given[0][1]), *given[:20]])
    assert model.learner.outgrown
    assert json.loads(model.to_json())["members"][0]["standardized"]["outgrown"]
    close(scored(model, seen), model.predict(seen))


def test_a_row_that_is_too_wide_for_members_that_are_not_outgrown(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    rng = np.random.default_rng(3)
    lines = []
    for _ in range(80):
        x = rng.normal(size=3)
        lines.append(f"{'+1' if x.sum() > 0 else '-1'} 1:{x[0]!r} 2:{x[1]!r} 100:{x[2]!r}")
    path.write_text("\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n")
    model = nr.Model("logistic", rate="mixture").learn(path)
    rows = [{"1": 0.5, "2": -0.25, "100": 2.0}, {"1": 0.5, "128": 1.0}, {"1": 0.5, "511": 1.0}]
    rows += [{"1": 0.5, "512": 1.0}, {"1": 0.5, "127": 1.0}]
    other = tmp_path / "b.svm"
    pairs = [" ".join(f"{name}:{x}" for name, x in row.items()) for row in rows]
    other.write_text("".join(f"+1 {text}\n" for text in pairs))
    expected = model.predict(other)
    close(scored(model, rows), expected)
    assert len(set(expected.round(9).tolist())) == 4


@pytest.mark.parametrize("loss", ["logistic", "squared", "absolute"])
def test_a_grid_of_rates(tmp_path: Path, loss: str) -> None:
    rows = [row | {"year": 1.0} for row in visits("logistic" if loss == "logistic" else "squared")]
    model = learnt(tmp_path / "t.csv", rows, loss=loss, rate="grid")
    assert json.loads(model.to_json())["stack"] is None
    close(scored(model, asked(rows)), model.predict(asked(rows)))


@pytest.mark.parametrize(
    ("loss", "rate"), [("logistic", "aioli"), ("squared", "ridge:anticipating=True")]
)
def test_one_learner_that_anticipates_the_label(tmp_path: Path, loss: str, rate: str) -> None:
    rows = [row | {"year": 1.0} for row in visits(loss)]
    model = learnt(tmp_path / "t.csv", rows, loss=loss, rate=rate)
    (member,) = json.loads(model.to_json())["members"]
    assert member["anticipated"]["label"] == ("both" if loss == "logistic" else "0")
    seen = asked(rows)
    close(scored(model, seen), model.predict(seen))
    corrected = model.learner._products(np.eye(model.learner.dimension))
    assert np.abs(corrected).max() > 0.0


def test_several_classes() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(120, 3)) * [1.0, 100.0, 1e-2] + [0.0, 1e3, 5.0]
    y = (rows[:, 0] > 0.0) + (rows[:, 1] > 1030.0)
    learner = ScoreAggregate()
    learner.learn(rows, y)
    model = nr.Model(multiclass=True).learn([({"a": 1.0}, k) for k in (0, 1, 2)])
    record = Record(model.record.spec, model.record.inputs)
    record.inputs[0].reading |= {"constant": 0.0, "first_index": 1}
    exported = json.loads(as_json(learner, record))
    given = [{str(k + 1): float(x) for k, x in enumerate(row)} for row in rows[:40]]
    made = np.array([shown()["score"](exported, row) for row in given])
    close(made, learner.predict(rows[:40]))
    assert exported["link"] == "softmax"


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    rows = visits("logistic", 30)
    with pytest.raises(ValueError, match="the features are hashed"):
        learnt(tmp_path / "t.csv", rows, loss="logistic", rate="mixture", bits=10).to_json()
    model = learnt(tmp_path / "t.csv", rows, loss="logistic")
    inner = Aggregate([nr.catalogue.ogd(nr.losses.Logistic(), 0.1)])
    with pytest.raises(ValueError, match="a member that cannot be exported, a Aggregate"):
        as_json(Aggregate([inner]), model.record)
