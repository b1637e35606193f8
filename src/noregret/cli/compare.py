"""`noregret compare`: many learners on one stream that is read once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

from rich.text import Text

from noregret.arguments import refuse
from noregret.cli.console import plain_console, show_table
from noregret.cli.given import Given
from noregret.cli.writing import fitted, to_json
from noregret.evaluate import Trial, metrics_for, watch
from noregret.proof.wording import named
from noregret.runs.facts import METRICS, describe_learner, left_out, metric, short
from noregret.runs.progress import Watched
from noregret.visible import visible
from noregret.vocabulary import learners as choices
from noregret.vocabulary.named import make, parse_spec

#: By the kind of labels: learners that are compared by default, and how they are measured.
_USUAL = {
    "sign": ("default", "scale-free", "ogd", "sgd", "adagrad", "perceptron", "pa", "pa2"),
    "real": ("default", "scale-free", "ogd", "sgd", "adagrad"),
    "class": (
        "default",
        "softmax",
        "one-against-rest",
        "multiclass-hinge",
        "ogd",
        "sgd",
        "perceptron",
    ),
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
    return {
        "learner": trial.name,
        "failure": trial.failure or None,
        "loss": str(trial.learner.loss),
        "objective": trial.learner.certificate().plain().objective,
        "progress": [point.as_dict() for point in trial.points],
        "metrics": trial.metrics.summary(),
    }


def _show(
    trials: list[Any], name: str, examples: int, kind: str, class_radius: float | None
) -> None:
    console, columns, before = plain_console(), _COLUMNS[kind], ""
    rows: list[list[Any]] = []
    # The same loss together, the best of each first.
    for trial in sorted(
        trials,
        key=lambda one: (
            named(one.learner.loss),
            math.inf if one.failure else one.points[-1].loss,
        ),
    ):
        function = named(trial.learner.loss)
        style, before = "bold" if function != before else "", function
        if console.is_terminal and style:
            rows.append([Text(function, style="dim")])
        cells = [Text(visible(trial.name), style=style)]
        cells += [Text(function)] * (not console.is_terminal)
        if trial.failure:
            rows.append([*cells, Text("diverged", style="red")])
            continue
        point, metrics = trial.points[-1], trial.metrics.summary()
        rows.append(
            [
                *cells,
                Text(short(point.average_loss), style=style),
                Text(short(point.average_floor, ROUND_FLOOR), style="cyan"),
                Text(short(point.average_regret, ROUND_CEILING), style="green"),
                *(metric(key, metrics[key]) if key in metrics else "" for key in columns),
            ]
        )
    console.print(f"noregret compare {visible(name)}", style="bold")
    for remark in _remarks(trials, examples, class_radius):
        console.print(fitted(remark), style="dim")
    console.print()
    texts = ["learner"] if console.is_terminal else ["learner", "loss function"]
    numbers = ["loss", "floor", "regret ≤", *(METRICS[key] for key in columns)]
    show_table(console, "t" + "n" * len(numbers), rows, [*texts, *numbers])
    for trial in trials:
        if trial.failure:
            console.print(fitted(f"{visible(trial.name)}: {visible(trial.failure)}"), style="dim")


def _remarks(trials: list[Any], examples: int, class_radius: float | None) -> Iterator[str]:
    """Yield what is to be known about the numbers of the table."""
    size = "the given size" if class_radius is not None else "its learner's own size"
    yield (
        f"{examples:,} examples, read once; averages a round; each floor is over the class of "
        f"{size}"
    )
    summaries = [trial.metrics.summary() for trial in trials if not trial.failure]
    if any(summary.get("weighted") for summary in summaries):
        yield "losses, floors, regrets and metrics count each example by its weight"
    for trial in trials:
        if trial.name.partition(":")[0] == "default":
            yield f"{visible(trial.name)} is {describe_learner(trial.learner)}"
    if any(trial.learner.certificate().curvature > 0.0 for trial in trials):
        yield "losses, floors and regrets are without the penalty of strongly-convex"
    # All learners saw the same rows: what one leaves out, all do.
    yield from sorted({f"log losses are {left_out(one)}" for one in summaries if left_out(one)})
    errors = {one["repeat_error"] for one in summaries if "repeat_error" in one}
    yield from (f"repeating the last label: {error:.2%} mistakes" for error in errors)
