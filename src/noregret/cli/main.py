"""The program `noregret`: how it runs, and what happens when a command fails."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from typing import NoReturn

from noregret.cli.output import CLOSED_PIPE, FAULT, MENDABLE, OutputLost, guard_streams
from noregret.runs.interrupt import Interrupted, leave_at_once
from noregret.visible import visible


def main() -> None:
    """Run the program; what the user can mend is one line on stderr and exit code 2."""
    # The compiler makes many objects as it loads, and all of them stay: to look for garbage among
    # them again and again would take a tenth of the start.
    gc.set_threshold(100_000, 20, 100)
    import click

    from noregret.cli import commands

    try:
        sys.exit(commands.call(sys.argv[1:]))
    except OutputLost as lost:
        _complain_of(lost)
        sys.exit(lost.code)
    except KeyboardInterrupt as end:
        sys.exit(end.code if isinstance(end, Interrupted) else 130)
    except (click.UsageError, ValueError, OSError, OverflowError, MemoryError) as error:
        _complain(commands.one_line(error, sys.argv[1]))
        sys.exit(MENDABLE)


def _complain(text: str) -> None:
    print(f"noregret: {visible(text)}", file=sys.stderr)


def _complain_of(lost: OutputLost) -> None:
    # No message for a closed pipe: its reader (`| head`) closed it on purpose.
    if lost.code != CLOSED_PIPE:
        _complain(f"{lost.filename}: {lost.strerror}")


def run() -> NoReturn:
    """Run the program and leave at once, with its exit code.

    A regular interpreter shutdown would take a tenth of a short run; the code that opened files
    and threads closes and joins them.
    """
    leave_at_once()
    guard_streams()
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAULT if end.code else 0
    except Exception:
        traceback.print_exc()
        code = FAULT
    try:
        sys.stdout.flush()
    except OutputLost as lost:
        # Else it was said before, or something else was the reason to end.
        if not code:
            _complain_of(lost)
            code = lost.code
    sys.stderr.flush()
    os._exit(code)
