"""Signals between and during pieces of work, and outputs that are whole or not there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret.cli.writing import Output, require_file, require_place, to_json
from noregret.runs.interrupt import (
    ENDING,
    Interrupted,
    Interruption,
    Terminated,
    handlers_kept,
    leave_at_once,
    unwinding,
)
from noregret.runs.record import Input, Record
from noregret.runs.session import Session
from noregret.streams import read
from noregret.vocabulary.learners import Spec
from tests.cli.program import svmlight
from tests.files.full_disk import small_files

pytestmark = pytest.mark.compiled


def _send(number: int = signal.SIGINT) -> None:
    # Handled before this returns: `raise_signal` looks for signals itself.
    signal.raise_signal(number)


def test_a_signal_while_waiting_acts_at_once() -> None:
    def items() -> Iterator[int]:
        _send(signal.SIGTERM)
        pytest.fail("nothing happened")
        yield 1

    with Interruption() as interruption, pytest.raises(Interrupted) as error:
        list(interruption.awaited(items()))
    assert error.value.code == 143 and interruption.kept == signal.SIGTERM


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE"])
def test_a_signal_during_work_waits_for_its_end(name: str) -> None:
    number = getattr(signal, name)
    done = []
    with Interruption() as interruption:
        with pytest.raises(Interrupted) as error:
            for item in interruption.awaited([1, 2, 3]):
                _send(number)
                done.append(item)
        # The first counts, and whatever follows it while the run is being saved changes nothing.
        _send(signal.SIGTERM)
        assert interruption.kept == number
        interruption.settle()
        done += interruption.awaited([4])
    assert done == [1, 4] and error.value.code == 128 + number


def test_a_signal_that_a_callback_swallowed_is_not_lost() -> None:
    def items() -> Iterator[int]:
        try:
            _send()
        except KeyboardInterrupt:
            yield 1

    with Interruption() as interruption, pytest.raises(Interrupted):
        for _ in interruption.awaited(items()):
            pytest.fail("went on")


def test_who_insists_is_obeyed_and_nothing_may_be_saved() -> None:
    with Interruption():
        _send()
        with pytest.raises(KeyboardInterrupt) as error:
            _send()
    assert not isinstance(error.value, Interrupted)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGPIPE"])
def test_only_a_person_insists(name: str) -> None:
    with Interruption() as interruption:
        for _ in range(3):
            _send(getattr(signal, name))
        assert interruption.kept == getattr(signal, name)


def test_handlers_are_put_back_and_ignored_signals_stay_ignored() -> None:
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        before = [signal.getsignal(number) for number in signals]
        with Interruption() as interruption:
            assert signal.getsignal(signal.SIGINT) != before[0]
            _send(signal.SIGHUP)
            assert not interruption.kept
        assert [signal.getsignal(number) for number in signals] == before
    finally:
        signal.signal(signal.SIGHUP, ignored)


@contextmanager
def _leaving() -> Iterator[None]:
    """The handlers of the program, which would end these tests if one of them acted."""
    before = {number: signal.getsignal(number) for number in ENDING}
    leave_at_once()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_an_end_that_nobody_waits_for_is_no_keyboard_interrupt() -> None:
    with _leaving(), pytest.raises(Terminated) as error:
        with unwinding(signal.SIGINT), unwinding(signal.SIGTERM, error=Terminated):
            with pytest.raises(Interrupted) as first:
                _send()
            assert first.value.code == 130
            _send(signal.SIGTERM)
    assert error.value.code == 143 and not isinstance(error.value, KeyboardInterrupt)


def test_a_signal_waits_while_a_library_begins_and_acts_then() -> None:
    done = []
    with _leaving(), unwinding():
        before = [signal.getsignal(number) for number in ENDING]
        with pytest.raises(Interrupted) as error, handlers_kept():
            signal.signal(signal.SIGTERM, lambda *_: None)
            _send()
            done.append("begun")
        assert error.value.code == 130 and done == ["begun"]
        assert [signal.getsignal(number) for number in ENDING] == before
        # A second one does not wait.
        with pytest.raises(Interrupted), handlers_kept():
            _send()
            _send()
            pytest.fail("went on")
        with pytest.raises(Interrupted), handlers_kept(hold=False):
            _send()
            pytest.fail("went on")


def test_a_handler_of_the_system_is_left_to_the_library() -> None:
    def handler(number: int, frame: object) -> None:
        pass

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with handlers_kept():
            signal.signal(signal.SIGTERM, handler)
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_an_output_appears_whole_or_not_at_all(
    tmp_path: Path, failure: type[BaseException]
) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o640)
    with pytest.raises(failure), Output(path) as output:
        output.write("new")
        raise failure
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["out.txt"]
    with Output(path) as output:
        output.numbers(np.array([0.1, -0.0, 1e300, 2.0**-1074]))
    assert path.read_text() == "0.1\n-0.0\n1e+300\n5e-324\n"
    assert path.stat().st_mode & 0o777 == 0o640 and os.listdir(tmp_path) == ["out.txt"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    with Output(link) as output:
        output.write(b"content")
    assert link.is_symlink() and target.read_bytes() == b"content"


@pytest.mark.parametrize(("at", "ended"), [(64, False), (65, True)])
def test_a_look_that_an_interrupt_forestalled_is_made_up_for(
    tmp_path: Path, at: int, ended: bool
) -> None:
    (tmp_path / "a.svm").write_text(svmlight(100))
    spec = Spec(rate="adaptive")
    stream = read(tmp_path / "a.svm", labels="binary")
    record = Record(spec, [Input()])
    session = Session(spec.make(), stream, record, save=tmp_path / "m.nr", save_every=65)
    learn = session.trial.learn

    def learn_and_send(block: Any) -> Any:
        predictions = learn(block)
        if session.learner.rounds == at:
            _send()
        return predictions

    session.trial.learn = learn_and_send  # type: ignore[method-assign]
    with Interruption() as interruption, pytest.raises(Interrupted):
        for _ in session.run(interruption):
            pass
    session.finish()
    # Where a run happened to end is forgotten when it goes on, a mark is not.
    assert session.record.points[-1].rounds == at and session.record.ended == ended


def test_json_has_no_numbers_that_json_lacks() -> None:
    assert to_json([float("nan"), {"a": (float("inf"), 1)}]) == '[null, {"a": [null, 1]}]'


@pytest.mark.parametrize("size", [5000, 500_000])
def test_a_full_disk_names_the_output_and_leaves_nothing(tmp_path: Path, size: int) -> None:
    path = tmp_path / "out.txt"
    with small_files(1000), pytest.raises(OSError, match="File too large") as caught:
        with Output(path) as output:
            output.write(b"x" * size)
    assert caught.value.filename == str(path) and os.listdir(tmp_path) == []


def test_a_pipe_is_written_to_as_it_is() -> None:
    reading, writing = os.pipe()
    # As a shell names the pipe of >(...); it has no other name.
    with Output(Path(f"/dev/fd/{writing}")) as output:
        output.write("content")
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"content"


def test_a_place_is_looked_at_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "astray").symlink_to("none/file")
    with pytest.raises(ValueError, match=r"--out .*: there is no folder .*none"):
        require_place("--out", tmp_path / "astray")
    os.mkfifo(tmp_path / "pipe")
    require_place("--out", tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"--save .*: is a device or a pipe"):
        require_file("--save", tmp_path / "pipe")
    (tmp_path / "file").touch()
    require_place("--out", tmp_path / "file")
    for closed in (tmp_path, tmp_path / "file"):
        # A file is put beside the old one: folder and file must both be open to writing.
        monkeypatch.setattr(os, "access", lambda path, mode, closed=closed: Path(path) != closed)
        with pytest.raises(ValueError, match=r"--out .*: cannot be written"):
            require_place("--out", tmp_path / "file")
