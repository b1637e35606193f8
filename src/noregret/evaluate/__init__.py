"""Progressive validation: every example is predicted before it is learnt, and counted then."""

from noregret.evaluate.class_metrics import Multiclass
from noregret.evaluate.comparing import Comparison, compare, progressive
from noregret.evaluate.holdout import Holdout
from noregret.evaluate.metrics import Classification, Metrics, Regression, metrics_for
from noregret.evaluate.trial import Point, Trial, follow, marks, watch

__all__ = [
    "Classification",
    "Comparison",
    "Holdout",
    "Metrics",
    "Multiclass",
    "Point",
    "Regression",
    "Trial",
    "compare",
    "follow",
    "marks",
    "metrics_for",
    "progressive",
    "watch",
]
