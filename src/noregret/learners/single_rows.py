"""Whether one row is so small that no sum of a certificate can overflow at it."""

from __future__ import annotations

import math

import numpy as np

from noregret.losses import Loss
from noregret.rows.examples import Rows

#: Products of a weight, a slope and a row up to this are far from overflowing the certificate.
_FAR_BELOW = 1e100


def cannot_overflow(
    loss: Loss, limits: tuple[float, float], rows: Rows, label: float, weight: float
) -> bool:
    """Tell whether the sums of a certificate stay finite, whatever is predicted for one row.

    Args:
        loss: of one score.
        limits: the least and the largest prediction that can be made, infinite if there is none.
        rows: the row.
        label: its label.
        weight: of the row, >= 0.

    >>> from noregret.losses import Logistic
    >>> from noregret.rows.examples import as_rows
    >>> ends = -math.inf, math.inf
    >>> [cannot_overflow(Logistic(), ends, as_rows([[x]]), 1.0, 1.0) for x in (1.0, 1e200)]
    [True, False]
    """
    steepest = loss.lipschitz()
    if not math.isfinite(steepest):
        # Slopes ascend: the steepest are at the ends of what may be predicted.
        low, high = limits
        if not (math.isfinite(low) and math.isfinite(high)):
            return False
        first, last = min(low, label, 0.0), max(high, label, 0.0)
        steepest = max(abs(loss.slope(label, first)), abs(loss.slope(label, last)))
    values = rows.values
    if not rows.dense:
        values = values[int(rows.indptr[0]) : int(rows.indptr[1])]
    return weight * float(steepest) * float(np.abs(values).sum()) <= _FAR_BELOW
