r"""Features made of columns: the words of texts, and the products of columns.

Words are runs of letters, digits and underscores (`\w+`), in lower case. With ngram=n also up to
n words in a row, joined by spaces, and with skips=k up to k words may be left out between them.
The features of the column "text" are called "text=word" and "text=two words".

The features of the columns that a product names are multiplied, each with each, in its order; a
column that is named twice gives each choice of its features once. Names are joined by stars,
"age*city=Bonn"; hashed, a product goes where `interactions` puts that of two namespaces.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.errors import StreamError
from noregret.streams.features import Features
from noregret.streams.interactions import (
    MOST_FACTORS,
    MOST_PRODUCTS,
    NO_PART,
    as_matrix,
    count_products,
    multiplied,
)
from noregret.streams.names import NO_ROOM, FeatureNames
from noregret.streams.sparse import summed

#: Columns that interactions may name: a group is one byte, and 0 is for all others.
_MOST_COLUMNS = 255
_ALL = np.uint32(0xFFFFFFFF)
_UNKNOWN = np.uint32(0xFFFFFFFE)
_WORD = re.compile(r"\w+")


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
                raise StreamError(
                    f"{where}: interactions={one!r}: {missing!r} is no column of features, "
                    f"expected 2 to {MOST_FACTORS} of them joined by '*', as 'age*city'",
                    "interactions",
                )
            numbers = [self.groups.setdefault(part, len(self.groups) + 1) for part in parts]
            # A letter twice is taken in ascending order, whatever its place in the term.
            self._terms.append(bytes(sorted(numbers) if len({*parts}) < len(parts) else numbers))
        if len(self.groups) > _MOST_COLUMNS:
            raise StreamError(
                f"interactions= name {len(self.groups)} columns, expected at most {_MOST_COLUMNS}",
                "interactions",
            )

    def __bool__(self) -> bool:
        return bool(self._terms)

    def multiplied(self, rows: Csr, groups: NDArray[np.uint8], features: Features) -> Csr:
        """Return rows with their products behind their features."""
        terms = as_matrix(self._terms)
        counts = count_products(rows, groups, terms)
        if (counts > MOST_PRODUCTS).any():
            raise StreamError(
                f"interactions= give a row more than {MOST_PRODUCTS:,} products, or one that is "
                "not finite",
                "interactions",
            )
        exact = isinstance(features.names, FeatureNames)
        last = _ALL if exact else np.uint32(features.width - 1)
        total = int(counts.sum()) + int(rows.indptr[-1])
        out, parts = multiplied(rows, groups, terms, last, total, exact)
        if exact:
            self._name(rows.indices, out.indices, parts, features)
        return out

    @staticmethod
    def _name(
        columns: NDArray[np.uint32],
        out: NDArray[np.uint32],
        parts: NDArray[np.uint32],
        features: Features,
    ) -> None:
        """Write the columns of products by the names of their factors."""
        names = features.names
        assert isinstance(names, FeatureNames)
        products = np.flatnonzero(parts[:, 1] != NO_PART)
        factors = np.append(columns, NO_PART)[np.minimum(parts[products], len(columns))]
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
        out[products] = found[of_row.reshape(-1)]
