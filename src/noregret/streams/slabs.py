"""A pool of arrays for parsers to write to, reused once nobody refers to them."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: How many arrays of a kind are kept, for all who parse, wait and consume.
_KEPT = 12
#: Arrays of more elements are not kept: a line may be a thousand times as long as most.
_LARGEST = 1 << 23


def _references(arrays: list[NDArray[Any]]) -> list[int]:
    return [sys.getrefcount(array) for array in arrays]


#: The reference count of an array that only a list holds; it depends on the interpreter.
(_UNUSED,) = _references([np.empty(0)])


class Slabs:
    """A pool of arrays by type and size.

    An array handed out is a view, and a view of a view refers to the same owner: as long as a
    block or any part of it is alive, its memory is not handed out again.

    >>> slabs = Slabs()
    >>> kept = slabs.take(np.float64, 4)[1:2]
    >>> other = slabs.take(np.float64, 4)
    >>> np.shares_memory(kept, other)
    False
    >>> place = kept.ctypes.data
    >>> del kept
    >>> slabs.take(np.float64, 4)[1:2].ctypes.data == place
    True
    """

    def __init__(self) -> None:
        self._slabs: dict[tuple[np.dtype[Any], int], list[NDArray[Any]]] = {}
        self._guard = threading.Lock()

    def take(self, dtype: DTypeLike, size: int) -> NDArray[Any]:
        """Return an uninitialised array that nobody else has."""
        if size > _LARGEST:
            return np.empty(size, dtype)
        kind = np.dtype(dtype), size
        with self._guard:
            slabs = self._slabs.setdefault(kind, [])
            for place, references in enumerate(_references(slabs)):
                if references == _UNUSED:
                    return slabs[place][:]
            slab = np.empty(size, dtype)
            slabs.append(slab)
            if len(slabs) > _KEPT:
                # A consumer that keeps every block owns the memory: take it out of the pool.
                slabs.pop(0)
            return slab[:]
