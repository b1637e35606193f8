"""The kernels of a Newton step over all rows at once.

Every loss is seen through its proximal smoothing of width delta around given slopes: at a
prediction p it answers with s = proximal_slope(p + delta given, delta), which is a continuous
function of p even where the loss has a kink, and its value is f(u) + (delta/2)(s^2 - given^2) at
u = p + delta (given - s). With delta = 0 it is the loss itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.jit import kernel
from noregret.passes.rows import place, row_of

_0, _1 = np.uint64(0), np.uint64(1)

#: Derivatives are differences over this distance, relative to a prediction or a theta,
NEAR = 1e-6
#: ... but no weight changes by more than this part over it, unless rounding asks for more.
STRETCH, RESOLUTION = 0.01, 1e-12
#: ... and over this part of the width of a smoothing.
PART = 1e-3
#: A weight may move this much more than its tangent says.
OVERSHOT = 2.0
MOST_HALVINGS = 100
#: A pivot that is this part of its diagonal is rounding.
LOST = 1e-15


@kernel(inline=True)
def smoothed(loss, y, p, given, delta, guess):  # type: ignore[no-untyped-def]
    """Return the slope with which a smoothed loss answers at p, and its value there."""
    z = p + delta * given
    s = loss.proximal_slope(y, z, delta, guess)
    return s, loss.value(y, z - delta * s) + 0.5 * delta * (s - given) * (s + given)


@kernel(inline=True)
def answer_bend(loss, y, z, delta, guess):  # type: ignore[no-untyped-def]
    """Return the derivative of an answer in its prediction, at z = p + delta given."""
    near = max(PART * delta, NEAR * (1.0 + abs(z)))
    above = loss.proximal_slope(y, z + near, delta, guess)
    below = loss.proximal_slope(y, z - near, delta, guess)
    return (above - below) / (2.0 * near)


@kernel(counted=False)
def answer(loss, terms, predictions, given, delta, slopes):  # type: ignore[no-untyped-def]
    """Write the slopes with which the smoothed losses answer; return the sum of their values."""
    total = 0.0
    for t in range(np.uint64(slopes.shape[0])):
        y, c, s = terms.y[t], terms.weight[t], given[t]
        if c > 0.0:
            s, value = smoothed(loss, y, predictions[t], given[t], delta, given[t])
            total += c * value
        slopes[t] = s
    return total


@kernel(counted=False)
def bends(loss, terms, predictions, given, delta, slopes, found):  # type: ignore[no-untyped-def]
    """Write c_t times the derivative of each answer in its prediction."""
    for t in range(np.uint64(slopes.shape[0])):
        found[t] = 0.0
        y, c = terms.y[t], terms.weight[t]
        if c > 0.0:
            z = predictions[t] + delta * given[t]
            rise = c * answer_bend(loss, y, z, delta, slopes[t])
            found[t] = rise if 0.0 < rise < np.inf else 0.0


@kernel(counted=False)
def conjugates(loss, terms, slopes):  # type: ignore[no-untyped-def]
    """Return sum c_t (s_t o_t - f*(s_t))."""
    total = 0.0
    for t in range(np.uint64(slopes.shape[0])):
        y, c, s = terms.y[t], terms.weight[t], slopes[t]
        if c > 0.0:
            total += c * (s * terms.offset[t] - loss.conjugate(y, s))
    return total


@kernel
def pull(rows, factors):  # type: ignore[no-untyped-def]
    """Return sum_t factor_t x_t."""
    found = np.zeros(rows.width)
    for t in range(np.uint64(factors.shape[0])):
        if factors[t] != 0.0:
            row = row_of(rows, t)
            for k in range(row.end - row.begin):
                j, x = place(row, k)
                found[j] += factors[t] * x
    return found


@kernel(counted=False)
def squares(rows, factors, found):  # type: ignore[no-untyped-def]
    """Write sum_t factor_t x_t x_t', and in the last row and column that of (x_t, 1).

    Columns ascend within a row, so that the sums are those below the diagonal.
    """
    found[:] = 0.0
    last = np.uint64(found.shape[0]) - _1
    for t in range(np.uint64(factors.shape[0])):
        if factors[t] == 0.0:
            continue
        row = row_of(rows, t)
        for k in range(row.end - row.begin):
            i, left = place(row, k)
            scaled = factors[t] * left
            found[last, i] += scaled
            for m in range(k + _1):
                j, right = place(row, m)
                found[i, j] += scaled * right
        found[last, last] += factors[t]
    for i in range(last + _1):
        for j in range(i):
            found[j, i] = found[i, j]


@kernel
def _edge(mirror, a, aim, here, reference):  # type: ignore[no-untyped-def]
    """Return the last point on the way to the aim at which phi' is still the same, and the next."""
    low, high = a, aim
    if mirror.phi_prime(high, reference) == here:
        return high, high
    while True:
        middle = low + 0.5 * (high - low)
        if middle == low or middle == high:
            return low, high
        if mirror.phi_prime(middle, reference) == here:
            low = middle
        else:
            high = middle


@kernel
def nearby(mirror, a, reference):  # type: ignore[no-untyped-def]
    """Return a distance from `a` over which phi' is nearly straight.

    An exponential bends over an absolute distance, which may be a tiny part of a large theta.
    """
    near = NEAR * (1.0 + abs(a))
    here = mirror.phi_prime(a, reference)
    while (
        here != 0.0
        and near > RESOLUTION * abs(a)
        and abs(mirror.phi_prime(a + near, reference) - here) > STRETCH * abs(here)
    ):
        near *= 0.125
    return near


@kernel
def stiffness(mirror, theta, aim, reference, found):  # type: ignore[no-untyped-def]
    """Write phi''(theta_j), and bring theta_j as near to its aim as leaves its weight unmoved.

    Where a map is flat, as inside a threshold, many theta have the same weight; where the flat
    part ends, the slope beyond it counts if the aim lies there.
    """
    for j in range(np.uint64(theta.shape[0])):
        a = theta[j]
        near = nearby(mirror, a, reference)
        here = mirror.phi_prime(a, reference)
        above = mirror.phi_prime(a + near, reference) - here
        below = here - mirror.phi_prime(a - near, reference)
        ahead = above if aim[j] > a else below
        if ahead == 0.0 and aim[j] != a:
            edge, beyond = _edge(mirror, a, aim[j], here, reference)
            theta[j] = edge
            if beyond != edge:
                near = nearby(mirror, edge, reference)
                way = near if beyond > edge else -near
                ahead = abs(mirror.phi_prime(edge + way, reference) - here)
        elif above != 0.0 and below != 0.0:
            ahead = 0.5 * (above + below)
        found[j] = max(ahead, 0.0) / near


@kernel
def limited_step(mirror, theta, change, reference, stiff, found):  # type: ignore[no-untyped-def]
    """Write theta + change, halved in each coordinate until its weight moves near its tangent.

    Beyond the end of a flat part, or of an exponential, a weight runs away from its tangent.
    """
    for j in range(np.uint64(theta.shape[0])):
        here = mirror.phi_prime(theta[j], reference)
        step = change[j]
        allowed = OVERSHOT * stiff[j] * abs(step)
        for _ in range(MOST_HALVINGS):
            if abs(mirror.phi_prime(theta[j] + step, reference) - here) <= allowed:
                break
            step *= 0.5
        else:
            step = 0.0
        found[j] = theta[j] + step


@kernel(fast=True, inline=True)
def _inner(matrix, i, j, count):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(count):
        total += matrix[i, k] * matrix[j, k]
    return total


@kernel
def factor(matrix):  # type: ignore[no-untyped-def]
    """Replace a symmetric matrix that is not indefinite by its Cholesky factor.

    A pivot lost in rounding becomes infinite, which makes its unknown 0.
    """
    count = np.uint64(matrix.shape[0])
    for i in range(count):
        for j in range(i + _1):
            rest = matrix[i, j] - _inner(matrix, i, j, j)
            if i == j:
                matrix[i, i] = np.sqrt(rest) if rest > LOST * matrix[i, i] else np.inf
            else:
                matrix[i, j] = rest / matrix[j, j]


@kernel
def substitute(matrix, right):  # type: ignore[no-untyped-def]
    """Replace `right` by the solution of L L' x = right, L the factor."""
    count = np.uint64(right.shape[0])
    for i in range(count):
        for k in range(i):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]
    for back in range(count):
        last = count - _1 - back
        for k in range(last + _1, count):
            right[last] -= matrix[k, last] * right[k]
        right[last] /= matrix[last, last]


def solve(matrix: Any, right: Any) -> None:
    """Replace `right` by the solution of matrix x = right, and the matrix by its factor."""
    factor(matrix)
    substitute(matrix, right)
