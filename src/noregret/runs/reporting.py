"""The page about a run: what is proved, how well it predicts, and its pictures."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path

from noregret.evaluate import metrics_for
from noregret.experts import Aggregate
from noregret.report import Card, Picture, page, pictures
from noregret.runs.facts import METRICS, describe_learner, metric, run_words, short
from noregret.runs.predicting import Names
from noregret.runs.record import Record
from noregret.visible import visible
from noregret.vocabulary.learners import Learner


def report_page(learner: Learner, record: Record, names: Names) -> tuple[str, list[Picture]]:
    """Return the page as HTML, with its pictures inside, and the pictures.

    Args:
        learner: the learner.
        record: its record, with at least one point.
        names: what the columns are called.
    """
    point = record.points[-1]
    certificate = record.certificate(learner)
    source = ", ".join(visible(Path(name).name) for name in record.sources) or "a stream"
    drawn = _pictures(learner, record, names)
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
        run_words(learner, record),
    )
    return text, drawn


def _cards(learner: Learner, record: Record) -> Iterator[Card]:
    point = record.points[-1]
    certificate = record.certificate(learner)
    yield Card(f"{point.rounds:,}", "rounds learnt")
    penalised = certificate.curvature > 0.0
    yield Card(short(point.average_loss), "average penalised loss" if penalised else "average loss")
    if penalised:
        yield Card(short(certificate.plain_loss / certificate.rounds), "average plain loss")
    yield Card(short(point.average_floor, ROUND_FLOOR), "certified floor a round")
    yield Card(short(point.average_regret, ROUND_CEILING), "regret a round, at most")
    summary = metrics_for(learner.loss, record.metrics).summary()
    for name, title in METRICS.items():
        if name in summary:
            first = "" if record.passes == 1 else ", first pass"
            by_weight = ", by weight" if summary.get("weighted") else ""
            yield Card(metric(name, summary[name]), f"progressive {title}{first}{by_weight}")


def _pictures(learner: Learner, record: Record, names: Names) -> list[Picture]:
    classes = list(map(visible, record.label_names))
    # A mixture has many rates, and its predictions none.
    played = None if isinstance(learner, Aggregate) else getattr(learner, "rate", None)
    rate = "" if played is None else str(played)
    if played is not None and played.by_coordinate():
        rate += ", the median over the features"
    return list(
        pictures(
            learner,
            record.points,
            metrics_for(learner.loss, record.metrics),
            names=lambda column: visible(names.name(column)),
            # Of two classes both have to be known, the negative one first.
            classes=classes if record.classes or len(classes) == 2 else None,
            objective=record.certificate(learner).objective,
            rate=rate,
        )
    )
