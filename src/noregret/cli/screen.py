"""The progress table that the commands print on stdout."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING

from noregret.runs.wording import number

if TYPE_CHECKING:
    from rich.console import Console

    from noregret.evaluate import Point


class Table:
    """The progress table, one line at a time: 70 characters wide, 58 in a narrower terminal."""

    def __init__(self, console: Console, classification: bool, last: Point | None = None):
        self._console = console
        self._classification = classification
        self._last = last
        #: Whether there is room for the loss since the line before.
        self._wide = console.width >= 70
        self._headed = False

    def head(self, title: str, *remarks: str) -> None:
        """Print the title, remarks and the names of the columns."""
        self._console.print(title, style="bold")
        for remark in remarks:
            self._console.print(remark, style="dim")
        self._headed = True
        since = f"{'since last':>12}" if self._wide else ""
        mistakes = f"{'mistakes':>10}" if self._classification else ""
        columns = f"{'examples':>12}{'loss':>12}{since}{mistakes}{'floor':>12}{'regret ≤':>12}"
        self._console.print()
        self._console.print(columns, style="bold")
        self._console.print("─" * len(columns), style="dim")

    def row(self, point: Point) -> None:
        """Print one line; losses, floor and regret are averages a round."""
        from rich.text import Text

        last = self._last
        rounds = point.rounds - (last.rounds if last else 0)
        since = ""
        if self._wide:
            since = number((point.loss - (last.loss if last else 0.0)) / rounds)
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
        if self._headed:
            self._console.print()
        self._console.print(certificate, soft_wrap=True)
