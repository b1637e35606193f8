"""The text format of Vowpal Wabbit in plain Python: what the kernels must agree with."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noregret.streams.errors import Malformed
from noregret.streams.hashing import MOST_PRODUCTS
from noregret.streams.names import FeatureNames
from noregret.streams.numbers import finite
from noregret.streams.vw import VwFormat
from tests.streams.plain_hashing import combine, hash_name

_NO_COLUMN = -1
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: First bytes of numbers; a value that begins so and is no number is refused.
_NUMERIC = b"0123456789+-."
_NOT_FINITE = frozenset({b"inf", b"infinity", b"nan"})
_HEAD_WORD = re.compile(rb"[^ |]+")
_NAME = re.compile(rb"[^ \t:|]*")
_UNTIL_BAR = re.compile(rb"[^ \t|]*")
_UNTIL_SPACE = re.compile(rb"[^ \t]*")
_GAP = re.compile(rb"[ \t]*")


@dataclass(frozen=True)
class Feature:
    """One feature as it is written."""

    #: Empty for none.
    namespace: bytes
    name: bytes
    value: float
    #: The word after the colon, where it is not a number.
    word: bytes = b""
    #: The place of a feature without a name among those of its namespace.
    number: int = 0

    @property
    def group(self) -> int:
        """The first byte of the namespace, by which interactions choose; a space for none."""
        return self.namespace[0] if self.namespace else ord(" ")

    @property
    def key(self) -> bytes:
        """The name under which it is shown; a nameless one by its number."""
        own = self.name if self.name or self.word else b":%d" % self.number
        whole = own + b"^" + self.word if self.word else own
        return self.namespace + b"^" + whole if self.namespace else whole

    def hash(self, rule: str = "strings") -> int:
        """The 32-bit hash."""
        # No namespace means 0 by either rule, not the hash of an empty name.
        seed = hash_name(self.namespace, 0, rule) if self.namespace else 0
        if self.word:
            return hash_name(self.word, hash_name(self.name, seed, rule), rule)
        if self.name:
            return hash_name(self.name, seed, rule)
        return (seed + self.number) & 0xFFFFFFFF


@dataclass(frozen=True)
class Line:
    """One example as it is written; the label of an unlabelled one is not a number."""

    label: float
    weight: float
    features: tuple[Feature, ...]


def parse_line(
    line: bytes, *, unlabelled: bool = False, rounded: Callable[[float], Any] = float
) -> Line | None:
    """Return what a line without its line end means, None if it is blank; raise Malformed.

    `rounded` is the type of the values: they must be finite in it, and not 0 in it.

    >>> parsed = parse_line(b"1 0.5 'tag|a:2 x y:3 |b z:red")
    >>> parsed.label, parsed.weight, [(f.key, f.value) for f in parsed.features]
    (1.0, 0.5, [(b'a^x', 2.0), (b'a^y', 6.0), (b'b^z^red', 1.0)])
    """
    line = line.removesuffix(b"\r")
    start = len(BYTE_ORDER_MARK) if line.startswith(BYTE_ORDER_MARK) else 0
    if not line[start:].strip(b" \t"):
        return None
    if b"\r" in line:
        raise Malformed(line.index(b"\r"), b"\r", "no carriage return within a line")
    bar = line.find(b"|")
    if bar < 0:
        raise Malformed(start, line[start:], "a '|' before the features")
    label, weight = _head(line, start, bar, unlabelled)
    features: list[Feature] = []
    place = bar
    while place < len(line):
        place = _namespace(line, place + 1, features, rounded)
    return Line(label, weight, tuple(features))


def _head(line: bytes, start: int, bar: int, unlabelled: bool) -> tuple[float, float]:
    tab = line.find(b"\t", start, bar)
    if tab >= 0:
        raise Malformed(tab, line[tab : bar + 1], "spaces, not a tab, before the '|'")
    words = list(_HEAD_WORD.finditer(line, start, bar))
    if words and (words[-1].end() == bar or words[-1].group().startswith(b"'")):
        words.pop()
    if len(words) > 3:
        raise Malformed(words[3].start(), words[3].group(), "at most three numbers before the '|'")
    if not words:
        if not unlabelled:
            raise Malformed(
                start,
                line[start : bar + 1],
                "a label and a space before the '|' (what touches the '|' is a tag)",
            )
        return math.nan, 1.0
    label = finite(words[0].group())
    if label is None:
        raise Malformed(words[0].start(), words[0].group(), "a finite number as label")
    if len(words) < 2:
        return label, 1.0
    weight = finite(words[1].group())
    if weight is None or weight < 0:
        raise Malformed(
            words[1].start(),
            words[1].group(),
            "an importance of 0 or more, or a tag that begins with ' or touches the '|'",
        )
    if len(words) == 3 and finite(words[2].group()) != 0:
        raise Malformed(words[2].start(), words[2].group(), "no initial prediction other than 0")
    return label, weight


def _matched(pattern: re.Pattern[bytes], line: bytes, place: int) -> tuple[bytes, int]:
    match = pattern.match(line, place)
    assert match is not None
    return match.group(), match.end()


def _at(line: bytes, place: int, character: bytes) -> bool:
    return line[place : place + 1] == character


def _namespace(
    line: bytes, place: int, features: list[Feature], rounded: Callable[[float], Any]
) -> int:
    """Read what follows a bar up to the next; return where that is."""
    if _at(line, place, b":"):
        raise Malformed(place - 1, line[place - 1 :], "a namespace or a space after the '|'")
    begin = place
    namespace, place = _matched(_NAME, line, place)
    scale = 1.0
    if _at(line, place, b":"):
        text, place = _matched(_UNTIL_BAR, line, place + 1)
        read = finite(text)
        if read is None:
            raise Malformed(begin, line[begin:place], "a finite number as scale of the namespace")
        scale = read
    nameless = 0
    while True:
        _, place = _matched(_GAP, line, place)
        if place >= len(line) or _at(line, place, b"|"):
            return place
        begin = place
        name, place = _matched(_NAME, line, place)
        value, word = scale, b""
        if _at(line, place, b":"):
            place += 1
            if line[place : place + 1] and line[place] in _NUMERIC:
                text, place = _matched(_UNTIL_BAR, line, place)
                read = finite(text)
                if read is None:
                    raise Malformed(begin, line[begin:place], "a finite number after the colon")
                value = scale * read
            else:
                until_bar, _ = _matched(_UNTIL_BAR, line, place)
                if not until_bar or until_bar.lower() in _NOT_FINITE:
                    raise Malformed(
                        begin, line[begin : place + len(until_bar)], "a value after the colon"
                    )
                word, place = _matched(_UNTIL_SPACE, line, place)
                value = 1.0
        feature = Feature(namespace, name, value, word, nameless)
        if not name and not word:
            nameless += 1
        with np.errstate(over="ignore", under="ignore"):
            kept = float(rounded(value))
        if not math.isfinite(kept):
            raise Malformed(begin, line[begin:place], "a value times its scale that is finite")
        if kept != 0.0:
            features.append(feature)


def products(groups: Sequence[int], term: bytes) -> Iterator[tuple[int, ...]]:
    """Yield which features are multiplied for a term, given the letter of each feature.

    >>> list(products(b"aab", b"aa")), list(products(b"aab", b"ba"))
    ([(0, 0), (0, 1), (1, 1)], [(2, 0), (2, 1)])
    """
    members = [[k for k, group in enumerate(groups) if group == letter] for letter in term]
    for choice in itertools.product(*members):
        pairs = zip(itertools.pairwise(term), itertools.pairwise(choice), strict=True)
        if all(a != b or k <= m for (a, b), (k, m) in pairs):
            yield choice


class Plain:
    """Lines to rows as a format reads them, one by one."""

    def __init__(self, text_format: VwFormat) -> None:
        self.format = text_format

    def read_line(self, line: bytes, add: bool = False) -> tuple[Line, dict[int, float]] | None:
        """Return what one line means and its row, in plain Python; raise Malformed.

        Names that a dictionary does not know are left out unless it is to `add` them.
        """
        rounded: Callable[[float], Any] = np.dtype(self.format.reading.dtype).type
        parsed = parse_line(
            line, unlabelled=self.format.reading.unlabelled == "keep", rounded=rounded
        )
        if parsed is None:
            return None
        kept = tuple(one for one in parsed.features if not self.format._rules.ignored[one.group])
        parsed = replace(parsed, features=kept)
        if self.format._reserved and any(
            one.key == self.format._reserved for one in parsed.features
        ):
            expected = "another name: this is that of the constant feature"
            raise Malformed(line.find(self.format._reserved), self.format._reserved, expected)
        groups = bytes(feature.group for feature in parsed.features)
        chosen: list[tuple[int, ...]] = [(k,) for k in range(len(groups))]
        for term in self.format.interactions.terms(bytes(set(groups))):
            for choice in products(groups, term):
                chosen.append(choice)
                if len(chosen) - len(groups) > MOST_PRODUCTS:
                    raise Malformed(0, line, f"interactions of at most {MOST_PRODUCTS} products")
        row: list[tuple[int, float]] = []
        with np.errstate(over="ignore", under="ignore"):
            for choice in chosen:
                members = [parsed.features[k] for k in choice]
                value = float(rounded(math.prod(float(rounded(one.value)) for one in members)))
                if not math.isfinite(value):
                    raise Malformed(0, line, "interactions whose values are finite")
                row.append((self._column(members, add), value))
            if self.format.features.constant:
                constant = float(rounded(self.format.features.constant))
                row.append((self.format.features.constant_column, constant))
            merged: dict[int, float] = {}
            for column, value in sorted(row, key=lambda pair: pair[0]):
                merged[column] = merged[column] + value if column in merged else value
            merged.pop(_NO_COLUMN, None)
            return parsed, {column: float(rounded(total)) for column, total in merged.items()}

    def _column(self, members: list[Feature], add: bool) -> int:
        names = self.format.features.names
        if isinstance(names, FeatureNames):
            key = b"*".join(member.key for member in members)
            if add:
                return names.add(key)
            found = names.column(key)
            return _NO_COLUMN if found is None else found
        hashed = members[0].hash(self.format.reading.hash)
        for member in members[1:]:
            hashed = combine(hashed, member.hash(self.format.reading.hash))
        return hashed & int(self.format.features.last)
