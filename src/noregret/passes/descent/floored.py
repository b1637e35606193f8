"""The agile pass of the entropy on a simplex with a floor: C-EG, O((nonzeros + 1) log n) a round.

w_i <- w_i exp(-eta z_i), then the entropic projection on {w_i >= phi, sum w = 1}, phi = alpha/n,
times the map's scale. The projection is w_i <- max(phi, m w_i) with one m for all, so that
weights are kept as c q_i with a common factor c: only touched q_i change, and those that fall to
the floor. All that fell together share one q from then on, as a group (`passes.groups`), until a
row touches them; the others, singles, stand in a heap by q. A round moves its singles in the
heap, then takes the smallest q away while c q < phi; each was put there by an earlier touch.
Rows that touch half of all weights, and rare repairs, go through all of them in O(n).
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorems 7 and 16.
"""

from __future__ import annotations

import numpy as np

from noregret.domains.medians import floored_multiplier, left_mass
from noregret.elementary import exp
from noregret.jit import add_compensated, kernel
from noregret.passes.checks import LARGEST_FEATURE, indices_sound_until
from noregret.passes.descent.groups import (
    COLUMNS,
    Mark,
    change,
    gather_floor,
    group_of,
    leave_group,
    make_heap,
    offset_of,
    put,
    take,
    value_of,
)
from noregret.passes.descent.implicit import REST, begin_search, next_slope, search_on
from noregret.passes.descent.lazy import next_rate
from noregret.passes.rounds import (
    LARGEST_GRADIENT,
    enter_round,
    observe_features,
    playable,
    row_norm,
    step_slope,
)
from noregret.passes.rows import place, row_span
from noregret.passes.slots import KAPPA_DRIFT, UPDATES_BETWEEN_SUMS, Stop
from noregret.proof.ledger import Entry
from noregret.rates import UNBOUNDED

_SUM = int(Mark.SUM)
_SUM_LOW = int(Mark.SUM_LOW)
_UPDATES = int(Mark.UPDATES)
_FACTOR = int(Mark.FACTOR)
_PREFIX = int(Mark.PREFIX)
_SINGLES = int(Mark.SINGLES)
_NODES = int(Mark.NODES)
_TOP = int(Mark.TOP)

_LARGEST_REACH = int(Entry.LARGEST_REACH)

_DONE = int(Stop.DONE)
_OVERFLOW = int(Stop.OVERFLOW)
_UNSOUND = int(Stop.UNSOUND)

#: Exponents beyond this, in which the averages would lose their digits, and rows that touch so
#: many weights are left to the O(n) step.
LARGEST_STEP = 4.0
DENSE = 0.5


@kernel
def settle(state, groups, slots):  # type: ignore[no-untyped-def]
    """Give every weight its own value w_i and the sum of its iterates; c is 1 and PREFIX 0 then."""
    factor, prefix = slots[_FACTOR], slots[_PREFIX]
    for i in range(state.shape[0]):
        if state[i, 3] < 0.0:
            state[i, 0] = groups[group_of(state, groups, i), 1]
            state[i, 1] += offset_of(state, groups, i)
            state[i, 3] = 0.0
        state[i, 1] -= prefix * state[i, 0]
        state[i, 0] *= factor
    slots[_FACTOR] = 1.0
    slots[_PREFIX] = 0.0


@kernel
def project(alpha, state, heap, groups, slots):  # type: ignore[no-untyped-def]
    """Project the values of settled weights, of any sum, and make heap and groups afresh."""
    n = state.shape[0]
    largest = 0.0
    for i in range(n):
        largest = max(largest, state[i, 0])
    for i in range(n):
        state[i, 0] /= largest
    multiplier = floored_multiplier(state[:, 0].copy(), alpha)
    floor = alpha / n
    slots[_NODES] = slots[_UPDATES] = slots[_SUM] = slots[_SUM_LOW] = 0.0
    slots[_TOP] = -1.0
    singles = clipped = 0
    for i in range(n):
        w = multiplier * state[i, 0]
        if w > floor:
            state[i, 0] = w
            add_compensated(slots, _SUM, w)
            heap[singles, 0], heap[singles, 1] = w, i
            singles += 1
        else:
            # The group that is made below has the number 0.
            state[i, 3] = -1.0
            clipped += 1
    make_heap(state, heap, slots, singles)
    if clipped > 0:
        gather_floor(state, heap, groups, slots, 0, -1, floor, clipped)
        add_compensated(slots, _SUM, clipped * floor)


@kernel(inline=True)
def _read(state, groups, mirror, indptr, indices, values, t):  # type: ignore[no-untyped-def]
    """Return sum q_i x_i, the norm accumulator, ||x||_1, sum q_i x_i^2, min x, max x, nonzeros."""
    raw = total = reach = local = 0.0
    low, high = np.inf, -np.inf
    count = 0
    begin, end = row_span(indptr, values, t)
    for k in range(end - begin):
        i, x = place(values, indices, begin, k, t)
        low, high = min(low, x), max(high, x)
        if x != 0.0:
            product = value_of(state, groups, np.int64(i)) * x
            raw += product
            local += product * x
            total = mirror.norm_term(total, x)
            reach += abs(x)
            count += 1
    if end - begin < np.uint64(state.shape[0]):
        low, high = min(low, 0.0), max(high, 0.0)
    return raw, total, reach, local, low, high, count


@kernel
def _implicit_slope(  # type: ignore[no-untyped-def]
    loss, mirror, alpha, state, groups, slots, search, pace, y, g, indptr, indices, values, t
):
    """Return the slope at the weights that the step leads to, before they are projected."""
    begin_search(search, g)
    begin, end = row_span(indptr, values, t)
    rest, untouched = 0.0, np.uint64(state.shape[0]) - (end - begin)
    if untouched > 0:
        # Nearly all of the sum may be taken off, and a long step makes much of what is left.
        search[REST], search[REST + 1] = slots[_SUM], slots[_SUM_LOW]
        for k in range(end - begin):
            i, _ = place(values, indices, begin, k, t)
            add_compensated(search, REST, -value_of(state, groups, np.int64(i)))
        least = untouched * (alpha / state.shape[0]) / slots[_FACTOR]
        rest = max(search[REST] + search[REST + 1], least)
    s, more = g, True
    while more:
        s = next_slope(search)
        highest = 0.0 if untouched > 0 else -np.inf
        for k in range(end - begin):
            _, x = place(values, indices, begin, k, t)
            highest = max(highest, -pace * s * x)
        raw, total = 0.0, rest * exp(min(-highest, 0.0))
        for k in range(end - begin):
            i, x = place(values, indices, begin, k, t)
            before = value_of(state, groups, np.int64(i))
            after = before * exp(-pace * s * x - highest)
            raw += after * x
            total += after
        more = search_on(search, s, loss.slope(y, mirror.scale * raw / total), g)
    return s


@kernel
def _step_all(alpha, state, heap, groups, slots, slope, step, indptr, indices, values, t):  # type: ignore[no-untyped-def]
    """Take the step of a row and project, going through all weights."""
    settle(state, groups, slots)
    begin, end = row_span(indptr, values, t)
    for i in range(state.shape[0]):
        state[i, 3] = 0.0
    for k in range(end - begin):
        i, x = place(values, indices, begin, k, t)
        state[i, 3] = step * x
        state[i, 2] += slope * x
    # All are divided by what the largest becomes: neither it nor what it leaves room for is lost.
    highest = -np.inf
    for i in range(state.shape[0]):
        highest = max(highest, np.log(state[i, 0]) + state[i, 3])
    for i in range(state.shape[0]):
        state[i, 0] *= exp(state[i, 3] - highest)
    project(alpha, state, heap, groups, slots)


@kernel(inline=True)
def _touch(state, heap, groups, slots, i, x, slope, step):  # type: ignore[no-untyped-def]
    before = value_of(state, groups, i)
    after = before * exp(step * x)
    if state[i, 3] < 0.0:
        leave_group(state, groups, i)
        put(state, heap, slots, after, i)
    else:
        change(state, heap, slots, np.int64(state[i, 3]), after)
    state[i, 0] = after
    state[i, 1] += slots[_PREFIX] * (after - before)
    state[i, 2] += slope * x
    add_compensated(slots, _SUM, -before)
    add_compensated(slots, _SUM, after)


@kernel(inline=True)
def _clip(alpha, state, heap, groups, slots):  # type: ignore[no-untyped-def]
    """Find the factor of the projection, and put what it clips into one group at the floor."""
    n = state.shape[0]
    floor = alpha / n
    singles = np.int64(slots[_SINGLES])
    first = np.int64(slots[_TOP])
    top = first
    clipped = 0
    factor = 1.0 / (slots[_SUM] + slots[_SUM_LOW])
    while True:
        while top >= 0 and groups[top, 2] == 0.0:
            top = np.int64(groups[top, 4])
        single = np.int64(slots[_SINGLES]) > 0
        grouped = top >= 0
        if grouped and single:
            grouped = groups[top, 1] <= heap[0, 0]
        if not grouped and not single:
            break
        value = groups[top, 1] if grouped else heap[0, 0]
        count = int(groups[top, 2]) if grouped else 1
        # The largest component can always be kept, whatever rounding says.
        if not value * factor < floor or clipped + count == n:
            break
        if grouped:
            top = np.int64(groups[top, 4])
        else:
            last = np.int64(heap[0, 1])
            take(state, heap, slots, 0)
            # The place that the heap gave up keeps what was taken from it.
            end = np.int64(slots[_SINGLES])
            heap[end, 0] = value
            heap[end, 1] = last
        clipped += count
        add_compensated(slots, _SUM, -(count * value))
        factor = left_mass(alpha, n, clipped) / (slots[_SUM] + slots[_SUM_LOW])
    slots[_FACTOR] = factor
    slots[_TOP] = first
    if clipped > 0:
        taken = singles - np.int64(slots[_SINGLES])
        gather_floor(state, heap, groups, slots, taken, top, floor / factor, clipped)
        add_compensated(slots, _SUM, clipped * (floor / factor))


@kernel
def floored_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    rate,
    alpha,
    indptr,
    indices,
    values,
    width,
    trusted,
    y,
    weight,
    first,
    state,
    heap,
    groups,
    slots,
    ledger,
    predictions,
    conservative,
    search,
):
    """Run the pass; return (next row, why it stopped). For `search` see the agile pass."""
    assert state.shape[1] == COLUMNS
    n = state.shape[0]
    sound = np.uint64(trusted)
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        if t >= sound:
            sound = indices_sound_until(indptr, indices, values, width, t)
            if sound == t:
                return np.int64(t), _UNSOUND
        label, mass = y[t], weight[t]
        raw, total, reach, local, low, high, count = _read(
            state, groups, mirror, indptr, indices, values, t
        )
        if t >= trusted and not reach <= LARGEST_FEATURE:
            return np.int64(t), _UNSOUND
        norm = row_norm(mirror, total, reach)
        if not mass * norm < LARGEST_GRADIENT:
            return np.int64(t), _OVERFLOW
        eta, farthest = next_rate(loss, rate, ledger, norm, mass)
        if not eta < UNBOUNDED:
            eta = 0.0
        kappa = mirror.scale * slots[_FACTOR]
        p = kappa * raw
        steepness = loss.slope(label, p)
        if not playable(loss, label, mass, p, steepness, norm):
            return np.int64(t), _OVERFLOW
        ledger[_LARGEST_REACH] = farthest
        predictions[t] = p
        slope = step_slope(loss, label, mass, p, steepness, conservative)
        value = loss.value(label, p)
        enter_round(loss, ledger, label, mass, p, value, steepness, reach, norm, eta, conservative)
        observe_features(ledger, slope, eta, kappa * local, low, high)
        slots[_PREFIX] += slots[_FACTOR]
        if slope == 0.0:
            continue
        step = -eta * slope
        if search is not None:
            step = (
                -eta
                * mass
                * _implicit_slope(
                    loss,
                    mirror,
                    alpha,
                    state,
                    groups,
                    slots,
                    search,
                    eta * mass,
                    label,
                    steepness,
                    indptr,
                    indices,
                    values,
                    t,
                )
            )
        if count >= DENSE * n or not abs(step) * norm <= LARGEST_STEP:
            _step_all(alpha, state, heap, groups, slots, slope, step, indptr, indices, values, t)
            continue
        begin, end = row_span(indptr, values, t)
        for k in range(end - begin):
            i, x = place(values, indices, begin, k, t)
            if x != 0.0:
                _touch(state, heap, groups, slots, np.int64(i), x, slope, step)
        _clip(alpha, state, heap, groups, slots)
        slots[_UPDATES] += count
        # Measured from 1, which it was when heap and groups were last made.
        drifted = not 1.0 < slots[_FACTOR] * KAPPA_DRIFT or not slots[_FACTOR] < KAPPA_DRIFT
        crowded = slots[_NODES] >= groups.shape[0] - 1
        if drifted or crowded or slots[_UPDATES] >= max(UPDATES_BETWEEN_SUMS, 16.0 * n):
            settle(state, groups, slots)
            project(alpha, state, heap, groups, slots)
    return y.shape[0], _DONE
