"""The commands of the program, and how one of them is called."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer

from noregret import __version__

_PANELS = {
    "Learn and predict": ("learn", "predict", "compare"),
    "Prove": ("certify", "hindsight", "drift", "audit"),
    "Look": ("inspect", "report", "list"),
    "Prepare": ("convert", "warmup", "demo"),
}
_EXIT_CODES = (
    "Exit codes: 0 done; 1 a statement is false; 2 usage, input or an output that cannot be "
    "written; 3 a statement could not be checked; 128 + N ended by signal N (130 Ctrl-C, 141 "
    "closed pipe)."
)
#: What is raised for options that do not exist or take no such value; the class has no public
#: name that all versions of typer share.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"noregret {__version__}")
        raise typer.Exit()


def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Online learning that proves how well it is doing."""


def _program(arguments: list[str]) -> typer.Typer:
    """Return the program with all its commands, or with the one that is called.

    To load the others would be a twentieth of a short run.
    """
    program = typer.Typer(
        name="noregret",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=_EXIT_CODES,
    )
    program.callback()(about)
    known = {name: panel for panel, names in _PANELS.items() for name in names}
    called = arguments[:1] if arguments and arguments[0] in known else known
    for name in called:
        command = getattr(importlib.import_module(f"noregret.cli.{name}"), name)
        program.command(rich_help_panel=known[name])(command)
    return program


def call(arguments: list[str]) -> int:
    """Run a command and return its exit code; whatever it raises is the caller's to handle."""
    command = typer.main.get_command(_program(arguments))
    try:
        # Not by its own `main`, which turns a closed pipe into exit code 1 before we see it, and
        # shows errors in a box of several lines.
        with command.make_context("noregret", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return 0


def usage_line(error: Any) -> str:
    """Return what is wrong with the arguments in one line, and where to look; maybe nothing."""
    # The name of the program is as it was started, `python -m noregret` perhaps.
    inside = error.ctx is not None and error.ctx.parent is not None
    command = f"noregret {error.ctx.info_name}" if inside else "noregret"
    complaint = " ".join(error.format_message().split()).rstrip(".")
    # Without a word where the help was shown because nothing was said.
    return complaint and f"{complaint}; see {command} --help"
