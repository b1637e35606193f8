"""What a run of a learner tells: before its first line, after its last, and beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noregret.cli.output import CLOSED_PIPE, MENDABLE, OutputLost
from noregret.cli.writing import to_json
from noregret.experts.representative import linear_part, words_of
from noregret.rounding import exact
from noregret.runs.facts import (
    closing_lines,
    describe_learner,
    label_pairs,
    metrics_line,
    run_facts,
)
from noregret.runs.interrupt import Interrupted
from noregret.runs.record import class_names
from noregret.runs.session import Session
from noregret.streams import Stream
from noregret.streams.errors import CutShort
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
    def by(cls, cut: Interrupted | CutShort | OutputLost) -> Ending:
        """Return the ending of a run by a signal, an input or an output that cannot go on."""
        if isinstance(cut, CutShort):
            return cls(MENDABLE, str(cut))
        if cut.code == CLOSED_PIPE:
            return cls(cut.code, "the reader of a pipe has left", output_lost=True)
        if isinstance(cut, OutputLost):
            return cls(cut.code, f"{cut.filename}: {cut.strerror}", output_lost=True)
        return cls(cut.code, "interrupted")


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
    held = record.current.holdout
    if held.get("every"):
        yield f"every {held['every']}-th example is held out"
    if held.get("share"):
        yield f"a random {exact(held['share'])} of the examples is held out"
    if held.get("after"):
        yield f"examples after the first {held['after']:,} are held out"
    certificate = record.certificate(learner)
    mirror = certificate.mirror
    if certificate.penalised and certificate.rate.strong_convexity() > 0.0:
        yield f"loss, floor and regret are those of {certificate.objective}"
    fixed = record.floor_radius if record.floor_radius is not None else mirror.own_radius()
    scaled = getattr(linear_part(learner), "sizes", None) is not None
    if fixed is None:
        norm = ", features divided by their largest |x|" if scaled else " in the map's norm"
        predictor = "U" if several else "u"
        whose = "the weights" if words_of(learner) is None else "a member's weights"
        yield f"floor over every {predictor} of at most the size of {whose} then{norm}"
    else:
        own = "" if record.floor_radius is not None else ", the map's own set"
        own_words = scaled or several
        words = certificate.describe(fixed) if own_words else mirror.predictors().describe(fixed)
        yield f"floor over {words.rstrip(',')}{own}"


def describe_columns(stream: Stream, reading: Mapping[str, Any]) -> str:
    """Return which column is predicted and how many others are of each kind; '' without a target.

    Formats whose records may have any keys, as JSON lines, tell the target alone.
    """
    shape: Any = getattr(stream, "format", stream)
    target = getattr(shape, "target", None)
    if target is None:
        return ""
    chosen = "" if "target" in reading else " (by default; --target names another)"
    words = f"target {visible(target)}{chosen}"
    if not hasattr(shape, "numeric"):
        return words
    # One column may be given by its name alone.
    texts = reading.get("text", ())
    kinds = {
        "numbers": shape.numeric,
        "categories": shape.categorical,
        "dates": shape.dates,
        "texts": (texts,) if isinstance(texts, str) else texts,
    }
    others = [f"{len(names)} {kind}" for kind, names in kinds.items() if names]
    return f"{words}; columns: {', '.join(others) or 'none'}"


def _listed(names: list[str]) -> str:
    """Return the first names and how many more there are."""
    more = len(names) - _LISTED
    return ", ".join(map(visible, names[:_LISTED])) + (f" and {more:,} more" if more > 0 else "")


def meanings(stream: Stream) -> str:
    """Return what labels stand for, after a comma, or '' where that is what is written."""
    pairs = label_pairs(stream.label_map.items())
    told = ", ".join(f"{visible(a)} → {b:+g}" for a, b in pairs)
    return f", labels {told}" if any(a != f"{b:g}" for a, b in pairs) else ""


def conclusion(session: Session, as_json: bool) -> str:
    """Return the certificate and the metrics, or all that is known as JSON."""
    learner, record = session.learner, session.record
    saved = session.saved_scores()
    session.note()
    if as_json:
        more = {"refused": session.stream.refused, "saved": saved}
        return to_json({"input": session.stream.name, **run_facts(learner, record), **more})
    lines = closing_lines(learner, record, "see --shuffle")
    mixed = "shuffle" in record.reading
    # Only descent for one score keeps an average.
    single = record.spec.update == "descent" and learner.loss.labels != "class"
    what = "saved weights" if words_of(learner) is None else "saved model"
    return "\n".join([*lines, *(_saved(saved, what, mixed, single) if saved else ())])


def _saved(scores: dict[str, Any], what: str, mixed: bool, single: bool) -> Iterator[str]:
    """Yield what the saved model is worth, beside the predictions made on the way.

    `what`: weights, or a model that has more; `mixed`: whether the examples were shuffled;
    `single`: whether an average could be kept.
    """
    made, last, average = (scores[name] for name in ("progressive", "last", "average"))
    yield f"  {what}, {made['examples']:,.0f} of these examples: {metrics_line(last)}"
    if average is not None:
        yield f"  their average, by predict --average: {metrics_line(average)}"
    if scores["much_worse"]:
        remedies = ["--shuffle"] * (not mixed)
        remedies += ["--rate adaptive --average"] * (single and average is None)
        see = f"; see {', or '.join(remedies)}" if remedies else ""
        yield f"    much worse than the predictions made on the way: {metrics_line(made)}{see}"


def mention(stream: Stream, save: Path | None, ending: Ending | None, report: Path | None) -> None:
    """Say on stderr what a person would miss if it were not said."""
    for note in stream.notes:
        print(f"noregret: {visible(note)}", file=sys.stderr)
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
