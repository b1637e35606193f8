"""Numbers and metrics of a run in words: as the commands print them and reports show them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any

from noregret.rounding import exact
from noregret.visible import visible

if TYPE_CHECKING:
    from noregret.streams import Stream
    from noregret.vocabulary.learners import Learner


def number(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a number in twelve columns: four decimals, two of thousands, or four digits.

    >>> number(0.25), number(51968.2526), number(123456.0), number(0.29999, "ROUND_FLOOR")
    ('      0.2500', '    51968.25', '    1.235e+5', '      0.2999')
    """
    if not math.isfinite(value):
        return f"{value:>12}"
    decimal = Decimal(value)
    if value == 0.0 or 5e-4 <= abs(value) < 1e5:
        unit = Decimal("0.0001" if abs(value) < 1e3 else "0.01")
        return f"{decimal.quantize(unit, rounding=rounding):>12}"
    return f"{Context(prec=4, rounding=rounding).create_decimal(decimal):>12.3e}"


def short(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a number as `number` does, without the room around it.

    >>> short(0.25), short(123456.0)
    ('0.2500', '1.235e+5')
    """
    return number(value, rounding).strip()


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


def describe_learner(learner: Learner) -> str:
    """Return loss, map and rate or update in one line."""
    from noregret.learners import DualAscent, MatrixDescent, MirrorDescent

    if isinstance(learner, MirrorDescent | MatrixDescent):
        return f"{learner.loss}, {learner.mirror}, {learner.rate}"
    if isinstance(learner, DualAscent):
        parts = f"{learner.loss}, {learner.mirror}"
        return f"{parts}, update {learner.update}, C = {exact(learner.C)}"
    first, last = (learner.learners[k].rate for k in (0, -1))
    mirror = learner.certificate().mirror
    return f"{learner.loss}, {mirror}, {len(learner.learners)} rates mixed, {first} to {last}"


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
