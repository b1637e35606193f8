"""`noregret inspect`: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.text import Text

from noregret.cli.console import plain_console, weights_table
from noregret.cli.given import Given
from noregret.cli.writing import to_json
from noregret.evaluate import metrics_for
from noregret.evaluate.effects import effects, largest
from noregret.runs import naming
from noregret.runs.record import Record, load
from noregret.runs.wording import describe_learner, metrics_line, reading_facts
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
    weights = learner.weights
    several = weights.ndim == 2
    count = top if top is not None else 5 if several else 20
    names = names_for(learner, record, files, count)
    tops = (
        naming.by_class(weights, names, record.classes, count)
        if several
        else {"": naming.top_weights(weights, names, count)}
    )
    certificate = record.certificate(learner)
    radius = record.points[-1].radius if record.points else None
    facts: dict[str, Any] = {
        "model": str(model),
        "learner": describe_learner(learner),
        "input": ", ".join(record.sources) or "unknown",
        "features": learner.dimension,
        "weights other than 0": int((weights != 0.0).sum()),
        **_labels(record),
        "examples seen": record.position.total,
        "passes": record.passes,
        **reading_facts(record),
    }
    metrics, held = (metrics_for(learner.loss) for _ in range(2))
    for some, kept in ((metrics, record.metrics), (held, record.held_metrics)):
        if kept:
            some.restore(kept)
    if as_json:
        measured = {
            "top": tops if several else tops[""],
            "metrics": metrics.summary(),
            "holdout": held.summary() if record.held_metrics else None,
            "certificate": certificate.as_dict(radius),
        }
        print(to_json(facts | measured))
        return
    console = plain_console()
    console.print(visible(model), style="bold", soft_wrap=True)
    for name, value in facts.items():
        if name != "model":
            text = f"{value:,}" if isinstance(value, int) else _joined(value)
            fact = Text.assemble("  ", (f"{visible(name):<22}", "dim"), visible(text))
            console.print(fact, soft_wrap=True)
    lines = ["", certificate.text(radius)]
    if record.metrics:
        lines.append(f"  {record.measured}: {metrics_line(metrics.summary())}")
    if record.held_metrics:
        summary = held.summary()
        lines.append(f"  {summary['examples']:,.0f} held out: {metrics_line(summary)}")
    console.print("\n".join(lines), soft_wrap=True)
    for name, shown in tops.items():
        if shown:
            console.print()
            if several:
                console.print(f"class {visible(name)}", soft_wrap=True)
            console.print(weights_table(shown))
    if any(name.startswith("slot ") for top in tops.values() for _, name, _ in top) and not files:
        console.print(
            f"hashed features: `noregret inspect {visible(model)} FILE` finds their names",
            style="dim",
            soft_wrap=True,
        )


def _labels(record: Record) -> dict[str, Any]:
    if record.classes:
        return {"classes": record.classes}
    return {
        "labels": ", ".join(f"{_text(a)} → {b:+g}" for a, b in record.labels) or "as written",
    }


def _joined(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _text(label: Any) -> str:
    return label if isinstance(label, str) else f"{label:g}"


def names_for(
    learner: choices.Learner,
    record: Record,
    files: list[str] | None,
    top: int,
) -> naming.Names:
    """Return what the largest weights are called; `files` are read for names that hashing lost."""
    if not files:
        return naming.names_of(learner, record)
    if "name_slots" not in record.names:
        raise ValueError(f"{files[0]}: the model knows all names, nothing is to be looked for")
    reading = {name: value for name, value in record.reading.items() if name != "remember"}
    given = Given(files, {"remember": 1, "on_error": "skip"})
    stream = given.again(learner, record, record.rule(), reading, unlabelled="keep")
    constant = bool(record.reading.get("constant"))
    weights, _ = effects(learner)
    wanted = [largest(column, top) for column in (weights.T if weights.ndim == 2 else [weights])]
    columns = sorted({column for part in wanted for column in part.tolist()})
    return naming.find_names(stream, columns, constant)
