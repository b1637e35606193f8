"""One round of ranking: a group of rows, one vector of weights, one step by the joint gradient.

The scores s = X w of a group have the loss f(s), slopes g and so the gradient z = X^T g in w.
Each coordinate of z is summed with its low-order part, so that long groups lose no digits.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.passes.matrices.score_rounds import enter_scores, playable_scores
from noregret.passes.rounds import Round, row_norm
from noregret.passes.rows import measure_row, place, row_at
from noregret.rounding import two_sum

_0, _1 = np.uint64(0), np.uint64(1)


@kernel
def rank_pass(loss, mirror, rows, labels, scores, slopes, ledger, sums):  # type: ignore[no-untyped-def]
    """Enter the round of all rows given, and add X^T g to column 0 of `sums`, the rest to 1.

    `labels.y` are the relevances; a group has one weight. Returns whether the round could be
    entered; nothing is changed where it could not.
    """
    relevance, mass = labels.y, labels.weight[_0]
    value = loss.value_and_slopes(relevance, scores, slopes)
    longest = 0.0
    widest = 0.0
    for t in range(np.uint64(relevance.shape[0])):
        powers, size = measure_row(mirror, row_at(rows.indptr, rows.indices, rows.values, t))
        longest = max(longest, row_norm(mirror, powers, size))
        widest = max(widest, size)
    if not playable_scores(mass, value, scores, slopes, longest):
        return False
    played = Round(relevance, mass, scores, slopes, widest, longest, 1.0)
    enter_scores(loss, mirror, ledger, played, value, False)
    for t in range(np.uint64(relevance.shape[0])):
        slope = slopes[t]
        if slope == 0.0:
            continue
        row = row_at(rows.indptr, rows.indices, rows.values, t)
        for at in range(row.end - row.begin):
            j, x = place(row, at)
            sums[j, _0], lost = two_sum(sums[j, _0], slope * x)
            sums[j, _1] += lost
    return True
