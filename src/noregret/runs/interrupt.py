"""Signals that ask the program to end, and what it may finish first.

SIGINT is Ctrl-C, SIGHUP a closed terminal, SIGTERM what `kill`, `timeout` and a machine that shuts
down send. A process has three ways to take them, and at every moment exactly one:

- From its first import on it leaves at once, without a word (`leave_at_once`): nothing is lost,
  and no import is left half done for an exception to be reported from.
- While a file is being written or a cluster is used they are exceptions (`unwinding`), so that
  temporary files go away and workers are ended.
- While `learn` runs they are kept until the learner is whole, and then the model is saved
  (`Interruption`).

A signal that was ignored when the program began, as by `nohup`, stays ignored.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

_Item = TypeVar("_Item")
_END = object()

#: What the system does not have is left out: Windows has no SIGHUP and no SIGPIPE.
ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_PIPE = getattr(signal, "SIGPIPE", None)


class Interrupted(KeyboardInterrupt):
    """The program was asked to end; `code` is what it should exit with."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


class Terminated(SystemExit):
    """The program was asked to end, and not by a person at its terminal who wants a result.

    As a `SystemExit` it passes where KeyboardInterrupt makes a solver return what it has.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.code: int = 128 + number


def leave_at_once() -> None:
    """Let every signal that asks for an end be obeyed without unwinding."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)


@contextmanager
def unwinding(
    *numbers: int, error: type[Interrupted] | type[Terminated] = Interrupted
) -> Iterator[list[int]]:
    """Within, signals raise an error where they would have ended the process at once.

    Yields the signals that have arrived: code in C may turn an error into another one.

    Args:
        numbers: The signals, all of ENDING by default.
        error: What is raised [default: Interrupted].
    """
    arrived: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        raise error(number)

    # Where somebody else handles them, `learn` or a program that calls us, that stays so.
    ours = [n for n in numbers or ENDING if signal.getsignal(n) is _leave]
    try:
        for number in ours:
            signal.signal(number, end)
        yield arrived
    finally:
        for number in ours:
            signal.signal(number, _leave)


@contextmanager
def handlers_kept(hold: bool = True) -> Iterator[None]:
    """Within, a library may set handlers of its own; afterwards those of before are back.

    Handlers of the system, as where SIGTERM ends the process, are left to the library. Other
    threads than the main one cannot set handlers, and nothing is done there.

    Args:
        hold: Whether the first signal that arrives meanwhile waits for the end; the second one
            acts at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: handler for n in ENDING if callable(handler := signal.getsignal(n))}
    held: list[int] = []

    def keep(number: int, frame: FrameType | None) -> None:
        if held:
            before[number](number, frame)
        held.append(number)

    try:
        for number in before if hold else ():
            signal.signal(number, keep)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if held:
        before[held[0]](held[0], None)


class Interruption:
    """Keeps signals until the run comes to a place where it can stop, and raises `Interrupted`.

    Such a place is `act`, and where the next examples are waited for (`awaited`): there a signal
    acts at once. The first signal counts. A second SIGINT does not wait: it is a plain
    KeyboardInterrupt, after which the learner may be half updated and is not saved. Repeated
    SIGTERM and SIGHUP change nothing, since `timeout` and closed terminals send them twice, nor
    does SIGPIPE, which comes with every failed write to a closed pipe.
    """

    def __init__(self) -> None:
        self._waiting = False
        self._asked = False
        self._before: dict[int, Any] = {}
        #: The first signal that arrived and has not been settled, 0 if there is none.
        self.kept = 0

    def __enter__(self) -> Interruption:
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._arrive)
        if _PIPE is not None:
            # Python ignores it from the start on, which says nothing about what was asked for.
            self._before[_PIPE] = signal.signal(_PIPE, self._arrive)
        return self

    def __exit__(self, *failure: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _arrive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            if self._asked:
                raise KeyboardInterrupt
            self._asked = True
        self.kept = self.kept or number
        if self._waiting:
            self._waiting = False
            raise Interrupted(self.kept)

    def act(self) -> None:
        """Stop the run here if a signal is kept; it may be called where the learner is whole."""
        if self.kept:
            raise Interrupted(self.kept)

    def settle(self) -> None:
        """Forget what was kept: the run has stopped, and the next SIGINT is a first one again."""
        self.kept, self._asked = 0, False

    def awaited(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield the items; a signal acts while the next one is waited for, and never in between."""
        following = iter(items)
        while True:
            try:
                self._waiting = True
                item = _END if self.kept else next(following, _END)
            finally:
                self._waiting = False
            # It came before the wait, or a callback of the interpreter swallowed it there.
            self.act()
            if item is _END:
                return
            yield item  # type: ignore[misc]
