"""`noregret hindsight`: the best fixed predictor of a file, and how good it is for sure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noregret.cli import choices
from noregret.cli.options import Given, reads_examples
from noregret.cli.writing import Output, require_place, to_json


@reads_examples
def hindsight(
    given: Given,
    loss: Annotated[str, typer.Option(help=choices.names("loss"))] = "logistic",
    radius: Annotated[float | None, typer.Option(help="Over the ball of this radius.")] = None,
    l2: Annotated[float | None, typer.Option(help="Plus (L2/2) times the squared norm.")] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Plus --strength times the regulariser of this map.")
    ] = None,
    strength: Annotated[float | None, typer.Option(help="See --mirror.")] = None,
    bias: Annotated[
        bool, typer.Option("--bias", help="An intercept that is not regularised.")
    ] = False,
    tol: Annotated[float, typer.Option(help="Relative duality gap to reach.")] = 1e-6,
    max_passes: Annotated[int, typer.Option(help="Give up after so many.")] = 10_000,
    top: Annotated[int, typer.Option(help="Show so many of the largest weights.")] = 10,
    weights: Annotated[Path | None, typer.Option(help="Write the weights here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Solve for the best fixed linear predictor of all examples, with its duality gap.

    Objectives are sums over the examples. The file is held in memory. Ctrl-C stops the solver
    and prints how far it came.
    """
    chosen = choices.make_loss(loss)
    shape = None if mirror is None else choices.make_mirror(mirror, None)
    if radius is None and l2 is None and strength is None:
        raise ValueError("say over what: --radius, --l2, or --mirror with --strength")
    if bias and given.intercept:
        raise ValueError("--bias and --intercept are two intercepts: drop one of them")
    if weights is not None:
        require_place("--weights", weights)
    import noregret as nr
    from noregret.cli.inspect import top_weights
    from noregret.cli.whole import whole

    kept = {"constant": 0.0} if bias else None
    stream = given.open(given.label_rule(chosen.labels == "sign"), kept)
    rows = whole(stream)
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
        progress=not as_json,
        bias=bias,
    )
    if weights is not None:
        with Output(weights) as output:
            output.numbers(solution.weights)
    if as_json:
        typer.echo(
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
                    "top": top_weights(solution.weights, stream.names, top),
                }
            )
        )
        return
    from rich.console import Console

    from noregret.cli.inspect import weights_table

    console = Console()
    console.print(f"{stream.name}: {len(rows):,} examples, {rows.width:,} features", style="dim")
    console.print(str(solution), highlight=False, markup=False)
    console.print(f"  {'a round':<28}{solution.primal / len(rows):>18.6g}", highlight=False)
    if top:
        console.print(weights_table(top_weights(solution.weights, stream.names, top)))
