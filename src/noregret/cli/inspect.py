"""`noregret inspect`: what is in a model file."""

from __future__ import annotations

from pathlib import Path

from noregret.cli.console import plain_console, show_table, show_weights
from noregret.cli.given import Given
from noregret.cli.writing import fitted, to_json
from noregret.evaluate.effects import effects, largest
from noregret.experts.representative import linear_part
from noregret.runs.facts import closing_lines, run_facts, run_words
from noregret.runs.predicting import Names, find_names, names_of, top_weights
from noregret.runs.record import Record, load
from noregret.visible import visible
from noregret.vocabulary import learners as choices


def inspect(
    *,
    model: Path,
    files: list[str] | None,
    top: int | None,
    as_json: bool,
) -> None:
    """Run `noregret inspect`."""
    learner, record = load(model)
    count = top if top is not None else 5 if learner.loss.labels == "class" else 20
    names = names_for(learner, record, files, count)
    tops = top_weights(learner, names, count, record.classes)
    if as_json:
        print(to_json({"model": str(model), **run_facts(learner, record), "top": tops}))
        return
    console = plain_console()
    console.print(fitted(visible(model)), style="bold")
    show_table(console, "tt", run_words(learner, record))
    console.print(fitted("\n".join(["", *closing_lines(learner, record)])))
    if tops:
        show_weights(console, tops)
    if any(one["name"].startswith("slot ") for one in tops) and not files:
        console.print(
            fitted(f"hashed features: `noregret inspect {visible(model)} FILE` finds their names"),
            style="dim",
        )


def names_for(
    learner: choices.Learner,
    record: Record,
    files: list[str] | None,
    top: int,
) -> Names:
    """Return what the largest weights are called; `files` are read for names that hashing lost."""
    if not files:
        return names_of(learner, record)
    if "name_slots" not in record.names:
        raise ValueError(f"{files[0]}: the model knows all names, nothing is to be looked for")
    given = Given(files, {"remember": 1, "on_error": "skip"})
    stream = given.again(learner, record)
    constant = bool(record.reading.get("constant"))
    weights, _ = effects(linear_part(learner))
    wanted = [largest(column, top) for column in (weights.T if weights.ndim == 2 else [weights])]
    columns = sorted({column for part in wanted for column in part.tolist()})
    return find_names(stream, columns, constant)
