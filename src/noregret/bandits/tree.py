"""A sum tree over d weights: draw an index and change one weight in O(log d).

Node 1 is the root, node k has the children 2k and 2k + 1, and leaf i stands at `capacity` + i with
capacity the least power of two >= d. Every inner node is the sum of its two children, so that the
tree depends on its leaves alone, not on the order in which they were set.
"""

from __future__ import annotations

import numpy as np

from noregret.arrays import Vector
from noregret.jit import kernel


def new_tree(size: int) -> Vector:
    """Return a tree with room for that many weights, all of them 0.

    >>> len(new_tree(5))
    16
    """
    return np.zeros(2 << (size - 1).bit_length())


@kernel
def sum_up(tree):  # type: ignore[no-untyped-def]
    """Recompute all inner nodes from the leaves, in O(d)."""
    for k in range(1, len(tree) // 2):
        node = np.uint64(len(tree) // 2 - k)
        left = np.uint64(2) * node
        tree[node] = tree[left] + tree[left + np.uint64(1)]


@kernel
def set_leaf(tree, index, weight):  # type: ignore[no-untyped-def]
    """Set one weight and the sums above it, in O(log d)."""
    node = np.uint64(len(tree) // 2) + np.uint64(index)
    tree[node] = weight
    while node > np.uint64(1):
        node >>= np.uint64(1)
        left = np.uint64(2) * node
        tree[node] = tree[left] + tree[left + np.uint64(1)]


@kernel
def find(tree, u):  # type: ignore[no-untyped-def]
    """Return the smallest i with u < (w_0 + ... + w_i) / sum of w, for 0 <= u < 1, in O(log d).

    Rounding never leads to a weight of 0.

    >>> tree = new_tree(3)
    >>> for i, weight in enumerate((0.2, 0.5, 0.3)):
    ...     set_leaf(tree, i, weight)
    >>> [find(tree, u) for u in (0.1, 0.2, 0.69, 0.7)]
    [0, 1, 1, 2]
    """
    rest = u * tree[np.uint64(1)]
    capacity = np.uint64(len(tree) // 2)
    node = np.uint64(1)
    while node < capacity:
        node *= np.uint64(2)
        left = tree[node]
        if rest >= left and tree[node + np.uint64(1)] > 0.0:
            rest -= left
            node += np.uint64(1)
    return np.int64(node - capacity)
