"""What the commands print: the progress table on stdout, the passing of time on stderr."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from noregret.evaluate import Point
    from noregret.streams import Stream

_PATIENCE = 2.0
"""Seconds after which a user would like to know that something is happening."""


class Table:
    """The progress table, one line at a time, at most 70 characters wide."""

    def __init__(self, console: Console, classification: bool, last: Point | None = None):
        self._console = console
        self._classification = classification
        self._last = last

    def head(self, title: str, *remarks: str) -> None:
        """Print the title, remarks and the names of the columns."""
        self._console.print(f"[bold]{title}[/bold]", highlight=False)
        for remark in remarks:
            self._console.print(f"[dim]{remark}[/dim]", highlight=False)
        mistakes = f"{'mistakes':>10}" if self._classification else ""
        columns = (
            f"{'examples':>12}{'loss':>12}{'since last':>12}{mistakes}{'floor':>12}{'regret ≤':>12}"
        )
        self._console.print()
        self._console.print(f"[bold]{columns}[/bold]", highlight=False)
        self._console.print(f"[dim]{'─' * len(columns)}[/dim]", highlight=False)

    def row(self, point: Point) -> None:
        """Print one line; losses, floor and regret are averages a round."""
        last = self._last
        rounds = point.rounds - (last.rounds if last else 0)
        since = (point.loss - (last.loss if last else 0.0)) / rounds
        mistakes = f"{point.mistakes / point.rounds:>10.2%}" if self._classification else ""
        self._console.print(
            f"{point.rounds:>12,}{number(point.average_loss)}{number(since)}{mistakes}"
            # Rounded so that what is printed is still true: the floor down, the regret up.
            f"[cyan]{number(point.average_floor, ROUND_FLOOR)}[/cyan]"
            f"[green]{number(point.average_regret, ROUND_CEILING)}[/green]",
            highlight=False,
        )
        self._last = point

    def foot(self, certificate: str) -> None:
        """Print the certificate under the table."""
        self._console.print()
        self._console.print(certificate, highlight=False, markup=False, soft_wrap=True)


def number(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a number in twelve columns, four decimals or four digits.

    >>> number(0.25), number(123456.0), number(0.29999, ROUND_FLOOR)
    ('      0.2500', '    1.235e+5', '      0.2999')
    """
    if not math.isfinite(value):
        return f"{value:>12}"
    exact = Decimal(value)
    if value == 0.0 or 5e-4 <= abs(value) < 1e5:
        return f"{exact.quantize(Decimal('0.0001'), rounding=rounding):>12}"
    return f"{Context(prec=4, rounding=rounding).create_decimal(exact):>12.3e}"


_METRICS = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "f1": "F1",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
}


def metrics_line(summary: Mapping[str, float]) -> str:
    """Return the metrics of a summary in one line, the area with what is not known about it.

    >>> metrics_line({"accuracy": 0.9, "auc": 0.95, "auc_error": 0.0002, "f1": 0.8})
    'accuracy 90.00%   AUC 0.9500 ± 0.0003   F1 0.8000'
    """
    words = []
    for name, title in _METRICS.items():
        if name not in summary:
            continue
        text = f"{summary[name]:.2%}" if name == "accuracy" else number(summary[name]).strip()
        if name == "auc" and summary["auc_error"] >= 0.00005:
            # The half unit of the last digit shown belongs to what is not known.
            text += f" ± {math.ceil(summary['auc_error'] * 1e4 + 0.5) / 1e4:.4f}"
        words.append(f"{title} {text}")
    return "   ".join(words)


class Clock:
    """Tells a person at a terminal how far a long run has come; silent otherwise."""

    def __init__(self, stream: Stream | None = None, passes: int = 1, silent: bool = False) -> None:
        self._stream = stream
        self._passes = passes
        self._start = self._told = time.monotonic()
        self._terminal = sys.stderr.isatty() and not silent
        self._shown = False
        #: When the first examples were done, and how many and which share of all they were.
        self._first: tuple[float, int, float] | None = None
        self._preparing = threading.Timer(_PATIENCE, self._prepare)
        self._preparing.daemon = True
        if self._terminal:
            self._preparing.start()

    def _prepare(self) -> None:
        self._shown = True
        sys.stderr.write("\r\x1b[2Kcompiling for this machine; what is made is kept for next time")
        sys.stderr.flush()

    @property
    def seconds(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self._start

    def tell(self, examples: int, passed: int = 0) -> None:
        """Show a passing line, twice a second at most, once the run has become long."""
        now = time.monotonic()
        if self._first is None:
            self._preparing.cancel()
            self._first = now, examples, self._share(passed) or 0.0
        recent = now - max(self._told, self._first[0]) < 0.5
        if self._terminal and self.seconds > _PATIENCE and not recent:
            self._told, self._shown = now, True
            sys.stderr.write(f"\r\x1b[2K{self._text(examples, passed)}")
            sys.stderr.flush()

    def _text(self, examples: int, passed: int) -> str:
        # What came before the first examples, the compiler above all, says nothing about the
        # pace of the rest.
        begin, before, share_before = self._first or (self._start, 0, 0.0)
        elapsed = max(time.monotonic() - begin, 1e-9)
        name = "" if self._stream is None else f"{self._stream.name}: "
        text = f"{name}{examples:,} examples, {(examples - before) / elapsed:,.0f} a second"
        share = self._share(passed)
        if share is None:
            return f"{text}, {self.seconds:.0f} s"
        gained = share - share_before
        left = f", {elapsed * (1.0 - share) / gained:,.0f} s left" if gained > 0.01 else ""
        return f"{share:4.0%} of {text}{left}"

    def _share(self, passed: int) -> float | None:
        """Return which share of all passes is done, None where nobody knows."""
        if self._stream is None or not self._stream.size:
            return None
        return min(1.0, (passed + self._stream.bytes_read / self._stream.size) / self._passes)

    def clear(self) -> None:
        """Remove the passing line before something else is printed."""
        self._preparing.cancel()
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._shown = False

    def close(self, examples: int) -> None:
        """Say how long a long run took."""
        self.clear()
        if self._terminal and self.seconds > _PATIENCE:
            sys.stderr.write(
                f"{examples:,} examples in {self.seconds:.1f} s, "
                f"{examples / self.seconds:,.0f} a second\n"
            )
