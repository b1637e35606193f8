"""What commands print: 80 columns on a terminal, whole records into a pipe, and honest remarks."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import noregret as nr
from noregret.cli.main import main
from tests.cli.program import ENVIRONMENT, RUN, Call
from tests.sizes import sized


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a long name and a feature of size a million, whose weight is tiny."""
    rng = random.Random(4)
    path = tmp_path_factory.mktemp("printing") / "visits.csv"
    lines = []
    for _ in range(200):
        x, income, city = rng.gauss(0, 1), rng.gauss(0, 1e6), rng.choice(["Bonn", "Oslo"])
        bought = x + income / 3e5 + (city == "Oslo") + rng.gauss(0, 0.5) > 0.5
        lines.append(f"{x:.3f},{income:.0f},{city},{'yes' if bought else 'no'}\n")
    name = "a_column_with_a_name_that_is_longer_than_half_of_a_terminal_of_eighty"
    path.write_text(f"{name},income,city,bought\n" + "".join(lines))
    return path


def _sorted(table: Path, folder: Path) -> Path:
    head, *lines = table.read_text().splitlines(keepends=True)
    path = folder / "sorted.csv"
    path.write_text(head + "".join(sorted(lines, key=lambda line: line.rsplit(",")[-1])))
    return path


def _terminal() -> tuple[int, int]:
    """Return the two ends of a terminal of 80 columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    return ours, theirs


def _drain(ours: int, shown: bytearray) -> None:
    """Read what is printed until the other end is closed."""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            # The other end is closed.
            break
        if not part:
            break
        shown += part
    os.close(ours)


def _lines(shown: bytes) -> list[str]:
    """Return what was shown, without colours."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode()).replace("\r", "").split("\n")


def _process_on_a_terminal(*arguments: object) -> list[str]:
    """Return the lines that a command prints on a terminal."""
    ours, theirs = _terminal()
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "COLUMNS"}
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=environment | {"TERM": "xterm"},
    )
    os.close(theirs)
    shown = bytearray()
    _drain(ours, shown)
    assert run.wait() == 0, shown.decode()
    return _lines(shown)


@contextmanager
def _standing_for(*standard: int, other: int) -> Iterator[None]:
    """Let another descriptor stand for standard ones."""
    kept = [os.dup(one) for one in standard]
    for one in standard:
        os.dup2(other, one)
    try:
        yield
    finally:
        for one, copy in zip(standard, kept, strict=True):
            os.dup2(copy, one)
            os.close(copy)


def _on_a_terminal(*arguments: object) -> list[str]:
    """Return the lines that a command prints on a terminal, run inside this process."""
    ours, theirs = _terminal()
    shown = bytearray()
    reading = Thread(target=_drain, args=(ours, shown))
    reading.start()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as leaving:
        patch.delenv("COLUMNS", raising=False)
        patch.setenv("NO_COLOR", "1")
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "argv", ["noregret", *map(str, arguments)])
        with _standing_for(0, 1, other=theirs), open(theirs, "w", encoding="utf-8") as stdout:
            patch.setattr(sys, "stdout", stdout)
            main()
    reading.join()
    assert leaving.value.code == 0, shown.decode()
    return _lines(shown)


def test_tables_and_certificates_fit_a_terminal(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.nr"
    lines = _process_on_a_terminal("learn", table, "--save", model)
    assert any(line.startswith("─") for line in lines) and max(map(len, lines)) <= 80
    for command in (
        ("inspect", model),
        ("audit", model),
        ("compare", table, "-l", "default", "-l", "pa"),
        ("explain", model, table),
        ("list", "losses"),
    ):
        lines = _on_a_terminal(*command)
        assert max(map(len, lines)) <= 80, command
        assert command[0] != "inspect" or any("█" in line for line in lines)


@pytest.mark.compiled
def test_a_pipe_gets_a_record_a_line(
    table: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "m.nr"
    learnt = call("learn", table, "--save", model)
    # The width of a terminal that is not there changes nothing.
    for width in ("80", "30"):
        monkeypatch.setenv("COLUMNS", width)
        assert call("learn", table, "--save", model).stdout == learnt.stdout
    for command in (
        ("inspect", model),
        ("audit", model),
        ("compare", table, "-l", "default", "-l", "pa"),
        ("explain", model, table, "--rows", "1"),
        ("list", "rates"),
        ("hindsight", table, "--class-radius", "1"),
    ):
        shown = call(*command).stdout
        lines = shown.splitlines()
        assert "█" not in shown and "─" not in shown
        assert [line for line in lines if line != line.rstrip()] == []
        assert any(line.count("\t") for line in lines), command
    records = [line.split("\t") for line in learnt.stdout.splitlines() if "\t" in line]
    assert records[0] == ["examples", "loss", "since last", "mistakes", "floor", "regret ≤"]
    assert {len(one) for one in records} == {6} and records[-1][0] == "200"


def test_the_largest_weights_are_those_that_move_predictions(
    table: Path, tmp_path: Path, call: Call
) -> None:
    model = tmp_path / "m.nr"
    assert call("learn", table, "--rate", "scale-free", "--save", model, "--quiet").returncode == 0
    top = json.loads(call("inspect", model, "--json").stdout)["top"]
    assert top[0]["name"] == "income" and abs(top[0]["weight"]) < 1e-3 < abs(top[0]["effect"])
    assert "weight × largest |x|" in call("inspect", model).stdout
    sizes = nr.open_model(model).learner.sizes
    assert top[0]["effect"] == top[0]["weight"] * sizes[top[0]["column"]]


def test_a_row_is_explained_by_what_its_features_add(
    table: Path, tmp_path: Path, call: Call
) -> None:
    model = tmp_path / "m.nr"
    assert call("learn", table, "--rate", "scale-free", "--save", model, "--quiet").returncode == 0
    margins = np.array(call("predict", model, table).stdout.split(), float)
    rows = json.loads(call("explain", model, table, "--rows", "3,7-8", "--json").stdout)["rows"]
    assert [one["row"] for one in rows] == [3, 7, 8]
    for one in rows:
        added = [feature["added"] for feature in one["features"]]
        assert one["margin"] == pytest.approx(sum(added)) == pytest.approx(margins[one["row"] - 1])
        assert added == sorted(added, key=abs, reverse=True)
        assert "intercept" in {feature["name"] for feature in one["features"]}
    shown = call("explain", model, table, "--rows", "3", "--top", "1").stdout.splitlines()
    cells = [line.split("\t") for line in shown]
    assert [one[1] for one in cells[1:]] == ["income", "3 others", "margin"]
    for wrong in ("0", "5-3", "x", "1,,2", "201"):
        run = call("explain", model, table, "--rows", wrong)
        assert run.returncode == 2 and f"--rows {wrong}: " in run.stderr


def test_hashed_features_are_explained_by_their_names(tmp_path: Path, call: Call) -> None:
    path, model = tmp_path / "a.vw", tmp_path / "m.nr"
    path.write_text("".join(f"{1 if k % 3 else -1} |w p{k % 3} all\n" for k in range(60)))
    # 2^18 slots take a second by the interpreter.
    bits = sized(("--bits", "10"), ())
    assert call("learn", path, *bits, "--save", model, "--quiet").returncode == 0
    (row,) = json.loads(call("explain", model, path, "--rows", "2", "--json").stdout)["rows"]
    assert {one["name"] for one in row["features"]} == {"w^p1", "w^all", "intercept"}


@pytest.mark.parametrize("options", [(), ("--multiclass",)], ids=["two", "several"])
def test_a_sorted_file_is_told_by_the_last_label_and_the_saved_weights(
    table: Path, tmp_path: Path, call: Call, options: tuple[str, ...]
) -> None:
    path, model = _sorted(table, tmp_path), tmp_path / "m.nr"
    several, options = bool(options), ("--rate", "scale-free", *options)
    shown = call("learn", path, *options, "--save", model, "--quiet").stdout
    assert "repeating the last label: 1.00% mistakes" in shown
    assert "the learner makes no fewer: if the file is sorted, see --shuffle" in shown
    assert "much worse than the predictions made on the way" in shown
    # An average is kept for one score only.
    assert ("--average" in shown) == (not several)
    told = json.loads(call("learn", path, *options, "--save", model, "--json").stdout)
    assert told["metrics"]["repeat_error"] == 0.01 and told["saved"]["much_worse"] is True
    mixed = call("learn", path, *options, "--save", model, "--shuffle", "1", "--quiet").stdout
    assert "no fewer" not in mixed and "much worse" not in mixed and "saved weights" in mixed
    # Neither is said where nothing is saved.
    assert "saved weights" not in call("learn", path, *options, "--quiet").stdout


def test_an_average_that_is_kept_is_measured_beside_the_saved_weights(
    table: Path, tmp_path: Path, call: Call
) -> None:
    model = tmp_path / "m.nr"
    options = ("--rate", "per-coordinate:invariant=true", "--average", "--save", model)
    run = call("learn", table, *options, "--json")
    assert run.returncode == 0, run.stderr
    saved = json.loads(run.stdout)["saved"]
    out = tmp_path / "p.txt"
    for how, more in (("last", ()), ("average", ("--average",))):
        told = call("predict", model, table, "--out", out, *more, "--json").stdout
        measured = json.loads(told)["metrics"]
        measured.pop("repeat_error")
        assert saved[how] == measured
    assert "their average, by predict --average: accuracy" in call("learn", table, *options).stdout


def test_mistakes_and_accuracy_of_several_classes_are_reconciled(table: Path, call: Call) -> None:
    shown = call("learn", table, "--multiclass", "--quiet").stdout
    assert "(the first row of a class counts as wrong)" in shown
    two = call("learn", table, "--quiet").stdout
    assert "counts as wrong" not in two
