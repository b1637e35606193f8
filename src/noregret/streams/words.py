r"""Text as a bag of words: every word of a column is a feature, with how often it occurs.

Words are runs of letters, digits and underscores (`\w+`), in lower case. With ngram=n also up to
n words in a row, joined by spaces, and with skips=k up to k words may be left out between them.
The features of the column "text" are called "text=word" and "text=two words".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr, Floats

#: In place of a column: the words of a text go here. No dictionary is as large.
BAG = np.uint32(0xFFFFFFFE)

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


def with_bags(
    rows: Csr, groups: NDArray[np.uint8] | None, bags: Sequence[NDArray[np.uint32]]
) -> tuple[Csr, NDArray[np.uint8] | None]:
    """Return rows in which every BAG, in their order, is replaced by the columns of its words.

    `groups`, where there are any, stay beside the features.

    >>> rows = Csr(np.array([0, 2], np.uint64), np.array([3, BAG], np.uint32), np.array([0.5, 1.0]))
    >>> found, _ = with_bags(rows, None, [np.array([7, 8], np.uint32)])
    >>> found.indptr.tolist(), found.indices.tolist(), found.values.tolist()
    ([0, 3], [3, 7, 8], [0.5, 1.0, 1.0])
    """
    used = int(rows.indptr[-1])
    indices = rows.indices[:used]
    places = indices == BAG
    counts = np.ones(used, np.int64)
    counts[places] = [len(bag) for bag in bags]
    ends = np.zeros(used + 1, np.uint64)
    np.cumsum(counts, out=ends[1:])
    wider = np.repeat(indices, counts)
    if len(bags):
        wider[np.repeat(places, counts)] = np.concatenate(bags)
    values: Floats = np.repeat(rows.values[:used], counts)  # type: ignore[assignment]
    beside = None if groups is None else np.repeat(groups[:used], counts)
    return Csr(ends[rows.indptr], wider, values), beside
