"""Progress of long runs: a status line on the terminal, after two seconds and until the end.

Where nobody watches, a log gets one line if the run begins with compiling.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from noregret import status
from noregret.runs.interrupt import unwinding
from noregret.visible import visible

if TYPE_CHECKING:
    from noregret.batch import Progress
    from noregret.streams import Block, Stream

#: How often is looked after as many seconds whether code is compiled; later it is no first run.
_TRIES = 15
_COMPILING = "compiling for this machine, once for each combination of loss, map and rate"


class PassingLine(status.StatusLine):
    """A status line on a terminal that is erased before anything else is printed."""

    #: Whether there are none at all, see `silenced`.
    silent = False
    #: What follows `first` before any kernel was compiled.
    first_run = "; a first run compiles for this machine"

    def __init__(self, first: str, compiled: str = "") -> None:
        """Show `first` if there is no update within `PATIENCE` seconds.

        Args:
            first: why nothing moves; more is said of kernels that were compiled meanwhile.
            compiled: " of" what these are [default: ""].
        """
        super().__init__()
        self._compiled = compiled
        # Not in notebooks: the programs that these lines are for print on a terminal.
        self._handle = None
        self._terminal = sys.stderr.isatty() and not self.silent
        self._moving = threading.Event()
        if not self.silent:
            threading.Thread(target=self._wait, args=(first,), daemon=True).start()

    def _wait(self, first: str) -> None:
        """Say why nothing moves: on a terminal `first`, in a log that code is compiled."""
        for k in count():
            if self._moving.wait(status.PATIENCE):
                return
            kernels = _compiled()
            if self._terminal:
                self._show(first + (self._begun(kernels) if kernels else self.first_run))
            elif kernels:
                return print(_COMPILING, file=sys.stderr, flush=True)
            elif k == _TRIES:
                return

    def _begun(self, kernels: int) -> str:
        number = f"{kernels} kernel{'s' * (kernels > 1)}{self._compiled}"
        return f", {self.seconds:.0f} s; compiled for this machine, once: {number}"

    def tell(self, text: str | Callable[[], str]) -> None:
        """Show a text once the run has become long, twice a second at most."""
        self._moving.set()
        super().tell(text)

    def clear(self) -> None:
        """Remove the line before something else is printed."""
        self._moving.set()
        super().clear()
        self._shown = False


def _compiled() -> int:
    """Return how many kernels were not in the cache: waiting for input is no reason for a line."""
    loaded = sys.modules.get("noregret.jit.directory")
    return 0 if loaded is None else loaded.cache_events.misses + loaded.cache_events.bypassed


@contextmanager
def silenced(silent: bool) -> Iterator[None]:
    """Within, there are no status lines, if `silent`."""
    before, PassingLine.silent = PassingLine.silent, silent
    try:
        yield
    finally:
        PassingLine.silent = before


class Clock(PassingLine):
    """Tells a person at a terminal how far a long run has come; silent otherwise."""

    def __init__(self, stream: Stream, passes: int = 1, compiled: str = "") -> None:
        self._stream = stream
        self._passes = passes
        super().__init__("waiting for the first examples", compiled)
        #: When the first examples were done, and how many and which share of all they were.
        self._first: tuple[float, int, float] | None = None

    def reached(self, examples: int, passed: int = 0) -> None:
        """Show a passing line once the run has become long."""
        if self._first is None:
            self._first = time.monotonic(), examples, self._share(passed) or 0.0
        first = self._first
        self.tell(lambda: self._text(examples, passed, first))

    def _text(self, examples: int, passed: int, first: tuple[float, int, float]) -> str:
        # What came before the first examples, the compiler above all, says nothing about the
        # pace of the rest.
        begin, before, share_before = first
        elapsed = max(time.monotonic() - begin, 1e-9)
        name = f" of {visible(self._stream.name)}"
        if elapsed < status.PATIENCE:
            # Few examples have no pace yet, and small files are read long before they are learnt.
            return f"{examples:,} examples{name}"
        text = f"{examples:,} examples, {(examples - before) / elapsed:,.0f} a second"
        share = self._share(passed)
        if share is None:
            return f"{text}, {self.seconds:.0f} s{name}"
        gained = share - share_before
        left = f", {elapsed * (1.0 - share) / gained:,.0f} s left" if gained > 0.01 else ""
        return f"{share:4.0%}, {text}{left}{name}"

    def _share(self, passed: int) -> float | None:
        """Return which share of all passes is done, None where nobody knows."""
        if not self._stream.size:
            return None
        return min(1.0, (passed + self._stream.bytes_read / self._stream.size) / self._passes)

    def close(self, examples: int) -> None:
        """Say how long a long run took."""
        self.clear()
        if self._terminal and self.seconds > status.PATIENCE:
            seconds = self.seconds
            sys.stderr.write(
                f"{examples:,} examples in {seconds:.1f} s, {examples / seconds:,.0f} a second\n"
            )


class Watched:
    """A stream whose reading a person can follow; it refuses to hold no examples at all.

    Attributes:
        count: how many examples were read. All other attributes are those of the stream.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream, self.count = stream, 0

    def __iter__(self) -> Iterator[Block]:
        clock = Clock(self._stream)
        for block in self._stream:
            yield block
            self.count += len(block)
            clock.reached(self.count)
        clock.close(self.count)
        if not self.count:
            raise ValueError(f"{self._stream.name}: the file has no examples")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def telling(
    first: str = "at work", words: Callable[[Any], str] = str
) -> Iterator[Callable[[Any], None]]:
    """Yield a function that shows a text in the place of the last, once work has become long.

    Args:
        first: shown if nothing else is within `PATIENCE` seconds.
        words: what is shown for an argument of the function [default: the argument itself].
    """
    line = PassingLine(first)
    try:
        yield lambda value: line.tell(lambda: words(value))
    finally:
        line.clear()


@contextmanager
def solving(tol: float) -> Iterator[Callable[[Progress], None]]:
    """Yield what `nr.hindsight` takes as `progress`: a person sees how far a solver has come.

    Within, Ctrl-C is an exception, upon which the solver returns what it has.
    """

    def words(now: Progress) -> str:
        gap = now.gap / max(1.0, abs(now.primal))
        return (
            f"solving, pass {now.passes:,}: relative gap {gap:.1e}, aim {tol:.1e}; Ctrl-C keeps "
            "what there is"
        )

    with unwinding(signal.SIGINT), telling("solving", words) as tell:
        yield tell
