"""Where named features go: to the columns of an exact dictionary, or to hashed slots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from noregret.jit import kernel
from noregret.streams.errors import StreamError
from noregret.streams.hashing import CONSTANT, feature_hash, mask
from noregret.streams.names import NO_ROOM, FeatureNames, HashedNames, laid_out
from noregret.streams.reading import Reading

#: The name of the constant feature in a dictionary.
INTERCEPT = "intercept"

_1 = np.uint64(1)


@kernel
def _hash_all(arena, ends, columns, last):  # type: ignore[no-untyped-def]
    for k in range(np.uint64(columns.shape[0])):
        columns[k] = feature_hash(arena, ends[k], ends[k + _1], np.uint32(0), False) & last


def largest_of(dtype: str) -> float:
    """Return the largest value of the type of a stream's values.

    >>> largest_of("float32")
    3.4028234663852886e+38
    """
    return float(np.finfo(dtype).max)


class Features:
    """The space of features of a stream whose features have names.

    Without `bits` every new name gets the next column, and the constant feature, if there is
    one, the first; `names` is the dictionary to begin with, and unless it may `grow`, names
    that are not in it have no column. With `bits` a name goes to the slot that Vowpal Wabbit
    gives it in its default namespace; `remember` of the names are kept, for people to read.

    >>> exact, hashed = Features(constant=1.0), Features(bits=18)
    >>> exact.columns(["age", "city=Bonn", "age"]).tolist(), len(exact.names)
    ([1, 2, 1], 3)
    >>> hashed.columns(["age", "12"]).tolist(), hashed.width
    ([165201, 12], 262144)
    """

    def __init__(
        self,
        bits: int | None = None,
        constant: float = 0.0,
        remember: int = 0,
        names: FeatureNames | None = None,
        grow: bool = True,
    ):
        if bits is not None and (names is not None or not grow):
            raise StreamError(f"bits={bits}: a dictionary of names needs bits=0", "bits")
        if bits is None and remember:
            raise StreamError(f"remember={remember}: a dictionary keeps all names", "remember")
        self.bits = bits
        self.constant = float(constant)
        self.names: FeatureNames | HashedNames
        self._grow = grow
        if bits is None:
            self.names = FeatureNames() if names is None else names
            self.constant_column = self.names.add(INTERCEPT) if self.constant else 0
            return
        self._last = np.uint32(mask(bits))
        self.names = HashedNames(bits, remember)
        self.constant_column = CONSTANT & mask(bits)

    @classmethod
    def of(cls, reading: Reading, names: FeatureNames | None = None, grow: bool = True) -> Features:
        """Return the space that a reading asks for."""
        return cls(reading.hashed_bits, reading.constant, reading.remember, names, grow)

    def ascending(self, columns: NDArray[np.uint32]) -> bool:
        """Return whether rows of these columns ascend, the constant before them.

        Columns of names that are not known are in no row.
        """
        row = columns[columns != NO_ROOM].astype(np.int64)
        if self.constant:
            row = np.concatenate([[self.constant_column], row])
        return bool((np.diff(row) > 0).all())

    def refuse_intercept(self, names: Iterable[str], where: str) -> None:
        """Refuse a table with a number of that name beside the constant: they would be added."""
        if self.constant and self.exact and INTERCEPT in names:
            raise StreamError(
                f"{where}: column {INTERCEPT!r} has the name of the constant feature; ignore it, "
                "or read without a constant",
                "constant",
            )

    @property
    def exact(self) -> bool:
        """Whether columns have one name each."""
        return self.bits is None

    @property
    def grows(self) -> bool:
        """Whether a name changes what is known, so that names must come in order."""
        if isinstance(self.names, HashedNames):
            return self.names.limit > 0
        return self._grow

    @property
    def width(self) -> int:
        """The number of columns so far."""
        return len(self.names) if self.bits is None else 1 << self.bits

    def columns(self, names: Sequence[str]) -> NDArray[np.uint32]:
        """Return the columns of names, NO_ROOM for those that have none."""
        return self.columns_of(*laid_out(names))

    def columns_of(self, arena: NDArray[np.uint8], ends: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Return the columns of the names arena[ends[k]:ends[k + 1]], NO_ROOM for none."""
        if isinstance(self.names, FeatureNames):
            return self.names.columns_of(arena, ends, self._grow)
        slots = np.empty(len(ends) - 1, np.uint32)
        _hash_all(arena, ends, slots, self._last)
        if self.names.limit:
            self.names.remember_all(arena, ends, slots)
        return slots
