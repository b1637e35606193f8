"""Conditions on the features of a row: columns ascend, values are bounded in size."""

from __future__ import annotations

import numpy as np

from noregret.jit import kernel

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
