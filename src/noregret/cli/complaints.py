"""What went wrong, in one line that names options as the command line spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noregret.arguments import ArgumentError, meant
from noregret.cli.options import OPTIONS, flag_of, options_of
from noregret.cli.table import COMMANDS

if TYPE_CHECKING:
    import click

#: What `noregret list` calls the words of a kind.
_LISTS = {"loss": "losses", "mirror": "mirrors", "rate": "rates", "learner": "learners"}


def one_line(error: Exception, command: str) -> str:
    """Return what an error of the library says, with options in the place of arguments."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    argument = getattr(error, "argument", "")
    flag = argument and flag_of(command, argument)
    text = str(error)
    if isinstance(error, ArgumentError):
        found = f"{error.found:g}" if isinstance(error.found, float) else error.found or ""
        text = error.said(f"{flag} {found}".rstrip(), f"noregret list {_LISTS.get(error.kind)}")
    elif flag:
        text = f"{text}; see {flag}"
    return " ".join(text.split())


def usage_line(error: click.UsageError) -> str:
    """Return what is wrong with the arguments, and where to look."""
    # The name of the program is as it was started, `python -m noregret` perhaps.
    inside = error.ctx is not None and error.ctx.parent is not None
    command = str(error.ctx.info_name) if inside and error.ctx else ""
    option = getattr(error, "option_name", "")
    complaint = " ".join(error.format_message().split()).rstrip(".")
    if type(error).__name__ == "NoSuchOption":
        complaint = f"No such option: {option}{_hint(option, command)}"
    return f"{complaint}; see {f'noregret {command}'.rstrip()} --help"


def _hint(option: str, command: str) -> str:
    """Return what may have been meant by an option that a command does not have."""
    elsewhere = [one for one in OPTIONS if option in one.spellings]
    if elsewhere:
        return f", which belongs to {elsewhere[0].commands.replace(' ', ', ')}"
    known = [one.flag.lstrip("-") for one in options_of(command)] if command in COMMANDS else []
    return meant(option.lstrip("-"), known).replace("mean ", "mean --")
