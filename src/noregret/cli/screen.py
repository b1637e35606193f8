"""The progress table that the commands print on stdout."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING

from noregret.cli.console import fitted
from noregret.runs.wording import short

if TYPE_CHECKING:
    from rich.console import Console

    from noregret.evaluate import Point

_WIDTH = 12
_STYLES = {"floor": "cyan", "regret ≤": "green"}


class Table:
    """The progress table, one line at a time: 72 characters wide, 60 in a narrower terminal.

    Where the output is piped, a line has its cells separated by tabs.
    """

    def __init__(self, console: Console, classification: bool, last: Point | None = None):
        self._console = console
        self._classification = classification
        self._last = last
        #: Whether there is room for the loss since the line before.
        self._wide = console.width >= 6 * _WIDTH or not console.is_terminal
        self.headed = False

    def head(self, title: str, *remarks: str) -> None:
        """Print the title, remarks and the names of the columns."""
        self._console.print(fitted(title), style="bold")
        for remark in remarks:
            self._console.print(fitted(remark), style="dim")
        self._console.print()
        since, mistakes = ["since last"] * self._wide, ["mistakes"] * self._classification
        self._names = ["examples", "loss", *since, *mistakes, "floor", "regret ≤"]
        self._line(dict(zip(self._names, self._names, strict=True)))
        if self._console.is_terminal:
            self._console.print("─" * (_WIDTH * len(self._names)), style="dim")
        self.headed = True

    def row(self, point: Point) -> None:
        """Print one line; losses, floor and regret are averages a round."""
        last = self._last
        rounds = point.rounds - (last.rounds if last else 0)
        since = (point.loss - (last.loss if last else 0.0)) / rounds
        self._line(
            {
                "examples": f"{point.rounds:,}",
                "loss": short(point.average_loss),
                "since last": short(since),
                "mistakes": f"{point.mistakes / point.rounds:.2%}",
                # Rounded so that what is printed is still true: the floor down, the regret up.
                "floor": short(point.average_floor, ROUND_FLOOR),
                "regret ≤": short(point.average_regret, ROUND_CEILING),
            }
        )
        self._last = point

    def _line(self, cells: dict[str, str]) -> None:
        if not self._console.is_terminal:
            print("\t".join(cells[name] for name in self._names), flush=True)
            return
        from rich.text import Text

        line = [(f"{cells[name]:>{_WIDTH}}", _STYLES.get(name, "")) for name in self._names]
        self._console.print(Text.assemble(*line))
