"""Outputs that break, inputs that are cut, closed terminals: what was learnt is saved first."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.cli.output import OutputLost
from tests.cli.program import ENVIRONMENT, RUN, Call, noregret, start, svmlight
from tests.sizes import some

#: What is about a run of many rows; a process that is interpreted would take long for them.
long_run = pytest.mark.compiled

ROWS = 5000
#: Seconds after which a hang must end.
HANGS = 300.0


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "s.svm"
    path.write_text(svmlight(ROWS))
    return path


@pytest.fixture(scope="module")
def whole(long: Path) -> bytes:
    """The model file of all rows, learnt without a break."""
    path = long.parent / "whole.nr"
    assert noregret("learn", long, "--save", path, "--quiet").returncode == 0
    return path.read_bytes()


def _resumes(model: Path, long: Path, whole: bytes, call: Call) -> int:
    """Go on to the end, compare to the bit, and return how many rows the model had."""
    rounds = nr.load(model).rounds
    again = call("learn", long, "--resume", model, "--same-input", "--save", model, "--quiet")
    assert again.returncode == 0, again.stderr
    assert model.read_bytes() == whole
    return rounds


def _shell(command: str, *arguments: object, stdout: int = subprocess.PIPE) -> Any:
    """Run a line of the shell in which NOREGRET is the program."""
    line = command.replace("NOREGRET", '"$PYTHON" -c "$RUN"')
    return subprocess.run(
        ["bash", "-c", line, "bash", *map(str, arguments)],
        env=ENVIRONMENT | {"PYTHON": sys.executable, "RUN": RUN},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


@long_run
@pytest.mark.parametrize(
    ("command", "code", "complaint"),
    some(
        [
            (
                'NOREGRET learn "$1" --save "$2" | head -1; exit ${PIPESTATUS[0]}',
                141,
                "pipe has left",
            ),
            ('NOREGRET learn "$1" --save "$2" 2>&1 | head -1; exit ${PIPESTATUS[0]}', 141, ""),
            (
                'NOREGRET learn "$1" --save "$2" -p - | head -1; exit ${PIPESTATUS[0]}',
                141,
                "has left",
            ),
            ('NOREGRET learn "$1" --save "$2" >&-', 2, "standard output: Bad file descriptor; "),
            ('NOREGRET learn "$1" --save "$2" >&- 2>&-', 2, ""),
            ('NOREGRET learn "$1" --save "$2" <&- >&- 2>&-', 2, ""),
            ('NOREGRET learn "$1" --save "$2" > /dev/full', 2, "standard output: No space left"),
            ('NOREGRET learn "$1" --save "$2" > /dev/full 2>&1', 2, ""),
            ('NOREGRET learn "$1" --save "$2" --quiet > /dev/full', 2, "standard output: No space"),
            (
                'NOREGRET learn "$1" --save "$2" --json >&-',
                2,
                "standard output: Bad file descriptor",
            ),
            ('NOREGRET learn "$1" --save "$2" -p /dev/full --quiet', 2, "/dev/full: No space left"),
        ],
        6,
    ),
)
def test_an_output_that_breaks_leaves_a_model_that_goes_on(
    tmp_path: Path, long: Path, whole: bytes, call: Call, command: str, code: int, complaint: str
) -> None:
    model = tmp_path / "m.nr"
    run = _shell(command, long, model)
    assert run.returncode == code, run.stderr
    assert run.stderr.count("noregret: ") <= 1 and complaint in run.stderr, run.stderr
    assert "Traceback" not in run.stderr
    rounds = _resumes(model, long, whole, call)
    assert rounds == ROWS if "--quiet >" in command or "--json" in command else 0 < rounds < ROWS
    assert os.listdir(tmp_path) == ["m.nr"]


@pytest.mark.parametrize("command", ["compare", "inspect", "predict", "hindsight", "drift"])
def test_every_command_ends_with_the_code_of_its_output(
    stream: Path, model: Path, command: str
) -> None:
    arguments = {
        "compare": f'compare "{stream}" -l default',
        "inspect": f'inspect "{model}"',
        "predict": f'predict "{model}" "{stream}"',
        "hindsight": f'hindsight "{stream}" --class-radius 1',
        "drift": f'drift "{stream}" --class-radius 1',
    }[command]
    run = _shell(f"NOREGRET {arguments} > /dev/full")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("noregret: standard output: No space left") == 1, run.stderr
    # The reader has left before there is anything to read.
    reading, writing = os.pipe()
    os.close(reading)
    gone = _shell(f"NOREGRET {arguments}", stdout=writing)
    os.close(writing)
    assert gone.returncode == 141 and "Traceback" not in gone.stderr, gone.stderr


@long_run
def test_predictions_that_cannot_be_written_leave_learner_and_record_in_step(
    tmp_path: Path, long: Path, whole: bytes, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    from noregret.cli.writing import Output

    model, out = tmp_path / "m.nr", tmp_path / "p.txt"
    out.write_text("as it was")
    write = Output.write
    taken = 0

    def full(self: Output, text: Any) -> None:
        nonlocal taken
        taken += len(text)
        if taken > 30_000:
            raise OutputLost(errno.ENOSPC, "No space left on device", str(out))
        write(self, text)

    monkeypatch.setattr(Output, "write", full)
    run = call("learn", long, "--save", model, "-p", out)
    monkeypatch.undo()
    assert run.returncode == 2 and f"{out}: No space left on device; {model} can" in run.stderr
    assert out.read_text() == "as it was" and sorted(os.listdir(tmp_path)) == ["m.nr", "p.txt"]
    assert 0 < _resumes(model, long, whole, call) < ROWS


@long_run
@pytest.mark.parametrize("source", ["-", "file"])
def test_an_input_that_is_cut_is_learnt_up_to_the_cut(
    tmp_path: Path, long: Path, whole: bytes, call: Call, source: str
) -> None:
    # As a pipe does whose writer was killed: inside the value of the last feature.
    cut = b"".join(long.read_bytes().splitlines(keepends=True)[: ROWS - 1]) + b"1 1:0.5 2:"
    model, path = tmp_path / "m.nr", tmp_path / "s.svm"
    path.write_bytes(cut)
    if source == "-":
        arguments = ["-", "--format", "svmlight"]
        run = noregret("learn", *arguments, "--save", model, "--quiet", input=cut, text=False)
    else:
        run = noregret("learn", path, "--save", model, "--quiet", text=False)
    said = run.stderr.decode()
    assert run.returncode == 2 and said.count("\n") == 1, said
    named = "standard input" if source == "-" else str(path)
    assert said.startswith(f"noregret: {named}, line {ROWS}, column 9: found '2:', expected ")
    assert "; the input ends inside this line; " in said and "--resume" in said
    assert f"Certificate after {ROWS - 1:,} rounds" in run.stdout.decode()
    learner = nr.load(model)
    assert learner.rounds == ROWS - 1
    again = call("learn", long, "--resume", model, "--same-input", "--save", model, "--quiet")
    assert again.returncode == 0, again.stderr
    unbroken = tmp_path / "unbroken.nr"
    unbroken.write_bytes(whole)
    a, b = nr.load(unbroken), nr.load(model)
    assert a.shares.tobytes() == b.shares.tobytes()
    assert a.certificate().ledger.tobytes() == b.certificate().ledger.tobytes()


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.csv", "y,a\n1,2\n0,1\n1,3\n0", "line 5"),
        ("a.jsonl", '{"y": 1, "a": 2}\n{"y": 0, "a": 1}\n{"y": 1, "a"', "line 3"),
        ("a.vw", "1 |n a:1\n-1 |n b:2\n1 |n a:", "line 3"),
        ("a.svm", "1 1:1\n0 2:1\n7", "line 3: found label '7'"),
    ],
)
def test_a_cut_line_of_any_format_is_told_from_a_bad_one(
    tmp_path: Path, call: Call, name: str, content: str, complaint: str
) -> None:
    path, model = tmp_path / name, tmp_path / "m.nr"
    path.write_text(content)
    run = call("learn", path, "--save", model, "--quiet")
    assert run.returncode == 2 and complaint in run.stderr, run.stderr
    assert "the input ends inside this line" in run.stderr
    assert nr.load(model).rounds == content.count("\n") - (name == "a.csv")
    # With its line end it is a bad line, which an old model is not replaced for.
    path.write_text(content + "\n")
    model.write_bytes(b"as it was")
    run = call("learn", path, "--save", model, "--quiet")
    assert run.returncode == 2 and complaint in run.stderr
    assert "ends inside" not in run.stderr and model.read_bytes() == b"as it was"


def test_a_cut_before_the_first_example_leaves_the_old_files(tmp_path: Path, call: Call) -> None:
    path, model, out = tmp_path / "a.svm", tmp_path / "m.nr", tmp_path / "p.txt"
    path.write_text("1 1:")
    for old in (model, out):
        old.write_bytes(b"as it was")
    run = call("learn", path, "--save", model, "-p", out, "--quiet")
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    assert model.read_bytes() == out.read_bytes() == b"as it was"


def _on_a_terminal(folder: Path, *arguments: object) -> tuple[subprocess.Popen[bytes], int]:
    """Start the program with a terminal of its own; return it and the terminal's other end."""
    ours, theirs = os.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    run = start(
        "learn", "-", "--format", "svmlight", *arguments,
        stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, preexec_fn=take_terminal,
    )  # fmt: skip
    os.close(theirs)
    return run, ours


@long_run
@pytest.mark.parametrize("ignored", [False, True], ids=["plain", "nohup"])
def test_a_closed_terminal_ends_a_run_that_is_saved(
    tmp_path: Path, long: Path, call: Call, ignored: bool
) -> None:
    model = tmp_path / "m.nr"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN) if ignored else None
    try:
        run, terminal = _on_a_terminal(tmp_path, "--save", model)
    finally:
        if before is not None:
            signal.signal(signal.SIGHUP, before)
    assert run.stdin is not None
    lines = long.read_bytes().splitlines(keepends=True)
    run.stdin.write(b"".join(lines[:1000]))
    run.stdin.flush()
    shown = b""
    while b" 512 " not in shown:
        shown += os.read(terminal, 4096)
    os.close(terminal)
    if ignored:
        # Nobody is asked to end; the next line of the table cannot be written. The run may have
        # ended at it before it has read the rest.
        with contextlib.suppress(BrokenPipeError):
            run.stdin.write(b"".join(lines[1000:]))
    out, _ = run.communicate(timeout=HANGS)
    assert run.returncode == (2 if ignored else 129)
    rounds = nr.load(model).rounds
    assert rounds >= 512 and not out
    again = call("learn", long, "--resume", model, "--same-input", "--json")
    assert again.returncode == 0, again.stderr
    unbroken = json.loads(call("learn", long, "--json").stdout)
    assert json.loads(again.stdout)["certificate"] == unbroken["certificate"]


@long_run
def test_timeout_sends_its_signal_twice_and_the_run_is_saved(tmp_path: Path, long: Path) -> None:
    model = tmp_path / "m.nr"
    run = start(
        "learn", "-", "--format", "svmlight", "--save", model,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stdin is not None and run.stdout is not None
    run.stdin.write(long.read_bytes())
    run.stdin.flush()
    for line in run.stdout:
        if line.startswith(b"16\t"):
            break
    for _ in range(2):
        run.send_signal(signal.SIGTERM)
    _, said = run.communicate(timeout=HANGS)
    assert run.returncode == 143, said
    assert nr.load(model).rounds >= 16 and b"--resume" in said


@long_run
def test_a_signal_before_new_rows_leaves_both_models(tmp_path: Path, long: Path) -> None:
    old, new = tmp_path / "old.nr", tmp_path / "new.nr"
    text = b"".join(long.read_bytes().splitlines(keepends=True)[:100])
    first = noregret(
        "learn", "-", "--format", "svmlight", "--save", old, "--quiet", input=text, text=False
    )
    assert first.returncode == 0
    before = old.read_bytes()
    made = tmp_path / "made.txt"
    made.write_bytes(b"as it was")
    run = start(
        "learn", "-", "--resume", old, "--same-input", "--save", new, "-p", made,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stdin is not None
    # It skips these, and waits for more, or has not begun to: nothing is new in either case.
    run.stdin.write(text)
    run.stdin.flush()
    run.send_signal(signal.SIGTERM)
    _, said = run.communicate(timeout=HANGS)
    assert run.returncode in (143, -signal.SIGTERM) and b"--resume" not in said, said
    assert old.read_bytes() == before and not new.exists()
    assert made.read_bytes() == b"as it was" and len(os.listdir(tmp_path)) == 2


#: The program, which sends itself a signal as it begins to import a module.
_STRIKE = """
import os, signal, sys
module, number = sys.argv[1], getattr(signal, sys.argv[2])
class Strike:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), number)
sys.meta_path.insert(0, Strike())
sys.argv = ["noregret", *sys.argv[3:]]
from noregret.cli.start import run
run()
"""
_IMPORTS = (
    "noregret.cli.main", "noregret.cli.output", "noregret.visible",
    "click", "rich", "noregret.cli.commands", "noregret.cli.learn", "numpy",
    "numpy._core._multiarray_umath", "numba", "llvmlite.binding", "noregret.streams",
    "noregret.learners", "noregret.runs.session", "safetensors",
)  # fmt: skip


@pytest.mark.parametrize(
    ("module", "name", "code"),
    [
        *((module, "SIGINT", 130) for module in some(_IMPORTS, 5)),
        ("click", "SIGTERM", 143),
        ("numba", "SIGHUP", 129),
    ],
)
def test_an_interrupted_import_ends_without_a_word(
    stream: Path, tmp_path: Path, module: str, name: str, code: int
) -> None:
    model = tmp_path / "m.nr"
    run = subprocess.run(
        [sys.executable, "-c", _STRIKE, module, name, "learn", str(stream), "--save", str(model)],
        env=ENVIRONMENT,
        capture_output=True,
    )
    assert (run.returncode, run.stderr, run.stdout) == (code, b"", b"")
    assert not model.exists()


def test_a_fault_of_the_program_is_no_verdict(stream: Path) -> None:
    program = (
        "import noregret.cli.commands as commands\n"
        "def fail(arguments): raise RuntimeError('a fault')\n"
        "commands.call = fail\n" + RUN
    )
    run = subprocess.run(
        [sys.executable, "-c", program, "inspect", "m"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 70 and "RuntimeError: a fault" in run.stderr
