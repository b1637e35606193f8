"""The agile rule of the entropy on a clipped simplex: C-EG, O((nonzeros + 1) log n) a round.

w_i <- w_i exp(-eta z_i), then the entropic projection on {w_i >= phi, sum w = 1}, phi = alpha/n,
times the map's scale. The projection is w_i <- max(phi, m w_i) with one m for all, so that
weights are kept as c q_i with a common factor c: only touched q_i change, and those that fall to
phi. All that fell together share one q from then on, as a group (`groups`), until a row touches
them; the others, singles, stand in a heap by q. A round moves its singles in the heap, then takes
the smallest q away while c q < phi; each was put there by an earlier touch. Rows that touch half
of all weights, and rare repairs, go through all of them in O(n).
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorems 7 and 16.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.domains.medians import clipped_multiplier, left_mass
from noregret.elementary import LARGEST_EXPONENT, exp
from noregret.jit import add_compensated, kernel
from noregret.mirrors import Entropy
from noregret.passes.descent.agile import ProjectedRule
from noregret.passes.descent.groups import (
    Column,
    Mark,
    Memory,
    Node,
    Single,
    change,
    gather_clipped,
    group_of,
    leave_group,
    make_heap,
    offset_of,
    put,
    take,
    value_of,
)
from noregret.passes.descent.implicit import REST, begin_search, next_slope, search_on
from noregret.passes.frame import Vector
from noregret.passes.rounds import MappedFound, Round, enter_mapped
from noregret.passes.rows import Reading, Row, place
from noregret.passes.slots import KAPPA_DRIFT, UPDATES_BETWEEN_SUMS, Stop

#: The O(n) step takes exponents beyond this, for which the averages would lose their digits, and
#: rows that touch at least this part of all weights.
LARGEST_STEP = 4.0
DENSE = 0.5


@dataclass(frozen=True)
class ClippedSimplexRule(ProjectedRule):
    """Predict by <w, x>, multiply by exp(-eta z), project on the clipped simplex."""

    mirror: Entropy
    alpha: float

    width = len(Column)

    def read(self, memory: Memory, row: Row) -> Reading:
        """Return the row as it is read against q."""
        return _read(self.mirror, memory, row)  # type: ignore[no-any-return]

    def factor(self, slots: Vector) -> float:
        """Return the factor of q in the weights."""
        return float(self.mirror.scale * slots[Mark.FACTOR])

    def commit(self, row: Row, memory: Memory, ledger: Vector, found: MappedFound) -> int:
        """Enter the round, step and project."""
        slots, played, alpha = memory.slots, found.played, self.alpha
        count, n = 0, memory.state.shape[0]
        slope = enter_mapped(self, ledger, found)
        slots[Mark.PREFIX] += slots[Mark.FACTOR]
        for k in range(row.end - row.begin):
            i, x = place(row, k)
            if x != 0.0:
                count += 1
                if memory.state[np.int64(i), Column.PLACE] < 0.0:
                    # Shorten the path to the root for the steps below and for later rows.
                    group_of(memory.state, memory.groups, np.int64(i))
        if slope == 0.0:
            return Stop.DONE
        step = self.exponent(row, memory, played, slope)
        if count >= DENSE * n or not abs(step) * played.norm <= LARGEST_STEP:
            _step_all(alpha, memory, row, slope, step)
            return Stop.DONE
        for k in range(row.end - row.begin):
            i, x = place(row, k)
            if x != 0.0:
                _touch(memory, np.int64(i), x, slope, step)
        _clip(alpha, memory)
        slots[Mark.UPDATES] += count
        # Measured from 1, which it was when heap and groups were last made.
        drifted = not 1.0 < slots[Mark.FACTOR] * KAPPA_DRIFT or not slots[Mark.FACTOR] < KAPPA_DRIFT
        crowded = slots[Mark.NODES] >= memory.groups.shape[0] - 1
        if drifted or crowded or slots[Mark.UPDATES] >= max(UPDATES_BETWEEN_SUMS, 16.0 * n):
            settle(memory.state, memory.groups, slots)
            project(alpha, memory)
        return Stop.DONE

    def exponent(self, row: Row, memory: Memory, played: Round, slope: float) -> float:
        """Return the s of the step: w_i is multiplied by exp(s x_i)."""
        return -played.eta * slope


class ImplicitClippedSimplexRule(ClippedSimplexRule):
    """The rule whose step takes the slope of the loss at the new weights, before projection."""

    def exponent(self, row: Row, memory: Memory, played: Round, slope: float) -> float:
        """Return the s of the step: w_i is multiplied by exp(s x_i)."""
        moved = _implicit_slope(self, memory, played, row)
        return float(-played.eta * played.mass * moved)


@kernel
def settle(state, groups, slots):  # type: ignore[no-untyped-def]
    """Give every weight its own value w_i and the sum of its iterates; c is 1 and PREFIX 0 then."""
    factor, prefix = slots[Mark.FACTOR], slots[Mark.PREFIX]
    for i in range(state.shape[0]):
        if state[i, Column.PLACE] < 0.0:
            state[i, Column.VALUE] = groups[group_of(state, groups, i), Node.VALUE]
            state[i, Column.ACCUMULATOR] += offset_of(state, groups, i)
            state[i, Column.PLACE] = 0.0
        state[i, Column.ACCUMULATOR] -= prefix * state[i, Column.VALUE]
        state[i, Column.VALUE] *= factor
    slots[Mark.FACTOR] = 1.0
    slots[Mark.PREFIX] = 0.0


@kernel(inner=True, counted=True)
def project(alpha, memory):  # type: ignore[no-untyped-def]
    """Project the values of settled weights, of any sum, and make heap and groups afresh."""
    state, heap, slots = memory.state, memory.heap, memory.slots
    n = state.shape[0]
    largest = 0.0
    for i in range(n):
        largest = max(largest, state[i, Column.VALUE])
    for i in range(n):
        state[i, Column.VALUE] /= largest
    multiplier = clipped_multiplier(state[:, Column.VALUE].copy(), alpha)
    lowest = alpha / n
    slots[Mark.NODES] = slots[Mark.UPDATES] = slots[Mark.SUM] = slots[Mark.SUM_LOW] = 0.0
    slots[Mark.TOP] = -1.0
    singles = clipped = 0
    for i in range(n):
        w = multiplier * state[i, Column.VALUE]
        if w > lowest:
            state[i, Column.VALUE] = w
            add_compensated(slots, Mark.SUM, w)
            heap[singles, Single.VALUE], heap[singles, Single.MEMBER] = w, i
            singles += 1
        else:
            # The group that is made below has the number 0.
            state[i, Column.PLACE] = -1.0
            clipped += 1
    make_heap(state, heap, slots, singles)
    if clipped > 0:
        gather_clipped(memory, 0, -1, lowest, clipped)
        add_compensated(slots, Mark.SUM, clipped * lowest)


@kernel(inline=True)
def _read(mirror, memory, row):  # type: ignore[no-untyped-def]
    """Return the `Reading` of a row against q."""
    state, groups = memory.state, memory.groups
    raw = powers = one_norm = local = 0.0
    low, high = np.inf, -np.inf
    features = row.end - row.begin
    for k in range(features):
        i, x = place(row, k)
        low, high = min(low, x), max(high, x)
        if x != 0.0:
            product = value_of(state, groups, np.int64(i)) * x
            raw += product
            local += product * x
            powers = mirror.norm_term(powers, x)
            one_norm += abs(x)
    if features < np.uint64(state.shape[0]):
        low, high = min(low, 0.0), max(high, 0.0)
    return Reading(raw, powers, one_norm, local, low, high)


@kernel(inner=True, counted=True)
def _implicit_slope(rule, memory, played, row):  # type: ignore[no-untyped-def]
    """Return the slope at the weights that the step leads to, before they are projected."""
    state, groups, slots, search = memory.state, memory.groups, memory.slots, memory.search
    g, pace = played.slope, played.eta * played.mass
    begin_search(search, g)
    features = row.end - row.begin
    rest, untouched = 0.0, np.uint64(state.shape[0]) - features
    if untouched > 0:
        # Compensated: the row may hold nearly all of the sum, and a long step magnifies the rest.
        search[REST], search[REST + 1] = slots[Mark.SUM], slots[Mark.SUM_LOW]
        for k in range(features):
            i, _ = place(row, k)
            add_compensated(search, REST, -value_of(state, groups, np.int64(i)))
        least = untouched * (rule.alpha / state.shape[0]) / slots[Mark.FACTOR]
        rest = max(search[REST] + search[REST + 1], least)
    s, more = g, True
    while more:
        s = next_slope(search)
        highest = 0.0 if untouched > 0 else -np.inf
        for k in range(features):
            _, x = place(row, k)
            highest = max(highest, -pace * s * x)
        raw, total = 0.0, rest * exp(min(-highest, 0.0))
        for k in range(features):
            i, x = place(row, k)
            before = value_of(state, groups, np.int64(i))
            after = before * exp(-pace * s * x - highest)
            raw += after * x
            total += after
        u = rule.mirror.scale * raw / total
        more = search_on(search, s, rule.loss.slope(played.label, u), g)
    return s


@kernel(inner=True, counted=True)
def _step_all(alpha, memory, row, slope, step):  # type: ignore[no-untyped-def]
    """Take the step of a row and project, going through all weights."""
    state = memory.state
    settle(state, memory.groups, memory.slots)
    for i in range(state.shape[0]):
        state[i, Column.PLACE] = 0.0
    for k in range(row.end - row.begin):
        i, x = place(row, k)
        state[i, Column.PLACE] = step * x
        state[i, Column.GRADIENT] += slope * x
    # Divide by the largest of the new weights: it neither overflows nor do the others underflow.
    highest = -np.inf
    for i in range(state.shape[0]):
        highest = max(highest, np.log(state[i, Column.VALUE]) + state[i, Column.PLACE])
    for i in range(state.shape[0]):
        exponent = state[i, Column.PLACE] - highest
        if exponent > LARGEST_EXPONENT:
            # A denormal weight that grows to at most 1: in two steps, neither of which overflows.
            exponent *= 0.5
            state[i, Column.VALUE] *= exp(exponent)
        state[i, Column.VALUE] *= exp(exponent)
    project(alpha, memory)


@kernel(inline=True)
def _touch(memory, i, x, slope, step):  # type: ignore[no-untyped-def]
    state, heap, groups, slots = memory.state, memory.heap, memory.groups, memory.slots
    before = value_of(state, groups, i)
    after = before * exp(step * x)
    if state[i, Column.PLACE] < 0.0:
        leave_group(state, groups, i)
        put(state, heap, slots, after, i)
    else:
        change(state, heap, slots, np.int64(state[i, Column.PLACE]), after)
    state[i, Column.VALUE] = after
    state[i, Column.ACCUMULATOR] += slots[Mark.PREFIX] * (after - before)
    state[i, Column.GRADIENT] += slope * x
    add_compensated(slots, Mark.SUM, -before)
    add_compensated(slots, Mark.SUM, after)


@kernel(inline=True)
def _clip(alpha, memory):  # type: ignore[no-untyped-def]
    """Find the factor of the projection, and put what it clips into one group."""
    state, heap, groups, slots = memory.state, memory.heap, memory.groups, memory.slots
    n = state.shape[0]
    lowest = alpha / n
    singles = np.int64(slots[Mark.SINGLES])
    first = np.int64(slots[Mark.TOP])
    top = first
    clipped = 0
    factor = 1.0 / (slots[Mark.SUM] + slots[Mark.SUM_LOW])
    while True:
        while top >= 0 and groups[top, Node.MEMBERS] == 0.0:
            top = np.int64(groups[top, Node.BELOW])
        single = np.int64(slots[Mark.SINGLES]) > 0
        grouped = top >= 0
        if grouped and single:
            grouped = groups[top, Node.VALUE] <= heap[0, Single.VALUE]
        if not grouped and not single:
            break
        value = groups[top, Node.VALUE] if grouped else heap[0, Single.VALUE]
        count = int(groups[top, Node.MEMBERS]) if grouped else 1
        # The largest component can always be kept, whatever rounding says.
        if not value * factor < lowest or clipped + count == n:
            break
        if grouped:
            top = np.int64(groups[top, Node.BELOW])
        else:
            last = np.int64(heap[0, Single.MEMBER])
            take(state, heap, slots, 0)
            # The place that the heap gave up keeps what was taken from it.
            end = np.int64(slots[Mark.SINGLES])
            heap[end, Single.VALUE] = value
            heap[end, Single.MEMBER] = last
        clipped += count
        add_compensated(slots, Mark.SUM, -(count * value))
        factor = left_mass(alpha, n, clipped) / (slots[Mark.SUM] + slots[Mark.SUM_LOW])
    slots[Mark.FACTOR] = factor
    slots[Mark.TOP] = first
    if clipped > 0:
        taken = singles - np.int64(slots[Mark.SINGLES])
        gather_clipped(memory, taken, top, lowest / factor, clipped)
        add_compensated(slots, Mark.SUM, clipped * (lowest / factor))
