"""Limits on the size of a model file, checked before its content is read.

A forged file must be refused within a second, and before its declared memory is allocated.
"""

from __future__ import annotations

import math
import os
from typing import Any

FORMAT = "noregret model"

# Names of features and all sums lie in arrays. A header grows with the arrays (100 bytes each) and
# with the record of the inputs: a model of 100 classes that was resumed 3,000 times has about a
# million values in 8 MB, which take half a second to read.
LONGEST_HEADER = 16_000_000
MOST_VALUES = 1_000_000
MOST_ARRAYS = 10_000  # each costs its reader a tenth of a millisecond


def values_of(text: str) -> int:
    """Return an upper bound on the values of a JSON text: each follows {, [ or a comma.

    >>> values_of('{"a": [1, 2]}')
    3
    """
    return text.count("{") + text.count("[") + text.count(",")


def require_few(text: str, name: str) -> None:
    """Refuse a JSON text with more values than the header of a model, before it is read."""
    if values_of(text) > MOST_VALUES:
        raise TooMany(
            f"{name}: is damaged or no model file: its header holds {values_of(text)} "
            f"values, expected a {FORMAT} with at most {MOST_VALUES}"
        )


class TooMany(ValueError):
    """A header with more values than any model has."""


def require_size(outer: dict[str, Any], size: int, name: str) -> None:
    """Refuse a file whose arrays do not fill it, or are too many, before any of them is read."""
    count = len(outer) - 1
    if count > MOST_ARRAYS:
        raise ValueError(
            f"{name}: says that it holds {count} arrays, expected {FORMAT}s with up to "
            f"{MOST_ARRAYS}"
        )
    try:
        ends = [entry["data_offsets"][1] for key, entry in outer.items() if key != "__metadata__"]
        end = max(ends, default=0)
        whole = all(type(one) is int for one in ends) and end == size
    except (TypeError, KeyError, IndexError):
        whole = False
    if not whole:
        raise ValueError(f"{name}: is damaged, its size is not the one that its {FORMAT} says")
    if size > _memory():
        raise too_large(size, name)


def too_large(size: int, name: str) -> ValueError:
    """Return the error for a file larger than the memory."""
    return ValueError(
        f"{name}: holds {size / 1e9:.3g} GB, which this machine has no memory for: expected a "
        f"{FORMAT} that fits"
    )


def _memory() -> float:
    """Return the machine's memory in bytes, infinity if it is unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf
