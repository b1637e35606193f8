"""The console of every command: names from outside hold square brackets, which are no markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noregret.visible import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def plain_console() -> Console:
    """Return a console for stdout that prints a string as it is: no markup, no emoji codes."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


def weights_table(top: list[list[Any]]) -> Table:
    """Return the largest weights with a bar for each."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("feature", overflow="fold")
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    most = max((abs(weight) for _, _, weight in top), default=1.0)
    for _, name, weight in top:
        bar = "█" * max(1, round(24 * abs(weight) / most))
        color = "cyan" if weight > 0.0 else "dark_orange"
        table.add_row(Text(visible(name)), f"{weight:+.5g}", Text(bar, style=color))
    return table
