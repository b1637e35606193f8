"""Reuters-21578, the ModApte split: documents, their topics and their stemmed words.

The file `reuters21578/reuters21578_modapte.jsonl.xz` holds one JSON object a line with the
fields split, topics, title and body: LEWISSPLIT and TOPICS="YES" of Distribution 1.0.
"""

from __future__ import annotations

import json
import lzma
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

FILE = Path("reuters21578") / "reuters21578_modapte.jsonl.xz"
TRAINING, TEST = 9603, 3299

#: Documents in the test half, by category: the ten largest of the training half, in its order.
CATEGORIES = {
    "earn": 1087,
    "acq": 719,
    "money-fx": 179,
    "grain": 149,
    "crude": 189,
    "trade": 117,
    "interest": 131,
    "ship": 89,
    "wheat": 71,
    "corn": 56,
}

#: What counts as a word, applied to text in lower case.
RULES = {
    "letters": r"[a-z]+",
    "letters2": r"[a-z]{2,}",
    "alphanumeric": r"[a-z0-9]+",
    "starts with a letter": r"[a-z][a-z0-9]*",
    "whitespace": r"\S+",
}

TITLES = ("both", "apart", "merged", "dropped")
#: Before a word that stands for its occurrence in the title; no rule finds it inside a word.
TITLE_MARK = "title "


@dataclass(frozen=True)
class Document:
    """One story. A topic that is listed twice counts once."""

    training: bool
    topics: frozenset[str]
    title: str
    body: str


@dataclass(frozen=True, eq=False)
class Words:
    """Which word occurs in which document: rows are documents, columns words, values 1."""

    X: csr_array
    vocabulary: list[str]


def folder() -> Path:
    """Return the folder of real data that the environment variable NOREGRET_DATA names."""
    place = os.environ.get("NOREGRET_DATA")
    if not place:
        raise FileNotFoundError(f"NOREGRET_DATA does not name a folder that holds {FILE}")
    if not (Path(place) / FILE).is_file():
        raise FileNotFoundError(f"{Path(place) / FILE}: there is no such file")
    return Path(place)


def read(data: Path) -> list[Document]:
    """Return the stories in their order, all those of the training half first."""
    documents = []
    with lzma.open(data / FILE, "rt", encoding="utf-8") as file:
        for line in file:
            story = json.loads(line)
            documents.append(
                Document(
                    training=story["split"] == "train",
                    topics=frozenset(story["topics"]),
                    title=story["title"] or "",
                    body=story["body"] or "",
                )
            )
    documents.sort(key=lambda document: not document.training)
    training = sum(document.training for document in documents)
    if (training, len(documents) - training) != (TRAINING, TEST):
        raise ValueError(
            f"{FILE}: {training} training and {len(documents) - training} test documents, "
            f"expected {TRAINING} and {TEST}"
        )
    return documents


def labels(documents: Iterable[Document], category: str) -> npt.NDArray[np.float64]:
    """Return +1 for the documents of a category and -1 for all others."""
    return np.array([1.0 if category in document.topics else -1.0 for document in documents])


def tokens(text: str, rule: str = "letters") -> list[str]:
    """Return the words of a text in lower case, in order, with repetitions.

    >>> tokens("Profit of 1,5 mln dlrs in the U.S.")
    ['profit', 'of', 'mln', 'dlrs', 'in', 'the', 'u', 's']
    """
    return _pattern(rule).findall(text.lower())


@cache
def _pattern(rule: str) -> re.Pattern[str]:
    return re.compile(RULES[rule])


def porter() -> Callable[[str], str]:
    """Return Porter's stemmer (1980), which remembers the words that it has seen."""
    try:
        import snowballstemmer
    except ModuleNotFoundError as error:
        message = "stemming needs snowballstemmer: pip install 'noregret[bench]'"
        raise ModuleNotFoundError(message) from error
    stem: Callable[[str], str] = cache(snowballstemmer.stemmer("porter").stemWord)
    return stem


def occurrences(
    documents: Iterable[Document],
    rule: str = "letters",
    titles: str = "both",
    stem: Callable[[str], str] | None = None,
) -> Words:
    """Return which stemmed word occurs in which document.

    What the words of a title are: "merged" like those of the body, "apart" features of their own,
    "both" of these, "dropped" nothing.
    """
    if titles not in TITLES:
        raise ValueError(f"titles must be one of {', '.join(TITLES)}, got {titles!r}")
    stem = porter() if stem is None else stem
    column: dict[str, int] = {}
    indices: list[int] = []
    indptr = [0]
    for document in documents:
        found = {stem(word) for word in set(tokens(document.body, rule))}
        headline = {stem(word) for word in set(tokens(document.title, rule))}
        if titles in ("merged", "both"):
            found |= headline
        if titles in ("apart", "both"):
            found |= {TITLE_MARK + word for word in headline}
        indices.extend(sorted(column.setdefault(word, len(column)) for word in sorted(found)))
        indptr.append(len(indices))
    values = np.ones(len(indices))
    shape = (len(indptr) - 1, len(column))
    matrix = csr_array((values, np.array(indices, np.int32), np.array(indptr, np.int32)), shape)
    return Words(matrix, list(column))
