"""The VC dimension of a finite class, exactly, with the set that proves it.

A set of k points is shattered if all 2^k labellings occur. Points are chosen one by one, and the
hypotheses fall into cells by their labels: with r points to come, every cell must keep 2^r of
them. A point that would leave a cell too small stays out for all choices below, and a choice that
leaves too few points is undone. The last points are chosen for the smallest cells alone, where
hypotheses are usually missing; a complete set is then checked on all hypotheses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.arrays import as_whole
from noregret.classes.littlestone import SearchLimit
from noregret.classes.tables import as_class
from noregret.jit import kernel

#: Number of last points that are chosen for the smallest cells alone, and of those cells.
_TAIL = 6
_CELLS = 4


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
        low, high = starts[c], starts[c + 1]
        for i in range(starts[c], starts[c + 1]):
            # Write to both ends, one of which the next row overwrites: a branch on random labels
            # would be mispredicted half of the time.
            label = np.int64(column[source[i]])
            target[low] = target[high - 1] = source[i]
            low += 1 - label
            high -= label
        ends[2 * c], ends[2 * c + 1] = starts[c], low
    ends[2 * cells] = starts[cells]


@kernel
def _keep_smallest(order, starts, cells):  # type: ignore[no-untyped-def]
    """Drop all but the _CELLS smallest cells; return how many are kept."""
    rows, begins = order.copy(), starts.copy()
    kept = np.argsort(begins[1 : cells + 1] - begins[:cells])[:_CELLS]
    for c in range(len(kept)):
        first, last = begins[kept[c]], begins[kept[c] + 1]
        starts[c + 1] = starts[c] + last - first
        order[starts[c] : starts[c + 1]] = rows[first:last]
    return len(kept)


@kernel
def _covered(columns, points):  # type: ignore[no-untyped-def]
    """Tell whether all labellings of the points occur."""
    seen = np.zeros(1 << len(points), np.bool_)
    for i in range(columns.shape[1]):
        pattern = 0
        for x in points:
            pattern = 2 * pattern + columns[x, i]
        seen[pattern] = True
    return seen.all()


@kernel
def _shattered(columns, k, tail, limit):  # type: ignore[no-untyped-def]
    """Return whether there is a shattered set of k points, the set, and how many were tried."""
    width, rows = columns.shape
    order = np.empty((k + 1, rows), np.int64)
    starts = np.zeros((k + 1, (1 << k) + 1), np.int64)
    left = np.empty((k + 1, width), np.int64)
    order[0], starts[0, 1], left[0] = np.arange(rows), rows, np.arange(width)
    counts, cells, at = np.full(k + 1, width), np.ones(k + 1, np.int64), np.zeros(k + 1, np.int64)
    points = np.zeros(k, np.int64)
    tried, level, entered = 0, 0, True
    while level >= 0 and tried <= limit:
        if level == k and _covered(columns, points):
            return True, points, tried
        if entered and level < k:
            count = 0
            for i in range(counts[level]):
                x = left[level, count] = left[level, i]
                need = 1 << (k - level - 1)
                count += _splits(columns[x], order[level], starts[level], cells[level], need)
            tried += counts[level]
            counts[level], at[level] = count, 0
        entered = level < k and counts[level] - at[level] >= k - level
        if not entered:
            level -= 1
            continue
        x = points[level] = left[level, at[level]]
        at[level] += 1
        below = level + 1
        counts[below] = counts[level] - at[level]
        left[below, : counts[below]] = left[level, at[level] : counts[level]]
        _divide(columns[x], order[level], starts[level], cells[level], order[below], starts[below])
        cells[below] = 2 * cells[level]
        if below == k - tail:
            cells[below] = _keep_smallest(order[below], starts[below], cells[below])
        level = below
    return False, points, tried


def largest_shattered_set(hypotheses: Any, limit: int = 1_000_000_000) -> tuple[int, ...]:
    """Return a largest shattered set; its size is the VC dimension.

    `limit` bounds the number of sets tried; beyond it a `SearchLimit` is raised.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 3.5.

    >>> from noregret.classes import intervals
    >>> largest_shattered_set(intervals(5))
    (0, 1)
    """
    given, left = as_class(hypotheses), as_whole("limit", limit)
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
