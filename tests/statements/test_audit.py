"""`noregret audit` judges a model by all that it has learnt, or says that it cannot."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret.runs.record import CLASSES, load
from noregret.runs.verdicts import Verdict
from tests.cli.program import ROOT, Call, svmlight
from tests.sizes import sized

HELD = "statements that could be checked hold"


def _holds(run: Any, rounds: int) -> None:
    """Require that every statement was checked, holds, and that all rounds were replayed."""
    assert run.returncode == 0, run.stdout + run.stderr
    statements = json.loads(run.stdout)["statements"]
    assert [entry for entry in statements if entry["holds"]]
    assert not [entry for entry in statements if entry["holds"] is False]
    assert not [entry for entry in statements if entry["holds"] is None and entry["applies"]]
    replayed = next(entry for entry in statements if "to the last bit" in entry["statement"])
    assert f"{rounds:,} rounds and a loss of" in replayed["detail"]


def _not_checked(run: Any, reason: str) -> None:
    assert run.returncode == 3, run.stdout + run.stderr
    told = " ".join(run.stdout.split())
    assert "not checked: " in told and reason in told, told
    assert "nothing could be checked" in told and "PASS" not in told and "FAIL" not in told


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((), ()),
        (("--passes", "2"), ("--holdout", "5")),
        (("--holdout", "4", "--class-radius", "2"), ("--passes", "3", "--class-radius", "5")),
        (("--loss", "hinge", "--update", "exact"), ()),
        (("--rate", "grid"), ()),
        (("--rate", "coin-betting"), ("--passes", "2")),
    ],
    ids=str,
)
def test_a_resumed_model_is_replayed_from_its_first_example(
    tmp_path: Path, call: Call, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    a, b, model = tmp_path / "a.svm", tmp_path / "b.svm", tmp_path / "m.nr"
    a.write_text(svmlight(sized(20, 70)))
    b.write_text(svmlight(sized(15, 50), seed=3))
    assert call("learn", a, *first, "--save", model, "--quiet").returncode == 0
    for path in (b, a):
        again = call("learn", path, *second, "--resume", model, "--save", model, "--quiet")
        assert again.returncode == 0, again.stderr
    learner, record = load(model)
    assert [one.files for one in record.inputs] == [[str(a)], [str(b)], [str(a)]]
    # With the files named, too: `test_models_of_several_classes_are_audited` always does that.
    for files in sized([()], [(), (a, b)]):
        _holds(call("audit", model, *files, "--json"), learner.rounds)


def test_the_commands_of_the_readme(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third command resumes the model: the second one must still hold after it."""
    monkeypatch.chdir(tmp_path)
    count = sized(30, 120)
    (tmp_path / "digits.svm").write_text(svmlight(count))
    lines = (ROOT / "README.md").read_text().splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("noregret ")]
    learn, audit, resume = (
        next(one for one in commands if one[:2] == [name, "digits.svm"] and option in one)
        if name == "learn"
        else next(one for one in commands if one[0] == name)
        for name, option in (("learn", "--report"), ("audit", ""), ("learn", "--resume"))
    )
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert call(*learn).returncode == 0
    assert call(*audit).returncode == 0
    assert call(*resume).returncode == 0
    run = call(*audit)
    assert run.returncode == 0 and HELD in run.stdout, run.stdout + run.stderr
    assert f"{2 * count} rounds and a loss of" in " ".join(run.stdout.split())


def test_lines_that_were_skipped_are_skipped_again(tmp_path: Path, call: Call) -> None:
    path, model = tmp_path / "a.svm", tmp_path / "m.nr"
    count = sized(30, 60)
    lines = svmlight(count).splitlines(keepends=True)
    path.write_text("".join([*lines[:20], "not an example\n", *lines[20:]]))
    skip = ("--on-error", "skip", "--save", model, "--quiet")
    assert call("learn", path, *skip).returncode == 0
    assert call("learn", path, "--resume", model, *skip).returncode == 0
    _holds(call("audit", model, "--json"), 2 * count)
    # More examples come, and the run goes on where it was: over the same bad line.
    path.write_text(path.read_text() + svmlight(count // 2, seed=4))
    same = ("--resume", model, "--same-input", "--save", model, "--quiet")
    run = call("learn", path, *same)
    assert run.returncode == 0, run.stderr
    _holds(call("audit", model, "--json"), 2 * count + count // 2)
    # A line of the first half that is mended was not learnt.
    path.write_text(path.read_text().replace("not an example", "1 1:0.5"))
    _not_checked(call("audit", model), "are not those that were learnt: it changed since")


def test_a_file_that_has_grown_since_is_the_same_input(tmp_path: Path, call: Call) -> None:
    path, model = tmp_path / "a.svm", tmp_path / "m.nr"
    text = svmlight(90)
    path.write_text("".join(text.splitlines(keepends=True)[:40]))
    assert call("learn", path, "--passes", "2", "--save", model, "--quiet").returncode == 0
    path.write_text(text)
    same = ("--resume", model, "--same-input", "--save", model, "--quiet")
    assert call("learn", path, *same, "--passes", "2", "--class-radius", "3").returncode == 0
    path.write_text(text + svmlight(5, seed=2))
    # Forty examples in the first pass, ninety in the second.
    _holds(call("audit", model, "--json"), 130)


def test_what_cannot_be_read_again_is_not_checked(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, model = tmp_path / "a.svm", tmp_path / "b.svm", tmp_path / "m.nr"
    a.write_text(svmlight(40))
    b.write_text(svmlight(30, seed=3))
    piped = io.TextIOWrapper(io.BytesIO(b.read_bytes()))
    monkeypatch.setattr(sys, "stdin", piped)
    assert call("learn", a, "--save", model, "--quiet").returncode == 0
    run = call("learn", "-", "--format", "svmlight", "--resume", model, "--save", model, "--quiet")
    assert run.returncode == 0, run.stderr
    _not_checked(call("audit", model), "learnt from standard input, which cannot be read again")
    _holds(call("audit", model, a, b, "--json"), 70)
    # One value of one feature: labels, length and number of lines stay the same.
    before = a.read_text()
    first = re.search(r"1:(-?\d)", before)
    assert first is not None
    digit = str((int(first[1][-1]) + 1) % 10)
    a.write_text(before[: first.end() - 1] + digit + before[first.end() :])
    assert a.stat().st_size == len(before)
    run = call("audit", model, a, b)
    _not_checked(run, "its first 40 examples are not those that were learnt: it changed since")
    a.unlink()
    b.unlink()
    (tmp_path / "c.svm").write_text(before)
    assert call("learn", tmp_path / "c.svm", "--save", model, "--quiet").returncode == 0
    (tmp_path / "c.svm").unlink()
    _not_checked(call("audit", model), "it was learnt and is gone")


def test_a_model_is_found_beside_its_file(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    (work / "a.svm").write_text(svmlight(40))
    monkeypatch.chdir(work)
    assert call("learn", "*.svm", "--save", "m.nr", "--quiet").returncode == 0
    monkeypatch.chdir(other)
    _holds(call("audit", work / "m.nr", "--json"), 40)


@pytest.mark.each_value
@pytest.mark.parametrize("loss", ["softmax", "one-against-rest:hinge", "multiclass-hinge"])
@pytest.mark.parametrize("more", [(), ("--mirror", "ball", "--radius", "2")], ids=str)
def test_models_of_several_classes_are_audited(
    tmp_path: Path, call: Call, loss: str, more: tuple[str, ...]
) -> None:
    rng, count = np.random.default_rng(5), sized(15, 50)
    a, b, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m.nr"
    for path, names in ((a, "xy"), (b, "xyz")):
        rows = [
            f"{rng.normal():.3f},{rng.normal():.3f},{rng.choice([*names])}" for _ in range(count)
        ]
        path.write_text("\n".join(["p,q,label", *rows]) + "\n")
    saved = ("--save", model, "--quiet")
    # A ball must know its classes in advance; elsewhere the third one appears on the way.
    known = ("--classes", "3") if more else ("--multiclass",)
    assert call("learn", a, *known, "--loss", loss, *more, "--passes", "2", *saved).returncode == 0
    assert call("learn", b, "--resume", model, "--holdout", "5", *saved).returncode == 0
    assert load(model)[1].current.label_rule == CLASSES
    # Two passes over the first file; of the second, every fifth example is held out.
    rounds = 3 * count - count // 5
    _holds(call("audit", model, "--json"), rounds)
    _holds(call("audit", model, a, b, "--json"), rounds)


@pytest.mark.parametrize(
    ("lie", "exposed"),
    [
        ({"LOSS": -5.0}, "its loss is what its predictions lost"),
        ({"INTERCEPT": 90.0}, "lost at least"),
    ],
)
def test_a_model_of_several_classes_that_lies_is_exposed(
    tmp_path: Path, call: Call, lie: dict[str, float], exposed: str
) -> None:
    from noregret.files import store
    from noregret.proof.ledger import Entry

    path, model, count = tmp_path / "a.svm", tmp_path / "m.nr", sized(20, 80)
    path.write_text(svmlight(count))
    assert call("learn", path, "--multiclass", "--save", model, "--quiet").returncode == 0
    _holds(call("audit", model, "--json"), count)
    header, arrays = store.read(model)
    for name, change in lie.items():
        arrays["ledger"][Entry[name]] += change
    store.write(model, header, arrays)
    run = call("audit", model, "--json")
    assert run.returncode == 1
    false = [e["statement"] for e in json.loads(run.stdout)["statements"] if e["holds"] is False]
    assert any(exposed in statement for statement in false), false


def test_the_exit_codes_are_in_the_help(call: Call) -> None:
    told = " ".join(call("audit", "--help").stdout.replace("│", " ").split())
    assert "Exit codes: 0 all statements hold; 1 one is false; 3 none is false" in told


def test_a_comparison_of_numpy_is_a_verdict() -> None:
    """`holds is False` decides the exit code; numpy's False is another object."""
    assert Verdict("a floor", np.bool_(False), "").holds is False
    assert Verdict("a floor", np.bool_(True), "").holds is True
    assert Verdict("a floor", None, "").holds is None


def test_all_verdicts_of_several_classes_are_counted(tmp_path: Path, call: Call) -> None:
    (tmp_path / "a.csv").write_text("y,a,b\nr,0.5,1.0\ng,0.25,-1\nb,1,0.125\nr,0.1,0.2\n")
    model = tmp_path / "m.nr"
    learnt = call("learn", tmp_path / "a.csv", "--multiclass", "--save", model, "--quiet")
    assert learnt.returncode == 0
    run = call("audit", model)
    passed = sum(line.startswith("PASS") for line in run.stdout.splitlines())
    assert run.returncode == 0 and passed > 4
    assert f"all {passed} statements that could be checked hold" in run.stdout
