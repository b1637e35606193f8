"""What the floored pass keeps its weights in: a heap of singles and groups of equal values.

Columns of `state`, a record a weight: its value q (if single), the accumulator of its average, Z,
and its place: a position in the heap if it is single, -1 - g if it is in group g. `heap` holds
(value, member), the smallest value on top. `groups` are trees by PARENT, whose roots stand for
groups and are stacked with the smallest value on top (BELOW); a root knows its value and how
many members it has. Members do not hear of it when their group's value changes, so the root
keeps their accumulator's change in OFFSET; trees are joined with the difference.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from noregret.jit import kernel

#: Columns of a record, of an entry of the heap, and of a node.
COLUMNS = 4
HEAP_COLUMNS = 2
NODE_COLUMNS = 5


class Mark(IntEnum):
    """Places in the array of the floored pass's scalars."""

    #: S = sum of all values, with its low part, and how many weights were touched since it was
    #: last summed.
    SUM = 0
    SUM_LOW = 1
    UPDATES = 2
    #: The common factor c of the weights, and its sum over the rounds since the last settlement.
    FACTOR = 3
    PREFIX = 4
    #: Entries of the heap, nodes in use, and the root of the group of smallest value or -1.
    SINGLES = 5
    NODES = 6
    TOP = 7


_PREFIX = int(Mark.PREFIX)
_SINGLES = int(Mark.SINGLES)
_NODES = int(Mark.NODES)
_TOP = int(Mark.TOP)


@kernel(inline=True)
def _sift_up(state, heap, k, value, member):  # type: ignore[no-untyped-def]
    """Put an entry where it belongs at k or above."""
    while k > 0:
        above = (k - 1) >> 1
        if not value < heap[above, 0]:
            break
        heap[k, 0], heap[k, 1] = heap[above, 0], heap[above, 1]
        state[np.int64(heap[k, 1]), 3] = k
        k = above
    heap[k, 0], heap[k, 1] = value, member
    state[np.int64(member), 3] = k


@kernel(inline=True)
def _sift_down(state, heap, count, k, value, member):  # type: ignore[no-untyped-def]
    """Put an entry where it belongs at k or below."""
    while True:
        child = 2 * k + 1
        if child >= count:
            break
        if child + 1 < count and heap[child + 1, 0] < heap[child, 0]:
            child += 1
        if not heap[child, 0] < value:
            break
        heap[k, 0], heap[k, 1] = heap[child, 0], heap[child, 1]
        state[np.int64(heap[k, 1]), 3] = k
        k = child
    heap[k, 0], heap[k, 1] = value, member
    state[np.int64(member), 3] = k


@kernel(inline=True)
def put(state, heap, slots, value, i):  # type: ignore[no-untyped-def]
    """Put weight i into the heap."""
    count = np.int64(slots[_SINGLES])
    slots[_SINGLES] = count + 1.0
    _sift_up(state, heap, count, value, np.float64(i))


@kernel(inline=True)
def take(state, heap, slots, k):  # type: ignore[no-untyped-def]
    """Take the entry at k out of the heap, the last one into its place."""
    count = np.int64(slots[_SINGLES]) - 1
    slots[_SINGLES] = count
    if k == count:
        return
    value, member = heap[count, 0], heap[count, 1]
    if k > 0 and value < heap[(k - 1) >> 1, 0]:
        _sift_up(state, heap, k, value, member)
    else:
        _sift_down(state, heap, count, k, value, member)


@kernel(inline=True)
def change(state, heap, slots, k, value):  # type: ignore[no-untyped-def]
    """Give the entry at k another value."""
    if value < heap[k, 0]:
        _sift_up(state, heap, k, value, heap[k, 1])
    else:
        _sift_down(state, heap, np.int64(slots[_SINGLES]), k, value, heap[k, 1])


@kernel
def make_heap(state, heap, slots, count):  # type: ignore[no-untyped-def]
    """Make a heap of the first entries, in whatever order they are."""
    slots[_SINGLES] = count
    for k in range(count):
        state[np.int64(heap[k, 1]), 3] = k
    for below in range(count >> 1):
        k = (count >> 1) - 1 - below
        _sift_down(state, heap, count, k, heap[k, 0], heap[k, 1])


@kernel(inline=True)
def group_of(state, groups, i):  # type: ignore[no-untyped-def]
    """Return the root of the group of weight i, halving the way to it for the next time."""
    node = np.int64(-1.0 - state[i, 3])
    above = np.int64(groups[node, 0])
    if above < 0:
        return node
    root = above
    while groups[root, 0] >= 0.0:
        root = np.int64(groups[root, 0])
    # From the node upwards, so that every node keeps its distance to the root in OFFSET.
    total = 0.0
    k = node
    while k != root:
        total += groups[k, 3]
        k = np.int64(groups[k, 0])
    k = node
    while k != root:
        after, own = np.int64(groups[k, 0]), groups[k, 3]
        groups[k, 0], groups[k, 3] = root, total
        total -= own
        k = after
    return root


@kernel(inline=True)
def offset_of(state, groups, i):  # type: ignore[no-untyped-def]
    """Return what a member's accumulator has missed; its group was asked for just before."""
    node = np.int64(-1.0 - state[i, 3])
    root = np.int64(groups[node, 0])
    return groups[node, 3] if root < 0 else groups[node, 3] + groups[root, 3]


@kernel(inline=True)
def value_of(state, groups, i):  # type: ignore[no-untyped-def]
    """Return the value of weight i."""
    return state[i, 0] if state[i, 3] >= 0.0 else groups[group_of(state, groups, i), 1]


@kernel(inline=True)
def leave_group(state, groups, i):  # type: ignore[no-untyped-def]
    """Take weight i out of its group, with what its accumulator has missed."""
    root = group_of(state, groups, i)
    state[i, 1] += offset_of(state, groups, i)
    groups[root, 2] -= 1.0


@kernel(inline=True)
def gather_floor(state, heap, groups, slots, taken, below, value, count):  # type: ignore[no-untyped-def]
    """Make one group of that value, and so many members, on top of the stack.

    Its members are the groups from TOP down to `below`, and the `taken` singles behind the heap.
    """
    prefix = slots[_PREFIX]
    root = np.int64(-1)
    node = np.int64(slots[_TOP])
    while node != below:
        after = np.int64(groups[node, 4])
        if groups[node, 2] > 0.0:
            moved = groups[node, 3] + prefix * (value - groups[node, 1])
            if root < 0:
                root = node
                groups[node, 3] = moved
            else:
                groups[node, 0] = root
                groups[node, 3] = moved - groups[root, 3]
        node = after
    if root < 0:
        root = np.int64(slots[_NODES])
        slots[_NODES] += 1.0
        groups[root, 0] = -1.0
        groups[root, 3] = 0.0
    groups[root, 1] = value
    groups[root, 2] = count
    groups[root, 4] = below
    slots[_TOP] = root
    first = np.int64(slots[_SINGLES])
    for k in range(first, first + taken):
        i = np.int64(heap[k, 1])
        state[i, 1] += prefix * (value - heap[k, 0]) - groups[root, 3]
        state[i, 3] = -1.0 - root
