"""The pass that tunes itself, for a matrix of weights.

The directions of each score are its own, and so are the multipliers where the loss is a sum over
the scores; where it joins them, all scores have the multipliers in common. `state` and `slots`
are class-major; state[k] and slots[k] are those of `scale_free`.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.jit import kernel, step
from noregret.passes.descent.scale_free import (
    SPEED,
    TINY,
    Scalar,
    along,
    count_row,
    move_multiplier,
    predict_row,
    scaled_travel,
    tune,
    weigh_row,
)
from noregret.passes.matrices.matrix_lazy import enter_scores, playable_scores
from noregret.passes.rounds import enter_loss, row_norm
from noregret.passes.rows import fetch_ahead, row_at
from noregret.passes.slots import Stop
from noregret.proof.ledger import Entry

_SCALED_TRAVEL = int(Entry.SCALED_TRAVEL)
_STEEPEST = int(Scalar.STEEPEST)
_FIRST, _SECOND = int(Scalar.FIRST), int(Scalar.SECOND)
_DONE = int(Stop.DONE)
_OVERFLOW = int(Stop.OVERFLOW)

#: What is kept of each score between its two loops over the row.
_LAZY, _AGILE, _SCALED, _GROWTH, _C, _SLOPE = range(6)
_WORK = 6


@kernel(inline=True)
def _tune_together(slots, mass, work):  # type: ignore[no-untyped-def]
    """Move the multipliers that all scores have in common, against their gradient.

    With s_k = S_1 q_(1,k) + S_2 q_(2,k) that of S_j is sum_k g_k q_(j,k). It is a mean over
    K - 1 free scores, less of it is chance, and the speed is sqrt(K - 1) times that of one.
    """
    speed = SPEED * math.sqrt(max(slots.shape[0] - 1.0, 1.0))
    lazy = 0.0
    agile = 0.0
    for k in range(slots.shape[0]):
        lazy += work[_SLOPE, k] * work[_LAZY, k]
        agile += work[_SLOPE, k] * work[_AGILE, k]
    move_multiplier(slots[0], 0, mass, lazy, 1.0, speed)
    move_multiplier(slots[0], 1, mass, agile, 1.0, speed)
    for k in range(1, slots.shape[0]):
        slots[k, _FIRST] = slots[0, _FIRST]
        slots[k, _SECOND] = slots[0, _SECOND]


@kernel
def matrix_scale_free_pass(  # type: ignore[no-untyped-def]
    loss, mirror, rows, labels, weight, first, state, slots, ledger, scores
):
    """Run the pass; return (next row, why it stopped)."""
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    outputs = np.uint64(state.shape[0])
    lipschitz = loss.lipschitz()
    work = np.empty((_WORK, state.shape[0]))
    slopes = work[_SLOPE]
    for t in range(np.uint64(first), np.uint64(labels.shape[0])):
        target, mass, s = labels[t], weight[t], scores[t]
        row = row_at(indptr, indices, values, t)
        begin, end = row.begin, row.end
        fetch_ahead(*row)
        total = 0.0
        reach = 0.0
        for k in range(outputs):
            lazy, agile, scaled, total, reach, growth, steepest = weigh_row(
                False, lipschitz, state[k], slots[k], row, mass
            )
            work[_LAZY, k] = lazy
            work[_AGILE, k] = agile
            work[_SCALED, k] = scaled
            work[_GROWTH, k] = growth
            work[_C, k] = steepest
            s[k] = along(slots[k], lazy, agile)
        norm = row_norm(mirror, total, reach)
        value = loss.value_and_slopes(target, s, slopes)
        if not playable_scores(mass, value, s, slopes, norm):
            return np.int64(t), _OVERFLOW
        if mass == 0.0:
            for k in range(outputs):
                slots[k, _STEEPEST] = work[_C, k]
            enter_loss(loss, ledger, target, mass, s, value, norm, 1.0)
            continue
        enter_scores(loss, mirror, ledger, target, mass, s, slopes, value, reach, norm, 1.0, False)
        ratio = 0.0
        for k in range(outputs):
            own = slots[k]
            own[_STEEPEST] = work[_C, k]
            weighted = mass * slopes[k]
            if weighted != 0.0 or work[_GROWTH, k] > 0.0:
                step(state[k], indices, values, t, begin, end, weighted, TINY)
            count_row(own, mass, work[_SCALED, k])
            ratio = max(ratio, scaled_travel(mass, work[_SCALED, k], np.float64(end - begin)))
            if loss.separate:
                tune(lipschitz, own, weighted, work[_LAZY, k], work[_AGILE, k], 1.0)
            elif not lipschitz < np.inf:
                own[_STEEPEST] = max(own[_STEEPEST], abs(weighted))
        if not loss.separate:
            _tune_together(slots, mass, work)
        # At least the sum over the scores, of which all or most have seen the same rows.
        ledger[_SCALED_TRAVEL] += loss.slope_mass(slopes, value) * ratio
    return labels.shape[0], _DONE


@kernel
def score_row(state, slots, indices, values, scores):  # type: ignore[no-untyped-def]
    """Write the scores of one row; return False for a row that `predict_row` cannot read."""
    for k in range(np.uint64(state.shape[0])):
        scores[k] = predict_row(False, state[k], slots[k], indices, values)
        if scores[k] != scores[k]:
            return False
    return True
