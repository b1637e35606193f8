"""One round of ranking: a group of rows, one vector of weights, one step by the joint gradient.

The scores s = X w of a group have the loss f(s), slopes g and so the gradient z = X^T g in w.
Each coordinate of z is summed with its low-order part, so that long groups lose no digits.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.passes.matrices.matrix_lazy import enter_scores, playable_scores
from noregret.passes.rounds import row_norm
from noregret.passes.rows import place, row_at
from noregret.rounding.slack import two_sum

_0, _1 = np.uint64(0), np.uint64(1)


@kernel
def rank_pass(  # type: ignore[no-untyped-def]
    loss, mirror, indptr, indices, values, relevance, mass, scores, slopes, ledger, sums
):
    """Enter the round of all rows given, and add X^T g to column 0 of `sums`, the rest to 1.

    Returns whether the round could be entered; nothing is changed where it could not.
    """
    value = loss.value_and_slopes(relevance, scores, slopes)
    longest = 0.0
    widest = 0.0
    for t in range(np.uint64(relevance.shape[0])):
        total = 0.0
        size = 0.0
        row = row_at(indptr, indices, values, t)
        for at in range(row.end - row.begin):
            _, x = place(row, at)
            total = mirror.norm_term(total, x)
            size += abs(x)
        longest = max(longest, row_norm(mirror, total, size))
        widest = max(widest, size)
    if not playable_scores(mass, value, scores, slopes, longest):
        return False
    enter_scores(
        loss, mirror, ledger, relevance, mass, scores, slopes, value, widest, longest, 1.0, False
    )
    for t in range(np.uint64(relevance.shape[0])):
        slope = slopes[t]
        if slope == 0.0:
            continue
        row = row_at(indptr, indices, values, t)
        for at in range(row.end - row.begin):
            j, x = place(row, at)
            sums[j, _0], lost = two_sum(sums[j, _0], slope * x)
            sums[j, _1] += lost
    return True
