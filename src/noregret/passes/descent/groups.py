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


@kernel(inline=True)
def _set(state, heap, k, value, member):  # type: ignore[no-untyped-def]
    heap[k, Single.VALUE], heap[k, Single.MEMBER] = value, member
    state[np.int64(member), Column.PLACE] = k


@kernel(inline=True)
def _sift_up(state, heap, k, value, member):  # type: ignore[no-untyped-def]
    """Put an entry where it belongs at k or above."""
    while k > 0:
        above = (k - 1) >> 1
        if not value < heap[above, Single.VALUE]:
            break
        _set(state, heap, k, heap[above, Single.VALUE], heap[above, Single.MEMBER])
        k = above
    _set(state, heap, k, value, member)


@kernel(inline=True)
def _sift_down(state, heap, count, k, value, member):  # type: ignore[no-untyped-def]
    """Put an entry where it belongs at k or below."""
    while True:
        child = 2 * k + 1
        if child >= count:
            break
        if child + 1 < count and heap[child + 1, Single.VALUE] < heap[child, Single.VALUE]:
            child += 1
        if not heap[child, Single.VALUE] < value:
            break
        _set(state, heap, k, heap[child, Single.VALUE], heap[child, Single.MEMBER])
        k = child
    _set(state, heap, k, value, member)


@kernel(inline=True)
def put(state, heap, slots, value, i):  # type: ignore[no-untyped-def]
    """Put weight i into the heap."""
    count = np.int64(slots[Mark.SINGLES])
    slots[Mark.SINGLES] = count + 1.0
    _sift_up(state, heap, count, value, np.float64(i))


@kernel(inline=True)
def take(state, heap, slots, k):  # type: ignore[no-untyped-def]
    """Take the entry at k out of the heap, the last one into its place."""
    count = np.int64(slots[Mark.SINGLES]) - 1
    slots[Mark.SINGLES] = count
    if k == count:
        return
    value, member = heap[count, Single.VALUE], heap[count, Single.MEMBER]
    if k > 0 and value < heap[(k - 1) >> 1, Single.VALUE]:
        _sift_up(state, heap, k, value, member)
    else:
        _sift_down(state, heap, count, k, value, member)


@kernel(inline=True)
def change(state, heap, slots, k, value):  # type: ignore[no-untyped-def]
    """Give the entry at k another value."""
    if value < heap[k, Single.VALUE]:
        _sift_up(state, heap, k, value, heap[k, Single.MEMBER])
    else:
        _sift_down(state, heap, np.int64(slots[Mark.SINGLES]), k, value, heap[k, Single.MEMBER])


@kernel(inner=True, counted=True)
def make_heap(state, heap, slots, count):  # type: ignore[no-untyped-def]
    """Make a heap of the first entries, in whatever order they are."""
    slots[Mark.SINGLES] = count
    for k in range(count):
        state[np.int64(heap[k, Single.MEMBER]), Column.PLACE] = k
    for below in range(count >> 1):
        k = (count >> 1) - 1 - below
        _sift_down(state, heap, count, k, heap[k, Single.VALUE], heap[k, Single.MEMBER])


@kernel(inline=True)
def group_of(state, groups, i):  # type: ignore[no-untyped-def]
    """Return the root of the group of weight i; attach every node on the path to the root."""
    node = np.int64(-1.0 - state[i, Column.PLACE])
    above = np.int64(groups[node, Node.PARENT])
    if above < 0:
        return node
    root = above
    while groups[root, Node.PARENT] >= 0.0:
        root = np.int64(groups[root, Node.PARENT])
    # From the node upwards, so that every node keeps its distance to the root in OFFSET.
    total = 0.0
    k = node
    while k != root:
        total += groups[k, Node.OFFSET]
        k = np.int64(groups[k, Node.PARENT])
    k = node
    while k != root:
        after, own = np.int64(groups[k, Node.PARENT]), groups[k, Node.OFFSET]
        groups[k, Node.PARENT], groups[k, Node.OFFSET] = root, total
        total -= own
        k = after
    return root


@kernel(inline=True)
def offset_of(state, groups, i):  # type: ignore[no-untyped-def]
    """Return the pending change of a member's accumulator; call `group_of` first."""
    node = np.int64(-1.0 - state[i, Column.PLACE])
    root = np.int64(groups[node, Node.PARENT])
    return (
        groups[node, Node.OFFSET]
        if root < 0
        else groups[node, Node.OFFSET] + groups[root, Node.OFFSET]
    )


@kernel(inline=True)
def value_of(state, groups, i):  # type: ignore[no-untyped-def]
    """Return the value of weight i; writes nothing, so that a refused row may ask for it."""
    if state[i, Column.PLACE] >= 0.0:
        return state[i, Column.VALUE]
    root = np.int64(-1.0 - state[i, Column.PLACE])
    while groups[root, Node.PARENT] >= 0.0:
        root = np.int64(groups[root, Node.PARENT])
    return groups[root, Node.VALUE]


@kernel(inline=True)
def leave_group(state, groups, i):  # type: ignore[no-untyped-def]
    """Take weight i out of its group and apply the pending change of its accumulator."""
    root = group_of(state, groups, i)
    state[i, Column.ACCUMULATOR] += offset_of(state, groups, i)
    groups[root, Node.MEMBERS] -= 1.0


@kernel(inline=True)
def gather_clipped(memory, taken, below, value, count):  # type: ignore[no-untyped-def]
    """Make one group with that value and `count` members on top of the stack.

    Its members are the groups from TOP down to `below`, and the `taken` singles behind the heap.
    """
    state, heap, groups, slots = memory.state, memory.heap, memory.groups, memory.slots
    prefix = slots[Mark.PREFIX]
    root = np.int64(-1)
    node = np.int64(slots[Mark.TOP])
    while node != below:
        after = np.int64(groups[node, Node.BELOW])
        if groups[node, Node.MEMBERS] > 0.0:
            moved = groups[node, Node.OFFSET] + prefix * (value - groups[node, Node.VALUE])
            if root < 0:
                root = node
                groups[node, Node.OFFSET] = moved
            else:
                groups[node, Node.PARENT] = root
                groups[node, Node.OFFSET] = moved - groups[root, Node.OFFSET]
        node = after
    if root < 0:
        root = np.int64(slots[Mark.NODES])
        slots[Mark.NODES] += 1.0
        groups[root, Node.PARENT] = -1.0
        groups[root, Node.OFFSET] = 0.0
    groups[root, Node.VALUE] = value
    groups[root, Node.MEMBERS] = count
    groups[root, Node.BELOW] = below
    slots[Mark.TOP] = root
    first = np.int64(slots[Mark.SINGLES])
    for k in range(first, first + taken):
        i = np.int64(heap[k, Single.MEMBER])
        state[i, Column.ACCUMULATOR] += (
            prefix * (value - heap[k, Single.VALUE]) - groups[root, Node.OFFSET]
        )
        state[i, Column.PLACE] = -1.0 - root
