"""The VC dimension of a finite class, exactly, with the set that proves it.

A set of k points is shattered if all 2^k labellings occur. Points are chosen one by one, and the
hypotheses fall into cells by their labels: with r points to come, every cell must keep 2^r of
them. Points that would leave a cell too small are out for whatever else is chosen after, so each
choice hands on the points that are left, and where these are too few it is undone. The first
k - 6 points are chosen for all cells. The last are chosen for the smallest cells alone, as sets of
bits, since it is there that hypotheses are missing as a rule; what is left of them is tried on
the other cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.classes.littlestone import SearchLimit
from noregret.classes.tables import as_class, whole
from noregret.jit import kernel
from noregret.jit.words import ones

#: So many points are chosen as sets of bits; their labellings are the bits of one word.
_TAIL = 6
#: And on so many of the smallest cells at once.
_CELLS = 4

_0 = np.uint64(0)
_1 = np.uint64(1)


@kernel(inline=True)
def _splits(column, order, starts, cells, need):  # type: ignore[no-untyped-def]
    """Tell whether each cell has `need` hypotheses of either label."""
    for c in range(cells):
        count = 0
        for i in range(starts[c], starts[c + 1]):
            count += column[order[i]]
        if count < need or starts[c + 1] - starts[c] - count < need:
            return False
    return True


@kernel(inline=True)
def _divide(column, source, starts, cells, target, ends):  # type: ignore[no-untyped-def]
    """Sort each cell by the labels of a point."""
    for c in range(cells):
        low = starts[c]
        high = starts[c + 1]
        for i in range(starts[c], starts[c + 1]):
            # Written to both ends, one of which the next row overwrites: labels defy prediction.
            row = source[i]
            label = np.int64(column[row])
            target[low] = row
            target[high - 1] = row
            low += 1 - label
            high -= label
        ends[2 * c] = starts[c]
        ends[2 * c + 1] = low
    ends[2 * cells] = starts[cells]


@kernel
def _covered(columns, order, starts, cells, points, first):  # type: ignore[no-untyped-def]
    """Tell whether in every one of these cells all labellings of points[first:] occur."""
    count = np.uint64(len(points) - first)
    full = ~_0 >> (np.uint64(64) - (_1 << count))
    for c in cells:
        seen = _0
        for i in range(starts[c], starts[c + 1]):
            pattern = _0
            for j in range(first, len(points)):
                pattern = (pattern << _1) | np.uint64(columns[points[j], order[i]])
            seen |= _1 << pattern
            if seen == full:
                break
        if seen != full:
            return False
    return True


@kernel
def _packed(columns, order, starts, cells, left):  # type: ignore[no-untyped-def]
    """Return for each point left and each cell the bits of the hypotheses that label it 1."""
    most = 0
    for c in cells:
        most = max(most, starts[c + 1] - starts[c])
    bits = np.zeros((len(left), len(cells), (most + 63) // 64), np.uint64)
    for j in range(len(left)):
        column = columns[left[j]]
        for q in range(len(cells)):
            begin = starts[cells[q]]
            for i in range(begin, starts[cells[q] + 1]):
                place = np.uint64(i - begin)
                bits[j, q, place >> np.uint64(6)] |= np.uint64(column[order[i]]) << (
                    place & np.uint64(63)
                )
    return bits


@kernel(inline=True)
def _halves(bits, j, parts, sizes, depth, need):  # type: ignore[no-untyped-def]
    """Tell whether point j leaves `need` hypotheses in either half of each part of each cell."""
    words = np.uint64(bits.shape[2])
    for q in range(np.uint64(bits.shape[1])):
        for part in range(_1 << depth):
            count = _0
            for word in range(words):
                count += ones(parts[depth, q, part, word] & bits[j, q, word])
            if count < need or sizes[depth, q, part] - count < need:
                return False
    return True


@kernel(inline=True)
def _halve(bits, j, parts, sizes, depth):  # type: ignore[no-untyped-def]
    """Divide all parts by the labels of point j."""
    below = depth + _1
    for q in range(np.uint64(bits.shape[1])):
        for part in range(_1 << depth):
            count = _0
            for word in range(np.uint64(bits.shape[2])):
                both = parts[depth, q, part, word]
                upper = both & bits[j, q, word]
                parts[below, q, part + part, word] = both ^ upper
                parts[below, q, part + part + _1, word] = upper
                count += ones(upper)
            sizes[below, q, part + part] = sizes[depth, q, part] - count
            sizes[below, q, part + part + _1] = count


@kernel
def _finished(columns, order, starts, points, head, given, limit):  # type: ignore[no-untyped-def]
    """Complete points[:head] from those given; tell whether all is shattered, and the sets tried.

    If more were tried than the limit says, the search was given up.
    """
    rest = len(points) - head
    ascending = np.argsort(starts[1:] - starts[:-1])
    smallest, others = ascending[:_CELLS], ascending[_CELLS:]
    bits = _packed(columns, order, starts, smallest, given)
    parts = np.zeros((rest, bits.shape[1], 1 << rest >> 1, bits.shape[2]), np.uint64)
    sizes = np.zeros((rest, bits.shape[1], 1 << rest >> 1), np.uint64)
    for q in range(len(smallest)):
        size = starts[smallest[q] + 1] - starts[smallest[q]]
        sizes[0, q, 0] = np.uint64(size)
        for i in range(size):
            parts[0, q, 0, i >> 6] |= _1 << np.uint64(i & 63)
    left = np.empty((rest, len(given)), np.int64)
    counts = np.zeros(rest, np.int64)
    at = np.zeros(rest, np.int64)
    tried = 0
    depth = 0
    entered = True
    while depth >= 0:
        if entered:
            need = _1 << np.uint64(rest - depth - 1)
            first = at[depth - 1] if depth > 0 else 0
            last = counts[depth - 1] if depth > 0 else len(given)
            count = 0
            for i in range(first, last):
                j = left[depth - 1, i] if depth > 0 else i
                left[depth, count] = j
                if _halves(bits, np.uint64(j), parts, sizes, np.uint64(depth), need):
                    count += 1
            tried += last - first
            counts[depth] = count
            at[depth] = 0
            if tried > limit:
                break
        if counts[depth] - at[depth] < rest - depth:
            depth -= 1
            entered = False
            continue
        j = left[depth, at[depth]]
        points[head + depth] = given[j]
        at[depth] += 1
        entered = depth + 1 < rest
        if entered:
            _halve(bits, np.uint64(j), parts, sizes, np.uint64(depth))
            depth += 1
        elif _covered(columns, order, starts, others, points, head):
            return True, tried
    return False, tried


@kernel
def _shattered(columns, k, tail, limit):  # type: ignore[no-untyped-def]
    """Return whether there is a shattered set of k points, the set, and how many were tried."""
    width, rows = columns.shape
    head = max(k - tail, 0)
    order = np.empty((head + 1, rows), np.int64)
    starts = np.zeros((head + 1, (1 << head) + 1), np.int64)
    order[0] = np.arange(rows)
    starts[0, 1] = rows
    points = np.zeros(k, np.int64)
    left = np.empty((head + 1, width), np.int64)
    left[0] = np.arange(width)
    counts = np.zeros(head + 1, np.int64)
    counts[0] = width
    at = np.zeros(head + 1, np.int64)
    tried = 0
    level = 0
    entered = True
    while level >= 0:
        if entered and level == head:
            found, more = _finished(
                columns,
                order[head],
                starts[head],
                points,
                head,
                left[head, : counts[head]],
                limit - tried,
            )
            tried += more
            if found:
                return True, points, tried
            level -= 1
            entered = False
        if tried > limit or level < 0:
            break
        if entered:
            count = 0
            for i in range(counts[level]):
                left[level, count] = left[level, i]
                need = 1 << (k - level - 1)
                if _splits(columns[left[level, i]], order[level], starts[level], 1 << level, need):
                    count += 1
            tried += counts[level]
            counts[level] = count
            at[level] = 0
        if counts[level] - at[level] < k - level:
            level -= 1
            entered = False
            continue
        points[level] = left[level, at[level]]
        at[level] += 1
        counts[level + 1] = counts[level] - at[level]
        left[level + 1, : counts[level + 1]] = left[level, at[level] : counts[level]]
        _divide(
            columns[points[level]],
            order[level],
            starts[level],
            1 << level,
            order[level + 1],
            starts[level + 1],
        )
        level += 1
        entered = True
    return False, points, tried


def largest_shattered_set(hypotheses: Any, limit: int = 1_000_000_000) -> tuple[int, ...]:
    """Return a shattered set of most points, as many as the VC dimension.

    `limit` bounds the number of sets tried; beyond it a `SearchLimit` is raised.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 3.5.

    >>> from noregret.classes import intervals
    >>> largest_shattered_set(intervals(5))
    (0, 1)
    """
    given, left = as_class(hypotheses), whole("limit", limit)
    columns = np.ascontiguousarray(given.table.T)
    best: tuple[int, ...] = ()
    while 2 << len(best) <= given.size and len(best) < given.points:
        found, points, tried = _shattered(columns, len(best) + 1, _TAIL, left)
        left -= tried
        if left < 0:
            raise SearchLimit(
                f"gave up after {limit:,} sets of points of {given}: "
                f"the VC dimension is at least {len(best)}"
            )
        if not found:
            break
        best = tuple(points.tolist())
    return best


def vc_dimension(hypotheses: Any, limit: int = 1_000_000_000) -> int:
    """Return the VC dimension of a class or 0/1 table.

    >>> vc_dimension([[0, 0], [1, 0], [1, 1]])
    1
    """
    return len(largest_shattered_set(hypotheses, limit))
