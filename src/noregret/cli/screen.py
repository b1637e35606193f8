"""What the commands print: the progress table on stdout, the passing of time on stderr."""

from __future__ import annotations

import math
import sys
import time
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from noregret.cli.progress import Point

_PATIENCE = 2.0
"""Seconds after which a user would like to know that something is happening."""


class Table:
    """The progress table, one line at a time, at most 70 characters wide."""

    def __init__(self, console: Console, classification: bool):
        self._console = console
        self._classification = classification
        self._last: Point | None = None

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
            f"{point.rounds:>12,}{_number(point.average_loss)}{_number(since)}{mistakes}"
            # Rounded so that what is printed is still true: the floor down, the regret up.
            f"[cyan]{_number(point.average_floor, ROUND_FLOOR)}[/cyan]"
            f"[green]{_number(point.average_regret, ROUND_CEILING)}[/green]",
            highlight=False,
        )
        self._last = point

    def foot(self, certificate: str) -> None:
        """Print the certificate under the table."""
        self._console.print()
        self._console.print(certificate, highlight=False, markup=False, soft_wrap=True)


def _number(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a number in twelve columns, four decimals or four digits.

    >>> _number(0.25), _number(123456.0), _number(0.29999, ROUND_FLOOR)
    ('      0.2500', '    1.235e+5', '      0.2999')
    """
    if not math.isfinite(value):
        return f"{value:>12}"
    exact = Decimal(value)
    if value == 0.0 or 5e-4 <= abs(value) < 1e5:
        return f"{exact.quantize(Decimal('0.0001'), rounding=rounding):>12}"
    return f"{Context(prec=4, rounding=rounding).create_decimal(exact):>12.3e}"


class Clock:
    """Tells a person at a terminal how far a long run has come; silent otherwise."""

    def __init__(self) -> None:
        self._start = self._told = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._shown = False

    @property
    def seconds(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self._start

    def tell(self, text: str) -> None:
        """Show a passing line, twice a second at most, once the run has become long."""
        now = time.monotonic()
        if self._terminal and self.seconds > _PATIENCE and now - self._told > 0.5:
            self._told, self._shown = now, True
            sys.stderr.write(f"\r\x1b[2K{text}, {self.seconds:.0f} s")
            sys.stderr.flush()

    def clear(self) -> None:
        """Remove the passing line before something else is printed."""
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
