"""The program `noregret`: its commands and what happens when one fails."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from noregret import __version__
from noregret.cli.audit import audit
from noregret.cli.certify import certify
from noregret.cli.compare import compare
from noregret.cli.convert import convert
from noregret.cli.demo import demo
from noregret.cli.hindsight import hindsight
from noregret.cli.inspect import inspect
from noregret.cli.learn import learn
from noregret.cli.predict import predict
from noregret.cli.report import report
from noregret.cli.warmup import warmup

app = typer.Typer(
    name="noregret",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Learn and predict": (learn, predict, compare),
    "Prove": (certify, hindsight, audit),
    "Look": (inspect, report),
    "Prepare": (convert, warmup, demo),
}
for panel, commands in _PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"noregret {__version__}")
        raise typer.Exit()


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Online learning that proves how well it is doing."""


def main() -> None:
    """Run the program; what the user can mend is one line on stderr and exit code 2."""
    # The compiler makes many objects as it loads, and all of them stay: to look for garbage among
    # them again and again would take a tenth of the start.
    gc.set_threshold(100_000, 20, 100)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a symbol shows a question mark in its place.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        app()
    except BrokenPipeError:
        # The reader of a pipe left (`| head`); Python must not try to flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError, OverflowError, MemoryError) as error:
        print(f"noregret: {_one_line(error)}", file=sys.stderr)
        sys.exit(2)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def run() -> NoReturn:
    """Run the program and leave at once, with its exit code.

    To take the interpreter apart piece by piece would be a tenth of a short run; files are
    closed and threads joined by whoever opened them.
    """
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            code = code or 141
        except OSError as error:
            print(f"noregret: standard output: {error.strerror}", file=sys.stderr)
            code = code or 2
    os._exit(code)
