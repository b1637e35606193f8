"""`--json` is a contract: what every command prints is what docs/schemas/commands.json says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema_rs import Draft202012Validator, meta

from noregret.cli.options import options_of
from noregret.cli.table import COMMANDS
from noregret.streams import Reading
from noregret.vocabulary.learners import Spec
from tests.cli.program import ROOT, Call, svmlight
from tests.sizes import sized

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "commands.json").read_text(encoding="utf-8"))
#: 2^18 hashed slots take seconds by the interpreter.
BITS = sized(("--bits", "9"), ())
#: Rows of every table.
ROWS = sized(24, 60)
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*|C")


def checked(command: str, text: str) -> dict[str, Any]:
    """Return the object that a command printed, or fail where it is not as the schema says."""
    assert text.count("\n") == 1 and text.endswith("\n")
    told: dict[str, Any] = json.loads(text, parse_constant=lambda word: pytest.fail(word))
    validator = Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{command}"})
    errors = [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(told)]
    assert not errors, errors[:5]
    return told


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tables of two classes, of several, of numbers and of text, and examples with weights."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(6)
    made = {
        name: folder / f"{name}.{end}"
        for name, end in (
            *(("two", "csv"), ("several", "jsonl"), ("numbers", "csv"), ("hashed", "vw")),
            *(("svm", "svm"), ("text", "csv"), ("huge", "csv")),
        )
    }
    x = rng.standard_normal((ROWS, 2)).round(3)
    kinds = np.where(x[:, 0] > 0.0, "up", "down")
    rows = [f"{a},{b},{'' if k % 9 == 4 else 'xy'[k % 2]}" for k, (a, b) in enumerate(x)]
    lines = [f"{row},{kind}\n" for row, kind in zip(rows, kinds, strict=True)]
    made["two"].write_text("a,b,c,kind\n" + "".join(lines))
    several = [{"a": a, "kind": "rgb"[int(2 * a) % 3]} for a in x[:, 0].tolist()]
    made["several"].write_text("".join(json.dumps(one) + "\n" for one in several))
    made["numbers"].write_text("a,b,price\n" + "".join(f"{a},{b},{a - b:.3f}\n" for a, b in x))
    words = "".join(
        f"{1 if a > 0 else -1} {1 + k % 3} 't{k} |w p{k % 5} q\n" for k, (a, _) in enumerate(x)
    )
    made["hashed"].write_text(words)
    made["svm"].write_text(svmlight(ROWS))
    made["text"].write_text(
        "day,note,y\n"
        + "".join(f"2024-01-{1 + k % 28:02d},a b{k % 4},{k % 2}\n" for k in range(ROWS))
    )
    made["huge"].write_text("a,y\n" + "".join(f"1e60,{k}\n" for k in range(1, 7)))
    return made


LEARN: dict[str, tuple[str, ...]] = {
    "two, held out, shuffled": (
        "--rate", "scale-free", "--holdout", "0.3", "--shuffle", "3", "--passes", "2",
    ),
    "two, averaged": ("--rate", "adaptive", "--average", "--mirror", "p-norm:3"),
    "two, grid": ("--rate", "grid"),
    "two, mixture": (),
    "two, scale-free": ("--rate", "scale-free"),
    "numbers, mixture": ("--loss", "squared"),
    "hashed, mixture": ("--bits", "9"),
    "two, ascent": ("--loss", "hinge", "--update", "exact", "-C", "0.3"),
    "two, interactions": (
        "--rate", "scale-free", "-q", "a*b", "--ignore", "c", "--missing", "refuse",
    ),
    "several": ("--multiclass", "--target", "kind", "--rate", "scale-free"),
    "several, mixture": (
        "--multiclass", "--target", "kind", "--holdout", "5", "--passes", "2",
    ),
    "several, hinge": ("--loss", "multiclass-hinge", "--target", "kind", "--holdout", "5"),
    "numbers": ("--loss", "squared", "--rate", "scale-free"),
    "numbers, penalised": ("--loss", "huber", "--rate", "strongly-convex"),
    "hashed": (
        "--rate", "scale-free", "-q", "ww", "--remember", "9", "--id", "tag", "--bits", "9",
    ),
    "svm": ("--mirror", "signed-entropy", "--radius", "2", "--features", "5"),
    "text": (
        "--rate", "scale-free", "--text", "note", "--ngram", "2", "--bits", "9", "--target", "-1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEARN)
def test_a_run_and_its_model(name: str, files: dict[str, Path], tmp_path: Path, call: Call) -> None:
    path, model = files[name.partition(",")[0]], tmp_path / "m.nr"
    learnt = call("learn", path, *LEARN[name], "--save", model, "--json")
    assert learnt.returncode == 0, learnt.stderr
    told = checked("learn", learnt.stdout)
    assert told["saved"]["last"]["examples"] == told["saved"]["progressive"]["examples"] > 0
    assert (told["saved"]["average"] is not None) == ("averaged" in name)
    assert ("repeat_error" in told["metrics"]) == ("numbers" not in name)
    shown = checked("inspect", call("inspect", model, "--top", "3", "--json").stdout)
    # The model knows of the run what the run has told, in the same words.
    shared = set(told) & set(shown)
    assert (shown["weights_of"] is not None) == ("mixture" in name)
    assert len(shared) == 16 and all(told[key] == shown[key] for key in shared)
    out = tmp_path / "made.txt"
    found = checked("predict", call("predict", model, path, "--out", out, "--json").stdout)
    assert found["examples"] == len(out.read_text().splitlines()) == ROWS
    checked("explain", call("explain", model, path, "--rows", "2,4-5", "--json").stdout)
    audited = call("audit", model, "--json")
    told = checked("audit", audited.stdout)
    assert audited.returncode == 0 and told["holds"] is True
    assert told["passed"] == sum(one["holds"] is True for one in told["statements"])
    assert any(one["stated"] is not None and one["found"] is not None for one in told["statements"])


def test_other_commands(files: dict[str, Path], tmp_path: Path, call: Call) -> None:
    made = tmp_path / "made.txt"
    made.write_text("0.5\n" * ROWS)
    runs = {
        "compare": ("compare", files["two"]),
        "compare, several": ("compare", files["several"], "--multiclass", "--target", "kind"),
        "certify": ("certify", made, files["two"], "--class-radius", "1", "--class-radius", "3"),
        "hindsight": ("hindsight", files["two"], "--class-radius", "1"),
        "hindsight, hashed": ("hindsight", files["hashed"], "--l2", "1", "--top", "2", *BITS),
        "plan": ("plan", files["two"], "--workers", "2", "--shards", "4"),
        "plan, wide": ("plan", files["hashed"], "--loss", "hinge"),
        "drift": ("drift", files["two"], "--class-radius", "1", "--window", str(ROWS // 3)),
        "convert": ("convert", files["numbers"], "--out", tmp_path / "c.arrow"),
        "list, losses": ("list", "losses"),
        "list, learners": ("list", "learners"),
        "warmup": ("warmup", "default"),
    }
    for name, arguments in runs.items():
        run = call(*arguments, "--json")
        assert run.returncode == 0, (name, run.stderr)
        told = checked(name.partition(",")[0], run.stdout)
        if name == "certify":
            assert [one["radius"] for one in told["floors"]] == [1.0, 3.0]


@pytest.mark.usefixtures("one_picture")
def test_commands_that_draw(files: dict[str, Path], tmp_path: Path, call: Call) -> None:
    pytest.importorskip("matplotlib")
    model, page = tmp_path / "m.nr", tmp_path / "page.html"
    assert call("learn", files["two"], "--save", model, "--quiet").returncode == 0
    told = checked("report", call("report", model, "--out", page, "--json").stdout)
    assert told["page"] == str(page) and all(Path(name).is_file() for name in told["pictures"])
    pytest.importorskip("sklearn")
    picture = tmp_path / "demo.png"
    told = checked("demo", call("demo", "--out", picture, "--json").stdout)
    assert told["progress"][-1]["rounds"] == 1797 and picture.is_file()


def test_a_learner_that_diverges(files: dict[str, Path], call: Call) -> None:
    run = call(
        "compare", files["huge"], "--loss", "squared", "-l", "ogd:eta=1", "-l", "default", "--json"
    )
    told = checked("compare", run.stdout)
    assert [bool(one["failure"]) for one in told["learners"]] == [True, False]


def test_predictions_on_stdout_leave_json_to_stderr(
    files: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    model = tmp_path / "m.nr"
    run = call("learn", files["svm"], "--save", model, "-p", "-", "--json")
    checked("learn", run.stderr)
    assert len(run.stdout.split()) == ROWS
    run = call("predict", model, files["svm"], "--json")
    checked("predict", run.stderr)
    assert len(run.stdout.split()) == ROWS


def _objects(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if part.get("type") == "object":
            yield part
        for inner in part.values():
            yield from _objects(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _objects(inner)


def test_the_schema_names_every_key_of_every_command() -> None:
    meta.validate(SCHEMA)
    assert set(COMMANDS) <= set(SCHEMA["$defs"])
    for name in COMMANDS:
        assert "as_json" in {one.name for one in options_of(name)}, name
    objects = list(_objects(SCHEMA))
    assert len(objects) > 25
    for one in objects:
        assert one["additionalProperties"] is False and set(one["required"]) <= {*one["properties"]}
        assert all(_IDENTIFIER.fullmatch(key) for key in one["properties"])
    assert set(SCHEMA["$defs"]["options"]["properties"]) == {one.name for one in fields(Spec)}
    # Labels and bad lines are told by keys of their own.
    known = {one.name for one in fields(Reading)} - {"labels", "on_error"}
    assert set(SCHEMA["$defs"]["reading"]["properties"]) == known


def test_a_key_that_the_schema_does_not_name_is_found() -> None:
    good = {"model": "m", "page": "p", "pictures": []}
    checked("report", json.dumps(good) + "\n")
    for bad in ({**good, "more": 1}, {**good, "pictures": "none"}, {"model": "m"}):
        with pytest.raises(AssertionError):
            checked("report", json.dumps(bad) + "\n")
