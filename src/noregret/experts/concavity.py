"""Exp-concavity: the eta for which exp(-eta f) is concave in the prediction, on a range."""

from __future__ import annotations

import math

from noregret.experts.checks import as_interval
from noregret.losses import Exponential, Logistic, Loss, NegativeLog, Squared, SquaredHinge


def exp_concavity(loss: Loss, low: float, high: float) -> float:
    """Return the largest eta with exp(-eta f(p)) concave for p in [low, high], 0 if there is none.

    It is the least f''/(f')^2, for all labels, or for all targets in [low, high]:
    (p - y)^2: 1 / (2 (high - low)^2); -ln p: 1; ln(1 + e^(-y p)) and e^(-y p): e^(-max|p|);
    (margin - y p)_+^2 / 2: 1 / (margin + max|p|)^2.
    Reference: Cesa-Bianchi and Lugosi, Prediction, Learning, and Games, section 3.3.

    >>> exp_concavity(Squared(), 0.0, 2.0), exp_concavity(NegativeLog(), 0.0, 5.0)
    (0.125, 1.0)
    """
    low, high = as_interval(low, high)
    width, size = high - low, max(abs(low), abs(high))
    # A subclass may have another value: only the losses themselves are known.
    if type(loss) is Squared:
        return 0.5 / width / width
    if type(loss) is NegativeLog:
        return 1.0
    if type(loss) in (Logistic, Exponential):
        return math.exp(-size)
    if type(loss) is SquaredHinge:
        return 1.0 / (loss.margin + size) / (loss.margin + size)
    return 0.0


def cost_range(loss: Loss, low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest loss for predictions, and targets, in [low, high].

    A convex loss is largest in a corner. Losses that may be negative, other than -ln p, have
    no known least value: the range is infinite then.

    >>> cost_range(Squared(), -1.0, 2.0)
    (0.0, 9.0)
    """
    low, high = as_interval(low, high)
    if math.isinf(high - low):
        return -math.inf, math.inf
    labels = (-1.0, 1.0) if loss.labels == "sign" else (low, high)
    most = max(loss.value(y, p) for y in labels for p in (low, high))
    if type(loss) is NegativeLog:
        return loss.value(0.0, high), most
    return (0.0, most) if loss.nonnegative else (-math.inf, math.inf)
