"""The best slope of one kept row, for any mirror map: the search of the batch passes, to its end.

A move of the slope from s to s' changes theta by -C c (s' - s) x. The search along it is that of
`dual_maps.climb`; the rows kept by an online learner are read as rows 2 j of their spans. Here it
goes on until the last digits, since a row may never be visited again.
Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, section 6.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.passes.dual.dual_maps import climb, try_move
from noregret.passes.slots import Slot

_REFERENCE = int(Slot.REFERENCE)

#: A search ends when its next step would be this part of the whole move.
CLOSED = 1e-13

_2 = np.uint64(2)


@kernel
def try_step(mirror, state, slots, work, step, spans, indices, values, j):  # type: ignore[no-untyped-def]
    """Put theta + step x and its v into `work` for the row in slot j."""
    try_move(mirror, state, step, slots[_REFERENCE], work, spans, indices, values, _2 * j)


@kernel
def best_slope(  # type: ignore[no-untyped-def]
    loss, mirror, state, slots, work, y, s, offset, scale, q, spans, indices, values, j
):
    """Return the best slope for the row in slot j, how fast p fell there, and whether to go on.

    `work` then holds the state of that slope. To go on means that numbers left their range on the
    way: keep the state, sum S afresh, and search again.
    """
    new, total, fall = climb(
        loss, mirror, y, s, offset, -scale, 0.0, q, CLOSED, state, slots, work, spans, indices,
        values, _2 * j,
    )  # fmt: skip
    return new, fall, not total < np.inf
