"""Progressive validation: every example is predicted before it is learnt, and counted then."""

from noregret.evaluate.holdout import Holdout
from noregret.evaluate.metrics import Classification, Metrics, Multiclass, Regression, metrics_for
from noregret.evaluate.trial import Point, Trial, follow, marks, watch

__all__ = [
    "Classification",
    "Holdout",
    "Metrics",
    "Multiclass",
    "Point",
    "Regression",
    "Trial",
    "follow",
    "marks",
    "metrics_for",
    "watch",
]
