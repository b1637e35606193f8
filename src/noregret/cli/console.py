"""What commands print: tables that fit a terminal, and plain records where the output is piped."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TextIO

from noregret.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

#: Bars are this long at most.
_BAR = 16


def plain_console() -> Console:
    """Return a console for stdout that prints a string as it is: no markup, no emoji, no wrapping.

    Names from outside hold square brackets, which are no markup.
    """
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True)


def fitted(text: str, file: TextIO | None = None) -> str:
    """Return a text for a file: for a terminal each line is wrapped below its own indentation."""
    file = sys.stdout if file is None else file
    if not file.isatty():
        return text
    width = shutil.get_terminal_size().columns
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        options: Any = {"break_long_words": False, "break_on_hyphens": False}
        lines += textwrap.wrap(line, width, subsequent_indent=indent, **options) or [""]
    return "\n".join(lines)


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
            # Not by the console, which turns tabs into spaces.
            print("\t".join(map(str, row)), flush=True)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.show_header = bool(head)
    for kind, name in zip_longest(columns, head, fillvalue=""):
        if kind == "t":
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right" if kind == "n" else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table, soft_wrap=False)


def show_weights(console: Console, top: Sequence[dict[str, Any]]) -> None:
    """Print the features that move predictions most, on a terminal with a bar for each."""
    from rich.text import Text

    sized = any(one["effect"] is not None for one in top)
    several = any(one["class"] is not None for one in top)
    effects = [one["effect"] if sized else one["weight"] for one in top]
    most = max(map(abs, effects), default=1.0)
    rows: list[list[Any]] = []
    for one, effect in zip(top, effects, strict=True):
        names = [visible(one[key]) for key in ("class", "name")[not several :]]
        cells = [*map(Text, names), f"{one['weight']:+.5g}", *[f"{effect:+.5g}"] * sized]
        if console.is_terminal:
            bar = "█" * max(1, round(_BAR * abs(effect) / most))
            cells.append(Text(bar, style="cyan" if effect > 0.0 else "dark_orange"))
        rows.append(cells)
    head = [*["class"] * several, "feature", "weight", *["weight × largest |x|"] * sized]
    console.print()
    show_table(console, "t" * several + "tn" + "n" * sized + "b", rows, head)
