"""The agile pass: step in the dual by eta_t z_t, then project back on the domain.

theta_(t+1) = theta_t - eta_t z_t, w = link(theta), followed by the Bregman projection of w on
a domain: a ball of the map's own norm by one global factor, a box or the orthant on the touched
coordinates, the simplex by sorting (O(d log d) a round). Predictions above `clip` are lowered to
it before the loss and its slope are taken; an implicit step takes the slope at the new weights,
while the certificate keeps the line at the prediction made. Columns of `state`: theta,
v = phi'(theta), the average's accumulator, and Z, which the certificate needs since theta is not
its negative.
Reference: Cesa-Bianchi, Online Gradient Descent (lecture notes), projected OGD; Herbster and
Warmuth, Tracking the Best Linear Predictor, Definition 9.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.passes.checks import LARGEST_FEATURE, indices_sound_until
from noregret.passes.descent.implicit import implicit_slope
from noregret.passes.descent.lazy import extend_prefix, keep_sum, leap_limit, next_rate
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    LARGEST_PREDICTION,
    enter_round,
    observe_features,
    playable,
    row_norm,
    step_slope,
)
from noregret.passes.rows import read_mapped_row, settled_leap
from noregret.passes.slots import Slot, Stop
from noregret.proof.ledger import Entry
from noregret.rates import UNBOUNDED

COLUMNS = 4

_SUM = int(Slot.SUM)
_REFERENCE = int(Slot.REFERENCE)
_PREFIX = int(Slot.PREFIX)
_FACTOR = int(Slot.FACTOR)

_LARGEST_REACH = int(Entry.LARGEST_REACH)

_DONE = int(Stop.DONE)
_RESUM = int(Stop.RESUM)
_SETTLE = int(Stop.SETTLE)
_OVERFLOW = int(Stop.OVERFLOW)
_UNSOUND = int(Stop.UNSOUND)

_THETA = np.uint64(0)
_VALUE = np.uint64(1)
_ACCUMULATOR = np.uint64(2)
_GRADIENT = np.uint64(3)

#: The global factor is folded into theta before its inverse loses range.
SMALLEST_FACTOR = 1e-60


@kernel(inline=True)
def _move(mirror, domain, state, i, x, slope, step, reference, prefix, limit):  # type: ignore[no-untyped-def]
    theta = state[i, _THETA]
    v = state[i, _VALUE]
    moved = theta + step * x
    v_moved = mirror.phi_prime(moved, reference)
    if domain.separable():
        clamped = domain.clamp(v_moved)
        if clamped != v_moved:
            moved = mirror.inverse(clamped)
            v_moved = clamped
    phi = mirror.phi_given(moved, reference, v_moved)
    v_moved, leap = settled_leap(phi, v_moved, limit)
    state[i, _THETA] = moved
    state[i, _VALUE] = v_moved
    state[i, _ACCUMULATOR] += prefix * (v_moved - v)
    state[i, _GRADIENT] += slope * x
    change = phi - mirror.phi_given(theta, reference, v)
    return moved, leap if leap > 0.0 else change


@kernel(inline=True)
def _add_row(  # type: ignore[no-untyped-def]
    mirror, domain, state, slope, step, reference, prefix, limit, indptr, indices, values, t
):
    change = 0.0
    largest = -np.inf
    size = 0.0
    if values.ndim == 2:
        for j in range(np.uint64(values.shape[1])):
            x = np.float64(values[t, j])
            if x != 0.0:
                a, delta = _move(mirror, domain, state, j, x, slope, step, reference, prefix, limit)
                change += delta
                largest = max(largest, a)
                size = max(size, abs(a))
    else:
        for k in range(indptr[t], indptr[t + np.uint64(1)]):
            x = np.float64(values[k])
            i = indices[k]
            a, delta = _move(mirror, domain, state, i, x, slope, step, reference, prefix, limit)
            change += delta
            largest = max(largest, a)
            size = max(size, abs(a))
    return change, largest, size


@kernel
def simplex_shift(theta, scale):  # type: ignore[no-untyped-def]
    """Return m = max theta and tau with sum_i max((theta_i - m) - tau, 0) = scale."""
    # Measured from the largest, so that a small scale is not lost beside a large theta.
    largest = np.max(theta)
    order = np.sort(theta - largest)[::-1]
    total = 0.0
    tau = 0.0
    for k in range(order.shape[0]):
        total += order[k]
        candidate = (total - scale) / (k + 1.0)
        if order[k] <= candidate:
            break
        tau = candidate
    return largest, tau


@kernel
def _project_on_simplex(state, scale, prefix):  # type: ignore[no-untyped-def]
    largest, tau = simplex_shift(state[:, 0], scale)
    for i in range(np.uint64(state.shape[0])):
        w = max((state[i, _THETA] - largest) - tau, 0.0)
        state[i, _ACCUMULATOR] += prefix * (w - state[i, _VALUE])
        state[i, _THETA] = w
        state[i, _VALUE] = w


@kernel
def agile_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    rate,
    domain,
    indptr,
    indices,
    values,
    width,
    trusted,
    y,
    weight,
    first,
    state,
    slots,
    ledger,
    predictions,
    conservative,
    clip,
    search,
):
    """Run the agile pass; return (next row, why it stopped).

    `search` is room for the search of implicit steps, or None: their code is left out then.
    """
    assert state.shape[1] == COLUMNS
    sound = np.uint64(trusted)
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(indptr, indices, values, width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        # Read once: the compiler must assume that what is written below may change them.
        label, mass = y[t], weight[t]
        raw, total, reach, local, low, high = read_mapped_row(
            mirror, state, indptr, indices, values, t
        )
        if t >= trusted and not reach <= LARGEST_FEATURE:
            return np.int64(t), _UNSOUND
        norm = row_norm(mirror, total, reach)
        if not mass * norm < LARGEST_GRADIENT:
            return np.int64(t), _OVERFLOW
        eta, farthest = next_rate(loss, rate, ledger, norm, mass)
        if not eta < UNBOUNDED:
            # Nothing was seen and this row is zero, or too small to be squared.
            eta = 0.0
        kappa = slots[_FACTOR] * mirror.kappa(slots[_SUM], slots[_REFERENCE], 1.0)
        product = kappa * raw
        p = min(product, clip)
        steepness = loss.slope(label, p)
        # A clip must not hide weights that have left the range of numbers.
        if not product < LARGEST_PREDICTION or not playable(loss, label, mass, p, steepness, norm):
            return np.int64(t), _OVERFLOW
        ledger[_LARGEST_REACH] = farthest
        predictions[t] = p
        slope = step_slope(loss, label, mass, p, steepness, conservative)
        value = loss.value(label, p)
        enter_round(loss, ledger, label, mass, p, value, steepness, reach, norm, eta, conservative)
        if mirror.multiplicative():
            observe_features(ledger, slope, eta, kappa * local, low, high)
        settle = extend_prefix(slots, kappa)
        stop = _DONE
        if slope != 0.0:
            moving = slope
            if search is not None:
                moving = mass * implicit_slope(
                    loss,
                    mirror,
                    state,
                    slots,
                    search,
                    eta * mass,
                    label,
                    p,
                    steepness,
                    total,
                    indptr,
                    indices,
                    values,
                    t,
                )
            change, largest, size = _add_row(
                mirror,
                domain,
                state,
                slope,
                -eta * moving / slots[_FACTOR],
                slots[_REFERENCE],
                slots[_PREFIX],
                leap_limit(mirror, slots),
                indptr,
                indices,
                values,
                t,
            )
            if domain.is_simplex():
                _project_on_simplex(state, domain.extent(), slots[_PREFIX])
            elif domain.is_ball() or not mirror.separable():
                stale = keep_sum(slots, slots[_SUM] + change)
                if stale or mirror.out_of_range(slots[_SUM], largest, size, slots[_REFERENCE]):
                    stop = _RESUM
                if domain.is_ball():
                    # Half the square of the weights' norm, whichever it is, is G(theta).
                    energy = mirror.psi(max(slots[_SUM], 0.0), slots[_REFERENCE])
                    length = slots[_FACTOR] * np.sqrt(2.0 * energy)
                    # An infinite S is summed afresh, and the projection waits for it.
                    if domain.extent() < length < np.inf:
                        slots[_FACTOR] *= domain.extent() / length
                        if slots[_FACTOR] < SMALLEST_FACTOR:
                            stop = _RESUM
        if stop != _DONE or settle:
            return np.int64(t) + 1, stop if stop != _DONE else _SETTLE
    return y.shape[0], _DONE
