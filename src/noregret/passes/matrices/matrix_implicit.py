"""The implicit pass for a matrix of weights: every step is the exact dual step of its round.

W' = argmin over W  ||W - W_t||_F^2 / (2 eta) + c f(y, W^T x), whose slopes g are those of f at the
scores W' makes; they maximise -f*(g) + <s, g> - (q/2) ||g||^2 with s = W_t^T x, q = eta c ||x||^2.
With theta = -Z the weights are eta theta as ever, and the dual

    D = -sum_t c_t f*(y_t, g_t) - (eta/2) ||Z||_F^2

never falls. Rows are sound when they come here.
Reference: Crammer, Dekel, Keshet, Shalev-Shwartz, Singer, Online Passive-Aggressive Algorithms,
2006, section 8; Crammer and Singer, 2001.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import add_compensated, kernel
from noregret.passes.matrices.matrix_lazy import playable_scores
from noregret.passes.promises import keep_score_conjugate, keep_score_promises
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    LARGEST_LOSS,
    enter_loss,
    row_norm,
)
from noregret.passes.rows import add_row, read_row, row_at
from noregret.passes.slots import Stop
from noregret.proof.ledger import Entry

#: A conjugate is known to so many times the roundings of a round: the probability of the label is
#: what the others leave, and its logarithm is at most 37 then.
CONJUGATE_ERRORS = 10.0

_INTERCEPT = int(Entry.INTERCEPT)
_MAGNITUDE = int(Entry.MAGNITUDE)
_TRAVEL = int(Entry.TRAVEL)
_DONE = int(Stop.DONE)
_OVERFLOW = int(Stop.OVERFLOW)


@kernel
def matrix_implicit_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    averages,
    plain,
    distance,
    rate,
    rows,
    labels,
    weight,
    first,
    state,
    ledger,
    scores,
):
    """Run the pass; return (next row, why it stopped)."""
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    outputs = np.uint64(state.shape[0])
    eta = rate.at(0.0, 0.0, 0.0)
    slopes = np.empty(state.shape[0])
    here = np.empty(state.shape[0] if loss.checked() else 0)
    for t in range(np.uint64(first), np.uint64(labels.shape[0])):
        target, mass, s = labels[t], weight[t], scores[t]
        row = row_at(indptr, indices, values, t)
        total = 0.0
        reach = 0.0
        for k in range(outputs):
            raw, total, reach = read_row(mirror, plain, distance, state[k], 0.0, row)
            s[k] = eta * raw
        norm = row_norm(mirror, total, reach)
        q = eta * mass * total
        if not (mass * norm < LARGEST_GRADIENT and q < LARGEST_LOSS):
            return np.int64(t), _OVERFLOW
        value = loss.value_and_slopes(target, s, slopes)
        # A loss of one's own is looked at where it was played, before the slopes are others.
        if loss.checked():
            here[:] = slopes
        loss.proximal_slopes(target, s, q, slopes)
        conjugate = loss.conjugate(target, slopes)
        intercept = -mass * conjugate
        sound = playable_scores(mass, value, s, slopes, norm)
        if not (sound and abs(intercept) < LARGEST_LOSS):
            return np.int64(t), _OVERFLOW
        enter_loss(loss, ledger, target, mass, s, value, norm, eta)
        if loss.checked():
            keep_score_promises(loss, ledger, target, s, here, value)
            keep_score_conjugate(ledger, s, slopes, value, conjugate)
        add_compensated(ledger, _INTERCEPT, intercept)
        size = 0.0
        for k in range(outputs):
            size += abs(slopes[k])
        ledger[_MAGNITUDE] += abs(intercept) + mass * CONJUGATE_ERRORS * (1.0 + size)
        ledger[_TRAVEL] += mass * size * reach
        for k in range(outputs):
            slope = mass * slopes[k]
            if slope != 0.0:
                add_row(averages, state[k], -slope, 0.0, row)
    return labels.shape[0], _DONE
