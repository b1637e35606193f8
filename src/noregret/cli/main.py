"""The program `noregret`: its commands and what happens when one fails."""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
from typing import Annotated, Any, NoReturn

import typer

from noregret import __version__
from noregret.cli.visible import visible

_PANELS = {
    "Learn and predict": ("learn", "predict", "compare"),
    "Prove": ("certify", "hindsight", "drift", "audit"),
    "Look": ("inspect", "report"),
    "Prepare": ("convert", "warmup", "demo"),
}

_OPTIONS = {"constant": "intercept", "width": "features", "first_index": "first-index"}
_OPTIONS |= {name: name for name in ("bits", "remember", "missing", "labels", "format", "threads")}
_OPTIONS["on_error"] = "on-error"
#: What is said of labels in the library, and on the command line.
_SAID = {
    'labels="binary"': "--labels NEGATIVE,POSITIVE",
    "labels=(negative, positive)": "--labels NEGATIVE,POSITIVE",
    "the pair (negative, positive)": "them with --labels NEGATIVE,POSITIVE",
    'labels="classes"': "--multiclass",
}
#: What is raised for options that do not exist or take no such value; the class has no public
#: name that all versions of typer share.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
#: A keyword and its value, but not inside a path or what was found in a file.
_KEYWORD = re.compile(rf"(?<![\w/.'\"])({'|'.join(_OPTIONS)})=(['\"]?)([\w.+-]*)\2")


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
    )
    program.callback()(about)
    known = {name: panel for panel, names in _PANELS.items() for name in names}
    called = arguments[:1] if arguments and arguments[0] in known else known
    for name in called:
        command = getattr(importlib.import_module(f"noregret.cli.{name}"), name)
        program.command(rich_help_panel=known[name])(command)
    return program


def main() -> None:
    """Run the program; what the user can mend is one line on stderr and exit code 2."""
    # The compiler makes many objects as it loads, and all of them stay: to look for garbage among
    # them again and again would take a tenth of the start.
    gc.set_threshold(100_000, 20, 100)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a symbol shows a question mark in its place.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        # Not standalone: click would show errors in a box of several lines.
        code = _program(sys.argv[1:])(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except _UsageError as error:
        complaint = _usage(error)
        if complaint:
            print(f"noregret: {visible(complaint)}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of a pipe left (`| head`); Python must not try to flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError, OverflowError, MemoryError) as error:
        print(f"noregret: {visible(_one_line(error))}", file=sys.stderr)
        sys.exit(2)


def _usage(error: Any) -> str:
    # The name of the program is as it was started, `python -m noregret` perhaps.
    inside = error.ctx is not None and error.ctx.parent is not None
    command = f"noregret {error.ctx.info_name}" if inside else "noregret"
    complaint = " ".join(error.format_message().split()).rstrip(".")
    # Without a word where the help was shown because nothing was said.
    return complaint and f"{complaint}; see {command} --help"


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    for keyword, option in _SAID.items():
        text = text.replace(keyword, option)
    # The library speaks of its keywords; whoever reads this has options.
    return _KEYWORD.sub(lambda found: f"--{_OPTIONS[found[1]]} {found[3]}".rstrip(), text)


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
