"""What commands print on stdout: a console without markup, and tables.

Names from outside hold square brackets, which are no markup.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from noregret.evaluate import Point
from noregret.runs.wording import number
from noregret.visible import visible


def plain_console(quiet: bool = False) -> Console:
    """Return a console for stdout that prints a string as it is: no markup, no emoji codes.

    A `quiet` one prints nothing.
    """
    return Console(markup=False, emoji=False, highlight=False, quiet=quiet)


def weights_table(top: list[list[Any]]) -> Grid:
    """Return the largest weights with a bar for each."""
    table = Grid(box=None, pad_edge=False, header_style="bold")
    table.add_column("feature", overflow="fold")
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    most = max((abs(weight) for _, _, weight in top), default=1.0)
    for _, name, weight in top:
        bar = "█" * max(1, round(24 * abs(weight) / most))
        color = "cyan" if weight > 0.0 else "dark_orange"
        table.add_row(Text(visible(name)), f"{weight:+.5g}", Text(bar, style=color))
    return table


class Table:
    """The progress table, one line at a time: 70 characters wide, 58 in a narrower terminal."""

    def __init__(self, console: Console, classification: bool, last: Point | None = None):
        self._console = console
        self._classification = classification
        self._last = last
        #: Whether there is room for the loss since the line before.
        self._wide = console.width >= 70
        #: Whether the names of the columns were printed.
        self.headed = False

    def head(self, title: str, *remarks: str) -> None:
        """Print the title, remarks and the names of the columns."""
        self._console.print(title, style="bold")
        for remark in remarks:
            self._console.print(remark, style="dim")
        self.headed = True
        since = f"{'since last':>12}" if self._wide else ""
        mistakes = f"{'mistakes':>10}" if self._classification else ""
        columns = f"{'examples':>12}{'loss':>12}{since}{mistakes}{'floor':>12}{'regret ≤':>12}"
        self._console.print()
        self._console.print(columns, style="bold")
        self._console.print("─" * len(columns), style="dim")

    def row(self, point: Point) -> None:
        """Print one line; losses, floor and regret are averages a round."""
        last = self._last
        rounds = point.rounds - (last.rounds if last else 0)
        lost = point.loss - (last.loss if last else 0.0)
        since = number(lost / rounds) if self._wide else ""
        mistakes = f"{point.mistakes / point.rounds:>10.2%}" if self._classification else ""
        self._console.print(
            Text.assemble(
                f"{point.rounds:>12,}{number(point.average_loss)}{since}{mistakes}",
                # Rounded so that what is printed is still true: the floor down, the regret up.
                (number(point.average_floor, ROUND_FLOOR), "cyan"),
                (number(point.average_regret, ROUND_CEILING), "green"),
            )
        )
        self._last = point

    def foot(self, certificate: str) -> None:
        """Print the certificate under the table, if there is one."""
        if self.headed:
            self._console.print()
        self._console.print(certificate, soft_wrap=True)
