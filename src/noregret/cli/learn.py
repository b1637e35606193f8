"""`noregret learn`: one pass over a file, with the certificate beside the loss."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret.cli import choices

if TYPE_CHECKING:
    from noregret.cli.progress import Point
    from noregret.cli.screen import Clock
    from noregret.mirrors import Mirror
    from noregret.streams import Block, Labels, Stream


def learn(
    file: Annotated[Path, typer.Argument(help="Examples as svmlight text: .svm, .svm.gz, .svm.xz")],
    loss: Annotated[str, typer.Option(help=choices.names("loss"))] = "logistic",
    mirror: Annotated[str, typer.Option(help=choices.names("mirror"))] = "euclidean",
    radius: Annotated[
        float | None, typer.Option(help="Size of the set that a map with one stays in.")
    ] = None,
    rate: Annotated[str, typer.Option(help=choices.names("rate"))] = "adaptive",
    eta: Annotated[
        float | None, typer.Option("--eta", "--scale", help="The rate's eta or scale.")
    ] = None,
    floor_radius: Annotated[
        float | None,
        typer.Option(
            help="Size of the predictors the floor speaks of. Without it: --radius if the map "
            "has one, else the size of the current weights."
        ),
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="The two labels as written, NEGATIVE,POSITIVE.")
    ] = None,
    first_index: Annotated[int, typer.Option(help="Index of the first feature, 1 or 0.")] = 1,
    features: Annotated[
        int, typer.Option(help="Number of features; the entropies need it in advance.")
    ] = 0,
    save: Annotated[Path | None, typer.Option(help="Write the model here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the certificate only.")] = False,
) -> None:
    """Learn a stream in one pass and print what is proved about it.

    The table shows averages a round: the learner's loss, the loss since the line above, the
    certified floor that no fixed predictor of the class could have beaten on these very
    examples, and their difference, the proved regret.
    """
    chosen_loss = choices.make_loss(loss)
    chosen_mirror = choices.make_mirror(mirror, radius)
    chosen_rate = choices.make_rate(rate, eta)
    if choices.needs_width(chosen_mirror) and not features:
        raise ValueError(f"--mirror {mirror} needs --features, the number of features in advance")
    if floor_radius is not None and not floor_radius >= 0.0:
        raise ValueError(f"--floor-radius must be a number >= 0, got {floor_radius}")
    if save is not None and not save.absolute().parent.is_dir():
        raise ValueError(f"--save {save}: there is no folder {save.absolute().parent}")

    # Only now that the arguments make sense is it worth loading the compiler.
    from rich.console import Console

    import noregret as nr
    from noregret.cli.progress import follow
    from noregret.cli.screen import Clock, Table
    from noregret.geometry import own_radius, predictor_norm

    classification = chosen_loss.labels == "sign"
    stream = nr.read(
        file,
        labels=_label_rule(labels, classification),
        first_index=first_index,
        width=features,
    )
    learner = nr.MirrorDescent(chosen_loss, chosen_mirror, chosen_rate)
    fixed = floor_radius if floor_radius is not None else own_radius(chosen_mirror)
    clock = Clock()
    table = None if as_json or quiet else Table(Console(), classification)
    points: list[Point] = []
    for point in follow(
        learner,
        _watched(stream, clock),
        lambda: predictor_norm(chosen_mirror, learner.weights) if fixed is None else fixed,
    ):
        clock.clear()
        if table is not None:
            if not points:
                table.head(
                    f"noregret learn {file.name}",
                    f"{chosen_loss}, {chosen_mirror}, {chosen_rate}",
                    *_label_remark(stream),
                    _floor_remark(chosen_mirror, fixed, floor_radius is not None),
                )
            table.row(point)
        points.append(point)
    if not points:
        raise ValueError(f"{file}: the file has no examples")
    clock.close(points[-1].rounds)
    certificate = learner.certificate()
    if save is not None:
        learner.save(save)
    if as_json:
        summary = {
            "file": str(file),
            "loss": str(chosen_loss),
            "mirror": str(chosen_mirror),
            "rate": str(chosen_rate),
            "labels": {f"{written:g}": y for written, y in stream.label_map.items()},
            "progress": [point.as_dict() for point in points],
            "certificate": certificate.as_dict(points[-1].radius),
        }
        typer.echo(json.dumps(summary))
    elif table is None:
        typer.echo(certificate.text(points[-1].radius))
    else:
        table.foot(certificate.text(points[-1].radius))


def _watched(stream: Stream, clock: Clock) -> Iterator[Block]:
    size = stream.path.stat().st_size
    for block in stream:
        clock.tell(f"{stream.bytes_read / size:4.0%} of {stream.path.name}")
        yield block


def _label_rule(text: str | None, classification: bool) -> Labels:
    if text is None:
        return "binary" if classification else "real"
    if not classification:
        raise ValueError("--labels belongs to classification losses; this loss takes real labels")
    parts = text.split(",")
    try:
        negative, positive = (float(part) for part in parts)
    except ValueError:
        raise ValueError(f"--labels {text}: expected NEGATIVE,POSITIVE as in 0,1") from None
    return negative, positive


def _label_remark(stream: Stream) -> list[str]:
    changed = {written: y for written, y in sorted(stream.label_map.items()) if written != y}
    if not changed:
        return []
    return ["labels " + ", ".join(f"{a:g} → {b:+g}" for a, b in sorted(stream.label_map.items()))]


def _floor_remark(mirror: Mirror, fixed: float | None, chosen: bool) -> str:
    from noregret.geometry import describe

    if fixed is None:
        return "floor over every u no larger than the weights at that line, in the map's norm"
    return f"floor over {describe(mirror, fixed)}" + ("" if chosen else ", the map's own set")
