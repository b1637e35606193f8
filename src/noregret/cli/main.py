"""The program `noregret`: how it runs, and what happens when a command fails."""

from __future__ import annotations

import gc
import os
import re
import sys
import traceback
from typing import NoReturn

from noregret.arguments import ArgumentError
from noregret.cli.output import CLOSED_PIPE, FAULT, MENDABLE, OutputLost, guard_streams
from noregret.runs.interrupt import Interrupted, leave_at_once
from noregret.visible import visible

_OPTIONS = {"constant": "intercept", "width": "features", "first_index": "first-index"}
_OPTIONS |= {name: name for name in ("bits", "remember", "missing", "labels", "format", "threads")}
_OPTIONS |= {"on_error": "on-error", "kind": "as"}
#: Arguments that are no options of their own name.
_ARGUMENTS = {"learner": "learner", "what": "list"}
#: What `noregret list` calls the words of a kind.
_LISTS = {"loss": "losses", "mirror": "mirrors", "rate": "rates", "learner": "learners"}
#: What is said of labels in the library, and on the command line.
_SAID = {
    'labels="binary"': "--classes-as NEGATIVE,POSITIVE",
    "labels=(negative, positive)": "--classes-as NEGATIVE,POSITIVE",
    "the pair (negative, positive)": "them with --classes-as NEGATIVE,POSITIVE",
    'labels="classes"': "--multiclass",
}
#: A keyword and its value, but not inside a path or what was found in a file.
_KEYWORD = re.compile(rf"(?<![\w/.'\"])({'|'.join(_OPTIONS)})=(['\"]?)([\w.+-]*)\2")


def main() -> None:
    """Run the program; what the user can mend is one line on stderr and exit code 2."""
    # The compiler makes many objects as it loads, and all of them stay: to look for garbage among
    # them again and again would take a tenth of the start.
    gc.set_threshold(100_000, 20, 100)
    from noregret.cli import commands

    try:
        sys.exit(commands.call(sys.argv[1:]))
    except commands.UsageError as error:
        complaint = commands.usage_line(error)
        if complaint:
            _complain(complaint)
        sys.exit(MENDABLE)
    except OutputLost as lost:
        _complain_of(lost)
        sys.exit(lost.code)
    except Interrupted as interrupted:
        sys.exit(interrupted.code)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError, OverflowError, MemoryError) as error:
        _complain(_one_line(error))
        sys.exit(MENDABLE)


def _complain(text: str) -> None:
    print(f"noregret: {visible(text)}", file=sys.stderr)


def _complain_of(lost: OutputLost) -> None:
    # No message for a closed pipe: its reader (`| head`) closed it on purpose.
    if lost.code != CLOSED_PIPE:
        _complain(f"{lost.filename}: {lost.strerror}")


def _option(argument: str) -> str:
    dashes = "-" if len(argument) == 1 else "--"
    return _ARGUMENTS.get(argument, dashes + argument.replace("_", "-"))


def _one_line(error: Exception) -> str:
    if isinstance(error, ArgumentError):
        found = f"{error.found:g}" if isinstance(error.found, float) else error.found or ""
        place = f"{_option(error.argument)} {found}".rstrip()
        text = error.said(place, f"noregret list {_LISTS.get(error.kind)}")
        return " ".join(text.split())
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    for keyword, option in _SAID.items():
        text = text.replace(keyword, option)
    # The library's messages name keywords; replace them by the options of the command line.
    return _KEYWORD.sub(lambda found: f"--{_OPTIONS[found[1]]} {found[3]}".rstrip(), text)


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
