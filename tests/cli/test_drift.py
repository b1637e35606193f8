"""`noregret drift`: what the library proves, from files."""

from __future__ import annotations

import json
import time
from itertools import count
from os import terminal_size
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.runs import progress
from noregret.tracking.drift import drift_proof
from tests.cli.program import Call
from tests.sizes import sized

ROWS = sized(160, 400)


@pytest.fixture(scope="module")
def turning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples whose labels turn around twice."""
    random = np.random.default_rng(3)
    lines = ["kind,a,b"]
    for t in range(ROWS):
        a, b = random.normal(size=2).round(3)
        up = (a + 0.2 > 0) == (t // (3 * ROWS // 8) % 2 == 0)
        lines.append(f"{'up' if up else 'down'},{a},{b}")
    path = tmp_path_factory.mktemp("drift") / "turning.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


COMMON = ("--target", "kind", "--classes-as", "down,up", "--class-radius", "2")


def test_it_says_what_the_library_says(turning: Path, call: Call) -> None:
    (block,) = nr.read(turning, target="kind", labels=("down", "up"), constant=1.0)
    proof = drift_proof(block, block.y, radius=2.0)
    run = call("drift", turning, *COMMON)
    assert run.returncode == 0, run.stderr
    told = "labels down → -1, up → +1"
    assert run.stdout == f"{turning}: {ROWS} examples, Squared(), {told}\n{proof}\n"
    assert proof.proved and "Proved: no fixed predictor will do." in run.stdout
    found = json.loads(call("drift", turning, *COMMON, "--json").stdout)
    labels = [{"label": "down", "value": -1.0}, {"label": "up", "value": 1.0}]
    assert found == {"input": str(turning), "labels": labels, **proof.as_dict()}
    once = json.loads(call("drift", turning, *COMMON, "--json", "--one-pass").stdout)
    assert once["tracker_loss"] == pytest.approx(proof.tracker_loss)
    assert once["static_bound"] == pytest.approx(proof.static_bound)


def _written(path: Path, labels: list[str]) -> Path:
    path.write_text("y,a\n" + "".join(f"{y},{k % 7}\n" for k, y in enumerate(labels)))
    return path


@pytest.mark.parametrize("more", [(), ("--one-pass",)], ids=str)
def test_it_finds_two_classes_by_itself(tmp_path: Path, call: Call, more: tuple[str, ...]) -> None:
    def found(labels: list[str], *options: str) -> tuple[dict[str, float], float]:
        path = _written(tmp_path / "t.csv", labels)
        run = call("drift", path, "--class-radius", "1", "--json", *more, *options)
        assert run.returncode == 0, run.stderr
        told = json.loads(run.stdout)
        return {one["label"]: one["value"] for one in told["labels"]}, told["tracker_loss"]

    signs = found(["-1", "1"] * 20)
    assert signs[0] == {"-1": -1.0, "1": 1.0}
    for labels in (["no", "yes"], ["0", "1"], ["1", "2"]):
        assert found(labels * 20) == ({labels[0]: -1.0, labels[1]: 1.0}, signs[1])
    assert found(["-1", "1"] * 20, "--numbers") == ({}, signs[1])
    # Numbers, whether they say so at once, late, or by being one only.
    for numbers in (["3.5", "1", "0"], ["0", "1"] * 30 + ["2"], ["2"] * 5):
        assert found(numbers) == found(numbers, "--numbers") == ({}, found(numbers)[1])
    # A row that is skipped for its label would hide that there are more than two.
    assert found(["0", "1", "5"], "--on-error", "skip") == found(["0", "1", "5"])
    several = call("drift", _written(tmp_path / "t.csv", ["a", "b", "c"]), "--class-radius", "1")
    assert several.returncode == 2 and "--classes-as" in several.stderr


def test_other_losses(turning: Path, call: Call) -> None:
    run = call("drift", turning, *COMMON, "--loss", "hinge", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["loss"] == "Hinge(margin=1.0)"


def test_a_person_who_waits_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress.status, "PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    seconds = count()
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(seconds)))
    with progress.telling() as tell:
        tell("tracking, 8,192 examples")
    shown = capsys.readouterr().err
    assert "tracking, 8,192 examples" in shown and shown.endswith("\r\x1b[2K")
    with progress.silenced(True), progress.telling() as tell:
        tell("tracking, 8,192 examples")
    assert capsys.readouterr().err == ""


def test_a_log_is_told_that_code_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Lines that other tests have left behind look every two seconds: they end first.
    monkeypatch.setattr(progress, "_compiled", lambda: 0)
    monkeypatch.setattr(progress.status, "PATIENCE", 0.01)
    time.sleep(2.5)
    capsys.readouterr()
    for kernels in (3, 0):
        monkeypatch.setattr(progress, "_compiled", lambda kernels=kernels: kernels)
        with progress.telling() as tell:
            time.sleep(0.1)
            tell("tracking, 8,192 examples")
        assert ("compiling" in capsys.readouterr().err) == bool(kernels)
    monkeypatch.setattr(progress, "_compiled", lambda: 3)
    with progress.silenced(True), progress.telling():
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_a_person_is_told_what_is_compiled_and_that_it_happens_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    begun = [0]
    monkeypatch.setattr(progress, "_compiled", lambda: begun[0])
    monkeypatch.setattr(progress.status, "PATIENCE", 0.05)
    monkeypatch.setattr(progress.status.shutil, "get_terminal_size", lambda: terminal_size((99, 9)))
    line = progress.PassingLine(
        "waiting for the first examples", " of Hinge(), mixture of learners"
    )
    shown = ""
    told = ("a first run compiles for", "once: 1 kernel of", "once: 2 kernels of")
    for kernels, words in enumerate(told):
        begun[0] = kernels
        for _ in range(500):
            shown += capsys.readouterr().err
            if words in shown:
                break
            time.sleep(0.02)
    line.clear()
    assert "0 s; compiled for this machine, once: 2 kernels of Hinge()" in shown


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_of_the_windows(turning: Path, tmp_path: Path, call: Call, suffix: str) -> None:
    out = tmp_path / f"windows.{suffix}"
    run = call("drift", turning, *COMMON, "--window", str(ROWS // 5), "--picture", out)
    assert run.returncode == 0, run.stderr
    assert f"Windows of {ROWS // 5} rounds" in run.stdout and "of 17." in run.stdout
    begin = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert out.read_bytes().startswith(begin)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--picture", "a.png"), "--picture draws windows: say how long they are, --window N"),
        (("--window", "9", "--picture", "a.bmp"), "expected a name in .png, .svg, .pdf"),
        (("--window", "0"), "window must be a whole number >= 1, got 0"),
        (("--window", str(ROWS), "--picture", "a.png"), "at least two windows, got 1"),
        (("--class-radius", "0"), "radius must be a finite number above 0, got 0.0"),
        (("--one-pass", "--loss", "hinge"), "--one-pass keeps second moments, which hinge is not"),
    ],
)
def test_one_line_says_what_is_wrong(
    turning: Path, tmp_path: Path, call: Call, options: tuple[str, ...], words: str
) -> None:
    placed = [str(tmp_path / word) if word.startswith("a.") else word for word in options]
    run = call("drift", turning, *COMMON, *placed)
    assert run.returncode == 2 and words in run.stderr
    assert run.stderr.count("\n") == 1 and not list(tmp_path.iterdir())
