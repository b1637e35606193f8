"""`noregret list`: the words for losses, maps, rates and learners."""

from __future__ import annotations

from typing import Annotated

import typer

from noregret.arguments import ArgumentError, meant
from noregret.cli.writing import to_json


def list(
    what: Annotated[str, typer.Argument(help="losses, mirrors, rates or learners.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the words that options take, with what each stands for."""
    kinds = {"losses": "loss", "mirrors": "mirror", "rates": "rate", "learners": "learner"}
    if what not in kinds:
        raise ArgumentError("what", f"expected one of {', '.join(kinds)}{meant(what, kinds)}", what)
    from noregret.vocabulary.presets import words

    found = words(kinds[what])
    if as_json:
        typer.echo(to_json({what: [word._asdict() for word in found]}))
        return
    width = max(len(word.usage) for word in found)
    typer.echo("\n".join(f"{word.usage:<{width}}  {word.about}" for word in found))
