"""The console of every command: names from outside hold square brackets, which are no markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def plain_console() -> Console:
    """Return a console for stdout that prints a string as it is: no markup, no emoji codes."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)
