"""Work between rows: recompute sums, find the reference, read out weights, predict rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noregret.jit import kernel
from noregret.rounding import add_twofold
from noregret.rows.examples import Rows
from noregret.rows.soundness import bounded
from noregret.shards import Shards

Vector = npt.NDArray[np.float64]


@kernel
def extremes(state, inner):  # type: ignore[no-untyped-def]
    """Return max a_i and max |a_i| over all coordinates."""
    largest = -np.inf
    size = 0.0
    for i in range(state.shape[0]):
        a = inner * state[i, 0]
        largest = max(largest, a)
        size = max(size, abs(a))
    return largest, size


@kernel
def rebuild(mirror, state, inner, reference):  # type: ignore[no-untyped-def]
    """Recompute v_i = phi'(a_i) everywhere and return S = sum phi(a_i)."""
    total = low = 0.0
    for i in range(state.shape[0]):
        a = inner * state[i, 0]
        state[i, 1] = mirror.phi_prime(a, reference)
        total, low = add_twofold(total, low, mirror.phi(a, reference))
    return total + low


@kernel
def half_square(state):  # type: ignore[no-untyped-def]
    """Return S = sum theta_i^2 / 2 for a linear map."""
    total = low = 0.0
    for i in range(state.shape[0]):
        term = 0.5 * state[i, 0] * state[i, 0]
        new = total + term
        low += (total - new) + term
        total = new
    return total + low


@kernel
def read_out(mirror, state, column, kappa, threshold, weights):  # type: ignore[no-untyped-def]
    """Write w_i = kappa * read(v_i) into `weights`."""
    for i in range(state.shape[0]):
        weights[i] = kappa * mirror.read(state[i, column], threshold)


@kernel(fast=True)
def predict_rows(weights, indptr, indices, values, predictions):  # type: ignore[no-untyped-def]
    """Write <w, x_t> into `predictions`; features beyond the weights count as weight 0."""
    known = np.uint64(weights.shape[0])
    for t in range(np.uint64(predictions.shape[0])):
        p = 0.0
        if values.ndim == 2:
            for j in range(min(np.uint64(values.shape[1]), known)):
                p += weights[j] * values[t, j]
        else:
            for k in range(indptr[t], indptr[t + np.uint64(1)]):
                i = np.uint64(indices[k])
                if i < known:
                    p += weights[i] * values[k]
        predictions[t] = p


def products(weights: Vector, rows: Rows) -> Vector:
    """Return <w, x> for each row, many of them by all cores: the bits are those of one."""
    found = np.empty(len(rows))

    def predicted(begin: int, end: int) -> None:
        part = rows.part(begin, end)
        predict_rows(weights, part.indptr, part.indices, part.values, found[begin:end])

    Shards.of(rows.stored, len(rows)).each(len(rows), predicted)
    return found


@kernel
def take_records(state, indices, values, records):  # type: ignore[no-untyped-def]
    """Copy the records of the features of a row, in their order.

    Returns False for values that are not bounded and for features that have no record.
    """
    count = np.uint64(values.shape[0])
    known = np.uint64(state.shape[0])
    if not bounded(values, np.uint64(0), count):
        return False
    for k in range(count):
        i = np.uint64(indices[k])
        if i >= known:
            return False
        for j in range(np.uint64(state.shape[1])):
            records[k, j] = state[i, j]
    return True
