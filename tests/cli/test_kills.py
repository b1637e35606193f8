"""Runs of `learn --save` that are ended from outside, at every stage of their life.

A run reads examples from a pipe that the test holds open, so that it cannot end by itself. It is
ended by a signal or by closing what it writes to, at a moment that the test sees happen: an import
(Python reports each one), or a line of the progress table. From the first learnt row on the model
must be there and resume to the bit; before that the old file must be as it was.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle, islice, product
from pathlib import Path

import pytest

import noregret as nr
from tests.cli.program import ENVIRONMENT, RUN, Call, noregret, svmlight

pytestmark = pytest.mark.compiled

ROWS = 3000
TEXT = svmlight(ROWS)
OPTIONS: tuple[tuple[str, ...], ...] = (
    (),
    ("--mirror", "ball", "--radius", "2", "--rate", "adaptive"),
    ("--loss", "hinge", "--update", "exact", "--save-every", "64"),
    ("--multiclass", "--save-every", "500"),
)
CODES = {"HUP": 129, "INT": 130, "PIPE": 141, "TERM": 143, "closed": 141, "closed both": 141}
#: Before any example, with examples held back, and while examples keep coming.
MOMENTS = ("starting", "waiting", "learning")
#: Seconds after which a run that hangs is killed, and the test fails.
HANGS = 300.0
_PROGRESS = re.compile(rb"([\d,]+)\t")


@dataclass(frozen=True)
class Outcome:
    code: int
    #: Examples that the run was given, and rounds that its table had shown before it was ended.
    given: int
    seen: int


class Victim:
    """One process and the ways to end it."""

    def __init__(self, arguments: list[str], moment: str) -> None:
        imports = ["-X", "importtime"] if moment == "starting" else []
        self.process = subprocess.Popen(
            [sys.executable, *imports, "-c", RUN, *arguments],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._watchdog = threading.Timer(HANGS, self.process.kill)
        self._watchdog.start()

    def imports(self, count: int) -> None:
        """Wait until so many modules were imported, or there are no more."""
        assert self.process.stderr is not None
        for _ in range(count):
            line = self.process.stderr.readline()
            # The last one before examples are waited for.
            if not line or line.endswith(b" rich.console\n"):
                break

    def give(self, text: str) -> threading.Thread:
        """Write examples, beside whatever happens meanwhile; standard input stays open."""

        def write() -> None:
            assert self.process.stdin is not None
            try:
                self.process.stdin.write(text.encode())
                self.process.stdin.flush()
            except BrokenPipeError:
                return  # it was ended, as it should be

        thread = threading.Thread(target=write)
        thread.start()
        return thread

    def progress(self, rounds: int) -> int:
        """Wait until the table shows at least so many rounds; return how many."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = _PROGRESS.match(line)
            if found and int(found[1].replace(b",", b"")) >= rounds:
                return int(found[1].replace(b",", b""))
        raise AssertionError(f"ended before {rounds} rounds: {self.complaints()!r}")

    def end(self, how: str) -> None:
        assert self.process.stdout is not None and self.process.stderr is not None
        if how in CODES and not how.startswith("closed"):
            self.process.send_signal(getattr(signal, f"SIG{how}"))
            return
        self.process.stdout.close()
        if how == "closed both":
            self.process.stderr.close()

    def complaints(self) -> bytes:
        assert self.process.stderr is not None
        return b"" if self.process.stderr.closed else self.process.stderr.read()

    def ended(self) -> int:
        """Let the input end as well, and return the exit code."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # what was left in the buffer has no reader any more
        self.said = self.complaints()
        if not self.process.stdout.closed:
            self.process.stdout.read()
        code = self.process.wait()
        self._watchdog.cancel()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code


def _ended(folder: Path, options: tuple[str, ...], how: str, moment: str, seed: int) -> Outcome:
    """End one run, and return how it went; the model it saved is in `folder`."""
    generator = random.Random(seed)
    arguments = ["learn", "-", "--format", "svmlight", "--save", str(folder / "m.nr"), *options]
    victim = Victim(arguments, moment)
    lines = TEXT.splitlines(keepends=True)
    given = seen = 0
    if moment == "starting":
        victim.imports(generator.randrange(900))
        victim.end(how)
    else:
        given = generator.randrange(2, ROWS) if moment == "waiting" else ROWS
        feeding = victim.give("".join(lines[:given]))
        seen = victim.progress(1 << generator.randrange(given.bit_length() - 1))
        victim.end(how)
        if how.startswith("closed"):
            # It notices at the next line that it prints, at the end of the input at the latest.
            feeding.join()
            feeding = victim.give("".join(lines[given:]))
        else:
            # A signal must end a run whose input is still open.
            victim.process.wait()
        feeding.join()
    code = victim.ended()
    if moment != "starting":
        assert b"Traceback" not in victim.said, victim.said.decode()
    return Outcome(code, given, seen)


def _reference(folder: Path, options: tuple[str, ...]) -> bytes:
    """The model of all examples, learnt without a break."""
    (folder / "all.svm").write_text(TEXT)
    whole = folder / "whole.nr"
    with (folder / "all.svm").open("rb") as text:
        run = noregret(
            "learn", "-", "--format", "svmlight", "--save", whole, "--quiet", *options, stdin=text
        )
    assert run.returncode == 0, run.stderr
    return whole.read_bytes()


def _judge(
    folder: Path, call: Call, how: str, moment: str, outcome: Outcome, old: bytes, whole: bytes
) -> None:
    model = folder / "m.nr"
    left = [name for name in os.listdir(folder) if name.endswith(".tmp")]
    assert not left, (how, moment, left)
    if moment == "starting":
        assert model.read_bytes() == old, (how, moment, outcome)
        return
    assert outcome.code == CODES[how], (how, moment, outcome)
    rounds = nr.load(model).rounds
    most = ROWS if how.startswith("closed") else outcome.given
    assert outcome.seen <= rounds <= most, (how, moment, outcome, rounds)
    # What was learnt is a prefix of the examples: the rest makes it the model of all of them.
    with (folder / "all.svm").open() as text, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", text)
        again = call("learn", "-", "--resume", model, "--same-input", "--save", model, "--quiet")
    assert again.returncode == 0, again.stderr
    assert model.read_bytes() == whole, (how, moment, outcome, rounds)


def _many(folder: Path, call: Call, plan: Iterable[tuple[str, str]], seed: int) -> Counter[str]:
    references = [_reference(folder, options) for options in OPTIONS]
    old = references[-1]
    done: Counter[str] = Counter()
    for number, (how, moment) in enumerate(plan):
        kind = (number + number // 18) % len(OPTIONS)
        (folder / "m.nr").write_bytes(old)
        outcome = _ended(folder, OPTIONS[kind], how, moment, seed + number)
        _judge(folder, call, how, moment, outcome, old, references[kind])
        done[f"{how}, {moment}"] += 1
    print(f"{done.total()} runs ended: {dict(done)}")
    return done


def test_a_run_that_is_ended_from_outside_loses_nothing(tmp_path: Path, call: Call) -> None:
    plan = (
        ("INT", "starting"), ("closed both", "starting"), ("HUP", "waiting"), ("PIPE", "waiting"),
        ("closed", "waiting"), ("INT", "learning"), ("TERM", "learning"),
        ("closed both", "learning"),
    )  # fmt: skip
    assert _many(tmp_path, call, plan, seed=1).total() == 8


@pytest.mark.soak
def test_two_hundred_runs_ended_from_outside_lose_nothing(tmp_path: Path, call: Call) -> None:
    plan = islice(cycle(product(CODES, MOMENTS)), 200)
    done = _many(tmp_path, call, plan, seed=1000)
    assert done.total() == 200 and len(done) == 18 and min(done.values()) >= 11
