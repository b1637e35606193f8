"""Models as ONNX files, scored by onnxruntime in 32-bit floats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
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
    assert not (tmp_path / "m.onnx").exists()


def test_mixtures_are_refused(tmp_path: Path) -> None:
    model = nr.Model(rate="mixture").learn(write_csv(tmp_path / "t.csv", table(40)))
    with pytest.raises(ValueError, match="ONNX files are written of linear models"):
        model.to_onnx(tmp_path / "m.onnx")
