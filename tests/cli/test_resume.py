"""Runs that are cut, saved, interrupted or killed, and go on as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import noregret as nr
from noregret.runs.record import load
from tests.cli.program import ENVIRONMENT, Call, start, svmlight
from tests.sizes import sized

TEMPORARY = ".noregret-*.tmp"

KINDS = (
    (),
    ("--rate", "per-coordinate"),
    ("--mirror", "ball", "--radius", "2", "--class-radius", "2", "--holdout", "5"),
    ("--loss", "hinge", "--update", "exact"),
    ("--loss", "hinge", "--update", "window", "-k", "3"),
    ("--passes", "2"),
)


@pytest.mark.parametrize("options", KINDS, ids=" ".join)
def test_resuming_the_same_input_equals_the_unbroken_run_to_the_bit(
    tmp_path: Path, call: Call, options: tuple[str, ...]
) -> None:
    text = svmlight(sized(40, 150))
    path, cut, whole = tmp_path / "log.svm", tmp_path / "cut.nr", tmp_path / "whole.nr"
    path.write_text(text)
    unbroken = call("learn", path, *options, "--save", whole, "--json")
    # The file grows between the runs; only whole passes of it make sense then.
    path.write_text("".join(text.splitlines(keepends=True)[: sized(19, 70)]))
    once = tuple(option for option in options if option not in ("--passes", "2"))
    first = call("learn", path, *(once if "--passes" in options else options), "--save", cut)
    assert first.returncode == 0, first.stderr
    path.write_text(text)
    again = [option for option in ("--passes", "2") if "--passes" in options]
    second = call("learn", path, "--resume", cut, "--same-input", "--save", cut, "--json", *again)
    assert second.returncode == 0, second.stderr
    a, b = nr.load(whole), nr.load(cut)
    assert a.rounds == b.rounds
    assert a.certificate().ledger.tobytes() == b.certificate().ledger.tobytes()
    for name in ("certificate", "metrics", "labels"):
        assert json.loads(unbroken.stdout)[name] == json.loads(second.stdout)[name]
    if "--holdout" in options:
        # Held-out examples are predicted with the weights at the last cut.
        assert a.weights.tobytes() == b.weights.tobytes()
    else:
        assert whole.read_bytes() == cut.read_bytes()


def test_resuming_with_new_data_goes_on(tmp_path: Path, call: Call) -> None:
    text = svmlight(sized(30, 100)).splitlines(keepends=True)
    first, second, both = (tmp_path / f"{name}.svm" for name in ("first", "second", "both"))
    cut = sized(12, 40)
    first.write_text("".join(text[:cut]))
    second.write_text("".join(text[cut:]))
    both.write_text("".join(text))
    model = tmp_path / "m.nr"
    call("learn", first, "--save", model)
    run = call("learn", second, "--resume", model, "--save", model, "--json")
    assert run.returncode == 0, run.stderr
    together = json.loads(call("learn", both, "--json").stdout)
    assert json.loads(run.stdout)["certificate"] == together["certificate"]
    assert json.loads(run.stdout)["metrics"] == together["metrics"]
    for files in ((), (first, second), (second, first)):
        audited = call("audit", model, *files)
        assert audited.returncode == 0, audited.stdout + audited.stderr
        assert "FAIL" not in audited.stdout and "statements that could be checked hold" in (
            audited.stdout
        )
    audited = call("audit", model, both)
    assert audited.returncode == 2 and f"was learnt from {first}, {second}" in audited.stderr


def test_another_input_is_not_taken_for_the_same(tmp_path: Path, call: Call) -> None:
    path, model = tmp_path / "a.svm", tmp_path / "m.nr"
    path.write_text(svmlight(60))
    call("learn", path, "--save", model)
    before = model.read_bytes()
    path.write_text(svmlight(60, seed=8))
    run = call("learn", path, "--resume", model, "--same-input", "--save", model)
    assert run.returncode == 2 and "not the same input" in run.stderr
    path.write_text(svmlight(30))
    run = call("learn", path, "--resume", model, "--same-input", "--save", model)
    assert run.returncode == 2 and "holds 30 examples, and the model has seen 60" in run.stderr
    assert model.read_bytes() == before


def test_nothing_new_is_no_error(tmp_path: Path, call: Call) -> None:
    path, model = tmp_path / "a.svm", tmp_path / "m.nr"
    path.write_text(svmlight(64))
    call("learn", path, "--save", model)
    before = model.read_bytes()
    run = call("learn", path, "--resume", model, "--same-input", "--save", model)
    assert run.returncode == 0 and "Certificate after 64 rounds" in run.stdout
    assert model.read_bytes() == before


def test_save_every_leaves_a_model_that_remembers_where_it_was(tmp_path: Path, call: Call) -> None:
    path, model = tmp_path / "a.svm", tmp_path / "m.nr"
    path.write_text(svmlight(100) + "broken\n")
    run = call("learn", path, "--save", model, "--save-every", "30")
    assert run.returncode == 2 and "line 101" in run.stderr
    learner, record = load(model)
    assert learner.rounds == record.position.examples == 90


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_run_saves_and_prints_what_is_proved(
    tmp_path: Path, call: Call, number: int, code: int
) -> None:
    text, model, path = svmlight(3000), tmp_path / "m.nr", tmp_path / "a.svm"
    path.write_text(text)
    run = start(
        "learn", "-", "--format", "svmlight", "--save", model, "--save-every", "1000",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stdin is not None and run.stdout is not None and run.stderr is not None
    # More than a kilobyte of a line is held back, so that the run waits in the middle.
    run.stdin.write(text.encode()[:-1000])
    run.stdin.flush()
    shown = b""
    while b"\n2,048\t" not in shown:
        line = run.stdout.readline()
        assert line, run.stderr.read().decode()
        shown += line
    run.send_signal(number)
    out, err = run.stdout.read(), run.stderr.read()
    assert run.wait() == code, err.decode()
    run.stdin.close()
    assert b"Certificate after" in out and b"interrupted" in err
    seen = _rounds(model)
    assert 2000 <= seen < 3000
    resumed = call("learn", path, "--resume", model, "--same-input", "--json")
    assert resumed.returncode == 0, resumed.stderr
    whole = json.loads(call("learn", path, "--json").stdout)
    assert json.loads(resumed.stdout)["progress"] == whole["progress"]
    assert json.loads(resumed.stdout)["certificate"] == whole["certificate"]


def _rounds(model: Path) -> int:
    return nr.load(model).rounds


#: The program, which kills itself: within its n-th save of the model, when the new file is there
#: and has not taken its name, or any number of calls of functions after it.
KILLED = """
import os, random, signal, sys
kind, random_number, model = sys.argv[1], random.Random(int(sys.argv[2])), sys.argv[3]
saves, calls = random_number.randrange(2, 6), random_number.randrange(1, 20_000)
replace = os.replace
def call(frame, event, argument):
    global calls
    calls -= 1
    if calls == 0:
        os.kill(os.getpid(), signal.SIGKILL)
def replaced(source, target):
    global saves
    saves -= str(target) == model
    if saves == 0 and kind == "within":
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
    if saves == 0:
        sys.setprofile(call)
os.replace = replaced
sys.argv = ["noregret", *sys.argv[4:]]
from noregret.cli.main import run
run()
"""


def _killed_often(folder: Path, kills: int, rows: int, seed: int) -> int:
    """Let a run that saves all the time be killed, again and again; then let it end.

    Returned is how often the moment was one within a save, which leaves a temporary file.
    """
    path, model, whole = folder / "a.svm", folder / "m.nr", folder / "whole.nr"
    # One far feature makes the model large: a save is many writes.
    path.write_text("1 400000:1\n" + svmlight(rows - 1))
    assert start("learn", path, "--save", whole, "--quiet", stdout=subprocess.DEVNULL).wait() == 0
    seen = within = 0
    for done in range(kills):
        kind = "within" if done % 2 == 0 else "anywhere"
        more = ["--resume", model, "--same-input"] if model.exists() else []
        run = subprocess.run(
            [
                sys.executable, "-c", KILLED, kind, str(seed + done), str(model),
                "learn", path, "--save", model, "--save-every", "7", "--quiet", *more,
            ],
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        assert run.returncode == -signal.SIGKILL
        left = list(folder.glob(TEMPORARY))
        # What the kill before this one left was removed by the first save after it.
        assert len(left) <= 1 and (kind == "anywhere" or left)
        within += len(left)
        rounds = _rounds(model)
        assert rounds > seen and rounds % 7 == 0
        seen = rounds
    final = start(
        "learn", path, "--resume", model, "--same-input", "--save", model, "--quiet",
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert final.wait() == 0
    assert model.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(folder)) == ["a.svm", "m.nr", "whole.nr"]
    print(f"{kills} kills, {within} of them within a save, {seen} rounds seen at the last one")
    return within


@pytest.mark.compiled
def test_a_killed_run_leaves_a_whole_model_and_resumes_exactly(tmp_path: Path) -> None:
    assert _killed_often(tmp_path, kills=4, rows=2000, seed=1) >= 2


@pytest.mark.soak
def test_a_run_killed_a_hundred_times_leaves_a_whole_model(tmp_path: Path) -> None:
    assert _killed_often(tmp_path, kills=100, rows=100_000, seed=2) >= 50
