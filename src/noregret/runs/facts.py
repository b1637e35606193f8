"""What a run has come to: as plain values for JSON, and in words for a page or a screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.evaluate import metrics_for
from noregret.experts.representative import linear_part, words_of
from noregret.rounding import down, down_each, exact
from noregret.streams.labels import class_name
from noregret.visible import visible
from noregret.vocabulary.learners import Learner

if TYPE_CHECKING:
    from noregret.runs.record import Record


def run_facts(learner: Learner, record: Record) -> dict[str, Any]:
    """Return what a model file tells about its run; the radius is that of the last point."""
    metrics = metrics_for(learner.loss, record.metrics)
    held = metrics_for(learner.loss, record.held_metrics).summary()
    confusion = getattr(metrics, "confusion", None)
    summary = metrics.summary()
    radius = record.points[-1].radius if record.points else None
    return {
        "learner": describe_learner(learner),
        "options": asdict(record.spec),
        "inputs": record.sources,
        "reading": record.reading,
        "labels": [{"label": name, "value": y} for name, y in label_pairs(record.current.labels)],
        "features": int(learner.dimension),
        "nonzero_weights": int((linear_part(learner).weights != 0.0).sum()),
        "weights_of": words_of(learner),
        "examples": record.position.total,
        "passes": record.passes,
        "progress": [point.as_dict() for point in record.points],
        "metrics": summary,
        "confusion": None if confusion is None else confusion.tolist(),
        "by_weight": by_weight(record, summary),
        "holdout": held if held["examples"] else None,
        "certificate": record.certificate(learner).as_dict(radius),
    }


def run_words(learner: Learner, record: Record) -> list[tuple[str, str]]:
    """Return the same in words, as far as it has one line."""
    reading = dict(record.reading)
    constant = reading.pop("constant", 0.0)
    labels = ", ".join(f"{name} → {y:+g}" for name, y in label_pairs(record.current.labels))
    shown = words_of(learner)
    facts: list[tuple[str, Any]] = [
        ("learner", describe_learner(learner)),
        ("input", record.sources or "unknown"),
        ("features", f"{learner.dimension:,}"),
        *([("weights shown", f"those of {shown}{_offset(learner)}")] if shown else []),
        ("weights other than 0", f"{int((linear_part(learner).weights != 0.0).sum()):,}"),
        ("classes", record.classes) if record.classes else ("labels", labels or "as written"),
        ("examples seen", f"{record.position.total:,}"),
        ("passes", record.passes),
        ("intercept", f"{constant:g}" if constant else "none"),
        *((name.replace("_", " "), value) for name, value in reading.items()),
    ]
    return [(visible(name), visible(_joined(value))) for name, value in facts]


def closing_lines(learner: Learner, record: Record, shuffle: str = "shuffle it") -> list[str]:
    """Return the certificate of a run and its metrics, of what was learnt and held out.

    `shuffle` says what to do with a file that is sorted.
    """
    kept = record.metrics, record.held_metrics
    summary, held = (metrics_for(learner.loss, arrays).summary() for arrays in kept)
    certificate = record.certificate(learner)
    lines = [certificate.text(record.points[-1].radius if record.points else None)]
    weighted = by_weight(record, summary)
    if weighted:
        lines.append(
            f"  by importance: {weighted['loss']:.6g} a unit of weight, "
            f"certified floor {down(weighted['floor'])}"
        )
    if "accuracy" in summary or "rmse" in summary:
        counted = round((1.0 - summary.get("accuracy", 1.0)) * summary["examples"])
        # Among no other classes a first row is no mistake, but it was not predicted either.
        alike = record.passes == 1 and not summary.get("weighted")
        new = "macro_f1" in summary and alike and counted > certificate.mistakes
        remark = " (the first row of a class counts as wrong)" * new
        lines.append(
            f"  progressive{', first pass' * (record.passes > 1)}: {metrics_line(summary)}{remark}"
        )
    if "repeat_error" in summary:
        lines.append(f"  repeating the last label: {summary['repeat_error']:.2%} mistakes")
        if summary["repeat_error"] <= 1.0 - summary["accuracy"]:
            remedy = "" if "shuffle" in record.reading else f": if the file is sorted, {shuffle}"
            lines.append(f"    the learner makes no fewer{remedy}")
    if held["examples"]:
        lines.append(f"  {held['examples']:,.0f} held out: {metrics_line(held)}")
    return lines


def _joined(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def label_pairs(labels: Iterable[Any]) -> list[tuple[str, float]]:
    """Return each label as it is written with its value, the smallest value first."""
    written = [(a if isinstance(a, str) else class_name(a), b) for a, b in labels]
    return sorted(written, key=lambda pair: pair[1])


def by_weight(record: Record, summary: Mapping[str, float]) -> dict[str, float] | None:
    """Return loss and floor a unit of importance weight, None where all examples weigh 1.

    Later passes are not counted in the weight, so that nothing can be said of them.
    """
    weight = summary.get("weight", 0.0)
    if record.passes > 1 or weight in (0.0, summary["examples"]):
        return None
    point = record.points[-1]
    return {"weight": weight, "loss": point.loss / weight, "floor": down_each(point.floor, weight)}


def short(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a number in four decimals, two of thousands, or four digits.

    >>> short(0.25), short(51968.2526), short(123456.0), short(0.29999, "ROUND_FLOOR")
    ('0.2500', '51968.25', '1.235e+5', '0.2999')
    """
    if not math.isfinite(value):
        return str(value)
    decimal = Decimal(value)
    if value == 0.0 or 5e-4 <= abs(value) < 1e5:
        unit = Decimal("0.0001" if abs(value) < 1e3 else "0.01")
        return str(decimal.quantize(unit, rounding=rounding))
    return f"{Context(prec=4, rounding=rounding).create_decimal(decimal):.3e}"


METRICS = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "f1": "F1",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
}


def metrics_line(summary: Mapping[str, float]) -> str:
    """Return the metrics of a summary in one line, the area with what is not known about it.

    >>> metrics_line({"accuracy": 0.9, "auc": 0.95, "auc_error": 0.0002, "f1": 0.8})
    'accuracy 90.00%   AUC 0.9500 ± 0.0003   F1 0.8000'
    >>> metrics_line({"accuracy": 0.9, "weighted": True})
    'accuracy 90.00%   (examples by weight)'
    """
    words = []
    for name, title in METRICS.items():
        if name not in summary:
            continue
        text = metric(name, summary[name])
        if name == "auc" and summary["auc_error"] >= 0.00005:
            # The half unit of the last digit shown belongs to what is not known.
            text += f" ± {math.ceil(summary['auc_error'] * 1e4 + 0.5) / 1e4:.4f}"
        if name == "log_loss" and left_out(summary):
            text += f" ({left_out(summary)})"
        words.append(f"{title} {text}")
    if words and summary.get("weighted"):
        words.append("(examples by weight)")
    return "   ".join(words)


def left_out(summary: Mapping[str, float]) -> str:
    """Return which rows the log loss of a summary is without, '' if without none.

    >>> left_out({"log_loss_without": 3.0, "weight": 9.0, "examples": 9})
    'without 3 rows whose class was new'
    """
    if "log_loss_without" not in summary:
        return ""
    plain = summary.get("weight") == summary.get("examples")
    unit = "rows" if plain else "of the weight, rows"
    return f"without {summary['log_loss_without']:,.6g} {unit} whose class was new"


def metric(name: str, value: float) -> str:
    """Return the value of a metric as people write it."""
    return f"{value:.2%}" if name == "accuracy" else short(value)


def _offset(learner: Learner) -> str:
    """Return what the one score of a member has beside its weights, '' for several scores."""
    offset = getattr(linear_part(learner), "offset", None)
    return "" if offset is None or np.ndim(offset) else f", beside an offset of {offset:+.5g}"


def describe_learner(learner: Learner) -> str:
    """Return loss, map and rate or update in one line."""
    from noregret.experts import Mixture, ScoreAggregate
    from noregret.learners import DualAscent, MatrixDescent, MirrorDescent

    if isinstance(learner, MirrorDescent | MatrixDescent):
        return f"{learner.loss}, {learner.mirror}, {learner.rate}"
    if isinstance(learner, DualAscent):
        parts = f"{learner.loss}, {learner.mirror}"
        return f"{parts}, update {learner.update}, C = {exact(learner.C)}"
    if isinstance(learner, Mixture):
        if learner.wide is None:
            return f"{learner.loss}, mixture of learners"
        kind = "wide" if learner.wide else "narrow"
        return f"{learner.loss}, mixture of {len(learner.members)} learners for {kind} rows"
    if isinstance(learner, ScoreAggregate):
        return f"{learner.loss}, mixture of {len(learner.members)} learners"
    first, last = (learner.learners[k].rate for k in (0, -1))
    mirror = learner.certificate().mirror
    return f"{learner.loss}, {mirror}, {len(learner.learners)} rates mixed, {first} to {last}"
