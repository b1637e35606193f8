"""Dual coordinate ascent for any mirror map: one row's slope is moved at a time.

Problem: minimise over w (and a bias) sum_i c_i f(y_i, <w,x_i> + o_i) + b F(w). Its dual has one
variable a row, the slope s_i, with theta = -(1/b) sum_i c_i s_i x_i and w = link(theta):
D(s) = sum_i c_i (-f*(y_i, s_i) + s_i o_i) - b G(theta). Input: rows in a given order, slopes and
the state (theta, v = phi'(theta)) that belongs to them. Output: the same, after every row has
maximised D over its own slope.

Along a row the prediction p falls as the slope s grows, and D is highest where s is a slope of
the loss at p. The search needs no derivative of the map: with q the fall of p a unit of slope,
the loss's proximal step is the best slope if p were a line; two evaluations give the next q, and
the side to which the step points gives a bracket. The q of a row is kept for its next visit.
Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, Algorithm 1; one-variable
maximisation as in Shalev-Shwartz and Singer, A Primal-Dual Perspective, section 6.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from noregret.elementary import divide
from noregret.jit import kernel
from noregret.passes.rows import place, row_of
from noregret.passes.slots import Slot, keep_sum
from noregret.passes.sync import extremes, rebuild
from noregret.rounding import EPSILON

_0, _1 = np.uint64(0), np.uint64(1)

#: Columns of the state: theta and v.
COLUMNS = 2

#: Places in the array of the bias: -(1/b) sum c_i s_i, the multiplier, what the sum is worth.
BALANCE, MULTIPLIER, STIFFNESS = 0, 1, 2

#: Evaluations of a row before the search settles for a point known to be better.
MOST_EVALUATIONS = 40
#: Evaluations after which the bracket is also halved.
PATIENCE = 6
#: A step past the maximum is kept if it overshot by this part of the whole move.
OVERSHOT = 1e-9
#: A step may make S this much smaller before it is summed afresh for want of digits.
FAINTEST = 1e-9


class Slopes(NamedTuple):
    """The memory of batch ascent. A search along a row needs `state`, `slots` and `work` only."""

    slopes: Any
    #: The fall of a row's prediction a unit of its slope, from its last visit.
    curvatures: Any
    #: Balance, multiplier and stiffness of a bias; zeros without one.
    bias: Any
    #: Records of theta and v, scalars, and the theta and v of the row that a search tries.
    state: Any
    slots: Any
    work: Any


class Stride(NamedTuple):
    """How far one visit goes."""

    #: A row's line search ends when its next step would be this part of the move so far.
    accuracy: float
    #: The part of its best step that a row takes.
    fraction: float


class Variable(NamedTuple):
    """The slope of one row, a variable of the dual, and what its movement changes."""

    label: float
    slope: float
    #: Offset and bias: the prediction is <w,x> plus this.
    shift: float
    #: The change of theta along x a unit of slope, -c/b.
    unit: float
    #: What a bias adds to the prediction for each unit that theta moves along x.
    stiffness: float
    #: The fall of the prediction a unit of slope, as last seen.
    curvature: float


@kernel(fast=True, inline=True)
def _read(state, row):  # type: ignore[no-untyped-def]
    """Return sum v_j x_j."""
    raw = 0.0
    for k in range(row.end - row.begin):
        j, x = place(row, k)
        raw += state[j, _1] * x
    return raw


@kernel(fast=True, inline=True)
def try_move(mirror, memory, row, step):  # type: ignore[no-untyped-def]
    """Put theta + step x and its v into `work`; return sum v_j x_j and the change of S."""
    state, work, reference = memory.state, memory.work, memory.slots[Slot.REFERENCE]
    raw = change = 0.0
    for k in range(row.end - row.begin):
        j, x = place(row, k)
        moved = state[j, _0] + step * x
        v = mirror.phi_prime(moved, reference)
        work[_0, k] = moved
        work[_1, k] = v
        raw += v * x
        change += mirror.phi_given(moved, reference, v)
        change -= mirror.phi_given(state[j, _0], reference, state[j, _1])
    return raw, change


@kernel(inline=True)
def _keep(state, work, row):  # type: ignore[no-untyped-def]
    """Make what was tried last the state; return the largest theta and |theta| written."""
    largest = -np.inf
    size = 0.0
    for k in range(row.end - row.begin):
        j, _ = place(row, k)
        state[j, _0] = work[_0, k]
        state[j, _1] = work[_1, k]
        largest = max(largest, work[_0, k])
        size = max(size, abs(work[_0, k]))
    return largest, size


@kernel
def settle(mirror, state, slots):  # type: ignore[no-untyped-def]
    """Choose the reference for the theta at hand, compute every v and sum S afresh."""
    largest, size = extremes(state, 1.0)
    slots[Slot.REFERENCE] = mirror.reference(largest, size)
    slots[Slot.SUM] = rebuild(mirror, state, 1.0, slots[Slot.REFERENCE])
    slots[Slot.PEAK] = slots[Slot.SUM]
    slots[Slot.UPDATES] = 0.0


@kernel(inline=True)
def _swap(state, work, row):  # type: ignore[no-untyped-def]
    for k in range(row.end - row.begin):
        j, _ = place(row, k)
        state[j, _0], work[_0, k] = work[_0, k], state[j, _0]


@kernel(inner=True)
def _afresh(mirror, memory, row, step):  # type: ignore[no-untyped-def]
    """Return <w,x> at the theta in `work` with a reference and a sum of its own.

    It looks at all coordinates, and is for steps that leave the range of the reference.
    """
    state, slots = memory.state, memory.slots
    _swap(state, memory.work, row)
    settle(mirror, state, slots)
    kappa = mirror.kappa(slots[Slot.SUM], slots[Slot.REFERENCE], 1.0)
    product = kappa * _read(state, row)
    _swap(state, memory.work, row)
    settle(mirror, state, slots)
    # The reference may be another one now: what was tried must belong to it.
    try_move(mirror, memory, row, step)
    return product


@kernel(inline=True)
def climb(loss, mirror, memory, row, variable, accuracy):  # type: ignore[no-untyped-def]
    """Move one row's slope to where D is highest along it and leave that state in `work`.

    Returns the new slope, the new S and the curvature met. The search ends on the near side of
    the maximum, where D cannot have fallen, when the next step would be `accuracy` of the whole
    move.
    """
    label, slope, shift, unit, stiffness, q = variable
    slots = memory.slots
    total = slots[Slot.SUM]
    p = mirror.kappa(total, slots[Slot.REFERENCE], 1.0) * _read(memory.state, row)
    p += shift
    new = loss.proximal_slope(label, p + q * slope, q, slope)
    if new == slope or not abs(new) < np.inf:
        return slope, total, q
    upwards = new > slope
    near, far = slope, np.inf if upwards else -np.inf
    before, p_before, p_first = slope, p, p
    count = 0
    # The loop ends with `new` tried last: where the search failed, with the best known point.
    searching = True
    while True:
        count += 1
        step = unit * (new - slope)
        raw, change = try_move(mirror, memory, row, step)
        total = slots[Slot.SUM] + change
        hard = not (total > max(FAINTEST * slots[Slot.SUM], 0.0) and total < np.inf)
        if mirror.separable():
            total, hard = slots[Slot.SUM], False
        elif hard:
            # Infinity has the sum taken afresh if this step is kept.
            total = np.inf
        if not searching:
            break
        if hard:
            p = _afresh(mirror, memory, row, step)
        else:
            p = mirror.kappa(total, slots[Slot.REFERENCE], 1.0) * raw
        p += shift + stiffness * step
        following = new
        beyond = True
        if abs(p) < np.inf:
            secant = divide(p_before - p, new - before)
            q = secant if secant >= 0.0 and secant < np.inf else q
            following = loss.proximal_slope(label, p + q * new, q, new)
            error = abs(following - new)
            # The loss itself tells the side: the difference of two steps may be all rounding.
            at = loss.slope(label, p)
            beyond = at < new if upwards else at > new
            move = abs(new - slope)
            enough = accuracy * move
            if beyond:
                # So little past it that D, whose slope there is about -q error, has not fallen.
                known = q * abs(new) * EPSILON <= OVERSHOT * abs(p_first - p)
                enough = OVERSHOT * min(move, abs(p_first - p) / q) if q > 0.0 and known else -1.0
            if error <= enough or (not beyond and error <= 2.0 * EPSILON * abs(new)):
                break
            before, p_before = new, p
            if beyond:
                # A little more than asked for, so as to land on the near side.
                following -= math.copysign(0.1 * accuracy * move, new - slope)
                searching = abs(new - near) > accuracy * move
        if beyond:
            far = new
        else:
            near = new
        inside = near < following < far if upwards else far < following < near
        if not inside or (count > PATIENCE and count % 3 == 0 and abs(far) < np.inf):
            following = near + 0.5 * (far - near)
        if following == near or following == far or count >= MOST_EVALUATIONS:
            searching = False
        if not searching and (near == new or near == slope):
            new = near
            break
        new = following if searching else near
    return new, total, q


@kernel(inline=True)
def part_of_step(slope, best, fraction):  # type: ignore[no-untyped-def]
    """Return slope + fraction (best - slope), certainly between the two."""
    new = slope + fraction * (best - slope)
    return min(max(new, min(slope, best)), max(slope, best))


@kernel(counted=False)
def ascend(loss, mirror, strength, rows, terms, memory, order, stride):  # type: ignore[no-untyped-def]
    """Visit the rows in that order; return how many moved.

    Each slope moves by a fraction of its best step, 0 < fraction <= 1: D is concave along it,
    so that it gains at least this fraction of what the whole step would.
    """
    slopes, curvatures, bias, state, slots, work = memory
    assert state.shape[1] == COLUMNS
    moved = 0
    for place_in_order in range(np.uint64(order.shape[0])):
        t = np.uint64(order[place_in_order])
        mass = terms.weight[t]
        if mass == 0.0:
            continue
        slope = slopes[t]
        unit = -mass / strength
        shift = terms.offset[t] + bias[MULTIPLIER] + bias[STIFFNESS] * bias[BALANCE]
        row = row_of(rows, t)
        variable = Variable(terms.y[t], slope, shift, unit, bias[STIFFNESS], curvatures[t])
        new, total, q = climb(loss, mirror, memory, row, variable, stride.accuracy)
        if new == slope:
            continue
        if stride.fraction < 1.0:
            new = part_of_step(slope, new, stride.fraction)
            _, change = try_move(mirror, memory, row, unit * (new - slope))
            total = slots[Slot.SUM] + change
            if not (total > max(FAINTEST * slots[Slot.SUM], 0.0) and total < np.inf):
                total = np.inf
        moved += 1
        slopes[t] = new
        curvatures[t] = q
        bias[BALANCE] += unit * (new - slope)
        largest, size = _keep(state, work, row)
        if not mirror.separable():
            if keep_sum(slots, total) or mirror.out_of_range(
                total, largest, size, slots[Slot.REFERENCE]
            ):
                settle(mirror, state, slots)
    return moved


@kernel(counted=False)
def apart(loss, mirror, rows, terms, memory):  # type: ignore[no-untyped-def]
    """Return sum c_i (f(p_i) + f*(s_i) - s_i p_i), how far slopes and predictions disagree.

    Every term is at least 0; the sum is the duality gap of the problem that `ascend` works on,
    its bias included, up to the rounding of the state.
    """
    slots, bias = memory.slots, memory.bias
    kappa = mirror.kappa(slots[Slot.SUM], slots[Slot.REFERENCE], 1.0)
    common = bias[MULTIPLIER] + bias[STIFFNESS] * bias[BALANCE]
    total = 0.0
    for t in range(np.uint64(terms.y.shape[0])):
        y, c, s = terms.y[t], terms.weight[t], memory.slopes[t]
        if c > 0.0:
            p = kappa * _read(memory.state, row_of(rows, t)) + terms.offset[t] + common
            total += c * (loss.value(y, p) + loss.conjugate(y, s) - s * p)
    return total


@kernel
def slope_ends(loss, y, lowest, highest):  # type: ignore[no-untyped-def]
    """Write the interval of slopes with a finite conjugate for each label."""
    for t in range(np.uint64(y.shape[0])):
        lowest[t] = loss.lowest_slope(y[t])
        highest[t] = loss.highest_slope(y[t])
