"""`noregret audit`: every statement of a saved certificate, checked against its examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.text import Text

from noregret.cli.console import plain_console, show_table
from noregret.cli.given import Given
from noregret.cli.writing import fitted, to_json
from noregret.runs.auditing import Audit, audit_model
from noregret.runs.opening import found
from noregret.runs.record import Record, load
from noregret.runs.replay import places
from noregret.visible import visible

#: Exit codes beside 0, all statements hold; 2 is for what the user can mend.
FALSE, NOT_CHECKED = 1, 3


def audit(
    given: Given,
    *,
    model: Path,
    tol: float,
    max_passes: int,
    as_json: bool,
) -> int:
    """Run `noregret audit`."""
    learner, record = load(model)
    if learner.rounds == 0:
        raise ValueError(f"{model}: has learnt nothing that could be audited")
    files = found(given.files) if given.files else []

    def opened(one: Any) -> Any:
        where = places(record, files, model)
        named = Given([where[name] for name in one.files], given.said)
        told = named.saying(on_error=given.said.get("on_error", one.on_error))
        return told.again(learner, record, grow=True, one=one)

    audited = audit_model(learner, record, opened, tol=tol, max_passes=max_passes)
    if as_json:
        print(to_json({"model": str(model)} | audited.as_dict()))
    else:
        _show(model, record, learner.rounds, audited)
    return FALSE if audited.failed else NOT_CHECKED if audited.unchecked else 0


def _show(model: Path, record: Record, rounds: int, audited: Audit) -> None:
    console = plain_console()
    inputs = ", then ".join(" ".join(map(visible, one.files)) for one in record.inputs)
    console.print(fitted(f"noregret audit {visible(model)} on {inputs}, {rounds:,} rounds"))
    console.print()
    words = {True: ("PASS", "green"), False: ("FAIL", "bold red"), None: ("–", "dim")}
    rows = []
    for verdict in audited.verdicts:
        texts = [Text(visible(verdict.statement)), Text(visible(verdict.detail), style="dim")]
        if console.is_terminal:
            texts = [Text("\n").join(texts)]
        rows.append([Text(*words[verdict.holds]), *texts])
    show_table(console, "tt", rows)
    console.print()
    styles = {True: "green", False: "bold red", None: "bold"}
    console.print(audited.conclusion, style=styles[audited.holds])
