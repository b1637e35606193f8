r"""Text as a bag of words: every word of a column is a feature, with how often it occurs.

Words are runs of letters, digits and underscores (`\w+`), in lower case. With ngram=n also up to
n words in a row, joined by spaces, and with skips=k up to k words may be left out between them.
The features of the column "text" are called "text=word" and "text=two words".
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

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
