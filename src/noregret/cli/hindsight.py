"""`noregret hindsight`: the best fixed predictor of a file, and how good it is for sure."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import noregret as nr
from noregret.arguments import refuse
from noregret.cli.console import plain_console, show_weights
from noregret.cli.given import Given, require_outputs
from noregret.cli.writing import Output, fitted, to_json
from noregret.evaluate.effects import effects, largest, sizes_of
from noregret.plot import require_matplotlib
from noregret.rounding import up, up_each
from noregret.runs.opening import whole
from noregret.runs.predicting import KnownNames, Names, NumberedNames, find_names, top_weights
from noregret.runs.progress import solving
from noregret.streams import Reading, Stream, resolve
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
    memory: float | None,
    cluster: str | None,
    checkpoint: Path | None,
    resume: bool,
    balance_work: bool,
    replay_work: Path | None,
    picture: Path | None,
    timeout: float | None,
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
            "--checkpoint, --picture and --timeout belong to --cluster": (
                cluster is None and any(one is not None for one in (checkpoint, picture, timeout))
            ),
            "--balance-work and --replay-work belong to --cluster": (
                cluster is None and (balance_work or replay_work is not None)
            ),
            "--resume needs --checkpoint, the folder to go on from": resume and checkpoint is None,
            "--memory is for one process, without --workers, --shards and --cluster": (
                memory is not None and (cluster is not None or workers > 1 or bool(shards))
            ),
        }
    )
    require_outputs(given.files, ("--weights", weights), ("--picture", picture))
    if picture is not None:
        require_matplotlib()
    rule = given.label_rule(chosen.labels)
    form = {"radius": radius, "l2": l2, "mirror": shape, "strength": strength, "bias": bias}
    # A free bias takes the place of the intercept, which is a feature.
    constant: dict[str, Any] = {"constant": 0.0} if bias else {}
    limits = {"tol": tol, "max_passes": max_passes, "workers": workers}
    if cluster is not None:
        from noregret.cli.on_cluster import solved

        found = solved(
            given, given.how(rule, **constant), chosen, form,
            limits | {
                "shards": shards or 8, "address": cluster, "resume": resume,
                "timeout": timeout or 600.0, "balance_work": balance_work,
                "replay_work": None if replay_work is None else str(replay_work),
                "checkpoint": None if checkpoint is None else str(checkpoint),
            },
            table=not as_json,
        )  # fmt: skip
    elif memory is not None:
        how = given.how(rule, **constant)
        found = _out_of_core(given.files, how, chosen, form, tol, max_passes, memory)
    else:
        stream = given.open(rule, **constant)
        found = _in_memory(stream, chosen, form, limits | {"shards": shards})
    solution = found.solution
    if picture is not None:
        from noregret import plot

        plot.save(plot.gap(solution.rounds, ax=plot.sheet()), picture)
    if weights is not None:
        with Output(weights) as output:
            output.numbers(solution.weights)
    columns = largest(effects(solution, found.sizes)[0], top).tolist()
    names = _names(given, found.names, rule, columns, bias)
    heaviest = top_weights(solution, names, top, sizes=found.sizes)
    if as_json:
        print(
            to_json(
                {
                    "input": found.name,
                    "examples": found.rows,
                    "features": found.width,
                    "objective": solution.objective,
                    "primal": solution.primal,
                    "dual": solution.dual,
                    "gap": solution.gap,
                    "converged": solution.converged,
                    "passes": solution.passes,
                    "bias": solution.bias,
                    "top": heaviest,
                    **found.more,
                }
            )
        )
        return
    console = plain_console()
    console.print(
        fitted(f"{visible(found.name)}: {found.rows:,} examples, {found.width:,} features"),
        style="dim",
    )
    each = up(up_each(solution.primal, found.rows))
    console.print(fitted(f"{solution}\n  {'a round':<28}{each:>18}"))
    if heaviest:
        show_weights(console, heaviest)


@dataclass(frozen=True, eq=False)
class Found:
    """A solution, and what is known of the rows that it is of."""

    solution: Any
    name: str
    rows: int
    width: int
    names: Any
    #: The largest |x_i| of each feature.
    sizes: Any
    #: More entries of the JSON output.
    more: dict[str, Any] = field(default_factory=dict)


def _in_memory(stream: Stream, loss: Any, form: dict[str, Any], limits: dict[str, Any]) -> Found:
    """Solve for rows that are all read first."""
    rows = whole(stream)
    with solving(limits["tol"]) as solver:
        solution = nr.hindsight(
            rows, rows.y, loss, weight=rows.weight, progress=solver, **form, **limits
        )
    sizes = sizes_of(rows)
    return Found(solution, stream.name, len(rows), rows.width, stream.names, sizes)


def _out_of_core(
    files: list[str],
    how: Reading,
    loss: Any,
    form: dict[str, Any],
    tol: float,
    max_passes: int,
    memory: float,
) -> Found:
    """Solve for rows that are read again in every pass."""
    from noregret.runs.out_of_core import hindsight_files

    with solving(tol) as solver:
        found = hindsight_files(
            files, loss, **form, memory=memory, tol=tol, max_passes=max_passes,
            progress=solver, reading=how,
        )  # fmt: skip
    return Found(found.solution, found.name, found.rows, found.width, found.names, found.sizes)


def _names(given: Given, names: Any, rule: Any, columns: list[int], bias: bool) -> Names:
    """Return what columns are called; names that hashing lost are read once more from files."""
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
