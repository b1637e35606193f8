"""The pass of gradient descent in the space of a kernel.

The weights are w = s sum_i c_i K(x_i, .) over stored points x_i, and <w, K(x, .)> = w(x). Every
round costs one evaluation of the kernel a stored point; a budget keeps the matrix of them, so
that a drop costs no evaluation.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from noregret.jit import kernel as compiled
from noregret.passes.rounds import LARGEST_GRADIENT, Round, enter_round, playable
from noregret.rounding.slack import EPSILON
from noregret.tracking.kernels import total_of

#: The common factor is folded into the coefficients before its inverse loses range.
SMALLEST_SCALE = 1e-100


class Place(IntEnum):
    """Scalars of the pass, beside its ledger."""

    COUNT = 0
    #: The common factor s of the coefficients, and ||w||^2.
    SCALE = 1
    SQUARE = 2
    #: Sum of ||e_t||, the parts of w that were dropped, of (||w + e||^2 - ||w||^2)/2, and how many.
    DROPPED = 3
    RECOIL = 4
    DROPS = 5
    #: ||Z||^2 of the stored part of Z = sum g_t K(x_t, .), how far rounding can have moved it,
    #: sum |g_i| sqrt(K(x_i, x_i)) over the stored points and over the dropped ones.
    GRADIENT = 6
    GRADIENT_ERROR = 7
    STORED = 8
    LOST = 9
    #: The largest ||x||^2 of the features.
    LARGEST = 10
    #: How far rounding can have moved RECOIL.
    RECOIL_ERROR = 11


class Column(IntEnum):
    """What is kept of a stored point beside its features."""

    COEFFICIENT = 0
    SLOPE = 1
    #: ||x||^2 of the features, and sqrt(K(x, x)).
    SQUARE = 2
    NORM = 3


_COUNT, _SCALE, _SQUARE = int(Place.COUNT), int(Place.SCALE), int(Place.SQUARE)
_DROPPED, _RECOIL, _DROPS = int(Place.DROPPED), int(Place.RECOIL), int(Place.DROPS)
_GRADIENT, _GRADIENT_ERROR = int(Place.GRADIENT), int(Place.GRADIENT_ERROR)
_RECOIL_ERROR = int(Place.RECOIL_ERROR)
_STORED, _LOST, _LARGEST = int(Place.STORED), int(Place.LOST), int(Place.LARGEST)
_C, _G = np.uint64(Column.COEFFICIENT), np.uint64(Column.SLOPE)
_XX, _NORM = np.uint64(Column.SQUARE), np.uint64(Column.NORM)

DONE, FULL, OVERFLOW = 0, 1, 2


@compiled(inline=True)
def _store(points, i, indptr, indices, values, t):  # type: ignore[no-untyped-def]
    square = 0.0
    points[i, :] = 0.0
    if values.ndim == 2:
        for j in range(np.uint64(values.shape[1])):
            points[i, j] = values[t, j]
            square += points[i, j] * points[i, j]
    else:
        for k in range(indptr[t], indptr[t + np.uint64(1)]):
            points[i, indices[k]] = values[k]
            square += np.float64(values[k]) * np.float64(values[k])
    return square


@compiled
def _drop_smallest(points, columns, grams, count, slots, error):  # type: ignore[no-untyped-def]
    """Drop the point with the smallest |c_i| sqrt(K(x_i, x_i)), and account for what it was."""
    least = np.uint64(0)
    for i in range(count):
        if (
            abs(columns[i, _C]) * columns[i, _NORM]
            < abs(columns[least, _C]) * columns[least, _NORM]
        ):
            least = np.uint64(i)
    norm = columns[least, _NORM]
    at = 0.0
    slope_at = 0.0
    mass = 0.0
    for j in range(count):
        mass += abs(columns[j, _C]) * columns[j, _NORM]
        at += columns[j, _C] * grams[least, j]
        slope_at += columns[j, _G] * grams[least, j]
    a = slots[_SCALE] * columns[least, _C]
    change = -2.0 * a * slots[_SCALE] * at + a * norm * (a * norm)
    slots[_SQUARE] = max(slots[_SQUARE] + change, 0.0)
    slots[_RECOIL] += 0.5 * change
    slots[_RECOIL_ERROR] += error * abs(a) * norm * slots[_SCALE] * mass
    slots[_DROPPED] += abs(a) * norm
    slots[_DROPS] += 1.0
    g = columns[least, _G]
    slots[_GRADIENT] += -2.0 * g * slope_at + g * norm * (g * norm)
    slots[_GRADIENT_ERROR] += error * abs(g) * norm * slots[_STORED]
    slots[_STORED] -= abs(g) * norm
    slots[_LOST] += abs(g) * norm
    last = count - np.uint64(1)
    points[least, :] = points[last, :]
    columns[least, :] = columns[last, :]
    for j in range(count):
        grams[least, j] = grams[last, j]
    for j in range(count):
        grams[j, least] = grams[j, last]
    if slots[_DROPS] % np.float64(last) == 0.0:
        _sum_afresh(columns, grams, last, slots, error)


@compiled
def _sum_afresh(columns, grams, count, slots, error):  # type: ignore[no-untyped-def]
    """Compute both squared norms from the matrix, so that their roundings do not pile up."""
    square = 0.0
    gradient = 0.0
    stored = 0.0
    for i in range(count):
        stored += abs(columns[i, _G]) * columns[i, _NORM]
        for j in range(count):
            square += columns[i, _C] * grams[i, j] * columns[j, _C]
            gradient += columns[i, _G] * grams[i, j] * columns[j, _G]
    slots[_SQUARE] = max(slots[_SCALE] ** 2 * square, 0.0)
    slots[_GRADIENT] = gradient
    # A sum of count^2 terms in two loops; `error` has room for both and for the evaluations.
    slots[_GRADIENT_ERROR] = (np.float64(count) + 1.0) * error * stored * stored
    slots[_STORED] = stored


@compiled
def hilbert_pass(  # type: ignore[no-untyped-def]
    kernel, loss, eta, radius, indptr, indices, values, y, first,
    points, columns, grams, row, slots, ledger, predictions,
):  # fmt: skip
    """Run rounds from `first` on; return (next row, why it stopped).

    p = w(x); v = w - eta g K(x, .); with a budget, while there are too many points the smallest
    is dropped; w = v min(1, radius / ||v||). `grams` has no rows where there is no budget.
    """
    budget = np.uint64(max(grams.shape[0] - 1, 0))
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        count = np.uint64(slots[_COUNT])
        if count == np.uint64(points.shape[0]):
            return np.int64(t), FULL
        # Written where the next point belongs: there it stays if the round has a gradient.
        square = _store(points, count, indptr, indices, values, t)
        own = kernel.value(total_of(kernel, points, count, square, indptr, indices, values, t))
        norm = np.sqrt(max(own, 0.0))
        p = 0.0
        z = 0.0
        for i in range(count):
            total = total_of(kernel, points, i, columns[i, _XX], indptr, indices, values, t)
            row[i] = kernel.value(total)
            p += columns[i, _C] * row[i]
            z += columns[i, _G] * row[i]
        p *= slots[_SCALE]
        g = loss.slope(y[t], p)
        step = eta * g
        if not playable(loss, y[t], 1.0, p, g, norm) or not abs(step) * norm < LARGEST_GRADIENT:
            return np.int64(t), OVERFLOW
        slots[_LARGEST] = max(slots[_LARGEST], square)
        predictions[t] = p
        enter_round(loss, ledger, Round(y[t], 1.0, p, g, norm, norm, eta), False)
        # A step that underflows moves nothing, but its gradient belongs to Z.
        if g * norm == 0.0:
            continue
        # An evaluation is right to `power` roundings a feature, a sum to one a term.
        power = kernel.power(slots[_LARGEST])
        error = 4.0 * EPSILON * (power * (points.shape[1] + 8.0) + np.float64(count) + 16.0)
        slots[_STORED] += abs(g) * norm
        slots[_GRADIENT] += g * (2.0 * z + g * own)
        slots[_GRADIENT_ERROR] += error * abs(g) * norm * slots[_STORED]
        slots[_GRADIENT_ERROR] += 4.0 * EPSILON * slots[_STORED] ** 2
        slots[_SQUARE] = max(slots[_SQUARE] + step * (step * own - 2.0 * p), 0.0)
        columns[count, _C] = -step / slots[_SCALE]
        columns[count, _G] = g
        columns[count, _XX] = square
        columns[count, _NORM] = norm
        if budget > 0:
            for i in range(count):
                grams[count, i] = row[i]
                grams[i, count] = row[i]
            grams[count, count] = own
        count += np.uint64(1)
        if 0 < budget < count:
            _drop_smallest(points, columns, grams, count, slots, error)
            count -= np.uint64(1)
        slots[_COUNT] = np.float64(count)
        length = np.sqrt(slots[_SQUARE])
        if length > radius:
            slots[_SCALE] *= radius / length
            slots[_SQUARE] = radius * radius
            if slots[_SCALE] < SMALLEST_SCALE:
                columns[:count, _C] *= slots[_SCALE]
                slots[_SCALE] = 1.0
    return y.shape[0], DONE


@compiled
def predict_points(  # type: ignore[no-untyped-def]
    kernel, points, columns, scale, indptr, indices, values, predictions
):
    """Write s sum_i c_i K(x_i, x) for every row x."""
    for t in range(np.uint64(predictions.shape[0])):
        p = 0.0
        for i in range(np.uint64(points.shape[0])):
            total = total_of(kernel, points, i, columns[i, _XX], indptr, indices, values, t)
            p += columns[i, _C] * kernel.value(total)
        predictions[t] = scale * p
