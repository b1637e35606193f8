"""Follow the leader, block by block: weights that all rows so far would have liked best."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from noregret.component import allowed, yes
from noregret.rates.base import Rate
from noregret.rates.second_order import PRIOR, without_curvature

#: Rows after which the first leader is found.
FIRST = 16
#: The next one is found once there are this many times as many rows.
GROWTH = 1.5

_ROWS = allowed("must lie between 1 and 2^20", lambda rows: 1 <= rows <= 1 << 20)


@dataclass(frozen=True)
class BlockLeader(Rate):
    """Follow the leader by blocks: nearly the batch optimum in one pass, no theorem.

    Rows are held back until a block is full. The weights are those of the last leader,

        w = argmin (prior/2) ||m u||^2 + sum_block c f(y, <u, x>) + q(u),   m = max |x|,

    which is found by Newton's method after 16 rows, then each time there are 1.5 times as many,
    and at the end of each block; in between the weights stay. q is the sum of the second-order
    expansions of earlier blocks, each about the leader at its end.

    Each of K scores has a matrix of its own: q leaves out how the slope of one score depends on
    the other scores. Once K d^2, d the number of features, exceeds 2^20, no leader is found any
    more and the weights stay for good.

    Args:
        prior: strength of the penalty, in units of the features, 1e-60 to 1e60 [default: 1].
        block: rows of a block, 1 to 2^20; up to so many are held back, and are in a model file
            [default: 1024].

    Reference: follow the regularized leader as in McMahan, A Survey of Algorithms and Analysis for
    Adaptive Online Learning, 2017, here with expansions in place of the losses of earlier blocks.

    >>> import noregret as nr
    >>> leader = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), BlockLeader())
    >>> _ = leader.learn([[1.0]] * 16, [1, 1, 1, -1] * 4)
    >>> leader.weights.round(3)
    array([0.832])
    """

    prior: float = field(default=1.0, metadata=PRIOR)
    block: int = field(default=1024, metadata=_ROWS)

    family: ClassVar[str] = "block_leader"
    curvature_of_scores: ClassVar[str] = "own_curvature"

    scaled = yes

    def refused_loss(self, loss: Any) -> str:
        """Refuse losses without a second derivative."""
        return without_curvature(loss)

    def next_leader(self, seen: float) -> float:
        """Return after how many rows the next leader is found, `seen` rows after the first.

        >>> BlockLeader().next_leader(0.0), BlockLeader().next_leader(16.0)
        (16.0, 24.0)
        """
        return max(float(FIRST), float(math.floor(GROWTH * seen)))
