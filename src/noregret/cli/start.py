"""Where the program begins: it says what signals do before it imports anything else.

Python shows a traceback for a Ctrl-C that comes earlier; what is imported before is the package
itself, which imports very little, and the signals.
"""

from __future__ import annotations

from typing import NoReturn

from noregret.runs.interrupt import leave_at_once


def run() -> NoReturn:
    """Run the program and leave with its exit code; a signal while it starts ends it at once."""
    leave_at_once()
    from noregret.cli.main import run as begin

    begin()
