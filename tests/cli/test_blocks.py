"""Floors by blocks of rows on the command line: higher, true, resumed to the bit, without rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.runs.record import load
from tests.cli.program import Call, svmlight
from tests.sizes import sized

ROWS = sized(40, 150)
KINDS = (
    (),
    ("--mirror", "ball", "--radius", "2", "--class-radius", "2"),
    ("--loss", "hinge", "--update", "exact"),
    ("--rate", "grid"),
    ("--rate", "scale-free"),
)


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "log.svm"
    path.write_text(svmlight(ROWS))
    return path


def learnt(call: Call, *arguments: object) -> Any:
    run = call("learn", *arguments, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("options", KINDS, ids=" ".join)
def test_blocks_raise_the_floor_and_change_nothing_else(
    stream: Path, call: Call, options: tuple[str, ...]
) -> None:
    radius = ("--class-radius", "2")
    given = (*options, *(radius if "--class-radius" not in options else ()))
    plain, raised = learnt(call, stream, *given), learnt(call, stream, *given, "--blocks")
    before, after = plain["certificate"], raised["certificate"]
    assert raised["metrics"] == plain["metrics"] and after["loss"] == before["loss"]
    assert after["floors"]["predictions"] == before["floor"] < after["floor"]
    assert after["floor"] == max(after["floors"].values()) <= after["loss"]
    assert after["regret_bound"] < before["regret_bound"]


@pytest.mark.parametrize("options", KINDS, ids=" ".join)
def test_audit_judges_the_floor_of_blocks(
    tmp_path: Path, stream: Path, call: Call, options: tuple[str, ...]
) -> None:
    model = tmp_path / "model.nr"
    learnt(call, stream, *options, "--blocks", "--save", model)
    run = call("audit", model, "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(run.stdout)
    floor = json.loads(call("inspect", model, "--json").stdout)["certificate"]["floors"]
    assert found["holds"] and floor["blocks of rows"] > floor["predictions"]
    stated = [one["stated"] for one in found["statements"] if "lost at least" in one["statement"]]
    assert max(floor.values()) in stated


def test_a_floor_of_blocks_that_is_too_high_is_found_out(
    tmp_path: Path, stream: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class of twice that size lost less: the audit says so."""
    model = tmp_path / "model.nr"
    learnt(call, stream, "--blocks", "--save", model)
    from noregret.proof.certificate import Certificate

    true_floors = Certificate.floors

    def higher(self: Certificate, *given: Any, **named: Any) -> Any:
        found = true_floors(self, *given, **named)
        return {name: 1.5 * floor for name, floor in found.items()}

    monkeypatch.setattr(Certificate, "floors", higher)
    monkeypatch.setattr(
        Certificate, "floor", lambda self, *given: max(higher(self, *given).values())
    )
    assert call("audit", model).returncode == 1


def test_inspect_prints_the_floor_that_learn_printed(
    tmp_path: Path, stream: Path, call: Call
) -> None:
    model = tmp_path / "model.nr"
    first = call("learn", stream, "--blocks", "--save", model).stdout
    again = call("inspect", model).stdout
    lines = [
        next(line for line in text.splitlines() if "certified floor" in line)
        for text in (first, again)
    ]
    assert lines[0] == lines[1] and lines[0].endswith("by lines at blocks of rows")


@pytest.mark.parametrize("options", KINDS, ids=" ".join)
def test_a_cut_run_goes_on_to_the_bit(
    tmp_path: Path, stream: Path, call: Call, options: tuple[str, ...]
) -> None:
    text, cut, whole = stream.read_text(), tmp_path / "cut.nr", tmp_path / "whole.nr"
    unbroken = learnt(call, stream, *options, "--blocks", "--save", whole)
    stream.write_text("".join(text.splitlines(keepends=True)[: ROWS // 2]))
    learnt(call, stream, *options, "--blocks", "--save", cut)
    stream.write_text(text)
    resumed = learnt(call, stream, "--resume", cut, "--same-input", "--save", cut)
    assert resumed["certificate"] == unbroken["certificate"]
    assert cut.read_bytes() == whole.read_bytes()


def test_a_rowless_file_holds_no_example_and_its_floor_holds(
    tmp_path: Path, stream: Path, call: Call
) -> None:
    rows, rowless = tmp_path / "rows.nr", tmp_path / "rowless.nr"
    alone = ("--rate", "scale-free", "--blocks")
    kept = learnt(call, stream, *alone, "--save", rows)
    closed = learnt(call, stream, *alone, "--rowless", "--save", rowless)
    held, none = nr.load(rows), nr.load(rowless)
    assert len(held._lines.pending) == ROWS and len(none._lines.pending) == 0
    assert none._lines.rounds == ROWS
    assert 0.0 < closed["certificate"]["floor"] <= kept["certificate"]["floor"] * (1.0 + 1e-9)
    assert call("audit", rowless).returncode == 0
    resumed = learnt(call, stream, "--resume", rowless, "--save", rowless)
    assert resumed["certificate"]["rounds"] == 2 * ROWS
    assert call("audit", rowless).returncode == 0


@pytest.mark.parametrize("rate", [(), ("--rate", "block-leader")], ids=["default", "leader"])
def test_the_default_learner_holds_rows_unless_told_not_to(
    tmp_path: Path, call: Call, rate: tuple[str, ...]
) -> None:
    first, second = tmp_path / "first.svm", tmp_path / "second.svm"
    for path, seed in ((first, 3), (second, 4)):
        path.write_text(svmlight(ROWS, seed=seed))
    rows, rowless = tmp_path / "rows.nr", tmp_path / "rowless.nr"
    learnt(call, first, *rate, "--save", rows)
    learnt(call, first, *rate, "--rowless", "--save", rowless)
    held = [
        [len(array) for name, array in _arrays(nr.load(path)) if name.endswith("held_rows")]
        for path in (rows, rowless)
    ]
    assert held == [[ROWS], [0]]
    # The leader of a block that ended is another one, and the audit knows.
    for path in (rows, rowless):
        assert call("audit", path).returncode == 0
        learnt(call, second, "--resume", path, "--save", path)
        assert call("audit", path).returncode == 0


def _arrays(learner: Any) -> Any:
    return learner._to_file()[1].items()


def test_an_audit_ends_blocks_where_saves_did(tmp_path: Path, stream: Path, call: Call) -> None:
    """Later floors depend on it: those of the table are compared with the replay's."""
    model = tmp_path / "model.nr"
    saves = ("--rowless", "--save", model, "--save-every", "7")
    learnt(call, stream, "--blocks", *saves)
    assert load(model)[1].closed == [*range(7, ROWS, 7), ROWS]
    assert call("audit", model).returncode == 0
    other = tmp_path / "more.svm"
    other.write_text(svmlight(ROWS, seed=8))
    learnt(call, other, "--resume", model, *saves[1:])
    run = call("audit", model)
    assert run.returncode == 0 and "every line of its table" in run.stdout


def test_several_classes(tmp_path: Path, call: Call) -> None:
    random, path = np.random.default_rng(1), tmp_path / "three.svm"
    x = random.normal(size=(ROWS, 2))
    label = np.argmax(x @ random.normal(size=(2, 3)), axis=1)
    lines = [f"{k} 1:{a:.3f} 2:{b:.3f}\n" for k, (a, b) in zip(label, x, strict=True)]
    path.write_text("".join(lines))
    given = path, "--multiclass", "--loss", "softmax", "--class-radius", "2"
    plain, raised = learnt(call, *given), learnt(call, *given, "--blocks")
    assert raised["certificate"]["floor"] > plain["certificate"]["floor"]
    assert raised["metrics"] == plain["metrics"]


def test_certify_tells_every_floor(tmp_path: Path, stream: Path, call: Call) -> None:
    predictions = tmp_path / "predictions.txt"
    predictions.write_text("0.1\n" * ROWS)
    radii = ("--class-radius", "0.5", "--class-radius", "2")
    given = ("certify", predictions, stream, *radii)
    plain = json.loads(call(*given, "--json").stdout)
    raised = json.loads(call(*given, "--blocks", "--json").stdout)
    for before, after in zip(plain["floors"], raised["floors"], strict=True):
        assert after["by"]["predictions"] == before["floor"] < after["floor"]
        assert after["floor"] == max(after["by"].values())
    assert "by lines at blocks of rows" in call(*given, "--blocks").stdout
