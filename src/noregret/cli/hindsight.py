"""`noregret hindsight`: the best fixed predictor of a file, and how good it is for sure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import noregret as nr
from noregret.arguments import refuse
from noregret.cli.console import plain_console, show_weights
from noregret.cli.given import Given, require_outputs
from noregret.cli.writing import Output, fitted, to_json
from noregret.evaluate.effects import effects, largest, sizes_of
from noregret.rounding import up, up_each
from noregret.runs.opening import whole
from noregret.runs.predicting import KnownNames, Names, NumberedNames, find_names, top_weights
from noregret.runs.progress import solving
from noregret.streams import Stream, resolve
from noregret.streams.names import FeatureNames, HashedNames
from noregret.visible import visible
from noregret.vocabulary import learners as choices


def hindsight(
    given: Given,
    *,
    loss: str,
    radius: float | None,
    l2: float | None,
    mirror: str | None,
    strength: float | None,
    bias: bool,
    tol: float,
    max_passes: int,
    workers: int,
    shards: int | None,
    top: int,
    weights: Path | None,
    as_json: bool,
) -> None:
    """Run `noregret hindsight`."""
    chosen = choices.make_loss(loss)
    shape = None if mirror is None else choices.make_mirror(mirror, None)
    refuse(
        {
            "say over what: --class-radius, --l2, or --mirror with --strength": (
                radius is None and l2 is None and strength is None
            ),
            "--bias and --intercept are two intercepts: drop one of them": (
                bias and given.said.get("constant")
            ),
        }
    )
    require_outputs(given.files, ("--weights", weights))
    rule = given.label_rule(chosen.labels)
    stream = given.open(rule, constant=0.0) if bias else given.open(rule)
    rows = whole(stream)
    with solving(tol) as solver:
        solution = nr.hindsight(
            rows,
            rows.y,
            chosen,
            radius=radius,
            l2=l2,
            mirror=shape,
            strength=strength,
            weight=rows.weight,
            tol=tol,
            max_passes=max_passes,
            workers=workers,
            shards=shards,
            progress=solver,
            bias=bias,
        )
    if weights is not None:
        with Output(weights) as output:
            output.numbers(solution.weights)
    sizes = sizes_of(rows)
    columns = largest(effects(solution, sizes)[0], top).tolist()
    names = _names(given, stream, rule, columns, bias)
    heaviest = top_weights(solution, names, top, sizes=sizes)
    if as_json:
        print(
            to_json(
                {
                    "input": stream.name,
                    "examples": len(rows),
                    "features": rows.width,
                    "objective": solution.objective,
                    "primal": solution.primal,
                    "dual": solution.dual,
                    "gap": solution.gap,
                    "converged": solution.converged,
                    "passes": solution.passes,
                    "bias": solution.bias,
                    "top": heaviest,
                }
            )
        )
        return
    console = plain_console()
    console.print(
        fitted(f"{visible(stream.name)}: {len(rows):,} examples, {rows.width:,} features"),
        style="dim",
    )
    each = up(up_each(solution.primal, len(rows)))
    console.print(fitted(f"{solution}\n  {'a round':<28}{each:>18}"))
    if heaviest:
        show_weights(console, heaviest)


def _names(given: Given, stream: Stream, rule: Any, columns: list[int], bias: bool) -> Names:
    """Return what columns are called; names that hashing lost are read once more from files."""
    names = stream.names
    lost = isinstance(names, HashedNames) and not names.limit and "-" not in given.files
    if lost and "remember" in resolve(given.files, given.said.get("format")).fields:
        remembering = given.saying(remember=1, on_error="skip")
        constant = not bias and given.said.get("constant") != 0.0
        return find_names(remembering.open(rule), columns, constant)
    if isinstance(names, FeatureNames | HashedNames):
        return names
    if names is None:
        return KnownNames({}, "column")
    return NumberedNames({"constant": names.name(0) == "intercept"} | given.reading())
