"""The pass that learns nothing: it enters given predictions in a ledger and sums gradients."""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.passes.rounds import enter_round, playable, row_norm


@kernel
def certify_pass(  # type: ignore[no-untyped-def]
    loss, mirror, indptr, indices, values, y, weight, predictions, ledger, gradient
):
    """Enter one round for each prediction and add its gradient; return the rows entered."""
    for t in range(np.uint64(y.shape[0])):
        p = predictions[t]
        steepness = loss.slope(y[t], p)
        total = 0.0
        reach = 0.0
        if values.ndim == 2:
            for j in range(np.uint64(values.shape[1])):
                x = np.float64(values[t, j])
                total = mirror.norm_term(total, x)
                reach += abs(x)
        else:
            for k in range(indptr[t], indptr[t + np.uint64(1)]):
                x = np.float64(values[k])
                total = mirror.norm_term(total, x)
                reach += abs(x)
        norm = row_norm(mirror, total, reach)
        if not playable(loss, y[t], weight[t], p, steepness, norm):
            return np.int64(t)
        value = loss.value(y[t], p)
        enter_round(loss, ledger, y[t], weight[t], p, value, steepness, reach, norm, 1.0, False)
        slope = weight[t] * steepness
        if values.ndim == 2:
            for j in range(np.uint64(values.shape[1])):
                gradient[j] += slope * np.float64(values[t, j])
        else:
            for k in range(indptr[t], indptr[t + np.uint64(1)]):
                gradient[indices[k]] += slope * np.float64(values[k])
    return y.shape[0]
