"""`noregret report`: a page and pictures about a saved model."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret.cli.options import ModelFile, NamingFiles, require_outputs
from noregret.cli.writing import Output
from noregret.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noregret.report import Card, Picture
    from noregret.runs.naming import Names
    from noregret.runs.record import Record
    from noregret.vocabulary.learners import Learner

_TOP = 20


def report(
    model: ModelFile,
    files: NamingFiles = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Write PNG files beside it as well.")
    ] = True,
) -> None:
    """Write one HTML file about a run, with every picture inside, and the pictures as PNG.

    Average loss and certified floor, regret a round, mistakes, rates, the largest weights, and
    the certificate itself.
    """
    require_outputs([model, *(files or ())], ("--out", out))
    from noregret.cli.inspect import names_for
    from noregret.report import require_matplotlib
    from noregret.runs import record as records

    require_matplotlib()
    learner, record = records.load(model)
    names = names_for(learner, record, files, _TOP)
    for path in write_report(learner, record, out, names, pictures):
        typer.echo(visible(path))


def write_report(
    learner: Learner,
    record: Record,
    out: Path,
    names: Names,
    pictures: bool = True,
) -> list[Path]:
    """Write the page and, where wanted, its pictures beside it; return what was written."""
    from noregret.cli.telling import describe_learner, reading_facts
    from noregret.report import page
    from noregret.runs.wording import short

    if not record.points:
        raise ValueError(f"--report {out}: there is nothing to draw yet")
    point = record.points[-1]
    certificate = record.certificate(learner)
    source = ", ".join(visible(Path(name).name) for name in record.sources) or "a stream"
    drawn = list(_pictures(learner, record, source, names))
    facts = [
        ("learner", describe_learner(learner)),
        ("input", ", ".join(map(visible, record.sources))),
        ("features", f"{learner.dimension:,}"),
        *((("classes", ", ".join(map(visible, record.classes))),) if record.classes else ()),
        ("examples seen", f"{record.position.total:,}"),
        ("passes", str(record.passes)),
        *((visible(name), visible(fact)) for name, fact in reading_facts(record).items()),
    ]
    text = page(
        f"noregret: {source}",
        describe_learner(learner),
        list(_cards(learner, record)),
        f"E{certificate.describe(point.radius).removeprefix('e')} lost at least "
        f"{short(point.average_floor, ROUND_FLOOR)} a round by {certificate.objective} on these "
        f"{point.rounds:,} rounds; "
        f"the learner lost {short(point.average_loss)}.",
        drawn,
        certificate.text(point.radius),
        facts,
    )
    written = [out]
    with Output(out) as output:
        output.write(text)
    for picture in drawn if pictures else ():
        path = out.with_name(f"{out.stem}-{picture.name}.png")
        with Output(path) as output:
            output.write(picture.png())
        written.append(path)
    return written


def _cards(learner: Learner, record: Record) -> Iterator[Card]:
    from noregret.evaluate import metrics_for
    from noregret.report import Card
    from noregret.runs.wording import METRICS, metric, short

    point = record.points[-1]
    certificate = record.certificate(learner)
    yield Card(f"{point.rounds:,}", "rounds learnt")
    penalised = certificate.curvature > 0.0
    yield Card(short(point.average_loss), "average penalised loss" if penalised else "average loss")
    if penalised:
        yield Card(short(certificate.plain_loss / certificate.rounds), "average plain loss")
    yield Card(short(point.average_floor, ROUND_FLOOR), "certified floor a round")
    yield Card(short(point.average_regret, ROUND_CEILING), "proved regret a round, at most")
    metrics = metrics_for(learner.loss)
    if record.metrics:
        metrics.restore(record.metrics)
    summary = metrics.summary()
    for name, title in METRICS.items():
        if name in summary:
            first = "" if record.passes == 1 else ", first pass"
            by_weight = ", by weight" if summary.get("weighted") else ""
            yield Card(metric(name, summary[name]), f"progressive {title}{first}{by_weight}")


def _pictures(learner: Learner, record: Record, source: str, names: Names) -> Iterator[Picture]:
    import numpy as np

    from noregret import report
    from noregret.experts import Aggregate
    from noregret.report import Picture
    from noregret.runs.naming import by_class, top_weights
    from noregret.runs.wording import short

    # The first rounds are all noise; the story begins where there is something to learn from.
    points = [point for point in record.points if point.rounds >= 10] or record.points
    rounds = [point.rounds for point in points]
    if len(points) >= 2:
        yield Picture(
            "loss",
            report.loss_figure(
                rounds,
                [point.average_loss for point in points],
                [point.average_floor for point in points],
                source,
                "no predictor of the class lost less than "
                f"{short(points[-1].average_floor, ROUND_FLOOR)} "
                f"a round on these {rounds[-1]:,} rounds",
                f"{record.certificate(learner).objective}, average",
            ),
        )
        yield Picture(
            "regret", report.regret_figure(rounds, [point.average_regret for point in points])
        )
        if learner.loss.labels in ("sign", "class"):
            shares = [point.mistakes / point.rounds for point in points]
            yield Picture("mistakes", report.mistakes_figure(rounds, shares))
        rated = [(t, p.rate) for t, p in zip(rounds, points, strict=True) if p.rate is not None]
        # A mixture has many rates, and its predictions none.
        if len(rated) >= 2 and not isinstance(learner, Aggregate):
            played = getattr(learner, "rate", None)
            name = "constant" if played is None else str(played)
            if played is not None and played.by_coordinate():
                name += ", the median over the features"
            yield Picture(
                "rate", report.rate_figure([t for t, _ in rated], [r for _, r in rated], name)
            )
    confusion = record.metrics.get("confusion")
    if confusion is not None:
        met = range(min(len(confusion), len(record.classes)))
        named = [visible(record.classes[k]) for k in met]
        yield Picture("confusion", report.confusion_figure(named, confusion[np.ix_(met, met)]))
    if learner.loss.labels == "class":
        parts = by_class(learner.weights, names, record.classes, _TOP).items()
        every = [[k, f"{name} → {title}", w] for title, part in parts for k, name, w in part]
        top = sorted(every, key=lambda entry: -abs(entry[2]))[:_TOP]
    else:
        top = top_weights(learner.weights, names, _TOP)
    if top:
        named, weights = [visible(entry[1]) for entry in top], [entry[2] for entry in top]
        yield Picture("features", report.features_figure(named, weights))
