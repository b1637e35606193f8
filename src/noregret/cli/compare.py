"""`noregret compare`: many learners on one stream that is read once."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

from rich.table import Table
from rich.text import Text

from noregret.arguments import refuse
from noregret.cli.console import plain_console
from noregret.cli.given import Given
from noregret.cli.writing import to_json
from noregret.evaluate import Trial, metrics_for, watch
from noregret.runs.progress import Watched
from noregret.runs.wording import METRICS, left_out, metric, short
from noregret.visible import visible
from noregret.vocabulary import learners as choices
from noregret.vocabulary.presets import make, parse_spec

#: By the kind of labels: learners that are compared by default, and how they are measured.
_USUAL = {
    "sign": ("default", "ogd", "sgd", "adagrad", "perceptron", "pa", "pa2"),
    "real": ("default", "ogd", "sgd", "adagrad"),
    "class": ("softmax", "one-against-rest", "multiclass-hinge", "ogd", "sgd", "perceptron"),
}
_COLUMNS = {
    "sign": ("accuracy", "auc", "f1"),
    "real": ("rmse", "mae", "r2"),
    "class": ("accuracy", "macro_f1", "log_loss"),
}


def compare(
    given: Given,
    *,
    learner: list[str] | None,
    loss: str | None,
    multiclass: bool,
    class_radius: float | None,
    as_json: bool,
) -> None:
    """Run `noregret compare`."""
    several = multiclass or choices.is_several(loss or "logistic")
    shared = choices.of_several(loss) if several else loss or "logistic"
    texts = learner or list(_USUAL[choices.any_loss(shared).labels])
    choices.check_class_radius(class_radius)
    specs = [parse_spec(text, shared, several=several) for text in texts]
    kinds = [*{choices.any_loss(spec.loss).labels for spec in specs}]
    refuse(
        {
            "--learner: the same learner was named twice": len(set(texts)) < len(texts),
            "--learner: some learners classify and some do not, expected one kind": len(kinds) > 1,
        }
    )
    wide = any(spec.needs_width for spec in specs)
    made = None if wide else list(map(make, texts, specs))
    stream = given.open(given.label_rule(kinds[0]), width=given.columns() if wide else 0)
    if made is None:
        width = stream.width or given.columns()
        specs = [replace(spec, features=width * spec.needs_width) for spec in specs]
        made = list(map(make, texts, specs))
    fixed = class_radius
    radius = None if fixed is None else lambda: fixed
    trials = [
        Trial(one, radius, metrics_for(one.loss), text, plain=True)
        for one, text in zip(made, texts, strict=True)
    ]
    examples = [*watch(trials, Watched(stream))][-1]
    if as_json:
        print(to_json({"input": stream.name, "learners": [_facts(t) for t in trials]}))
        return
    _show(trials, stream.name, examples, kinds[0], class_radius)


def _facts(trial: Any) -> dict[str, Any]:
    if trial.failure:
        return {"learner": trial.name, "failure": trial.failure}
    return {
        "learner": trial.name,
        "loss": str(trial.learner.loss),
        "objective": trial.learner.certificate().plain().objective,
        "progress": [point.as_dict() for point in trial.points],
        "metrics": trial.metrics.summary(),
    }


def _show(
    trials: list[Any], name: str, examples: int, kind: str, class_radius: float | None
) -> None:
    columns = _COLUMNS[kind]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("learner", overflow="fold")
    for head in ("loss", "floor", "regret ≤", *(METRICS[key] for key in columns)):
        table.add_column(head, justify="right", no_wrap=True)
    going = [trial for trial in trials if not trial.failure]
    # The same loss together, the best of each first.
    going.sort(key=lambda trial: (str(trial.learner.loss), trial.points[-1].loss))
    losses = {str(trial.learner.loss) for trial in going}
    kinds = [loss.partition("(")[0] for loss in losses]
    before = ""
    for trial in going:
        loss = str(trial.learner.loss)
        if len(losses) > 1 and loss != before:
            kind_only = loss.partition("(")[0]
            # In full only where that tells two of them apart: the table is narrow.
            table.add_row(Text(kind_only if kinds.count(kind_only) == 1 else loss, style="dim"))
        point, metrics = trial.points[-1], trial.metrics.summary()
        style = "bold" if loss != before else ""
        before = loss
        shown = [metric(key, metrics[key]) if key in metrics else "" for key in columns]
        table.add_row(
            Text(visible(trial.name), style=style),
            Text(short(point.average_loss), style=style),
            Text(short(point.average_floor, ROUND_FLOOR), style="cyan"),
            Text(short(point.average_regret, ROUND_CEILING), style="green"),
            *shown,
        )
    for trial in trials:
        if trial.failure:
            table.add_row(visible(trial.name), Text("diverged", style="red"))
    console = plain_console()
    console.print(Text.assemble(("noregret compare", "bold"), f" {visible(name)}"))
    size = "the given size" if class_radius is not None else "its learner's own size"
    console.print(
        f"{examples:,} examples, read once; averages a round; each floor is over the class "
        f"of {size}",
        style="dim",
    )
    if any(trial.metrics.summary().get("weighted") for trial in going):
        console.print(
            "losses, floors, regrets and metrics count each example by its weight",
            style="dim",
        )
    if any(trial.learner.certificate().curvature > 0.0 for trial in trials):
        console.print(
            "losses, floors and regrets are without the penalty of strongly-convex",
            style="dim",
        )
    # All learners saw the same rows: what one leaves out, all do.
    for left in sorted({left_out(trial.metrics.summary()) for trial in going} - {""}):
        console.print(f"log losses are {left}", style="dim")
    console.print()
    console.print(table)
    for trial in trials:
        if trial.failure:
            console.print(f"{visible(trial.name)}: {visible(trial.failure)}", style="dim")
