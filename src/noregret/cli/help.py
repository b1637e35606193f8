"""The pages of help, made of the tables of commands and options: words are never cut."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterable, Iterator
from textwrap import TextWrapper

from noregret.cli.options import options_of
from noregret.cli.table import COMMANDS

_EXIT_CODES = (
    "Exit codes: 0 done; 1 a statement is false; 2 usage, input or an output that cannot be "
    "written; 3 a statement could not be checked; 128 + N ended by signal N (130 Ctrl-C, 141 "
    "closed pipe)."
)
#: Columns of the terminal that are used, and those before an explanation.
_WIDEST, _MARGIN = 100, 28
_HELP = ("-h, --help", "Show this page.")


def command_page(name: str) -> str:
    """Return the help of a command."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for one in options_of(name):
        heading = "Arguments" if one.positional else one.group
        sections.setdefault(heading, []).append((one.usage, one.about))
    sections.setdefault("General", []).append(_HELP)
    arguments = [usage for usage, _ in sections.get("Arguments", ())]
    usage = " ".join(["Usage: noregret", name, "[OPTIONS]", *arguments])
    return _page(usage, inspect.cleandoc(COMMANDS[name].about), sections)


def program_page() -> str:
    """Return the help of the program."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for one in COMMANDS.values():
        sections.setdefault(one.group, []).append((one.name, one.about.partition("\n")[0]))
    sections["Options"] = [("--version", "Print the version."), _HELP]
    usage = "Usage: noregret COMMAND [OPTIONS] ..."
    page = _page(usage, "Online learning that proves how well it is doing.", sections)
    return f"{page}\n\n{_filled(_EXIT_CODES)}"


def _page(usage: str, about: str, sections: dict[str, list[tuple[str, str]]]) -> str:
    parts = [usage, *map(_filled, about.split("\n\n"))]
    parts += ["\n".join([f"{heading}:", *_rows(rows)]) for heading, rows in sections.items()]
    return "\n\n".join(parts)


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each term with its explanation beside it, or below it where the term is long."""
    margin = min(_MARGIN, max(len(term) for term, _ in rows) + 4)
    for term, about in rows:
        lines = _filled(about, " " * margin)
        beside = len(term) + 4 <= margin
        yield f"  {term}{lines[len(term) + 2 :]}" if beside else f"  {term}\n{lines}"


def _filled(text: str, indent: str = "") -> str:
    columns = min(shutil.get_terminal_size().columns, _WIDEST)
    # At least 40, so that a word longer than what is left of a line is rare.
    width = max(columns, len(indent) + 40)
    return TextWrapper(
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ).fill(text)
