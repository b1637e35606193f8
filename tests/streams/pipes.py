"""Pipes in tests: the moment at which a reader begins to wait is an event, not a pause."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from typing import Any

import pytest

#: Seconds after which a hang must end.
HANGS = 300.0


class Waiting:
    """Learns of every reader that waits for a pipe, and acts upon the next one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._begun = threading.Event()
        real, begun = select.poll, self._begun

        class Watched:
            def __init__(self) -> None:
                self._poll = real()

            def register(self, *arguments: Any) -> None:
                self._poll.register(*arguments)

            def poll(self, *timeout: Any) -> list[tuple[int, int]]:
                ready = self._poll.poll(0)
                if ready or timeout:
                    return ready
                begun.set()
                return self._poll.poll()

        monkeypatch.setattr(select, "poll", Watched)

    def wait(self) -> None:
        """Return once a reader waits."""
        assert self._begun.wait(HANGS), "no reader has begun to wait"

    def then(self, act: Callable[[], object]) -> threading.Thread:
        """Start a thread that acts once a reader waits."""

        def later() -> None:
            self.wait()
            act()

        thread = threading.Thread(target=later)
        thread.start()
        return thread
