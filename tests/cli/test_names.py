"""Names from outside: nothing in them is markup, reaches the terminal as a command, or is lost."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from noregret.visible import escaped, visible
from tests.cli.program import Call, noregret, svmlight
from tests.sizes import sized

#: What rich would take for markup or an emoji, what a terminal would obey, what would break a
#: line in two, and what matplotlib would take for mathematics.
HOSTILE = (
    "[/bold]",
    "[red]",
    "a[/b]",
    ":warning:",
    "\x1b[2Jclear",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnp",
    "two\nlines",
    "back\rtab\tspace\x08",
    r"$\frac$",
    "back\\slash",
)
#: Tabs separate the cells of a record; those of a name are written `\\t`.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _table(path: Path, classes: tuple[str, ...], columns: tuple[str, ...], rows: int = 120) -> Path:
    generator = np.random.default_rng(3)
    lines = []
    for row in range(rows):
        values = generator.standard_normal(len(columns)).round(3)
        values[row % len(classes) % len(columns)] += 2.0
        named = dict(zip(columns, values.tolist(), strict=True))
        lines.append(json.dumps(named | {"class": classes[row % len(classes)]}) + "\n")
    path.write_text("".join(lines))
    return path


def _harmless(text: str) -> None:
    assert _OBEYED.search(text) is None, repr(text)


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "d[" / "\x1b[7m[/dim]\u202e"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.usefixtures("one_picture")
def test_every_command_prints_several_classes_by_their_names(
    hostile_folder: Path, call: Call
) -> None:
    table = _table(hostile_folder / "x]\n.jsonl", HOSTILE, HOSTILE, sized(36, 120))
    model, page = hostile_folder / "m[b].nr", hostile_folder / "r[i].html"
    runs = {
        "learn": call("learn", table, "--multiclass", "--save", model),
        "compare": call("compare", table, "--multiclass", "-l", "softmax"),
        "inspect": call("inspect", model, "--top", "12"),
        "report": call("report", model, "--out", page),
        "bad model": call("predict", table, table),
    }
    for name, run in runs.items():
        assert run.returncode == (2 if name == "bad model" else 0), (name, run.stderr)
        _harmless(run.stdout)
        _harmless(run.stderr)
        shown = run.stdout.replace("\n", "") if name == "learn" else run.stdout
        shown += run.stderr
        if name not in ("inspect",):
            # Long lines are broken between words and inside them, never changed.
            assert "[7m[/dim]" in shown.replace("\n", "")
    told = runs["inspect"].stdout
    for name in HOSTILE:
        assert re.search(rf"^{re.escape(visible(name))}\t\S", told, re.MULTILINE)
        assert re.search(rf"\t{re.escape(visible(name))}\t[-+]", told)
    listed = runs["learn"].stdout.replace("\n", "").replace(" ", "")
    assert ",".join(visible(name) for name in HOSTILE).replace(" ", "") in listed
    html = page.read_text(encoding="utf-8")
    _harmless(html)
    exact = json.loads(call("inspect", model, "--json").stdout)
    assert [one["label"] for one in exact["labels"]] == list(HOSTILE)
    assert {one["name"] for one in exact["top"]} <= {*HOSTILE, "intercept"}
    assert {one["class"] for one in exact["top"]} == set(HOSTILE)


def test_every_command_prints_two_classes_by_their_names(hostile_folder: Path, call: Call) -> None:
    two = ("[red]", "\x1b[31m[/b]")
    table = _table(hostile_folder / "fold[train].jsonl", two, HOSTILE, sized(30, 120))
    model, out = hostile_folder / "m.nr", hostile_folder / "out[i].txt"
    labels = ["--classes-as", f"{two[0]},{two[1]}"]
    runs = [
        call("learn", table, "--save", model),
        call("compare", table, "-l", "default", "-l", "pa"),
        call("inspect", model),
        call("predict", model, table, "--out", out),
        call("certify", out, table),
        call("audit", model, table),
        call("hindsight", table, "--class-radius", "1"),
        call("drift", table, "--class-radius", "1"),
        call("convert", table, *labels, "-o", hostile_folder / "c[d].arrow"),
        call("learn", table, "--target", "[/nothing]\x1b"),
    ]
    for run in runs:
        _harmless(run.stdout)
        _harmless(run.stderr)
    assert [run.returncode for run in runs] == [0] * 9 + [2], [run.stderr for run in runs]
    for run, name in zip(
        runs,
        ("fold[train].jsonl", "fold[train].jsonl", "m.nr", "", "out[i].txt", "fold[train].jsonl",
         "fold[train].jsonl", "fold[train].jsonl", "c[d].arrow", "[/nothing]\\x1b"),
        strict=True,
    ):  # fmt: skip
        assert name in (run.stdout + run.stderr).replace("\n", "")
    title = runs[0].stdout.replace("\n", "")
    assert "\\x1b[31m[/b] → -1" in title and "[red] → +1" in title


def test_a_class_is_one_line_of_predictions_and_can_be_recovered(
    tmp_path: Path, call: Call
) -> None:
    table = _table(tmp_path / "t.jsonl", HOSTILE, HOSTILE)
    model, out = tmp_path / "m.nr", tmp_path / "out.txt"
    first = call("learn", table, "--multiclass", "--save", model, "-p", out, "--quiet")
    assert first.returncode == 0, first.stderr
    made = out.read_bytes().decode().split("\n")
    assert len(made) == 121 and set(made) - {"?", ""} <= {*map(escaped, HOSTILE)}
    assert call("predict", model, table, "--quiet", "--out", out).returncode == 0
    lines = out.read_bytes().decode().split("\n")
    assert len(lines) == 121 and lines.pop() == ""
    # Recovered as docs/command-line.md says.
    found = {re.sub(r"\\(\\|x..|u....|.)", lambda e: _character(e[1]), line) for line in lines}
    assert len(found) > 6 and found <= set(HOSTILE)
    assert call("predict", model, table, "--as", "score", "--out", out).returncode == 0
    scores = out.read_bytes().decode().split("\n")
    assert len(scores) == 122 and {line.count("\t") for line in scores[:-1]} == {11}
    assert next(csv.reader([scores[0]], "excel-tab")) == [*map(escaped, HOSTILE)]


def _character(code: str) -> str:
    if code[0] in "xu" and len(code) > 1:
        return chr(int(code[1:], 16))
    return {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}[code]


def test_two_classes_are_one_line_each(tmp_path: Path, call: Call) -> None:
    table = _table(tmp_path / "t.jsonl", ("a\nb", "c\\"), ("x", "y"))
    model = tmp_path / "m.nr"
    assert call("learn", table, "--rate", "scale-free", "--save", model, "--quiet").returncode == 0
    run = call("predict", model, table, "--as", "label", "--quiet")
    assert run.returncode == 0 and run.stdout.count("\n") == 120
    assert set(run.stdout.split()) == {"a\\nb", "c\\\\"}


def test_a_file_name_that_is_not_utf_8_is_taken_from_the_command_line(tmp_path: Path) -> None:
    path, model = os.fsencode(tmp_path) + b"/caf\xe9.svm", os.fsencode(tmp_path) + b"/m\xff.nr"
    Path(os.fsdecode(path)).write_text(svmlight(50))
    run = noregret("learn", os.fsdecode(path), "--save", os.fsdecode(model), text=False)
    assert run.returncode == 0, run.stderr.decode()
    assert b"caf\\udce9.svm" in run.stdout.replace(b"\n", b"")
    assert Path(os.fsdecode(model)).exists()


@pytest.mark.usefixtures("one_picture")
def test_a_file_name_that_is_not_utf_8_is_read_reported_and_remembered(
    tmp_path: Path, call: Call
) -> None:
    path, model, out = (f"{tmp_path}/{name}" for name in ("caf\udce9.svm", "m\udcff.nr", "p\udcff"))
    Path(path).write_text(svmlight(50))
    page = tmp_path / "r.html"
    run = call("learn", path, "--save", model, "--report", page, "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["input"] == path
    assert "caf\\udce9.svm" in page.read_text(encoding="utf-8")
    for command in (
        ["inspect", model],
        ["report", model, "--out", page],
        ["predict", model, path, "--out", out],
        ["audit", model, path],
        ["compare", path, "-l", "default"],
        ["learn", path, "--resume", model, "--same-input", "--save", model],
    ):
        run = call(*command)
        assert run.returncode == 0, (command, run.stderr)
    exact = json.loads(call("inspect", model, "--json").stdout)
    assert exact["inputs"] == [path] and exact["model"] == model


def test_no_command_prints_but_through_the_plain_console() -> None:
    """Who makes a console of his own, or writes markup, has names read as markup again."""
    import noregret.cli

    for path in Path(noregret.cli.__path__[0]).glob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name != "visible.py":
            assert "Console()" not in text and "from_markup" not in text, path
            assert not re.search(r"\[/(bold|dim|green|cyan|red|bold red)\]", text), path
