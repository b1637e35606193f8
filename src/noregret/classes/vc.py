"""The VC dimension of a finite class, exactly, with the set that proves it.

A set of k points is shattered if all 2^k labellings occur. For a given k the first k - 5 points
are chosen one by one, the hypotheses being sorted into cells by their labels: every cell must
keep 2^(points to come) of them. The last points are chosen one by one for the smallest
cells alone, as sets of bits, since it is there that a labelling is missing as a rule; what is
left of them is tried on the other cells. So a set that is not shattered costs a few dozen
steps, however many hypotheses there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.classes.littlestone import SearchLimit
from noregret.classes.tables import as_class, whole
from noregret.jit import kernel

#: So many points are tried together, without sorting the hypotheses for each of them.
_TAIL = 5
#: And on so many of the smallest cells at once.
_CELLS = 4

_0 = np.uint64(0)
_1 = np.uint64(1)


@kernel
def _divided(table, x, source, starts, cells, need, target, ends):  # type: ignore[no-untyped-def]
    """Sort each cell by the label of x; tell whether all halves have `need` hypotheses."""
    for c in range(cells):
        zeros = starts[c]
        ones = starts[c + 1]
        for i in range(starts[c], starts[c + 1]):
            # Written to both ends, one of which the next row overwrites: labels defy prediction.
            row = source[i]
            label = np.int64(table[row, x])
            target[zeros] = row
            target[ones - 1] = row
            zeros += 1 - label
            ones -= label
        if zeros - starts[c] < need or starts[c + 1] - zeros < need:
            return False
        ends[2 * c] = starts[c]
        ends[2 * c + 1] = zeros
    ends[2 * cells] = starts[cells]
    return True


@kernel
def _covered(table, order, starts, smallest, points, first, last):  # type: ignore[no-untyped-def]
    """Tell whether in every cell all labellings of points[first:last] occur."""
    count = last - first
    full = (1 << (1 << count)) - 1
    for c in smallest:
        seen = 0
        for i in range(starts[c], starts[c + 1]):
            pattern = 0
            for j in range(first, last):
                pattern = 2 * pattern + table[order[i], points[j]]
            seen |= 1 << pattern
            if seen == full:
                break
        if seen != full:
            return False
    return True


@kernel
def _packed(table, order, starts, cells):  # type: ignore[no-untyped-def]
    """Return for each cell and point the bits of those that label it 1, and at the end of all."""
    columns = table.shape[1]
    most = 0
    for c in cells:
        most = max(most, starts[c + 1] - starts[c])
    bits = np.zeros((columns + 1, len(cells), (most + 63) // 64), np.uint64)
    for q in range(len(cells)):
        begin = starts[cells[q]]
        for i in range(begin, starts[cells[q] + 1]):
            word = (i - begin) // 64
            place = np.uint64((i - begin) % 64)
            bits[columns, q, word] |= _1 << place
            for x in range(columns):
                bits[x, q, word] |= np.uint64(table[order[i], x]) << place
    return bits


@kernel(inline=True)
def _halved(bits, x, parts, depth):  # type: ignore[no-untyped-def]
    """Divide the parts of each cell by the labels of x; tell whether no half is empty."""
    words = np.uint64(bits.shape[2])
    for q in range(np.uint64(bits.shape[1])):
        column = bits[x, q]
        wholes = parts[depth, q]
        halves = parts[depth + _1, q]
        for part in range(_1 << depth):
            any_zero = _0
            any_one = _0
            for word in range(words):
                ones = wholes[part, word] & column[word]
                zeros = wholes[part, word] ^ ones
                halves[part + part, word] = zeros
                halves[part + part + _1, word] = ones
                any_zero |= zeros
                any_one |= ones
            if any_zero == _0 or any_one == _0:
                return False
    return True


@kernel
def _finished(table, order, starts, points, head, limit):  # type: ignore[no-untyped-def]
    """Complete points[:head] to a shattered set; tell whether it is one, and the sets tried."""
    columns = table.shape[1]
    k = len(points)
    smallest = np.argsort(starts[1:] - starts[:-1])
    bits = _packed(table, order, starts, smallest[:_CELLS])
    parts = np.empty((k - head + 1, bits.shape[1], 1 << (k - head), bits.shape[2]), np.uint64)
    parts[0, :, 0] = bits[columns]
    tried = 0
    level = head
    points[head] = points[head - 1] if head > 0 else -1
    while level >= head:
        points[level] += 1
        if points[level] > columns - (k - level):
            level -= 1
            continue
        tried += 1
        if tried > limit:
            break
        if not _halved(bits, np.uint64(points[level]), parts, np.uint64(level - head)):
            continue
        if level + 1 < k:
            points[level + 1] = points[level]
            level += 1
        elif _covered(table, order, starts, smallest[_CELLS:], points, head, k):
            return True, tried
    return False, tried


@kernel
def _shattered(table, k, tail, limit):  # type: ignore[no-untyped-def]
    """Return whether there is a shattered set of k points, the set, and how many were tried.

    If more were tried than the limit says, the search was given up.
    """
    rows, columns = table.shape
    head = max(k - tail, 0)
    order = np.empty((head + 1, rows), np.int64)
    starts = np.zeros((head + 1, (1 << head) + 1), np.int64)
    order[0] = np.arange(rows)
    starts[0, 1] = rows
    points = np.empty(k, np.int64)
    points[0] = -1
    if head == 0:
        found, tried = _finished(table, order[0], starts[0], points, 0, limit)
        return found, points, tried
    tried = 0
    level = 0
    while level >= 0 and tried <= limit:
        points[level] += 1
        if points[level] > columns - (k - level):
            level -= 1
            continue
        tried += 1
        if not _divided(
            table,
            points[level],
            order[level],
            starts[level],
            1 << level,
            1 << (k - level - 1),
            order[level + 1],
            starts[level + 1],
        ):
            continue
        if level + 1 < head:
            points[level + 1] = points[level]
            level += 1
            continue
        found, more = _finished(table, order[head], starts[head], points, head, limit - tried)
        tried += more
        if found:
            return True, points, tried
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
    best: tuple[int, ...] = ()
    while 2 << len(best) <= given.size and len(best) < given.points:
        found, points, tried = _shattered(given.table, len(best) + 1, _TAIL, left)
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
