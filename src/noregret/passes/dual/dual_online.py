"""Dual ascent on a stream: each round raises D by moving slopes of the rows that are kept.

Problem: P(w) = F(w) + C sum_t c_t f(y_t, <w,x_t> + o_t), with dual variables s_t (slopes of f),
theta = -C sum_t c_t s_t x_t, w = link(theta) and D(s) = C sum_t c_t (s_t o_t - f*(s_t)) - G(theta).
Input: CSR rows, labels, weights, offsets; the rows kept with their slopes. Output: the predictions
made before each update. A round: keep the row with slope 0, predict, move its slope, then the
slopes of rows kept before it, as the update says. Only conservative and aggressive steps beyond
their preconditions can lower D.
Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, figure 1 and sections 4 to 6.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import add_compensated, kernel
from noregret.passes.dual.dual_maps import part_of_step
from noregret.passes.dual.dual_rows import (
    COUNT,
    CURVATURE,
    FIRST,
    LABEL,
    OFFSET,
    SLOPE,
    SQUARE,
    VISITED,
    WEIGHT,
    allot,
    dequeue,
    draw,
    enqueue,
    gram,
    keep_row,
    raw_prediction,
    slot_of,
    stalest,
)
from noregret.passes.dual.dual_steps import FELL, PROGRESS, VALUE, enter_slope, move, visit
from noregret.passes.promises import keep_promises
from noregret.passes.rounds import LARGEST_LOSS, playable, row_norm
from noregret.passes.slots import Slot
from noregret.proof.ledger import Entry

_SUM = int(Slot.SUM)
_REFERENCE = int(Slot.REFERENCE)

_ROUNDS = int(Entry.ROUNDS)
_MISTAKES = int(Entry.MISTAKES)
_LOSS = int(Entry.LOSS)
_MAGNITUDE = int(Entry.MAGNITUDE)
_LARGEST_ROW = int(Entry.LARGEST_ROW)
_LARGEST_COUNTED_ROW = int(Entry.LARGEST_COUNTED_ROW)
_LEAST_WEIGHT = int(Entry.LEAST_WEIGHT)
_MOST_WEIGHT = int(Entry.MOST_WEIGHT)

#: The kinds of update; a leader is a window over everything.
CONSERVATIVE, AGGRESSIVE, EXACT, PAIR, WINDOW, MINI = range(6)
#: The orders in which mini-updates visit the rows kept.
LAST, RANDOMLY, OLDEST, SUPPORT = range(4)
#: Why the pass returned: all rows played, no room for the next row, or it cannot be played.
DONE, ROOM, OVERFLOW = range(3)

#: Two rows whose determinant is this part of their product count as parallel.
PARALLEL = 1e-12

_0, _1 = np.uint64(0), np.uint64(1)


@kernel(inline=True)
def _capped_ratio(numerator, denominator, cap):  # type: ignore[no-untyped-def]
    """Return the maximiser of numerator a - denominator a^2/2 over [0, cap]."""
    if numerator <= 0.0:
        return 0.0
    return cap if numerator >= cap * denominator else numerator / denominator


@kernel
def visit_pair(loss, mirror, C, fraction, state, sums, kept, i, j):  # type: ignore[no-untyped-def]
    """Maximise D over two hinge rows i and j at once (Euclidean map); return the gain.

    With alphas a, b and K the Gram matrix of y x, D is a constant plus
    c1 a + c2 b - (K11 a^2 + 2 K12 a b + K22 b^2)/2, on a box: the stationary point if it lies
    inside, else the best point of the four edges.
    """
    if state.ndim == 2:
        return 0.0
    else:
        spans, indices, values, book = kept
        y1, y2 = book[i, LABEL], book[j, LABEL]
        cap1, cap2 = C * book[i, WEIGHT], C * book[j, WEIGHT]
        k11, k22 = book[i, SQUARE], book[j, SQUARE]
        k12 = y1 * y2 * gram(spans, indices, values, i, j)
        a0, b0 = -y1 * book[i, SLOPE] * cap1, -y2 * book[j, SLOPE] * cap2
        p1 = raw_prediction(state, spans, indices, values, i) + book[i, OFFSET]
        p2 = raw_prediction(state, spans, indices, values, j) + book[j, OFFSET]
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
        if fraction < 1.0:
            # D is concave between where it stands and its maximum over both.
            a, b = part_of_step(a0, a, fraction), part_of_step(b0, b, fraction)
        da, db = a - a0, b - b0
        gain = da * e1 + db * e2 - 0.5 * (k11 * da * da + 2.0 * k12 * da * db + k22 * db * db)
        if not gain > 0.0:
            return 0.0
        # What the two moves gain as they were rounded, not what was hoped for.
        gain = 0.0
        if cap1 > 0.0:
            gain += move(loss, mirror, C, state, sums, kept, i, -y1 * min(a / cap1, 1.0))
        if cap2 > 0.0:
            gain += move(loss, mirror, C, state, sums, kept, j, -y2 * min(b / cap2, 1.0))
        return max(gain, 0.0)


@kernel
def sweep(loss, mirror, C, fraction, state, sums, kept, ring, most, tolerance, sweeps):  # type: ignore[no-untyped-def]
    """Visit the newest `most` rows again and again, newest first; return the gain.

    Ends when the rows' part of the duality gap is at most tolerance * max(1, D), when nothing
    moves, or after so many sweeps: wherever it ends, D has not fallen.
    """
    count = min(np.uint64(most), ring[COUNT])
    enough = tolerance * max(1.0, sums[2][VALUE])
    total = 0.0
    for _ in range(sweeps):
        moved = 0.0
        open_gap = 0.0
        for back in range(_1, count + _1):
            j = slot_of(ring, kept[3], ring[COUNT] - back)
            raw = raw_prediction(state, kept[0], kept[1], kept[2], j)
            gain, distance, gap = visit(loss, mirror, C, fraction, state, sums, kept, j, raw)
            total += gain
            moved = max(moved, distance)
            open_gap += gap
        if moved == 0.0 or open_gap <= enough or count == _1:
            break
    return total


@kernel
def mini_updates(loss, mirror, C, fraction, state, sums, kept, ring, links, schedule, k):  # type: ignore[no-untyped-def]
    """Visit rows kept before the newest one, in the order of the schedule; return the gain."""
    book = kept[3]
    count = ring[COUNT]
    total = 0.0
    if count < np.uint64(2):
        return total
    most = count if schedule == SUPPORT else np.uint64(k)
    if schedule == LAST:
        most = min(most, count)
    for back in range(_1, most):
        if schedule == RANDOMLY:
            j = slot_of(ring, book, draw(ring))
        elif schedule == OLDEST:
            j = stalest(links)
        else:
            j = slot_of(ring, book, count - _1 - back)
        if schedule != SUPPORT or book[j, SLOPE] != 0.0:
            raw = raw_prediction(state, kept[0], kept[1], kept[2], j)
            gain, _, _ = visit(loss, mirror, C, fraction, state, sums, kept, j, raw)
            total += gain
    return total


@kernel(inline=True)
def _enter_round(loss, ledger, y, weight, mistake, p, lead, norm):  # type: ignore[no-untyped-def]
    """Enter the loss suffered at p, of which `lead` is what the margin of the trial adds."""
    value, slope = loss.value(y, p), loss.slope(y, p)
    suffered = weight * value
    ledger[_ROUNDS] += 1.0
    keep_promises(loss, ledger, y, p, value, slope)
    add_compensated(ledger, _LOSS, suffered)
    size = abs(y) + abs(p) + abs(lead)
    ledger[_MAGNITUDE] += abs(suffered) + weight * abs(slope) * size
    ledger[_LARGEST_ROW] = max(ledger[_LARGEST_ROW], norm)
    ledger[_LEAST_WEIGHT] = min(ledger[_LEAST_WEIGHT], weight)
    ledger[_MOST_WEIGHT] = max(ledger[_MOST_WEIGHT], weight)
    if mistake:
        ledger[_MISTAKES] += 1.0
        ledger[_LARGEST_COUNTED_ROW] = max(ledger[_LARGEST_COUNTED_ROW], norm)


@kernel
def dual_pass(  # type: ignore[no-untyped-def]
    loss,
    mirror,
    C,
    fraction,
    update,
    schedule,
    k,
    square,
    tolerance,
    sweeps,
    indptr,
    indices,
    values,
    y,
    weight,
    offset,
    lead,
    first,
    state,
    sums,
    kept,
    ring,
    links,
    predictions,
):
    """Play the rows from `first` on; return (next row, why it stopped).

    `square` bounds <x, H x> for the aggressive step. `lead` is what a margin of its own adds to
    the prediction before the loss sees it; predictions and mistakes are without. The book has one
    slot more than rows are kept, for the row of the round.
    """
    slots, ledger, accounts, _ = sums
    spans, held_indices, _, book = kept
    capacity = np.uint64(held_indices.shape[0])
    smoothness = mirror.smoothness()
    for t in range(np.uint64(first), np.uint64(y.shape[0])):
        room, start = allot(ring, spans, book, capacity, indptr[t + _1] - indptr[t])
        if not room:
            return np.int64(t), ROOM
        j = slot_of(ring, book, ring[COUNT])
        total, reach = keep_row(mirror, indptr, indices, values, t, kept, start, j)
        norm = row_norm(mirror, total, reach)
        label, mass, shift = y[t], weight[t], offset[t] + lead[t]
        kappa = mirror.kappa(slots[_SUM], slots[_REFERENCE], 1.0)
        raw = raw_prediction(state, spans, held_indices, kept[2], j)
        p = kappa * raw + shift
        slope = loss.slope(label, p)
        fits = C * mass * book[j, SQUARE] < LARGEST_LOSS
        fits = fits and playable(loss, label, C * mass, p, slope, norm)
        # The loss itself is summed without C.
        if not (fits and (C >= 1.0 or playable(loss, label, mass, p, slope, 0.0))):
            return np.int64(t), OVERFLOW
        predictions[t] = kappa * raw + offset[t]
        mistake = loss.mistake(label, predictions[t])
        ring[COUNT] += _1
        enqueue(links, j)
        if ring[COUNT] == np.uint64(book.shape[0]):
            dequeue(links, ring[FIRST])
            ring[FIRST] = slot_of(ring, book, _1)
            ring[COUNT] -= _1
        book[j, LABEL] = label
        book[j, OFFSET] = shift
        book[j, WEIGHT] = mass
        book[j, SLOPE] = 0.0
        book[j, VISITED] = 0.0
        bend = smoothness * norm * norm
        book[j, CURVATURE] = C * mass * (bend if bend >= 0.0 else book[j, SQUARE])
        _enter_round(loss, ledger, label, mass, mistake, p, lead[t], norm)
        enter_slope(loss, ledger, accounts, label, mass, shift, 0.0, 1.0)
        # A loss with values below zero brings D down as it enters, which no step is to blame for.
        entry = -C * mass * loss.conjugate(label, 0.0)
        gain = 0.0
        if update == CONSERVATIVE:
            if mistake:
                # The steepest slope there is, also where a margin of its own asks for less.
                steepest = loss.slope(label, predictions[t])
                gain += move(loss, mirror, C, state, sums, kept, j, steepest)
        elif update == AGGRESSIVE:
            q = C * mass * square
            new = loss.proximal_slope(label, p, q, 0.0)
            gain += move(loss, mirror, C, state, sums, kept, j, new)
        elif update == PAIR and ring[COUNT] > _1:
            i = slot_of(ring, book, ring[COUNT] - np.uint64(2))
            gain += visit_pair(loss, mirror, C, fraction, state, sums, kept, i, j)
        elif update == WINDOW:
            gain += sweep(loss, mirror, C, fraction, state, sums, kept, ring, k, tolerance, sweeps)
        else:
            rise, _, _ = visit(loss, mirror, C, fraction, state, sums, kept, j, raw)
            gain += rise
            if update == MINI:
                gain += mini_updates(
                    loss, mirror, C, fraction, state, sums, kept, ring, links, schedule, k
                )
        add_compensated(accounts, VALUE, entry + gain)
        if mistake:
            add_compensated(accounts, PROGRESS, entry + gain)
        if gain < 0.0 and accounts[FELL] == 0.0:
            accounts[FELL] = ledger[_ROUNDS]
    return np.int64(y.shape[0]), DONE
