"""The implicit step: the slope of the loss at the new weights, not at the old ones.

w' = argmin_w D(w, w_t) + eta f(<w, x>) has grad F(w') = grad F(w_t) - eta s x, where s is a slope
of f at the new prediction u(s) = <w', x>. Since u falls as s grows and slopes of a convex f rise
with u, h(s) = s - f'(u(s)) grows by at least one for each unit of s: it has one zero, between 0
and the slope g at the old prediction, and |h| bounds the distance to it. Linear maps have
u(s) = p - eta ||x||^2 s, which every loss solves itself; for the others the zero is searched for.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, section 3; Kivinen and
Warmuth, Exponentiated Gradient versus Gradient Descent, 1997 (implicit updates).
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.passes.descent.agile import AgileRule, Column
from noregret.passes.frame import WorkMemory
from noregret.passes.rounds import MappedFound
from noregret.passes.rows import Row, place
from noregret.passes.slots import SHRUNK, Slot

#: Relative error of s at which the search ends: a long step multiplies it.
RESOLUTION = 1e-15
#: Steps after which the search ends; every third halves a bracket of doubles.
LONGEST = 6300

_LOW, _BELOW, _HIGH, _ABOVE, _SIDE, _STEPS, REST, _REST_LOW = range(8)
#: Numbers that a search keeps: both ends, h there, the side last moved, steps taken, and the sum
#: of what the row does not touch with its low part.
SEARCH = 8


@kernel(inline=True)
def begin_search(search, g):  # type: ignore[no-untyped-def]
    """Begin between 0 and g, where h(0) = -g and h(g) is not known yet."""
    search[_LOW], search[_HIGH] = min(g, 0.0), max(g, 0.0)
    # h(g) has the sign of g; a guess of its size only chooses the first step.
    search[_BELOW], search[_ABOVE] = -abs(g), abs(g)
    search[_SIDE] = search[_STEPS] = 0.0


@kernel(inline=True)
def next_slope(search):  # type: ignore[no-untyped-def]
    """Return the slope to try next."""
    low, high = search[_LOW], search[_HIGH]
    s = 0.5 * low + 0.5 * high
    if search[_STEPS] % 3.0 != 2.0:
        s = low - search[_BELOW] * ((high - low) / (search[_ABOVE] - search[_BELOW]))
        if not low < s < high:
            s = 0.5 * low + 0.5 * high
    search[_STEPS] += 1.0
    return s


@kernel(inline=True)
def search_on(search, s, slope, g):  # type: ignore[no-untyped-def]
    """Enter f'(u(s)) = slope; return whether the search goes on.

    NaN comes from a step so long that it overflowed; h has the sign of g there.
    """
    error = s - slope
    if np.isnan(error):
        error = g
    if abs(error) <= RESOLUTION * abs(s) or search[_STEPS] >= LONGEST:
        return False
    # Illinois: an end that stays twice is given half its weight.
    if error < 0.0:
        search[_LOW], search[_BELOW] = s, error
        search[_ABOVE] *= 0.5 if search[_SIDE] < 0.0 else 1.0
        search[_SIDE] = -1.0
    else:
        search[_HIGH], search[_ABOVE] = s, error
        search[_BELOW] *= 0.5 if search[_SIDE] > 0.0 else 1.0
        search[_SIDE] = 1.0
    return search[_LOW] < 0.5 * search[_LOW] + 0.5 * search[_HIGH] < search[_HIGH]


@kernel(inner=True, counted=True)
def _moved_product(mirror, memory, step, row):  # type: ignore[no-untyped-def]
    """Return <w', x> for theta' = theta + step x."""
    state, slots = memory.state, memory.slots
    reference = slots[Slot.REFERENCE]
    raw = 0.0
    total = slots[Slot.SUM]
    largest = -np.inf
    size = 0.0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        theta = state[i, Column.THETA]
        moved = theta + step * x
        v = mirror.phi_prime(moved, reference)
        raw += v * x
        before = mirror.phi_given(theta, reference, state[i, Column.VALUE])
        total += mirror.phi_given(moved, reference, v) - before
        largest = max(largest, moved)
        size = max(size, abs(moved))
    if not mirror.separable():
        # S may have lost its digits, or have overflowed.
        lost = not SHRUNK * slots[Slot.PEAK] <= total < np.inf
        if lost or mirror.out_of_range(total, largest, size, reference):
            return _fresh_product(mirror, memory, step, row)
    return slots[Slot.FACTOR] * mirror.kappa(total, reference, 1.0) * raw


@kernel(inner=True, counted=True)
def _fresh_product(mirror, memory, step, row):  # type: ignore[no-untyped-def]
    """Return <w', x> from all of theta', with the reference that it asks for, in O(d)."""
    moved = memory.state[:, Column.THETA].copy()
    features = row.end - row.begin
    for k in range(features):
        i, x = place(row, k)
        moved[i] += step * x
    reference = mirror.reference(np.max(moved), np.max(np.abs(moved)))
    total = 0.0
    for i in range(moved.shape[0]):
        total += mirror.phi(moved[i], reference)
    raw = 0.0
    for k in range(features):
        i, x = place(row, k)
        raw += mirror.phi_prime(moved[i], reference) * x
    return memory.slots[Slot.FACTOR] * mirror.kappa(total, reference, 1.0) * raw


@kernel(inner=True, counted=True)
def implicit_slope(loss, mirror, memory, played, powers, row):  # type: ignore[no-untyped-def]
    """Return the s of the implicit step for weights in the agile rule's memory.

    `powers` is ||x||^2 where the map is linear.
    """
    y, g = played.label, played.slope
    pace = played.eta * played.mass
    if mirror.linear():
        return loss.proximal_slope(y, played.prediction, pace * powers, g)
    if not abs(g) > 0.0:
        return 0.0
    search = memory.work
    begin_search(search, g)
    s, more = g, True
    while more:
        s = next_slope(search)
        u = _moved_product(mirror, memory, -pace * s / memory.slots[Slot.FACTOR], row)
        more = search_on(search, s, loss.slope(y, u), g)
    return s


class ImplicitAgileRule(AgileRule):
    """The agile rule whose step takes the slope of the loss at the new weights.

    The certificate keeps the line at the prediction made.
    """

    def moving_slope(self, row: Row, memory: WorkMemory, found: MappedFound, slope: float) -> float:
        """Return the weighted slope at the weights that the step leads to."""
        played = found.played
        moved = implicit_slope(self.loss, self.mirror, memory, played, found.seen.powers, row)
        return float(played.mass * moved)
