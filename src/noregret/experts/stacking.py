"""A stack: a learner whose rows are the predictions of the other members of an aggregate."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.arrays import Matrix
from noregret.losses import Loss

#: Margins are cut off here: beyond it a probability is 0 or 1 to 13 digits, and one wild member
#: would set the units of the stack for good.
LARGEST_MARGIN = 30.0


def require_stack(stack: Any, members: int) -> None:
    """Refuse a stack that knows another number of features than there are other members.

    >>> import noregret as nr
    >>> wide = nr.catalogue.ogd(nr.losses.Logistic(), 0.1)
    >>> _ = wide.learn([[1.0, 2.0, 3.0]], [1])
    >>> require_stack(wide, 2)
    Traceback (most recent call last):
    ValueError: the stack learns from rows of 2 predictions, this one knows 3 features
    """
    known = int(getattr(stack, "dimension", 0))
    if known not in (0, members):
        raise ValueError(
            f"the stack learns from rows of {members} predictions, this one knows {known} features"
        )


def stack_rows(predictions: Matrix, loss: Loss) -> Matrix:
    """Return the rows of a stack: predictions, margins of classifiers within -30 and 30.

    >>> from noregret.losses import Logistic
    >>> stack_rows(np.array([[1.0, -1e9]]), Logistic()).tolist()
    [[1.0, -30.0]]
    """
    if loss.labels == "sign":
        predictions = np.clip(predictions, -LARGEST_MARGIN, LARGEST_MARGIN)
    return np.ascontiguousarray(predictions)
