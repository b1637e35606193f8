"""Precision-recall break-even points and their micro-average."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def hits(scores: Vector, y: Vector) -> float:
    """Return the true positives among the P highest scores, P the number of positives.

    There precision and recall are the same number. Equal scores that straddle place P count
    with the fraction of positives among them: the mean over all orders of the tie.

    >>> hits(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1, 1, -1, -1]))
    1.5
    """
    positives = int(np.count_nonzero(y > 0))
    if positives == 0:
        return 0.0
    cut = np.sort(scores)[-positives]
    above, tied = scores > cut, scores == cut
    places = positives - np.count_nonzero(above)
    return float(np.count_nonzero(y[above] > 0) + places * np.mean(y[tied] > 0))


def break_even(scores: Vector, y: Vector) -> float:
    """Return the break-even point in per cent."""
    return 100.0 * hits(scores, y) / np.count_nonzero(y > 0)


def micro_average(pairs: Iterable[tuple[float, int]]) -> float:
    """Return the break-even point in per cent of several categories put together.

    Pairs are hits and positives: the confusion matrices are added, large categories weigh more.
    """
    true, positives = zip(*pairs, strict=True)
    return float(100.0 * sum(true) / sum(positives))
