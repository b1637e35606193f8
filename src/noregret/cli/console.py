"""What commands print on stdout: tables that fit a terminal, plain records into a pipe.

Names from outside hold square brackets, which are no markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from noregret.cli.writing import fitted
from noregret.evaluate import Point
from noregret.runs.facts import short
from noregret.visible import visible

#: Bars are this long at most, and columns of the progress table this wide.
_BAR, _WIDTH = 16, 12
_STYLES = {"floor": "cyan", "regret ≤": "green"}


def plain_console(quiet: bool = False) -> Console:
    """Return a console for stdout that prints a string as it is: no markup, no emoji, no wrapping.

    A `quiet` one prints nothing.
    """
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True, quiet=quiet)


def _print_record(console: Console, cells: Iterable[Any]) -> None:
    if not console.quiet:
        # Not by the console, which turns tabs into spaces.
        print("\t".join(map(str, cells)), flush=True)


def show_table(
    console: Console, columns: str, rows: Iterable[Sequence[Any]], head: Sequence[str] = ()
) -> None:
    """Print rows of cells: aligned on a terminal, else one record a line, separated by tabs.

    Args:
        console: where to print.
        columns: a letter for each: "t" a text, folded where it is long, "n" a number, "b" a bar.
        rows: the cells of each row; a row may have fewer.
        head: the names of the columns [default: none].
    """
    if not console.is_terminal:
        for row in (head, *rows) if head else rows:
            _print_record(console, row)
        return
    table = Grid(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.show_header = bool(head)
    for kind, name in zip_longest(columns, head, fillvalue=""):
        texts = {"overflow": "fold"} if kind == "t" else {"no_wrap": True}
        table.add_column(name, justify="right" if kind == "n" else "left", **texts)
    for row in rows:
        table.add_row(*row)
    console.print(table, soft_wrap=False)


def show_weights(console: Console, top: Sequence[dict[str, Any]]) -> None:
    """Print the features that move predictions most, on a terminal with a bar for each."""
    sized = any(one["effect"] is not None for one in top)
    several = any(one["class"] is not None for one in top)
    effects = [one["effect"] if sized else one["weight"] for one in top]
    most = max(map(abs, effects), default=1.0)
    rows: list[list[Any]] = []
    for one, effect in zip(top, effects, strict=True):
        names = [visible(one[key]) for key in ("class", "name")[not several :]]
        cells = [*map(Text, names), f"{one['weight']:+.5g}", *[f"{effect:+.5g}"] * sized]
        bar = "█" * max(1, round(_BAR * abs(effect) / most))
        style = "cyan" if effect > 0.0 else "dark_orange"
        rows.append(cells + [Text(bar, style=style)] * console.is_terminal)
    head = [*["class"] * several, "feature", "weight", *["weight × largest |x|"] * sized]
    console.print()
    show_table(console, "t" * several + "tn" + "n" * sized + "b", rows, head)


class Table:
    """The progress table, one line at a time: 72 characters wide, 60 in a narrower terminal.

    Where the output is piped, the cells of a line are separated by tabs.
    """

    def __init__(self, console: Console, classification: bool, last: Point | None = None):
        self._console = console
        self._last = last
        # The loss since the line before, where there is room for it.
        wide = console.width >= 6 * _WIDTH or not console.is_terminal
        since, mistakes = ["since last"] * wide, ["mistakes"] * classification
        self._names = ["examples", "loss", *since, *mistakes, "floor", "regret ≤"]
        #: Whether the names of the columns were printed.
        self.headed = False

    def head(self, title: str, *remarks: str) -> None:
        """Print the title, remarks and the names of the columns."""
        self._console.print(fitted(title), style="bold")
        for remark in remarks:
            self._console.print(fitted(remark), style="dim")
        self._console.print()
        self._line({name: name for name in self._names})
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
        if self._console.is_terminal:
            line = [(f"{cells[name]:>{_WIDTH}}", _STYLES.get(name, "")) for name in self._names]
            self._console.print(Text.assemble(*line))
        else:
            _print_record(self._console, [cells[name] for name in self._names])
