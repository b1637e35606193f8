"""The weights of the clipped-simplex rule: a heap of singles and groups of equal values.

`heap` holds (value, member), the smallest value on top. `groups` are trees by PARENT, whose roots
stand for groups and are stacked with the smallest value on top (BELOW); a root has the value and
the number of its members. A group's value changes without touching its members, so the root keeps
the change of their accumulators in OFFSET; trees are joined with the difference.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from noregret.jit import kernel
from noregret.passes.frame import Vector


class Column(IntEnum):
    """Columns of a weight's record."""

    #: The value q, if the weight is single; the accumulator of its average; Z.
    VALUE = 0
    ACCUMULATOR = 1
    GRADIENT = 2
    #: Its position in the heap if it is single, -1 - g if it is in group g.
    PLACE = 3


class Single(IntEnum):
    """Columns of an entry of the heap."""

    VALUE = 0
    MEMBER = 1


class Node(IntEnum):
    """Columns of a node of the trees."""

    #: The node above, -1 for a root.
    PARENT = 0
    VALUE = 1
    MEMBERS = 2
    OFFSET = 3
    #: The root of the group with the next larger value, or -1.
    BELOW = 4


class Mark(IntEnum):
    """Places in the array of the rule's scalars."""

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


class Memory(NamedTuple):
    """Records, scalars, heap and groups, and the numbers of an implicit step's search."""

    state: Vector
    slots: Vector
    heap: Vector
    groups: Vector
    search: Vector


_VALUE, _ACCUMULATOR, _PLACE = int(Column.VALUE), int(Column.ACCUMULATOR), int(Column.PLACE)
_KEY, _MEMBER = int(Single.VALUE), int(Single.MEMBER)
_PARENT, _GROUP_VALUE, _MEMBERS = int(Node.PARENT), int(Node.VALUE), int(Node.MEMBERS)
_OFFSET, _BELOW = int(Node.OFFSET), int(Node.BELOW)

_PREFIX = int(Mark.PREFIX)
_SINGLES = int(Mark.SINGLES)
_NODES = int(Mark.NODES)
_TOP = int(Mark.TOP)


@kernel(inline=True)
def _sift_up(state, heap, k, value, member):  # type: ignore[no-untyped-def]
    """Put an entry where it belongs at k or above."""
    while k > 0:
        above = (k - 1) >> 1
        if not value < heap[above, _KEY]:
            break
        heap[k, _KEY], heap[k, _MEMBER] = heap[above, _KEY], heap[above, _MEMBER]
        state[np.int64(heap[k, _MEMBER]), _PLACE] = k
        k = above
    heap[k, _KEY], heap[k, _MEMBER] = value, member
    state[np.int64(member), _PLACE] = k


@kernel(inline=True)
def _sift_down(state, heap, count, k, value, member):  # type: ignore[no-untyped-def]
    """Put an entry where it belongs at k or below."""
    while True:
        child = 2 * k + 1
        if child >= count:
            break
        if child + 1 < count and heap[child + 1, _KEY] < heap[child, _KEY]:
            child += 1
        if not heap[child, _KEY] < value:
            break
        heap[k, _KEY], heap[k, _MEMBER] = heap[child, _KEY], heap[child, _MEMBER]
        state[np.int64(heap[k, _MEMBER]), _PLACE] = k
        k = child
    heap[k, _KEY], heap[k, _MEMBER] = value, member
    state[np.int64(member), _PLACE] = k


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
    value, member = heap[count, _KEY], heap[count, _MEMBER]
    if k > 0 and value < heap[(k - 1) >> 1, _KEY]:
        _sift_up(state, heap, k, value, member)
    else:
        _sift_down(state, heap, count, k, value, member)


@kernel(inline=True)
def change(state, heap, slots, k, value):  # type: ignore[no-untyped-def]
    """Give the entry at k another value."""
    if value < heap[k, _KEY]:
        _sift_up(state, heap, k, value, heap[k, _MEMBER])
    else:
        _sift_down(state, heap, np.int64(slots[_SINGLES]), k, value, heap[k, _MEMBER])


@kernel
def make_heap(state, heap, slots, count):  # type: ignore[no-untyped-def]
    """Make a heap of the first entries, in whatever order they are."""
    slots[_SINGLES] = count
    for k in range(count):
        state[np.int64(heap[k, _MEMBER]), _PLACE] = k
    for below in range(count >> 1):
        k = (count >> 1) - 1 - below
        _sift_down(state, heap, count, k, heap[k, _KEY], heap[k, _MEMBER])


@kernel(inline=True)
def group_of(state, groups, i):  # type: ignore[no-untyped-def]
    """Return the root of the group of weight i, halving the way to it for the next time."""
    node = np.int64(-1.0 - state[i, _PLACE])
    above = np.int64(groups[node, _PARENT])
    if above < 0:
        return node
    root = above
    while groups[root, _PARENT] >= 0.0:
        root = np.int64(groups[root, _PARENT])
    # From the node upwards, so that every node keeps its distance to the root in OFFSET.
    total = 0.0
    k = node
    while k != root:
        total += groups[k, _OFFSET]
        k = np.int64(groups[k, _PARENT])
    k = node
    while k != root:
        after, own = np.int64(groups[k, _PARENT]), groups[k, _OFFSET]
        groups[k, _PARENT], groups[k, _OFFSET] = root, total
        total -= own
        k = after
    return root


@kernel(inline=True)
def offset_of(state, groups, i):  # type: ignore[no-untyped-def]
    """Return what a member's accumulator has missed; its group was asked for just before."""
    node = np.int64(-1.0 - state[i, _PLACE])
    root = np.int64(groups[node, _PARENT])
    return groups[node, _OFFSET] if root < 0 else groups[node, _OFFSET] + groups[root, _OFFSET]


@kernel(inline=True)
def value_of(state, groups, i):  # type: ignore[no-untyped-def]
    """Return the value of weight i."""
    if state[i, _PLACE] >= 0.0:
        return state[i, _VALUE]
    return groups[group_of(state, groups, i), _GROUP_VALUE]


@kernel(inline=True)
def leave_group(state, groups, i):  # type: ignore[no-untyped-def]
    """Take weight i out of its group, with what its accumulator has missed."""
    root = group_of(state, groups, i)
    state[i, _ACCUMULATOR] += offset_of(state, groups, i)
    groups[root, _MEMBERS] -= 1.0


@kernel(inline=True)
def gather_clipped(memory, taken, below, value, count):  # type: ignore[no-untyped-def]
    """Make one group of that value, and so many members, on top of the stack.

    Its members are the groups from TOP down to `below`, and the `taken` singles behind the heap.
    """
    state, heap, groups, slots = memory.state, memory.heap, memory.groups, memory.slots
    prefix = slots[_PREFIX]
    root = np.int64(-1)
    node = np.int64(slots[_TOP])
    while node != below:
        after = np.int64(groups[node, _BELOW])
        if groups[node, _MEMBERS] > 0.0:
            moved = groups[node, _OFFSET] + prefix * (value - groups[node, _GROUP_VALUE])
            if root < 0:
                root = node
                groups[node, _OFFSET] = moved
            else:
                groups[node, _PARENT] = root
                groups[node, _OFFSET] = moved - groups[root, _OFFSET]
        node = after
    if root < 0:
        root = np.int64(slots[_NODES])
        slots[_NODES] += 1.0
        groups[root, _PARENT] = -1.0
        groups[root, _OFFSET] = 0.0
    groups[root, _GROUP_VALUE] = value
    groups[root, _MEMBERS] = count
    groups[root, _BELOW] = below
    slots[_TOP] = root
    first = np.int64(slots[_SINGLES])
    for k in range(first, first + taken):
        i = np.int64(heap[k, _MEMBER])
        state[i, _ACCUMULATOR] += prefix * (value - heap[k, _KEY]) - groups[root, _OFFSET]
        state[i, _PLACE] = -1.0 - root
