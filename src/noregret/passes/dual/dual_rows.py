"""The rows that dual ascent keeps: a ring of sparse rows, each with its label and its slope.

Row j of the ring lies in `indices` and `values` between spans[2 j] and spans[2 j + 1], so that a
kernel for CSR rows reads it as row 2 j. The oldest row is always the first to go, so that the
storage is a circle; a row never lies across its end. Zeros are dropped, so that dense and sparse
input give the same sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.dual.dual import next_random, random_below
from noregret.passes.rows import row_at

#: Columns of the book: label, offset, weight c, slope s, ||x||_2^2, how fast the prediction was
#: seen to fall with the slope (0: not known), when the row was last visited, and ||x||_1 plus the
#: number of its features, to which the losses by underflow are proportional.
LABEL, OFFSET, WEIGHT, SLOPE, SQUARE, CURVATURE, VISITED, REACH = range(8)
BOOK_COLUMNS = 8

#: Columns of the links of the queue in which rows wait for a visit.
NEXT, PREVIOUS = range(2)

#: Places in the ring: the oldest row, the number of rows, the state of the random numbers.
FIRST, COUNT, RANDOM = range(3)
RING_SIZE = 3

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)


class Kept(NamedTuple):
    """The rows kept: where each lies, its features, a record of numbers, the ring and the queue.

    The book has one slot more than rows are kept, for the row of the coming round.
    """

    spans: Any
    indices: Any
    values: Any
    book: Any
    ring: Any
    links: Any


@kernel(inline=True)
def slot_of(kept, age):  # type: ignore[no-untyped-def]
    """Return the slot of the row that came `age` rows after the oldest, age <= slots."""
    slots = np.uint64(kept.book.shape[0])
    at = kept.ring[FIRST] + age
    # Compare and subtract: several divisions a round would be slow.
    return at - slots if at >= slots else at


@kernel(inline=True)
def kept_row(kept, j):  # type: ignore[no-untyped-def]
    """Return the row in slot j."""
    return row_at(kept.spans, kept.indices, kept.values, _2 * j)


@kernel(inline=True)
def allot(kept, need):  # type: ignore[no-untyped-def]
    """Return whether there is room for that many features after the newest row, and where."""
    spans, count = kept.spans, kept.ring[COUNT]
    capacity = np.uint64(kept.values.shape[0])
    if count == _0:
        return need <= capacity, _0
    oldest, newest = slot_of(kept, _0), slot_of(kept, count - _1)
    tail, head = spans[_2 * oldest], spans[_2 * newest + _1]
    if spans[_2 * newest] < tail:
        # The newest rows lie before the oldest ones already.
        return head + need < tail, head
    if head + need <= capacity:
        return True, head
    return need < tail, _0


@kernel(fast=True, inline=True)
def _norms(mirror, values, begin, end):  # type: ignore[no-untyped-def]
    total = one_norm = square = 0.0
    for k in range(begin, end):
        x = values[k]
        total = mirror.norm_term(total, x)
        one_norm += abs(x)
        square += x * x
    return total, one_norm, square


@kernel(inner=True)
def _copy(row, kept, start):  # type: ignore[no-untyped-def]
    """Copy a row as it is and return how many zeros it has."""
    zeros = _0
    for m in range(row.end - row.begin):
        kept.indices[start + m] = row.indices[row.begin + m]
        kept.values[start + m] = row.values[row.begin + m]
        zeros += np.uint64(row.values[row.begin + m] == 0.0)
    return zeros


@kernel(inner=True)
def write_row(mirror, row, kept, start, j):  # type: ignore[no-untyped-def]
    """Copy the nonzeros of a row to slot j; return its dual-norm accumulator and ||x||_1."""
    k = start + (row.end - row.begin)
    if _copy(row, kept, start) > _0:
        k = start
        for m in range(row.begin, row.end):
            # Without a branch: a zero is written too, and then written over.
            kept.indices[k] = row.indices[m]
            kept.values[k] = row.values[m]
            k += _1 if row.values[m] != 0.0 else _0
    kept.spans[_2 * j] = start
    kept.spans[_2 * j + _1] = k
    # Summed after the zeros are gone: they would change the order of the sums.
    total, one_norm, square = _norms(mirror, kept.values, start, k)
    kept.book[j, SQUARE] = square
    kept.book[j, REACH] = one_norm + np.float64(k - start)
    return total, one_norm


@kernel(inline=True)
def admit(kept, j):  # type: ignore[no-untyped-def]
    """Make the row in the free slot j the newest one; if there is no free slot then, drop one."""
    ring = kept.ring
    ring[COUNT] += _1
    enqueue(kept.links, j)
    if ring[COUNT] == np.uint64(kept.book.shape[0]):
        dequeue(kept.links, ring[FIRST])
        ring[FIRST] = slot_of(kept, _1)
        ring[COUNT] -= _1


@kernel(inner=True)
def gram(one, two):  # type: ignore[no-untyped-def]
    """Return the inner product of two sparse rows; indices rise within a row."""
    k, m = one.begin, two.begin
    product = 0.0
    while k < one.end and m < two.end:
        a, b = one.indices[k], two.indices[m]
        if a == b:
            product += one.values[k] * two.values[m]
        k += _1 if a <= b else _0
        m += _1 if b <= a else _0
    return product


@kernel(inline=True)
def draw(ring):  # type: ignore[no-untyped-def]
    """Return the age of a row drawn at random."""
    ring[RANDOM] = next_random(ring[RANDOM])
    return random_below(ring[RANDOM], ring[COUNT])


@kernel(inline=True)
def enqueue(links, j):  # type: ignore[no-untyped-def]
    """Put slot j at the end of the queue; the last record of `links` is its two ends."""
    ends = np.uint64(links.shape[0]) - _1
    last = links[ends, PREVIOUS]
    links[last, NEXT] = j
    links[j, PREVIOUS] = last
    links[j, NEXT] = ends
    links[ends, PREVIOUS] = j


@kernel(inline=True)
def dequeue(links, j):  # type: ignore[no-untyped-def]
    """Take slot j out of the queue, wherever it stands."""
    before, after = links[j, PREVIOUS], links[j, NEXT]
    links[before, NEXT] = after
    links[after, PREVIOUS] = before


@kernel(inline=True)
def stalest(links):  # type: ignore[no-untyped-def]
    """Return the slot at the head of the queue and put it at the end."""
    j = links[np.uint64(links.shape[0]) - _1, NEXT]
    dequeue(links, j)
    enqueue(links, j)
    return j
