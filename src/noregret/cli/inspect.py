"""`noregret inspect`: what is in a model file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noregret.cli.writing import to_json

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.table import Table

    from noregret.cli.record import Record


def inspect(
    model: Annotated[Path, typer.Argument(help="A model that `learn --save` wrote.")],
    top: Annotated[int, typer.Option(help="Show so many of the largest weights.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the learner, its stream, its certificate and its largest weights by name."""
    from noregret.cli import record as records
    from noregret.cli.telling import describe_learner
    from noregret.evaluate import metrics_for

    learner, record = records.load(model)
    weights = learner.weights
    largest = top_weights(weights, names_of(record), top)
    certificate = learner.certificate()
    radius = record.points[-1].radius if record.points else None
    facts = {
        "model": str(model),
        "learner": describe_learner(learner),
        "input": ", ".join(record.sources) or "unknown",
        "features": learner.dimension,
        "weights other than 0": int((weights != 0.0).sum()),
        "intercept": record.reading.get("constant", 0.0) or "none",
        "labels": ", ".join(f"{_text(a)} → {b:+g}" for a, b in record.labels) or "as written",
        "examples seen": record.position.total,
        "passes": record.position.passes,
    }
    facts |= {name: value for name, value in record.reading.items() if name != "constant"}
    metrics = metrics_for(learner.loss.labels)
    if record.metrics:
        metrics.restore(record.metrics)
    if as_json:
        typer.echo(
            to_json(
                facts
                | {
                    "top": largest,
                    "metrics": metrics.summary(),
                    "certificate": certificate.as_dict(radius),
                }
            )
        )
        return
    from rich.console import Console

    from noregret.cli.screen import metrics_line

    console = Console()
    console.print(f"[bold]{model}[/bold]", highlight=False)
    for name, value in facts.items():
        if name != "model":
            shown = f"{value:,}" if isinstance(value, int) else str(value)
            console.print(f"  [dim]{name:<22}[/dim]{shown}", highlight=False)
    console.print()
    console.print(certificate.text(radius), highlight=False, markup=False)
    if record.metrics:
        console.print(f"  progressive: {metrics_line(metrics.summary())}", highlight=False)
    if top and largest:
        console.print()
        console.print(weights_table(largest))


def _text(label: Any) -> str:
    return label if isinstance(label, str) else f"{label:g}"


class KeptNames:
    """The names of columns as a model file keeps them."""

    def __init__(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        text, ends = arrays["name_text"].tobytes(), arrays["name_offsets"].tolist()
        names = [text[a:b].decode("utf-8", "backslashreplace") for a, b in pairwise(ends)]
        slots = arrays["name_slots"].tolist() if "name_slots" in arrays else range(len(names))
        self._names: dict[int, str] = {}
        for slot, name in zip(slots, names, strict=True):
            self._names[slot] = f"{self._names[slot]} or {name}" if slot in self._names else name
        self._word = "slot" if "name_slots" in arrays else "column"

    def name(self, column: int) -> str:
        """Return the name of a column, or its number where none is known."""
        return self._names.get(column, f"{self._word} {column}")


class NumberedNames:
    """The features of a format that numbers them; the constant feature comes first."""

    def __init__(self, record: Record) -> None:
        self._constant = bool(record.reading.get("constant"))
        self._first = int(record.reading.get("first_index", 1))

    def name(self, column: int) -> str:
        """Return the index of a column as the file writes it."""
        if self._constant and column == 0:
            return "intercept"
        return f"feature {column - self._constant + self._first}"


def names_of(record: Record) -> KeptNames | NumberedNames:
    """Return what the columns of a model are called."""
    return KeptNames(record.names) if record.names else NumberedNames(record)


def top_weights(weights: npt.NDArray[np.float64], names: Any, count: int) -> list[list[Any]]:
    """Return column, name and weight of the largest weights by size, the largest first."""
    import numpy as np

    count = min(count, len(weights))
    if count <= 0:
        return []
    size = np.abs(weights)
    # Partitioned first: sorting millions of weights for twenty of them would take seconds.
    chosen = np.argpartition(-size, count - 1)[:count]
    chosen = chosen[np.lexsort((chosen, -size[chosen]))]
    return [
        [int(column), f"column {column}" if names is None else names.name(int(column)), float(w)]
        for column, w in zip(chosen, weights[chosen], strict=True)
        if w != 0.0
    ]


def weights_table(largest: list[list[Any]]) -> Table:
    """Return the largest weights with a bar for each."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("feature", overflow="fold")
    table.add_column("weight", justify="right")
    table.add_column("")
    most = max((abs(weight) for _, _, weight in largest), default=1.0)
    for _, name, weight in largest:
        bar = "█" * max(1, round(24 * abs(weight) / most))
        color = "cyan" if weight > 0.0 else "dark_orange"
        table.add_row(Text(name), f"{weight:+.5g}", Text(bar, style=color))
    return table
