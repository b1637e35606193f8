"""One line that tells how far a long piece of work has come, in a terminal or a notebook."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

#: Seconds after which a person wants to know that something is happening.
PATIENCE = 2.0
#: Seconds between two texts.
_PAUSE = 0.5


class StatusLine:
    """A line that each text replaces: nothing for work shorter than `PATIENCE` seconds.

    In a terminal it is a line of standard error, in a notebook an output of the cell, without
    any widget; elsewhere nothing is shown.

    >>> line = StatusLine()
    >>> line.tell("half done")
    >>> line.clear()
    """

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self._told = 0.0
        self._handle = _notebook()
        self._terminal = self._handle is None and sys.stderr.isatty()
        self._shown = False

    @property
    def seconds(self) -> float:
        """Seconds since the line was made."""
        return time.monotonic() - self.begin

    def tell(self, text: str | Callable[[], str]) -> None:
        """Show a text, or what makes it, once the work has become long, twice a second at most."""
        now = time.monotonic()
        if self.seconds > PATIENCE and now - self._told >= _PAUSE:
            self._told = now
            self._show(text if isinstance(text, str) else text())

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            self._show("")

    def _show(self, text: str) -> None:
        if self._handle is not None:
            show = self._handle.update if self._shown else self._handle.display
            show({"text/plain": text}, raw=True)
        elif self._terminal:
            width = shutil.get_terminal_size().columns
            sys.stderr.write(f"\r\x1b[2K{text[: width - 1]}")
            sys.stderr.flush()
        self._shown = True


def _notebook() -> Any:
    """Return a display that can be updated, None outside of a notebook."""
    # Who is in a notebook has loaded IPython; nobody else is made to.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import DisplayHandle

    return DisplayHandle()
