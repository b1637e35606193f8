"""What a run of a learner tells: before its first line, after its last, and beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from noregret.cli.output import CLOSED_PIPE, OutputLost
from noregret.cli.writing import to_json
from noregret.rounding import down, down_each, exact
from noregret.runs.record import class_names
from noregret.runs.session import Session
from noregret.runs.wording import describe_columns, describe_learner, metrics_line
from noregret.streams import Stream
from noregret.visible import visible

#: Number of class names shown before the first line.
_LISTED = 12


@dataclass(frozen=True)
class Ending:
    """Why a run ended before all input was learnt and printed.

    Attributes:
        code: the exit code.
        reason: what is said about it, without a full stop.
        output_lost: whether an output cannot be written, so that nothing more is printed.
        saved: whether the model was written where `--save` says.
    """

    code: int
    reason: str
    output_lost: bool = False
    saved: bool = False

    @classmethod
    def of_signal(cls, code: int) -> Ending:
        """Return the ending of a run by a signal, given its exit code."""
        if code == CLOSED_PIPE:
            return cls(code, "the reader of a pipe has left", output_lost=True)
        return cls(code, "interrupted")

    @classmethod
    def of_output(cls, lost: OutputLost) -> Ending:
        """Return the ending of a run with an output that cannot be written."""
        if lost.code == CLOSED_PIPE:
            return cls.of_signal(lost.code)
        return cls(lost.code, f"{lost.filename}: {lost.strerror}", output_lost=True)


def heading(session: Session) -> Iterator[str]:
    """Yield the title of a run and what is to be known before its first line."""
    learner, record = session.learner, session.record
    yield f"noregret learn {visible(session.stream.name)}"
    yield describe_learner(learner)
    columns = describe_columns(session.stream, record.reading)
    if columns:
        yield columns
    several = learner.loss.labels == "class"
    if several:
        yield f"classes {_listed(class_names(session.stream.label_map))}, and what else appears"
    elif meanings(session.stream):
        yield meanings(session.stream).removeprefix(", ")
    if record.holdout.get("every"):
        yield f"every {record.holdout['every']}-th example is held out"
    if record.holdout.get("share"):
        yield f"a random {exact(record.holdout['share'])} of the examples is held out"
    if record.holdout.get("after"):
        yield f"examples after the first {record.holdout['after']:,} are held out"
    certificate = record.certificate(learner)
    mirror = certificate.mirror
    if certificate.penalised and certificate.rate.strong_convexity() > 0.0:
        yield f"loss, floor and regret are those of {certificate.objective}"
    fixed = record.floor_radius if record.floor_radius is not None else mirror.own_radius()
    scaled = getattr(learner, "sizes", None) is not None
    if fixed is None:
        norm = "with features in units of their largest size" if scaled else "in the map's norm"
        predictor = "U" if several else "u"
        yield f"floor over every {predictor} no larger than the weights at that line, {norm}"
    else:
        own = "" if record.floor_radius is not None else ", the map's own set"
        own_words = scaled or several
        words = certificate.describe(fixed) if own_words else mirror.predictors().describe(fixed)
        yield f"floor over {words.rstrip(',')}{own}"


def _listed(names: list[str]) -> str:
    """Return the first names and how many more there are."""
    more = len(names) - _LISTED
    return ", ".join(map(visible, names[:_LISTED])) + (f" and {more:,} more" if more > 0 else "")


def labels(stream: Stream) -> list[tuple[str, float]]:
    """Return labels as they are written, with the number that each stands for."""
    written = ((a if isinstance(a, str) else f"{a:g}", b) for a, b in stream.label_map.items())
    return sorted(written, key=lambda pair: pair[1])


def meanings(stream: Stream) -> str:
    """Return what labels stand for, after a comma, or '' where that is what is written."""
    pairs = labels(stream)
    told = ", ".join(f"{visible(a)} → {b:+g}" for a, b in pairs)
    return f", labels {told}" if any(a != f"{b:g}" for a, b in pairs) else ""


def conclusion(session: Session, as_json: bool) -> str:
    """Return the certificate and the metrics, or all that is known as JSON."""
    learner, record = session.learner, session.record
    certificate = record.certificate(learner)
    radius = record.points[-1].radius
    held = session.held.summary()
    weighted = _by_weight(session)
    if as_json:
        summary = {
            "input": session.stream.name,
            "learner": describe_learner(learner),
            "options": record.spec.as_dict(),
            "reading": record.reading,
            "labels": dict(labels(session.stream)),
            "progress": [point.as_dict() for point in record.points],
            "metrics": session.summary(),
            **_confusion(session),
            "by_weight": weighted,
            "holdout": held if held.get("examples") else None,
            "refused": session.stream.refused,
            "certificate": certificate.as_dict(radius),
        }
        return to_json(summary)
    lines = [certificate.text(radius)]
    if weighted:
        lines.append(
            f"  by importance: {weighted['loss']:.6g} a unit of weight, "
            f"certified floor {down(weighted['floor'])}"
        )
    first = metrics_line(session.summary())
    if first:
        lines.append(f"  {record.measured}: {first}")
    if held.get("examples"):
        lines.append(f"  {held['examples']:,.0f} held out: {metrics_line(held)}")
    return "\n".join(lines)


def _confusion(session: Session) -> dict[str, list[list[float]]]:
    """Return which classes were taken for which, where that is kept."""
    found = getattr(session.trial.metrics, "confusion", None)
    return {} if found is None else {"confusion": found.tolist()}


def _by_weight(session: Session) -> dict[str, float] | None:
    """Return loss and floor a unit of importance weight, None where all examples weigh 1.

    Later passes are not counted in the weight, so that nothing can be said of them.
    """
    summary = session.summary()
    weight = summary.get("weight", 0.0)
    if session.record.passes > 1 or weight in (0.0, summary["examples"]):
        return None
    point = session.record.points[-1]
    return {"weight": weight, "loss": point.loss / weight, "floor": down_each(point.floor, weight)}


def mention(stream: Stream, save: Path | None, ending: Ending | None, report: Path | None) -> None:
    """Say on stderr what a person would miss if it were not said."""
    for note in stream.notes:
        # The library names its keywords.
        told = note.replace("header=False", "--no-header").replace("text=", "--text ")
        print(f"noregret: {visible(told)}", file=sys.stderr)
    if stream.refused:
        print(f"noregret: {stream.refused:,} lines were left out", file=sys.stderr)
        for complaint in stream.complaints:
            print(f"  {visible(complaint)}", file=sys.stderr)
    # The reader of a closed pipe (`| head`) does not know that a model was saved.
    if ending is not None and (ending.saved or ending.code != CLOSED_PIPE):
        name = visible(save)
        kept = f"; {name} can be resumed with --resume {name} --same-input" if ending.saved else ""
        print(f"noregret: {visible(ending.reason)}{kept}", file=sys.stderr)
    if report is not None:
        pictures = report.with_name(f"{report.stem}-*.png")
        print(
            f"noregret: the report is in {visible(report)}, its pictures in {visible(pictures)}",
            file=sys.stderr,
        )
