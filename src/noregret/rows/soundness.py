"""Conditions on the features of a row: columns ascend, values are bounded in size; sorting."""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel, ones, trailing_zeros

#: Features beyond this size could not be squared and summed without overflow.
LARGEST_FEATURE = 1e100

_1 = np.uint64(1)


@kernel(inline=True)
def descents(indices, begin, end):  # type: ignore[no-untyped-def]
    """Return how many of indices[begin:end] are not above the one before them."""
    # As narrow as the indices, so that a register holds as many counts as it holds indices.
    count = np.uint32(0)
    for k in range(begin + _1, end):
        count = np.uint32(count + np.uint32(indices[k] <= indices[k - _1]))
    return count


@kernel(fast=True, inline=True)
def bounded(values, begin, end):  # type: ignore[no-untyped-def]
    """Tell whether values[begin:end] are numbers of size at most LARGEST_FEATURE."""
    total = 0.0
    largest = 0.0
    for k in range(begin, end):
        size = abs(np.float64(values[k]))
        total += size
        largest = max(largest, size)
    # NaN and infinity survive in the sum whatever the order of addition.
    return total < np.inf and largest <= LARGEST_FEATURE


_0, _6, _63 = np.uint64(0), np.uint64(6), np.uint64(63)
#: Words of bits for each feature of a row up to which all are looked through; of more words only
#: those that the row has written.
_WORDS_A_FEATURE = np.uint64(2)


@kernel
def sort_rows(indptr, indices, values, bits, groups, before, columns, sorted_values):  # type: ignore[no-untyped-def]
    """Write the rows with ascending columns and values in double precision; False for duplicates.

    A row sets a bit a column in `bits`; the place of a column is the number of bits below its own,
    of which `before` has those in the words before. For a row that is short beside `bits`, `groups`
    has a bit for each word that is not 0. Both begin as zeros, and are zeros again if True is
    returned. Linear in the row; a comparison sort is slower because its branches are mispredicted.
    """
    first, words = indptr[0], np.uint64(bits.shape[0])
    for t in range(np.uint64(indptr.shape[0]) - _1):
        few = words <= _WORDS_A_FEATURE * (indptr[t + _1] - indptr[t])
        lowest, highest = np.uint64(groups.shape[0]), _0
        for k in range(indptr[t], indptr[t + _1]):
            word, bit = np.uint64(indices[k]) >> _6, _1 << (np.uint64(indices[k]) & _63)
            bits[word] |= bit
            if not few:
                groups[word >> _6] |= _1 << (word & _63)
                lowest, highest = min(lowest, word >> _6), max(highest, word >> _6)
        place = indptr[t] - first
        if few:
            for w in range(words):
                before[w] = place
                place += ones(bits[w])
        else:
            for group in range(lowest, highest + _1):
                some = groups[group]
                groups[group] = _0
                while some:
                    word = (group << _6) | trailing_zeros(some)
                    some &= some - _1
                    before[word] = place
                    place += ones(bits[word])
        if place != indptr[t + _1] - first:
            return False
        for k in range(indptr[t], indptr[t + _1]):
            column = np.uint64(indices[k])
            word, bit = column >> _6, _1 << (column & _63)
            place = before[word] + ones(bits[word] & (bit - _1))
            columns[place] = np.uint32(column)
            sorted_values[place] = values[k]
        if few:
            for w in range(words):
                bits[w] = _0
        else:
            for k in range(indptr[t], indptr[t + _1]):
                bits[np.uint64(indices[k]) >> _6] = _0
    return True
