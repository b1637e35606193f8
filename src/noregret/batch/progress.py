"""Progress reports of a running solver."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

#: Seconds after which a running solver shows a status line.
PATIENCE = 2.0


@dataclass(frozen=True)
class Progress:
    """Progress of a run: passes made, an estimate of the gap, rows still visited."""

    passes: int
    gap: float
    primal: float
    active: int
    seconds: float


class Reporter:
    """Reports every pass to a callback, or shows a status line after two seconds."""

    def __init__(self, progress: bool | Callable[[Progress], None], tol: float) -> None:
        self.callback = progress if callable(progress) else None
        self.shown = progress is True
        self.tol = tol
        self.begin = time.monotonic()
        self.status: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.status is not None:
            self.status.stop()
            self.status = None

    def epoch(self, passes: int, gap: float, primal: float, active: int) -> None:
        """Report the end of a pass."""
        now = Progress(passes, gap, primal, active, time.monotonic() - self.begin)
        if self.callback is not None:
            self.callback(now)
        elif self.shown and now.seconds > PATIENCE:
            self._show(now)

    def _show(self, now: Progress) -> None:
        relative = now.gap / max(1.0, abs(now.primal))
        text = (
            f"pass {now.passes:,}: relative gap about {relative:.1e} of {self.tol:.1e}, "
            f"{now.active:,} rows active, {now.seconds:.0f} s (Ctrl-C keeps what there is)"
        )
        if self.status is None:
            from rich.console import Console

            self.status = Console(stderr=True).status(text)
            self.status.start()
        else:
            self.status.update(text)
