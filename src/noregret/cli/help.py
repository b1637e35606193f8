"""The pages of help, made of the tables of commands and options: words are never cut."""

from __future__ import annotations

import inspect
import shutil
import textwrap

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
        sections.setdefault(one.group, []).append((one.usage, one.about))
    sections.setdefault("General", []).append(_HELP)
    arguments = " ".join(one.usage for one in options_of(name) if one.positional)
    usage = f"Usage: noregret {name} [OPTIONS] {arguments}"
    return _page(usage.rstrip(), inspect.cleandoc(COMMANDS[name][1]), sections)


def program_page() -> str:
    """Return the help of the program."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for name, (group, about) in COMMANDS.items():
        sections.setdefault(group, []).append((name, about.partition("\n")[0]))
    sections["Options"] = [("--version", "Print the version."), _HELP]
    about = "Online learning that proves how well it is doing."
    return _page("Usage: noregret COMMAND [OPTIONS] ...", f"{about}\n\n{_EXIT_CODES}", sections)


def _page(usage: str, about: str, sections: dict[str, list[tuple[str, str]]]) -> str:
    parts = [usage, *map(_filled, about.split("\n\n"))]
    for heading, rows in sections.items():
        margin = min(_MARGIN, max(len(term) for term, _ in rows) + 4)
        lines = [f"{heading}:"]
        for term, explained in rows:
            # Beside the term, or below it where the term is long.
            text = _filled(explained, " " * margin)
            beside = len(term) + 4 <= margin
            lines.append(f"  {term}{text[len(term) + 2 :]}" if beside else f"  {term}\n{text}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _filled(text: str, indent: str = "") -> str:
    # At least 40 columns for a text, so that few words are longer than a line.
    width = max(min(shutil.get_terminal_size().columns, _WIDEST), len(indent) + 40)
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
