"""Second derivatives of losses of the margin, for Newton's method."""

from __future__ import annotations

from typing import Any

from noregret.elementary import exp


def squared_hinge_bend(self: Any, y: float, p: float) -> float:
    """Return 1 where the loss is positive, else 0."""
    return 1.0 if y * p < self.margin else 0.0


def one_sided_bend(self: Any, y: float, p: float) -> float:
    """Return 1 between the two straight parts, else 0."""
    return 1.0 if 0.0 < self.margin - y * p < 2.0 else 0.0


def logistic_bend(self: Any, y: float, p: float) -> float:
    """Return c (1 - c) for the slope -y c, accurate in both tails."""
    tail = exp(-abs(y * p))
    return tail / ((1.0 + tail) * (1.0 + tail))
