"""`noregret drift`: is there a fixed predictor that does what a moving one did?"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import typer

from noregret.cli.options import Given, reads_examples
from noregret.cli.writing import Output, require_place, to_json
from noregret.visible import visible
from noregret.vocabulary import learners as choices

_PICTURES = (".png", ".svg", ".pdf")


@reads_examples
def drift(
    given: Given,
    radius: Annotated[float, typer.Option(help="The ball of the fixed predictors, and ours.")],
    loss: Annotated[str, typer.Option(help="As in `noregret list losses`.")] = "squared",
    window: Annotated[int | None, typer.Option(help="Also look at windows of N examples.")] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the windows: a .png, .svg or .pdf file.")
    ] = None,
    classes: Annotated[
        bool,
        typer.Option(
            "--two-classes", help="Labels are two classes, -1 and +1 for losses that take targets."
        ),
    ] = False,
    one_pass: Annotated[
        bool,
        typer.Option(
            "--one-pass", help="Do not hold the file in memory (squared loss, 2,048 features)."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Try to prove that no single fixed linear predictor fits these examples.

    A tracker that plays only predictors of the ball runs over the examples in their order. Where
    its loss is below what every fixed predictor of the same ball loses for certain, no fixed one
    can do what it did. That is all that is claimed: nothing about how the examples came about.
    With `--two-classes` two classes are the targets -1 and +1 of the squared loss.
    """
    chosen = choices.make_loss(loss)
    if picture is not None:
        require_place("--picture", picture)
        if window is None:
            raise ValueError("--picture draws windows: say how long they are, --window N")
        if picture.suffix not in _PICTURES:
            raise ValueError(f"--picture {picture}: expected a name in {', '.join(_PICTURES)}")
        from noregret.plot import require_matplotlib

        require_matplotlib()
    if one_pass and type(chosen).__name__ != "Squared":
        raise ValueError(f"--one-pass keeps second moments, which {loss} is not a function of")
    from noregret.runs.progress import Telling
    from noregret.runs.whole import whole
    from noregret.tracking.drift import drift_proof

    signs = chosen.labels == "sign" or classes or given.classes_as is not None
    stream = given.open(given.label_rule("sign" if signs else "real"))
    rows = None if one_pass else whole(stream)
    with Telling(silent=as_json) as tell:
        if rows is None:
            proof = drift_proof(stream, None, chosen, radius, None, window, tell)
        else:
            proof = drift_proof(rows, rows.y, chosen, radius, rows.weight, window, tell)
    if picture is not None:
        from noregret import plot

        axes, drawn = plot.sheet(7.2, 4.2), io.BytesIO()
        plot.drift(proof, ax=axes, title=visible(Path(stream.name).name))
        plot.save(axes, drawn, format=picture.suffix[1:])
        with Output(picture) as output:
            output.write(drawn.getvalue())
    if as_json:
        typer.echo(to_json({"input": stream.name, **proof.as_dict()}))
        return
    typer.echo(f"{visible(stream.name)}: {proof.rounds:,} examples, {chosen}")
    typer.echo(str(proof))
