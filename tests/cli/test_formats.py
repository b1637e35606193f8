"""The same examples in every format: learnt, kept, resumed, predicted and audited alike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.runs.record import load
from tests.cli.program import Call
from tests.sizes import sized

CITIES = ("Rome", "Bonn", "Oslo")


def _rows(count: int) -> list[tuple[float, str, int, int]]:
    rng = np.random.default_rng(11)
    rows = []
    for _ in range(count):
        age, city = round(float(rng.normal()), 4), CITIES[rng.integers(3)]
        label = 1 if age + (city == "Rome") + 0.5 * rng.normal() > 0.0 else -1
        rows.append((age, city, int(rng.integers(1, 3)), label))
    return rows


def _write(folder: Path, kind: str, rows: list[tuple[float, str, int, int]], name: str) -> Path:
    path = folder / f"{name}.{kind}"
    if kind == "vw":
        path.write_text("".join(f"{y} {w} |n age:{a} |c {c}\n" for a, c, w, y in rows))
    elif kind == "csv":
        lines = (f"{a},{c},{w},{'up' if y > 0 else 'down'}\n" for a, c, w, y in rows)
        path.write_text("age,city,w,class\n" + "".join(lines))
    elif kind == "jsonl":
        records = (
            {"age": a, "city": c, "w": w, "class": "up" if y > 0 else "down"} for a, c, w, y in rows
        )
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        from pyarrow import parquet

        ages, cities, weights, labels = zip(*rows, strict=True)
        columns = {"age": ages, "city": cities, "w": weights, "class": labels}
        parquet.write_table(arrow.table({k: list(v) for k, v in columns.items()}), path)
    return path


OPTIONS = {
    "vw": ["--bits", "0"],
    "csv": ["--weight", "w"],
    "jsonl": ["--weight", "w"],
    "parquet": ["--weight", "w"],
}


@pytest.mark.parametrize("kind", list(OPTIONS))
def test_formats_with_names_learn_the_same_and_go_on(tmp_path: Path, call: Call, kind: str) -> None:
    # The second half begins with another city, so that new columns would come in another order.
    half = sized(40, 120)
    rows = _rows(2 * half)
    whole = _write(tmp_path, kind, rows, "whole")
    first = _write(tmp_path, kind, rows[:half], "first")
    second = _write(tmp_path, kind, rows[half:], "second")
    model, unbroken = tmp_path / "m.nr", tmp_path / "u.nr"
    options = [*OPTIONS[kind], "--rate", "scale-free"]
    once = call("learn", whole, *options, "--save", unbroken, "--json")
    assert once.returncode == 0, once.stderr
    assert call("learn", first, *options, "--save", model).returncode == 0
    again = call("learn", second, "--resume", model, "--save", model, "--json")
    assert again.returncode == 0, again.stderr
    a, b = nr.load(unbroken), nr.load(model)
    assert a.weights.tobytes() == b.weights.tobytes()
    reference = json.loads(once.stdout)
    assert json.loads(again.stdout)["metrics"] == reference["metrics"]
    assert reference["metrics"]["weight"] == sum(w for _, _, w, _ in rows)
    facts = json.loads(call("inspect", model, "--json").stdout)
    names = [one["name"] for one in facts["top"]]
    assert "age" in names[0]
    assert any("Rome" in name for name in names)
    assert any(name.lower() in ("intercept", "constant") for name in names)
    audited = call("audit", unbroken, whole)
    assert audited.returncode == 0, audited.stdout + audited.stderr


def test_a_prediction_file_may_lack_labels_and_hold_strange_names(
    tmp_path: Path, call: Call
) -> None:
    rows = _rows(150)
    path, model = _write(tmp_path, "csv", rows, "known"), tmp_path / "m.nr"
    call("learn", path, "--rate", "scale-free", "--ignore", "w", "--save", model)
    known = call("predict", model, path).stdout.split()
    bare = tmp_path / "bare.csv"
    lines = path.read_text().splitlines()
    bare.write_text("\n".join(",".join(line.split(",")[:3]) for line in lines) + "\n")
    run = call("predict", model, bare)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == known and "none has a label" in run.stderr
    odd = tmp_path / "odd.csv"
    odd.write_text(lines[0] + "\n1.5,Atlantis,1,up\n")
    run = call("predict", model, odd)
    learner, record = load(model)
    column = {name: place for place, name, _ in _top(model, call)}
    expected = learner.weights[column["intercept"]] + 1.5 * learner.weights[column["age"]]
    assert float(run.stdout) == pytest.approx(expected)
    assert record.reading["numeric"] == ["age"] and record.reading["target"] == "class"


def _top(model: Path, call: Call) -> list[tuple[int, str, float]]:
    facts = json.loads(call("inspect", model, "--json").stdout)
    return [(one["column"], one["name"], one["weight"]) for one in facts["top"]]


def test_converted_streams_learn_the_same_model(tmp_path: Path, call: Call) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    count = sized(60, 200)
    path = _write(tmp_path, "csv", _rows(count), "a")
    compact = tmp_path / "a.arrow"
    run = call("convert", path, "--weight", "w", "--classes-as", "down,up", "-o", compact)
    assert run.returncode == 0 and f"{count} examples, 5 features" in run.stdout, run.stderr
    before = call("learn", path, "--rate", "scale-free", "--weight", "w", "--json")
    after = call("learn", compact, "--rate", "scale-free", "--save", tmp_path / "m.nr", "--json")
    assert after.returncode == 0, after.stderr
    for name in ("certificate", "metrics", "labels"):
        assert json.loads(before.stdout)[name] == json.loads(after.stdout)[name]
    assert {"age", "intercept"} <= {name for _, name, _ in _top(tmp_path / "m.nr", call)}
    assert call("audit", tmp_path / "m.nr", compact).returncode == 0
    run = call("learn", compact, "--intercept", "2")
    assert run.returncode == 2 and "settled when it was written" in run.stderr
    old = compact.read_bytes()
    (tmp_path / "bad.csv").write_text("age,class\n1,up\n2,sideways\n")
    run = call("convert", tmp_path / "bad.csv", "--classes-as", "down,up", "-o", compact)
    assert run.returncode == 2 and compact.read_bytes() == old


def test_interactions_and_remembered_names(tmp_path: Path, call: Call) -> None:
    path = _write(tmp_path, "vw", _rows(sized(40, 120)), "a")
    exact, hashed = tmp_path / "e.nr", tmp_path / "h.nr"
    assert call("learn", path, "-q", "nc", "--bits", "0", "--save", exact).returncode == 0
    run = call("learn", path, "-q", "nc", "--remember", "100", "--save", hashed)
    assert run.returncode == 0, run.stderr
    assert nr.load(hashed).dimension == 1 << 18
    names = [{name for _, name, _ in _top(model, call)} for model in (exact, hashed)]
    assert {"n^age", "c^Rome", "n^age*c^Rome"} <= names[0] & names[1]


def test_missing_values_are_refused_or_a_feature(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,city,class\n1,Rome,up\n,Rome,down\n2,Bonn,up\n")
    run = call("learn", path, "--missing", "refuse")
    assert run.returncode == 2 and "line 3" in run.stderr
    model = tmp_path / "m.nr"
    run = call("learn", path, "--rate", "scale-free", "--save", model)
    assert run.returncode == 0, run.stderr
    assert "age=missing" in {name for _, name, _ in _top(model, call)}
