"""`noregret audit`: every statement of a saved certificate, checked against its examples."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noregret.cli.console import plain_console
from noregret.cli.options import Given, reads_examples
from noregret.cli.writing import to_json
from noregret.visible import visible

if TYPE_CHECKING:
    from noregret.runs.auditing import Audit
    from noregret.runs.record import Record

#: Exit codes beside 0, all statements hold; 2 is for what the user can mend.
FALSE, NOT_CHECKED = 1, 3

_FILES = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE...]",
        help="Where the files that were learnt are now, in that order. [default: the names that "
        "the model remembers, there or in its own directory]",
        show_default=False,
    ),
]


@partial(reads_examples, files=_FILES)
def audit(
    model: Annotated[Path, typer.Argument(help="A model that `learn --save` wrote.")],
    given: Given,
    tol: Annotated[
        float, typer.Option(min=0.0, help="Relative duality gap that the solver aims at.")
    ] = 1e-6,
    max_passes: Annotated[int, typer.Option(min=1, help="Passes after which it stops.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Replay all that a model has learnt, and check every statement of its certificate.

    All inputs are learnt once more in their order (`learn`, then each `learn --resume`), the best
    in hindsight is solved for, and every statement is put against the examples: PASS, FAIL, or
    not checked with the reason. The examples are held in memory.

    Exit codes: 0 all statements hold; 1 one is false; 3 none is false, but something could not be
    checked: standard input, a file that is gone or has changed; 2 the command cannot be run.
    """
    from noregret.runs import record as records
    from noregret.runs.auditing import audit_model
    from noregret.runs.naming import require_same_columns
    from noregret.runs.replay import places

    learner, record = records.load(model)
    if learner.rounds == 0:
        raise ValueError(f"{model}: has learnt nothing that could be audited")
    files = given.found() if given.files else []
    width = learner.dimension if record.spec.needs_width else 0

    def opened(one: Any) -> Any:
        where = places(record, files, model)
        told = replace(
            given,
            files=[where[name] for name in one.files],
            on_error=given.on_error or one.on_error,
        )
        stream = told.open(one.rule(record.classes), one.reading, width, **record.known())
        require_same_columns(learner, record, stream)
        return stream

    found = audit_model(learner, record, opened, tol=tol, max_passes=max_passes)
    if as_json:
        typer.echo(to_json({"model": str(model)} | found.as_dict()))
    else:
        _show(model, record, learner.rounds, found)
    if found.failed:
        raise typer.Exit(FALSE)
    if found.unchecked:
        raise typer.Exit(NOT_CHECKED)


def _show(model: Path, record: Record, rounds: int, audited: Audit) -> None:
    from rich.table import Table
    from rich.text import Text

    console = plain_console()
    inputs = ", then ".join(" ".join(map(visible, one.files)) for one in record.inputs)
    heading = f" {visible(model)} on {inputs}, {rounds:,} rounds\n"
    console.print(Text.assemble(("noregret audit", "bold"), heading))
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    words = {True: ("PASS", "green"), False: ("FAIL", "bold red"), None: ("  – ", "dim")}
    for verdict in audited.verdicts:
        word, style = words[verdict.holds]
        text = Text(visible(verdict.statement))
        text.append(f"\n{visible(verdict.detail)}", style="dim")
        table.add_row(Text(word, style=style), text)
    console.print(table)
    console.print()
    styles = {True: "green", False: "bold red", None: "bold"}
    console.print(audited.conclusion, style=styles[audited.holds])
