"""What passes and matrices cost, counted in operations, so that a choice is the same everywhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.batch.problem import Problem

#: Operations for each stored feature, and for each row, of a pass in the order of storage, of an
#: epoch that visits rows one by one in random order, and of an iteration of conjugate gradients for
#: each weight; in units of a multiplication of a matrix.
FEATURE, ROW = 1.75, 20.0
VISITED_FEATURE, VISITED_ROW = 5.0, 160.0
WEIGHT = 8.0


class Cost(NamedTuple):
    """Operations of a pass, of an epoch, and of an iteration of conjugate gradients."""

    step: float
    epoch: float
    iteration: float

    @classmethod
    def of(cls, problem: Problem) -> Cost:
        """Count the operations for a problem.

        >>> from noregret import losses
        >>> rows = [[1.0, 2.0], [0.5, 1.0], [0.0, 3.0]]
        >>> Cost.of(Problem.of(rows, [1, -1, 1], losses.Logistic(), strength=1.0))
        Cost(step=70.5, epoch=510.0, iteration=86.5)
        """
        stored, count = problem.rows.stored, len(problem.rows)
        step = FEATURE * stored + ROW * count
        epoch = VISITED_FEATURE * stored + VISITED_ROW * count
        return cls(step, epoch, step + WEIGHT * problem.width)


def forming(problem: Problem) -> float:
    """Return the operations of forming the matrix of second derivatives, and of factoring it.

    >>> from noregret import losses
    >>> forming(Problem.of([[1.0, 2.0], [0.5, 1.0]], [1, -1], losses.Logistic(), strength=1.0))
    5.333333333333333
    """
    rows = problem.rows
    counts = np.full(len(rows), rows.width) if rows.dense else np.diff(rows.indptr)
    lengths = counts.astype(np.float64)
    return 0.5 * float(lengths @ lengths) + rows.width**3 / 6.0
