"""How theta moves with the slope of one row: by a formula, or by a search along the row.

For the Euclidean map a move from s to s' changes D by
C c (f*(s) - f*(s') + (s' - s) p - q (s' - s)^2 / 2) with q = C c ||x||^2, and its maximum is the
loss's proximal step. For every other map the maximum is found by the search of `dual_maps.climb`,
here to the last digits, since a row may never be visited again.
Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.jit import kernel
from noregret.passes.dual.dual_maps import Variable, climb, part_of_step, settle, try_move
from noregret.passes.dual.dual_online import (
    ERROR,
    DualRule,
    Memory,
    move,
    read_row,
    replace_slope,
)
from noregret.passes.dual.dual_rows import (
    CURVATURE,
    LABEL,
    OFFSET,
    SLOPE,
    SQUARE,
    WEIGHT,
    gram,
    kept_row,
)
from noregret.passes.frame import Vector, WorkMemory
from noregret.passes.rounds import LARGEST_LOSS
from noregret.passes.slots import Slot, keep_sum

#: Largest number of restarts of a search after S was summed afresh.
RESUMED = 100
#: A search ends when its next step would be this part of the whole move.
CLOSED = 1e-13
#: Two rows whose determinant is this part of their product count as parallel.
PARALLEL = 1e-12

_0, _1 = np.uint64(0), np.uint64(1)


@dataclass(frozen=True)
class PlainRule(DualRule):
    """The Euclidean map: a record is theta, which is also the weight."""

    width = 1

    def ascend(
        self, memory: Memory, ledger: Vector, j: Any, p: float, height: float
    ) -> tuple[float, float]:
        """Take the proximal step, or a part of it."""
        loss, book = self.loss, memory.kept.book
        y, s = book[j, LABEL], book[j, SLOPE]
        scale = self.C * book[j, WEIGHT]
        q = scale * book[j, SQUARE]
        new = loss.proximal_slope(y, p + q * s, q, s)
        if self.fraction < 1.0:
            new = part_of_step(s, new, self.fraction)
        fall = new - s
        lower = loss.conjugate(y, new)  # type: ignore[attr-defined]
        if fall == 0.0 or not book[j, WEIGHT] * abs(lower) < LARGEST_LOSS:
            return 0.0, 0.0
        bend = height - lower + fall * (p - q * fall)
        _shift(memory.state, memory.accounts, kept_row(memory.kept, j), -scale * fall)
        replace_slope(self, memory, ledger, j, new)
        if self.fraction < 1.0:
            # Short of the maximum the slope is not one at the new prediction.
            return scale * max(bend + 0.5 * q * fall * fall, 0.0), abs(fall)
        return scale * (max(bend, 0.0) + 0.5 * q * fall * fall), abs(fall)

    def shift(self, memory: Memory, j: Any, fall: float, height: float) -> float:
        """Add -C c fall x to theta."""
        book, row = memory.kept.book, kept_row(memory.kept, j)
        p = read_row(memory.state, 1, row) + book[j, OFFSET]
        scale = self.C * book[j, WEIGHT]
        q = scale * book[j, SQUARE]
        _shift(memory.state, memory.accounts, row, -scale * fall)
        return float(scale * (height + fall * (p - 0.5 * q * fall)))

    def ascend_pair(self, memory: Memory, ledger: Vector, i: Any, j: Any) -> float:
        """Maximise D over two rows of the hinge loss at once."""
        return float(_visit_pair(self, memory, ledger, i, j))


@dataclass(frozen=True)
class MappedRule(DualRule):
    """Every other map: a record is theta and v, and S is kept up to date."""

    width = 2

    def ascend(
        self, memory: Memory, ledger: Vector, j: Any, p: float, height: float
    ) -> tuple[float, float]:
        """Search for the best slope, again where numbers had to be brought back into range."""
        book = memory.kept.book
        y, offset, s = book[j, LABEL], book[j, OFFSET], book[j, SLOPE]
        scale = self.C * book[j, WEIGHT]
        row, search = kept_row(memory.kept, j), _search(memory)
        gain = distance = 0.0
        _prepare(self.mirror, memory.slots, scale, row)
        for _ in range(RESUMED):
            variable = Variable(y, s, offset, -scale, 0.0, book[j, CURVATURE])
            new, total, q = _best_slope(self.loss, self.mirror, search, row, variable)
            if self.fraction < 1.0 and new != s:
                new = part_of_step(s, new, self.fraction)
                _try_step(self.mirror, search, row, -scale * (new - s))
            lower = self.loss.conjugate(y, new)  # type: ignore[attr-defined]
            if new == s or not book[j, WEIGHT] * abs(lower) < LARGEST_LOSS:
                break
            fall = new - s
            # An infinite S says that numbers left their range on the way: sum it afresh.
            rise, redone = _take(
                self.mirror, search, memory.accounts, row, -scale * fall, not total < np.inf
            )
            gain += max(scale * (height - lower + fall * offset) - rise, 0.0)
            distance += abs(fall)
            replace_slope(self, memory, ledger, j, new)
            book[j, CURVATURE] = q
            if not redone:
                break
            # Numbers were brought back into their range: the maximum may lie farther on.
            s, height = new, lower
        return gain, distance

    def shift(self, memory: Memory, j: Any, fall: float, height: float) -> float:
        """Add -C c fall x to theta and bring v and S along."""
        book, row, search = memory.kept.book, kept_row(memory.kept, j), _search(memory)
        scale = self.C * book[j, WEIGHT]
        _prepare(self.mirror, memory.slots, scale, row)
        _try_step(self.mirror, search, row, -scale * fall)
        rise, _ = _take(self.mirror, search, memory.accounts, row, -scale * fall, False)
        return float(scale * (height + fall * book[j, OFFSET]) - rise)

    def ascend_pair(self, memory: Memory, ledger: Vector, i: Any, j: Any) -> float:
        """Return 0: pairs are for the Euclidean map."""
        return 0.0


@kernel(fast=True, inner=True)
def _shift(state, accounts, row, step):  # type: ignore[no-untyped-def]
    """Add step * x to theta and account for the rounding."""
    assert state.shape[1] == 1
    error = 0.0
    for k in range(row.begin, row.end):
        term = step * row.values[k]
        theta = state[row.indices[k], _0] + term
        state[row.indices[k], _0] = theta
        error += abs(theta) + 4.0 * abs(term)
    accounts[ERROR] += error


@kernel(inline=True)
def _prepare(mirror, slots, scale, row):  # type: ignore[no-untyped-def]
    """Where theta and S are still 0, choose the reference for the theta that the row leads to.

    Its powers would vanish or overflow otherwise, and no search could see them.
    """
    if slots[Slot.SUM] == 0.0 and not mirror.separable():
        largest = 0.0
        for k in range(row.begin, row.end):
            largest = max(largest, abs(scale * row.values[k]))
        slots[Slot.REFERENCE] = mirror.reference(largest, largest)


@kernel(inline=True)
def _search(memory):  # type: ignore[no-untyped-def]
    """Return only the arrays that a search along a row needs: others would cost compile time."""
    return WorkMemory(memory.state, memory.slots, memory.work)


# Kernels of their own, not inlined: the code of a search takes long to optimise.
@kernel(inner=True)
def _best_slope(loss, mirror, search, row, variable):  # type: ignore[no-untyped-def]
    return climb(loss, mirror, search, row, variable, CLOSED)


@kernel(inner=True)
def _try_step(mirror, search, row, step):  # type: ignore[no-untyped-def]
    try_move(mirror, search, row, step)


@kernel(inner=True)
def _take(mirror, search, accounts, row, step, limited):  # type: ignore[no-untyped-def]
    """Make what was tried in `work` the state; return the change of G and whether S was redone.

    `limited` asks for a sum S afresh.
    """
    state, slots, work = search
    reference = slots[Slot.REFERENCE]
    before = mirror.psi(slots[Slot.SUM], reference)
    change = error = 0.0
    largest = -np.inf
    size = 0.0
    for k in range(row.end - row.begin):
        i, x = row.indices[row.begin + k], row.values[row.begin + k]
        moved, v = work[_0, k], work[_1, k]
        change += mirror.phi_given(moved, reference, v)
        change -= mirror.phi_given(state[i, _0], reference, state[i, _1])
        state[i, _0] = moved
        state[i, _1] = v
        error += abs(moved) + 4.0 * abs(step * x)
        largest = max(largest, moved)
        size = max(size, abs(moved))
    accounts[ERROR] += error
    if mirror.separable():
        return change, False
    total = slots[Slot.SUM] + change
    redone = keep_sum(slots, total) or mirror.out_of_range(total, largest, size, reference)
    redone = redone or limited
    if redone:
        settle(mirror, state, slots)
    return mirror.psi(slots[Slot.SUM], slots[Slot.REFERENCE]) - before, redone


@kernel(inline=True)
def _capped_ratio(numerator, denominator, cap):  # type: ignore[no-untyped-def]
    """Return the maximiser of numerator a - denominator a^2/2 over [0, cap]."""
    if numerator <= 0.0:
        return 0.0
    return cap if numerator >= cap * denominator else numerator / denominator


@kernel(inner=True)
def _visit_pair(rule, memory, ledger, i, j):  # type: ignore[no-untyped-def]
    """Maximise D over two hinge rows i and j at once (Euclidean map); return the gain.

    With alphas a, b and K the Gram matrix of y x, D is a constant plus
    c1 a + c2 b - (K11 a^2 + 2 K12 a b + K22 b^2)/2, on a box: the stationary point if it lies
    inside, else the best point of the four edges.
    """
    loss, book = rule.loss, memory.kept.book
    one_row, two_row = kept_row(memory.kept, i), kept_row(memory.kept, j)
    y1, y2 = book[i, LABEL], book[j, LABEL]
    cap1, cap2 = rule.C * book[i, WEIGHT], rule.C * book[j, WEIGHT]
    k11, k22 = book[i, SQUARE], book[j, SQUARE]
    k12 = y1 * y2 * gram(one_row, two_row)
    a0, b0 = -y1 * book[i, SLOPE] * cap1, -y2 * book[j, SLOPE] * cap2
    p1 = read_row(memory.state, 1, one_row) + book[i, OFFSET]
    p2 = read_row(memory.state, 1, two_row) + book[j, OFFSET]
    # The margin asked for is minus the conjugate at the steepest slope.
    e1 = -loss.conjugate(y1, -y1) - y1 * p1
    e2 = -loss.conjugate(y2, -y2) - y2 * p2
    c1 = e1 + k11 * a0 + k12 * b0
    c2 = e2 + k12 * a0 + k22 * b0
    a, b = -1.0, -1.0
    determinant = k11 * k22 - k12 * k12
    if determinant > PARALLEL * k11 * k22:
        a = (k22 * c1 - k12 * c2) / determinant
        b = (k11 * c2 - k12 * c1) / determinant
    if not (0.0 <= a <= cap1 and 0.0 <= b <= cap2):
        best = -np.inf
        for edge in range(4):
            if edge < 2:
                one = cap1 if edge == 1 else 0.0
                two = _capped_ratio(c2 - k12 * one, k22, cap2)
            else:
                two = cap2 if edge == 3 else 0.0
                one = _capped_ratio(c1 - k12 * two, k11, cap1)
            height = c1 * one + c2 * two
            height -= 0.5 * (k11 * one * one + 2.0 * k12 * one * two + k22 * two * two)
            if height > best:
                best, a, b = height, one, two
    if rule.fraction < 1.0:
        # D is concave between where it stands and its maximum over both.
        a, b = part_of_step(a0, a, rule.fraction), part_of_step(b0, b, rule.fraction)
    da, db = a - a0, b - b0
    gain = da * e1 + db * e2 - 0.5 * (k11 * da * da + 2.0 * k12 * da * db + k22 * db * db)
    if not gain > 0.0:
        return 0.0
    # Return the gain of the rounded moves, not that of the exact maximiser.
    gain = 0.0
    if cap1 > 0.0:
        gain += move(rule, memory, ledger, i, -y1 * min(a / cap1, 1.0))
    if cap2 > 0.0:
        gain += move(rule, memory, ledger, j, -y2 * min(b / cap2, 1.0))
    return max(gain, 0.0)
