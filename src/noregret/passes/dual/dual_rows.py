"""The rows that dual ascent keeps: a ring of sparse rows, each with its label and its slope.

Row j of the ring lies in `indices` and `values` between spans[2 j] and spans[2 j + 1], so that a
kernel for CSR rows reads it as row 2 j. `book` has a record of numbers a row, `ring` says which
row is the oldest and how many there are. The oldest row is always the first to go, so that the
storage is a circle; a row never lies across its end. Zeros are not kept: what follows does not
know how a row was given.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel

#: Columns of the book: label, offset, weight c, slope s, ||x||_2^2, how fast the prediction was
#: seen to fall with the slope (0: not known), when the row was last visited, and ||x||_1 plus the
#: number of its features, to which what underflows is proportional.
LABEL, OFFSET, WEIGHT, SLOPE, SQUARE, CURVATURE, VISITED, REACH = range(8)
BOOK_COLUMNS = 8

#: Columns of the links of the queue in which rows wait for a visit.
NEXT, PREVIOUS = range(2)

#: Places in the ring: the oldest row, the number of rows, the state of the random numbers.
FIRST, COUNT, RANDOM = range(3)
RING_SIZE = 3

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
_7, _13, _17, _32 = np.uint64(7), np.uint64(13), np.uint64(17), np.uint64(32)


@kernel(inline=True)
def slot_of(ring, book, age):  # type: ignore[no-untyped-def]
    """Return where the row lies that came `age` <= slots rows after the oldest."""
    slots = np.uint64(book.shape[0])
    place = ring[FIRST] + age
    # Without a division, of which a round would have several.
    return place - slots if place >= slots else place


@kernel(inline=True)
def allot(ring, spans, book, capacity, need):  # type: ignore[no-untyped-def]
    """Return whether there is room for that many features after the newest row, and where."""
    if ring[COUNT] == _0:
        return need <= capacity, _0
    oldest, newest = slot_of(ring, book, _0), slot_of(ring, book, ring[COUNT] - _1)
    tail, head = spans[_2 * oldest], spans[_2 * newest + _1]
    if spans[_2 * newest] < tail:
        # The newest rows lie before the oldest ones already.
        return head + need < tail, head
    if head + need <= capacity:
        return True, head
    return need < tail, _0


@kernel(fast=True, inline=True)
def _norms(mirror, values, begin, end):  # type: ignore[no-untyped-def]
    total = 0.0
    reach = 0.0
    square = 0.0
    for k in range(begin, end):
        x = values[k]
        total = mirror.norm_term(total, x)
        reach += abs(x)
        square += x * x
    return total, reach, square


@kernel
def _copy(indices, values, begin, end, held_indices, held_values, start):  # type: ignore[no-untyped-def]
    """Copy a row as it is and return how many zeros it has."""
    zeros = _0
    for m in range(end - begin):
        held_indices[start + m] = indices[begin + m]
        held_values[start + m] = values[begin + m]
        zeros += np.uint64(values[begin + m] == 0.0)
    return zeros


@kernel
def keep_row(mirror, indptr, indices, values, t, kept, start, j):  # type: ignore[no-untyped-def]
    """Copy the nonzeros of row t to slot j; return its dual-norm accumulator and ||x||_1."""
    spans, held_indices, held_values, book = kept
    begin, end = indptr[t], indptr[t + _1]
    zeros = _copy(indices, values, begin, end, held_indices, held_values, start)
    k = start + (end - begin)
    if zeros > _0:
        k = start
        for m in range(begin, end):
            # Without a branch: a zero is written too, and then written over.
            held_indices[k] = indices[m]
            held_values[k] = values[m]
            k += _1 if values[m] != 0.0 else _0
    spans[_2 * j] = start
    spans[_2 * j + _1] = k
    # Summed after the zeros are gone, so that the order of the sums does not know of them.
    total, reach, square = _norms(mirror, held_values, start, k)
    book[j, SQUARE] = square
    book[j, REACH] = reach + np.float64(k - start)
    return total, reach


@kernel(fast=True, inline=True)
def raw_prediction(state, spans, indices, values, j):  # type: ignore[no-untyped-def]
    """Return sum v_i x_i over the row in slot j; where the state is a vector, v is theta."""
    raw = 0.0
    for k in range(spans[_2 * j], spans[_2 * j + _1]):
        if state.ndim == 1:
            raw += state[indices[k]] * values[k]
        else:
            raw += state[indices[k], _1] * values[k]
    return raw


@kernel
def gram(spans, indices, values, i, j):  # type: ignore[no-untyped-def]
    """Return <x_i, x_j> of two kept rows; indices rise within a row."""
    k, last = spans[_2 * i], spans[_2 * i + _1]
    m, end = spans[_2 * j], spans[_2 * j + _1]
    product = 0.0
    while k < last and m < end:
        if indices[k] == indices[m]:
            product += values[k] * values[m]
            k += _1
            m += _1
        elif indices[k] < indices[m]:
            k += _1
        else:
            m += _1
    return product


@kernel(inline=True)
def draw(ring):  # type: ignore[no-untyped-def]
    """Return the age of a row drawn at random (xorshift, 64 bits)."""
    x = ring[RANDOM]
    x ^= x << _13
    x ^= x >> _7
    x ^= x << _17
    ring[RANDOM] = x
    return ((x >> _32) * ring[COUNT]) >> _32


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
