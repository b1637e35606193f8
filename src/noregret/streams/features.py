r"""Where named features go: to the columns of an exact dictionary, or to hashed slots.

And the features derived from columns of a table, the words of texts and products:
- Words are runs of letters, digits and underscores (`\w+`), in lower case. With ngram=n also up to
  n words in a row, joined by spaces, and with skips=k up to k words may be left out between them.
  The features of the column "text" are called "text=word" and "text=two words".
- The features of the columns that a product names are multiplied, each with each, in its order; a
  column that is named twice gives each choice of its features once. Names are joined by stars,
  "age*city=Bonn"; hashed, a product goes where `hashing` puts that of two namespaces.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noregret.arguments import ArgumentError
from noregret.jit import kernel
from noregret.streams.block import Csr, summed
from noregret.streams.hashing import (
    CONSTANT,
    MOST_FACTORS,
    MOST_PRODUCTS,
    NO_PART,
    as_matrix,
    count_products,
    feature_hash,
    mask,
    multiplied,
)
from noregret.streams.names import NO_ROOM, FeatureNames, HashedNames, laid_out
from noregret.streams.reading import Reading

#: The name of the constant feature in a dictionary.
INTERCEPT = "intercept"

#: Columns that interactions may name: a group is one byte, and 0 is for all others.
_MOST_COLUMNS = 255
_ALL = np.uint32(0xFFFFFFFF)
_UNKNOWN = np.uint32(0xFFFFFFFE)
_WORD = re.compile(r"\w+")
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
            raise ArgumentError(
                "bits", "names that are hashed have no dictionary, expected 0 for one", bits
            )
        if bits is None and remember:
            raise ArgumentError("remember", "a dictionary keeps all names", remember)
        self.bits, self.constant, self.grow = bits, float(constant), grow
        #: Whether columns have one name each.
        self.exact = bits is None
        #: The mask of hashes; with a dictionary it keeps all bits.
        self.last = _ALL if bits is None else np.uint32(mask(bits))
        self.names: FeatureNames | HashedNames
        if bits is None:
            self.names = FeatureNames() if names is None else names
            self.constant_column = self.names.add(INTERCEPT) if self.constant else 0
        else:
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
            raise ArgumentError(
                "constant",
                f"{where} has a column {INTERCEPT!r}, the name of the constant feature; leave "
                f"one of the two out",
                self.constant,
            )

    @property
    def grows(self) -> bool:
        """Whether a name changes what is known, so that names must come in order."""
        if isinstance(self.names, HashedNames):
            return self.names.limit > 0
        return self.grow

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
            return self.names.columns_of(arena, ends, self.grow)
        slots = np.empty(len(ends) - 1, np.uint32)
        _hash_all(arena, ends, slots, self.last)
        self.names.remember_all(arena, ends, slots)
        return slots


@dataclass(frozen=True)
class Words:
    """What words and runs of words a text has.

    >>> Words(ngram=2, skips=1).names("t", "The cat, the mat")
    ['t=the', 't=cat', 't=the', 't=mat', 't=the cat', 't=cat the', 't=the mat', 't=the the', \
't=cat mat']
    """

    ngram: int = 1
    skips: int = 0

    def names(self, column: str, text: str) -> list[str]:
        """Return the names of the features of a text, one that occurs twice two times."""
        words = _WORD.findall(text.lower())
        found = [f"{column}={word}" for word in words]
        for length in range(2, self.ngram + 1):
            for gaps in self._gaps(length):
                places = list(itertools.accumulate(gaps, initial=0))
                for start in range(len(words) - places[-1]):
                    gram = " ".join(words[start + place] for place in places)
                    found.append(f"{column}={gram}")
        return found

    def _gaps(self, length: int) -> list[tuple[int, ...]]:
        """Return the steps from word to word of runs of this length, the shortest runs first."""
        steps = itertools.product(range(1, self.skips + 2), repeat=length - 1)
        allowed = [gaps for gaps in steps if sum(gaps) - len(gaps) <= self.skips]
        return sorted(allowed, key=lambda gaps: (sum(gaps), gaps))


class ColumnProducts:
    """Which columns are multiplied; groups are numbered from 1, and 0 is in no product."""

    def __init__(self, wanted: Sequence[str], columns: Iterable[str], where: str):
        known = {*columns}
        self._terms: list[bytes] = []
        self.groups: dict[str, int] = {}
        for one in wanted:
            parts = one.split("*")
            if not 2 <= len(parts) <= MOST_FACTORS or not known.issuperset(parts):
                missing = next((part for part in parts if part not in known), one)
                raise ArgumentError(
                    "interactions",
                    f"{missing!r} is no column of features of {where}, expected 2 to "
                    f"{MOST_FACTORS} of them joined by '*', as 'age*city'",
                    one,
                )
            numbers = [self.groups.setdefault(part, len(self.groups) + 1) for part in parts]
            # A letter twice is taken in ascending order, whatever its place in the term.
            self._terms.append(bytes(sorted(numbers) if len({*parts}) < len(parts) else numbers))
        if len(self.groups) > _MOST_COLUMNS:
            raise ArgumentError(
                "interactions",
                f"found {len(self.groups)} columns, expected at most {_MOST_COLUMNS}",
            )

    def multiplied(self, rows: Csr, groups: NDArray[np.uint8], features: Features) -> Csr:
        """Return rows with their products behind their features."""
        terms = as_matrix(self._terms)
        counts = count_products(rows, groups, terms)
        if (counts > MOST_PRODUCTS).any():
            raise ArgumentError(
                "interactions",
                f"a row has more than {MOST_PRODUCTS:,} products, or one that is not finite",
            )
        total = int(counts.sum()) + int(rows.indptr[-1])
        out, parts = multiplied(rows, groups, terms, features.last, total, features.exact)
        names = features.names
        if not isinstance(names, FeatureNames):
            return out
        # Columns of products by the names of their factors.
        products = np.flatnonzero(parts[:, 1] != NO_PART)
        factors = np.append(rows.indices, NO_PART)[np.minimum(parts[products], len(rows.indices))]
        # A factor that a dictionary does not know, as opposed to none.
        factors[(factors == NO_ROOM) & (parts[products] != NO_PART)] = _UNKNOWN
        distinct, first, of_row = np.unique(factors, axis=0, return_index=True, return_inverse=True)
        known = [k for k in np.argsort(first).tolist() if _UNKNOWN not in distinct[k]]
        keys = [
            b"*".join(names.key(column) for column in distinct[k].tolist() if column != NO_PART)
            for k in known
        ]
        found = np.full(len(distinct), NO_ROOM, np.uint32)
        arena = np.frombuffer(bytearray(b"".join(keys)), np.uint8)
        found[known] = features.columns_of(arena, summed(np.array([*map(len, keys)], np.uint64)))
        out.indices[products] = found[of_row.reshape(-1)]
        return out
