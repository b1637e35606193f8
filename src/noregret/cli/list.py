"""`noregret list`: the words for losses, maps, rates and learners."""

from __future__ import annotations

from noregret.cli.console import plain_console, show_table
from noregret.cli.options import LISTS
from noregret.cli.writing import to_json
from noregret.vocabulary.listing import words


def list(
    *,
    what: str,
    as_json: bool,
) -> None:
    """Run `noregret list`."""
    found = words(next(kind for kind, name in LISTS.items() if name == what))
    if as_json:
        print(to_json({"kind": what, "words": [word._asdict() for word in found]}))
        return
    show_table(plain_console(), "tt", [(word.usage, word.about) for word in found])
