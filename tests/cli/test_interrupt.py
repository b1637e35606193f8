"""Signals between and during pieces of work, and outputs that are whole or not there."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from noregret.cli.interrupt import Interrupted, Interruption
from noregret.cli.writing import Output, to_json


def _send(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_a_signal_while_waiting_acts_at_once() -> None:
    with Interruption(), pytest.raises(Interrupted) as error:
        _send(signal.SIGTERM)
        pytest.fail("nothing happened")
    assert error.value.code == 143


def test_a_signal_during_work_waits_for_its_end() -> None:
    done = []
    with Interruption() as interruption:
        with pytest.raises(Interrupted) as error:
            with interruption.busy():
                _send()
                done.append("work")
            done.append("more")
        # It is used up: the next piece of work is not cut short.
        with interruption.busy():
            done.append("later")
    assert done == ["work", "later"] and error.value.code == 130


def test_who_insists_is_obeyed_and_nothing_may_be_saved() -> None:
    with Interruption() as interruption:
        with pytest.raises(KeyboardInterrupt) as error:
            with interruption.busy():
                _send()
                _send()
                pytest.fail("nothing happened")
    assert not isinstance(error.value, Interrupted)


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interruption():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


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


def test_json_has_no_numbers_that_json_lacks() -> None:
    assert to_json([float("nan"), {"a": (float("inf"), 1)}]) == '[null, {"a": [null, 1]}]'
