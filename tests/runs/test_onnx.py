"""Models as ONNX files, scored by onnxruntime in 32-bit floats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.experts import ScoreAggregate
from noregret.runs.export import as_json
from noregret.runs.onnx_members import STEPS
from noregret.runs.onnx_models import onnx_model
from noregret.runs.record import Record
from tests.cli.program import svmlight
from tests.runs.test_model import table, write_csv

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

#: Scores are sums of 32-bit products: relative to the size of the terms.
TOLERANCE = 2e-6


def outputs(path: Path, feeds: dict[str, Any]) -> dict[str, np.ndarray]:
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert {one.name for one in session.get_inputs()} == set(feeds)
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


@pytest.mark.parametrize(
    ("loss", "multiclass"),
    [(None, False), ("hinge", False), ("squared", False), (None, True), ("logistic", True)],
)
def test_a_table_of_numbers_and_categories(
    tmp_path: Path, loss: str | None, multiclass: bool
) -> None:
    rows = table(90, kinds=("a", "b", "c") if multiclass else ("no", "yes"))
    rows[7]["age"] = rows[30]["age"] = ""
    if loss == "squared":
        rows = [row | {"label": 3.0 + (row["age"] or 0.0)} for row in rows]
    model = nr.Model(loss, multiclass=multiclass).learn(write_csv(tmp_path / "t.csv", rows))
    model.to_onnx(tmp_path / "m.onnx")
    # A city that was never seen has no weight.
    asked = [*rows[:20], rows[30] | {"city": "Wien"}]
    feeds = {
        "age": np.array([[row["age"] or np.nan] for row in asked], np.float32),
        "city": np.array([[row["city"]] for row in asked]),
    }
    made = outputs(tmp_path / "m.onnx", feeds)
    features = [{"age": row["age"] or None, "city": row["city"]} for row in asked]
    expected = model.predict(features, "score" if multiclass else "margin")
    np.testing.assert_allclose(
        made["scores"], expected.reshape(made["scores"].shape), rtol=TOLERANCE, atol=TOLERANCE
    )
    assert ("probabilities" in made) == (loss not in ("hinge", "squared"))
    if "probabilities" in made:
        chances = model.predict(features, "probability").reshape(made["scores"].shape)
        np.testing.assert_allclose(made["probabilities"], chances, rtol=1e-5, atol=TOLERANCE)


@pytest.mark.parametrize("first_index", [0, 1])
def test_numbered_features(tmp_path: Path, first_index: int) -> None:
    path = tmp_path / "a.svm"
    text = svmlight(50)
    if first_index == 0:
        for k in range(1, 6):
            text = text.replace(f" {k}:", f" {k - 1}:")
    path.write_text(text)
    model = nr.Model(first_index=first_index).learn(path)
    model.to_onnx(tmp_path / "m.onnx")
    (block,) = nr.read(path, labels="binary", first_index=first_index)
    made = outputs(tmp_path / "m.onnx", {"features": block.dense().astype(np.float32)})
    np.testing.assert_allclose(
        made["scores"][:, 0], model.predict(path), rtol=TOLERANCE, atol=TOLERANCE
    )


def test_what_onnx_has_no_input_for_is_refused(tmp_path: Path) -> None:
    rows = [row | {"day": f"2024-0{1 + k % 9}-03"} for k, row in enumerate(table(40))]
    path = write_csv(tmp_path / "t.csv", rows)
    with pytest.raises(ValueError, match="is neither a number nor a category of a column"):
        nr.Model(target="label").learn(path).to_onnx(tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="the features are hashed"):
        nr.Model(bits=8, target="label").learn(path).to_onnx(tmp_path / "m.onnx")
    for rate in (None, "mixture"):
        pairs = [({"1": 0.5 * k, "b": 1.0}, k % 2) for k in range(9)]
        with pytest.raises(ValueError, match="of which ONNX knows no columns"):
            nr.Model("squared", rate=rate).learn(pairs).to_onnx(tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def people(loss: str, rows: int = 160, wide: int = 0) -> list[dict[str, Any]]:
    """Rows of numbers that 32 bits hold, one missing at times, and categories."""
    rng = np.random.default_rng(2)
    found = []
    for k in range(rows):
        age, score = float(np.float32(rng.normal(40.0, 10.0))), float(np.float32(rng.normal()))
        city = int(rng.integers(3))
        target = 0.1 * (age - 40.0) + score + (city == 1) + 0.3 * rng.normal()
        row: dict[str, Any] = {"age": age if k % 7 else None, "score": score}
        row["city"] = f"c{city}" if k % 11 else None
        row |= {"street": f"s{rng.integers(wide)}"} if wide else {}
        label = 7.0 + target if loss == "squared" else "yes" if target > 0.5 else "no"
        found.append(row | {"label": label})
    return found


def fed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The inputs of rows; a missing number is NaN, and a missing category the text missing."""
    found: dict[str, Any] = {}
    for name in rows[0]:
        column = [row[name] for row in rows]
        if name in ("age", "score"):
            found[name] = np.array([[np.nan if x is None else x] for x in column], np.float32)
        else:
            found[name] = np.array([["missing" if x is None else x] for x in column])
    return found


def same(model: nr.Model, path: Path, rows: list[dict[str, Any]]) -> np.ndarray:
    """Write a model, score rows by its file and compare with `predict`."""
    model.to_onnx(path)
    made, expected = outputs(path, fed(rows)), model.predict(rows)
    np.testing.assert_allclose(made["scores"][:, 0], expected, rtol=1e-5, atol=1e-5)
    assert ("probabilities" in made) == (str(model.learner.loss) == "Logistic()")
    if "probabilities" in made:
        chances = model.predict(rows, "probability")
        np.testing.assert_allclose(made["probabilities"][:, 0], chances, rtol=1e-5, atol=1e-5)
    return expected


@pytest.mark.parametrize(
    ("loss", "rate"),
    [
        ("logistic", "mixture"),
        ("squared", "mixture"),
        ("hinge", "mixture"),
        ("squared", "grid"),
        ("logistic", "aioli"),
        ("squared", "ridge:anticipating=True"),
    ],
)
def test_mixtures_and_corrected_predictions(tmp_path: Path, loss: str, rate: str) -> None:
    rows = people(loss)
    given = [({k: x for k, x in row.items() if k != "label"}, row["label"]) for row in rows]
    shown = [{k: "" if x is None else x for k, x in row.items()} for row in rows]
    model = nr.Model(loss, rate=rate).learn(write_csv(tmp_path / "t.csv", shown))
    far = given[1][0] | {"age": 1e5, "score": -60.0}
    asked = [*(row for row, _ in given), far, far | {"city": "elsewhere"}, far | {"age": None}]
    expected = same(model, tmp_path / "m.onnx", asked)
    assert np.ptp(expected) > 0.5


def test_a_mixture_of_many_features_and_one_that_was_outgrown(tmp_path: Path) -> None:
    rows = people("logistic", 1500, wide=900)
    shown = [{k: "" if x is None else x for k, x in row.items()} for row in rows]
    asked = [{k: x for k, x in row.items() if k != "label"} for row in rows[:50]]
    model = nr.Model(rate="mixture").learn(write_csv(tmp_path / "t.csv", shown))
    assert model.learner.wide
    same(model, tmp_path / "m.onnx", asked)
    model = nr.Model(rate="mixture").learn(write_csv(tmp_path / "a.csv", shown[:100]))
    newton = model.learner.learners[4]
    assert newton.outgrown is False
    model.learn(write_csv(tmp_path / "b.csv", shown[100:300]))
    newton = model.learner.learners[4]
    assert newton.outgrown and not model.learner.outgrown
    same(model, tmp_path / "m.onnx", asked)


def test_a_mixture_of_numbered_features(tmp_path: Path) -> None:
    text = "".join(
        f"{'+1' if k % 3 else '-1'} 1:{k % 5} 4:{k % 3} 9:{k % 7}.5\n" for k in range(90)
    )
    wide = "+1 1:2 513:1\n"
    (tmp_path / "a.svm").write_text(text)
    (tmp_path / "b.svm").write_text(text + wide)
    model = nr.Model(rate="mixture").learn(tmp_path / "a.svm")
    model.to_onnx(tmp_path / "m.onnx")
    features = np.array([[k % 5, 0, 0, k % 3, 0, 0, 0, 0, k % 7 + 0.5] for k in range(90)])
    made = outputs(tmp_path / "m.onnx", {"features": features.astype(np.float32)})["scores"][:, 0]
    np.testing.assert_allclose(made, model.predict(tmp_path / "a.svm"), rtol=1e-5, atol=1e-5)
    model.learn(tmp_path / "b.svm")
    assert model.learner.outgrown
    model.to_onnx(tmp_path / "m.onnx")
    features = np.pad(features, ((0, 1), (0, 504)))
    features[90, [0, 512]] = 2.0, 1.0
    made = outputs(tmp_path / "m.onnx", {"features": features.astype(np.float32)})["scores"][:, 0]
    np.testing.assert_allclose(made, model.predict(tmp_path / "b.svm"), rtol=1e-5, atol=1e-5)


def test_rows_that_are_too_wide_for_some_members(tmp_path: Path) -> None:
    rows = people("logistic", 600, wide=400)
    shown = [{k: "" if x is None else x for k, x in row.items()} for row in rows]
    # Streets are those of rows that are held out: they have names, and members never see them.
    streets = [row | ({} if k % 2 else {"street": ""}) for k, row in enumerate(shown)]
    path = write_csv(tmp_path / "t.csv", streets)
    model = nr.Model(rate="mixture").learn(path, holdout=2)
    # But for the one that follows the level alone.
    assert [member.view.widest for member in model.learner.learners[:-1] if member.outgrown] == [1]
    asked = [{k: x for k, x in row.items() if k != "label"} for row in rows[:40]]
    expected = same(model, tmp_path / "m.onnx", asked)
    narrow = model.predict([row | {"street": None} for row in asked])
    assert np.abs(expected - narrow).max() > 1e-3
    made = outputs(tmp_path / "m.onnx", fed([row | {"street": None} for row in asked]))
    np.testing.assert_allclose(made["scores"][:, 0], narrow, rtol=1e-5, atol=1e-5)


def test_several_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = np.float32(rng.normal(size=(120, 3)) * [1.0, 100.0, 1e-2] + [0.0, 1e3, 5.0])
    learner = ScoreAggregate()
    learner.learn(rows.astype(float), (rows[:, 0] > 0.0) + (rows[:, 1] > 1030.0))
    record = nr.Model(multiclass=True).learn([({"a": 1.0}, k) for k in (0, 1, 2)]).record
    record = Record(record.spec, record.inputs)
    record.inputs[0].reading |= {"constant": 0.0, "first_index": 1}
    (tmp_path / "m.onnx").write_bytes(onnx_model(as_json(learner, record)))
    made = outputs(tmp_path / "m.onnx", {"features": rows})
    expected = learner.predict(rows.astype(float))
    np.testing.assert_allclose(made["scores"], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(made["probabilities"], np.exp(expected), rtol=1e-5, atol=1e-5)


def test_newtons_method_in_the_graph_ends_at_the_root() -> None:
    rng = np.random.default_rng(0)
    for k in 10.0 ** np.linspace(-6.0, 9.0, 16):
        for raw in (1e-6, 0.3, k * (1.0 - 1e-9), k + rng.random(), 1e3 * k):
            p = raw / (1.0 + 0.5 * k)
            for _ in range(STEPS):
                t = np.tanh(0.5 * p)
                p += (raw - p - k * t) / (1.0 + 0.5 * k * (1.0 - t * t))
            assert p == pytest.approx(nr.rates.Aioli().play(raw, k, 1.0), rel=1e-6)


@pytest.mark.parametrize("rate", [None, "mixture"])
def test_a_number_that_was_never_missing_before(tmp_path: Path, rate: str | None) -> None:
    rows = [row | {"age": row["age"] or 40.0} for row in people("logistic", 60)]
    model = nr.Model(rate=rate).learn(write_csv(tmp_path / "t.csv", rows))
    asked = [{k: x for k, x in row.items() if k != "label"} for row in rows[:5]]
    made = same(model, tmp_path / "m.onnx", [row | {"age": None} for row in asked])
    assert np.abs(made - model.predict(asked)).max() > 1e-3
