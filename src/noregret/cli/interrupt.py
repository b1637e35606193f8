"""Ctrl-C that never cuts a learner in two."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Somebody asked for an end; `code` is what the program should exit with."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


class Interruption:
    """Turns SIGINT and SIGTERM into `Interrupted`, but not in the middle of a piece of work.

    While waiting for input the signal acts at once. During `busy` it is kept for the end of the
    work. A second one does not wait: it is a plain KeyboardInterrupt, after which nothing that
    was under way can be relied on, nor is saved.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self._busy = False
        self._wanted = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        for number in self._SIGNALS:
            self._before[number] = signal.signal(number, self._arrive)
        return self

    def __exit__(self, *failure: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _arrive(self, number: int, frame: FrameType | None) -> None:
        if not self._busy:
            raise Interrupted(number)
        if self._wanted:
            raise KeyboardInterrupt
        self._wanted = number

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Hold a signal back until the body is done."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._wanted:
            number, self._wanted = self._wanted, 0
            raise Interrupted(number)
