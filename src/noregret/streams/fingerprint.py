"""A number that tells examples apart: labels, weights, columns and values, in their order.

Each word is mixed with its place by a bijection of 64 bits (the finalizer of SplitMix64) and the
results are added. A single word that differs always shows; several do with probability
1 - 2^-64. How rows are cut into blocks does not matter. It finds accidents, not forgeries.

Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, Figure 16.
"""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel
from noregret.streams.block import Block

_ROW, _COLUMN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _1 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(1)
#: Places of the label, the weight and the length of a row; its values follow.
_LABEL, _WEIGHT, _LENGTH, _VALUES = (np.uint64(k) for k in range(4))


def fingerprint(block: Block, rows: int = 0, total: int = 0) -> int:
    """Return the fingerprint `total` of the `rows` rows before the block, with its rows added.

    Args:
        block: the rows that come next.
        rows: how many rows came before, 0 at the beginning.
        total: the fingerprint of those, 0 at the beginning.

    >>> block = Block(np.array([0, 2, 3], np.uint64), np.array([0, 1, 0], np.uint32),
    ...     np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0]), width=2)
    >>> whole = fingerprint(block)
    >>> whole == fingerprint(block.rows(1, 2), 1, fingerprint(block.rows(0, 1)))
    True
    >>> block.y[1] = 1.0
    >>> whole == fingerprint(block)
    False
    """
    weight = np.empty(0) if block.weight is None else block.weight
    return int(
        _add(
            block.indptr,
            block.indices,
            np.ascontiguousarray(block.values, np.float64).view(np.uint64),
            np.ascontiguousarray(block.y, np.float64).view(np.uint64),
            # The weight 1 adds nothing: no weights are the same as such.
            np.ascontiguousarray(weight, np.float64).view(np.uint64),
            np.float64(1.0).view(np.uint64),
            np.uint64(rows),
            np.uint64(total),
        )
    )


@kernel
def _mixed(word, place):  # type: ignore[no-untyped-def]
    """Return 64 bits that depend on every bit of a word and on its place."""
    bits = word ^ place
    bits = (bits ^ (bits >> _30)) * _FIRST
    bits = (bits ^ (bits >> _27)) * _SECOND
    return bits ^ (bits >> _31)


@kernel
def _add(indptr, indices, values, y, weight, one, rows, total):  # type: ignore[no-untyped-def]
    """Return the total with the words of all rows added."""
    weighted = np.uint64(weight.shape[0]) > np.uint64(0)
    for t in range(np.uint64(y.shape[0])):
        # Rows count from 1: nothing is at place 0.
        row = (rows + np.uint64(t) + _1) * _ROW
        begin, end = indptr[t], indptr[np.uint64(t) + _1]
        total += _mixed(y[t], row + _LABEL * _COLUMN)
        if weighted and weight[t] != one:
            total += _mixed(weight[t], row + _WEIGHT * _COLUMN)
        total += _mixed(end - begin, row + _LENGTH * _COLUMN)
        for k in range(begin, end):
            place = row + (k - begin + _VALUES) * _COLUMN
            total += _mixed(values[k], place ^ (np.uint64(indices[k]) << _31))
    return total
