"""`noregret compare`: many learners on one stream that is read once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from noregret.cli.console import fitted, plain_console, show_table
from noregret.cli.given import Given
from noregret.cli.writing import to_json
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
    if len(set(texts)) < len(texts):
        raise ValueError("--learner: the same learner was named twice")
    specs = [parse_spec(text, shared, several=several) for text in texts]
    kinds = [*{choices.any_loss(spec.loss).labels for spec in specs}]
    if len(kinds) > 1:
        raise ValueError("--learner: some learners classify and some do not, expected one kind")
    wide = any(spec.needs_width for spec in specs)
    made = None if wide else list(map(make, texts, specs))
    stream = given.open(given.label_rule(kinds[0]), width=given.columns() if wide else 0)
    if made is None:
        width = stream.width or given.columns()
        specs = [replace(spec, features=width * spec.needs_width) for spec in specs]
        made = list(map(make, texts, specs))
    from noregret.evaluate import Trial, metrics_for, watch
    from noregret.runs.progress import Clock

    fixed = class_radius
    radius = None if fixed is None else lambda: fixed
    trials = [
        Trial(one, radius, metrics_for(one.loss), text, plain=True)
        for one, text in zip(made, texts, strict=True)
    ]
    clock = Clock(stream, silent=as_json)
    examples = 0

    def told() -> Any:
        nonlocal examples
        for block in stream:
            yield block
            examples += len(block)
            clock.tell(examples)

    for _ in watch(trials, told()):
        pass
    clock.close(examples)
    if not examples:
        raise ValueError(f"{stream.name}: the file has no examples")
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
    from decimal import ROUND_CEILING, ROUND_FLOOR

    from rich.text import Text

    from noregret.runs.wording import METRICS, metric, short

    columns, console = _COLUMNS[kind], plain_console()
    going = [trial for trial in trials if not trial.failure]
    # The same loss together, the best of each first.
    going.sort(key=lambda trial: (str(trial.learner.loss), trial.points[-1].loss))
    losses = {str(trial.learner.loss) for trial in trials}
    kinds = [loss.partition("(")[0] for loss in losses]
    rows: list[list[Any]] = []
    before = ""
    for trial in [*going, *(trial for trial in trials if trial.failure)]:
        loss = str(trial.learner.loss)
        kind_only = loss.partition("(")[0]
        # In full only where that tells two of them apart: the table is narrow.
        function = kind_only if kinds.count(kind_only) == 1 else loss
        style = "bold" if loss != before and not trial.failure else ""
        cells: list[Any] = [Text(visible(trial.name), style=style)]
        if not console.is_terminal:
            cells.append(function)
        elif len(losses) > 1 and style:
            rows.append([Text(function, style="dim")])
        if trial.failure:
            cells.append(Text("diverged", style="red"))
        else:
            point, metrics, before = trial.points[-1], trial.metrics.summary(), loss
            cells += [
                Text(short(point.average_loss), style=style),
                Text(short(point.average_floor, ROUND_FLOOR), style="cyan"),
                Text(short(point.average_regret, ROUND_CEILING), style="green"),
                *(metric(key, metrics[key]) if key in metrics else "" for key in columns),
            ]
        rows.append(cells)
    console.print(f"noregret compare {visible(name)}", style="bold")
    for remark in _remarks(trials, going, examples, class_radius):
        console.print(fitted(remark), style="dim")
    console.print()
    function_column = [] if console.is_terminal else ["loss function"]
    numbers = ["loss", "floor", "regret ≤", *(METRICS[key] for key in columns)]
    show_table(console, "t" + "n" * len(numbers), rows, ["learner", *function_column, *numbers])
    for trial in trials:
        if trial.failure:
            reason = f"{visible(trial.name)}: {visible(trial.failure)}"
            console.print(fitted(reason), style="dim")


def _remarks(
    trials: list[Any], going: list[Any], examples: int, class_radius: float | None
) -> Iterator[str]:
    """Yield what is to be known about the numbers of the table."""
    from noregret.runs.wording import left_out

    size = "the given size" if class_radius is not None else "its learner's own size"
    yield (
        f"{examples:,} examples, read once; averages a round; each floor is over the class of "
        f"{size}"
    )
    if any(trial.metrics.summary().get("weighted") for trial in going):
        yield "losses, floors, regrets and metrics count each example by its weight"
    if any(trial.learner.certificate().curvature > 0.0 for trial in trials):
        yield "losses, floors and regrets are without the penalty of strongly-convex"
    # All learners saw the same rows: what one leaves out, all do.
    for left in sorted({left_out(trial.metrics.summary()) for trial in going} - {""}):
        yield f"log losses are {left}"
    for error in sorted({trial.metrics.summary().get("repeat_error", -1.0) for trial in going}):
        if error >= 0.0:
            yield f"repeating the last label makes {error:.2%} mistakes"
