"""The best slope of one row for any mirror map: D is concave along a row, and this climbs it.

A move of the slope from s to s' changes theta by -C c (s' - s) x. The prediction p falls as the
slope grows, and D is highest where the slope is one of the loss at p: as long as the loss at p is
steeper than the slope given to it, the maximum lies ahead. That comparison gives a bracket which
no rounding of differences can fool. Within it, two evaluations say how fast p falls, the loss's
proximal step says where the slopes would meet if p were a line, and every third step halves.
Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, section 6.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.passes.dual_rows import raw_prediction
from noregret.passes.slots import Slot

_SUM = int(Slot.SUM)
_REFERENCE = int(Slot.REFERENCE)

EPSILON = float(np.finfo(np.float64).eps)

#: The bracket is closed when it is this part of the whole move.
CLOSED = 1e-13
#: Steps aim past the maximum by this part of themselves, so that both ends of the bracket close.
PAST = 1e-3
#: S may shrink by so much before too few of its digits are left to go on without a new sum.
FAINTEST = 1e-6
MOST_EVALUATIONS = 150

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)


@kernel(fast=True)
def try_step(mirror, state, slots, work, step, spans, indices, values, j):  # type: ignore[no-untyped-def]
    """Put theta + step x and its v into `work`; return sum v x, the change of S, its rounding."""
    begin = spans[_2 * j]
    reference = slots[_REFERENCE]
    raw = 0.0
    change = 0.0
    size = 0.0
    for k in range(spans[_2 * j + _1] - begin):
        i = indices[begin + k]
        x = values[begin + k]
        moved = state[i, _0] + step * x
        v = mirror.phi_prime(moved, reference)
        work[_0, k] = moved
        work[_1, k] = v
        raw += v * x
        new = mirror.phi_given(moved, reference, v)
        old = mirror.phi_given(state[i, _0], reference, state[i, _1])
        change += new - old
        size += abs(new) + abs(old)
    return raw, change, size


@kernel
def best_slope(  # type: ignore[no-untyped-def]
    loss, mirror, state, slots, work, y, s, offset, scale, q, spans, indices, values, j
):
    """Return the best slope for the row in slot j, how fast p fell there, and whether to go on.

    `work` then holds the state of that slope. To go on means that numbers left their range before
    the maximum was reached: keep the state, sum S afresh, and search again.
    """
    base = slots[_SUM]
    reference = slots[_REFERENCE]
    p = mirror.kappa(base, reference, 1.0) * raw_prediction(state, spans, indices, values, j)
    p += offset
    at = loss.slope(y, p)
    cand = loss.proximal_slope(y, p + q * s, q, s)
    upwards = cand > s
    if abs(cand - s) <= 4.0 * EPSILON * abs(s) or upwards != (at > s) or not abs(cand) < np.inf:
        return s, q, False
    lowest, highest = loss.lowest_slope(y), loss.highest_slope(y)
    way = 1.0 if upwards else -1.0
    near, far = s, way * np.inf
    before, p_before = s, p
    tried = s
    limited = False
    for count in range(MOST_EVALUATIONS):
        raw, change, _ = try_step(
            mirror, state, slots, work, -scale * (cand - s), spans, indices, values, j
        )
        tried = cand
        total = base + change
        hard = not mirror.separable() and not (FAINTEST * base <= total < np.inf and total > 0.0)
        p = mirror.kappa(total, reference, 1.0) * raw + offset
        if hard or np.isnan(p):
            far = cand
            limited = True
            if near != s:
                break
            cand = near + 0.125 * (far - near)
            continue
        at = loss.slope(y, p)
        if at == cand:
            near = cand
            limited = False
            break
        ahead = at > cand if upwards else at < cand
        if ahead:
            near = cand
        else:
            far = cand
            limited = False
        if abs(far - near) <= max(CLOSED * abs(near - s), 4.0 * EPSILON * abs(near)):
            break
        fall = (p_before - p) / (cand - before)
        if 0.0 <= fall < np.inf:
            q = fall
        before, p_before = cand, p
        follow = loss.proximal_slope(y, p + q * cand, q, cand)
        past = max(PAST * abs(follow - cand), 0.5 * CLOSED * abs(follow - s))
        follow += way * past if ahead else -way * past
        follow = min(max(follow, lowest), highest)
        inside = near < follow < far if upwards else far < follow < near
        if not inside or (count % 3 == 2 and abs(far) < np.inf):
            if abs(far) < np.inf:
                follow = near + 0.5 * (far - near)
            else:
                follow = min(max(near + (near - s), lowest), highest)
        if follow == near or follow == far:
            break
        cand = follow
    if near != s and tried != near:
        try_step(mirror, state, slots, work, -scale * (near - s), spans, indices, values, j)
    return near, q, limited
