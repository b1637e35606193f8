"""Examples that are dictionaries: of JSON lines, of data streams in Python.

The features of a dictionary, whose keys are text:
- a number is a feature with the name of its key, true is 1, false and 0 are no feature;
- text is the feature "key=text" of value 1;
- a date or a moment of Python's is the number of days since the beginning of 1970;
- a dictionary inside gives its features with "key." before their names;
- a list of texts is a bag of words: "key=word" with how often it occurs as value;
- a set of texts is such a list in alphabetical order, as sets have none that stays the same;
- null, None and NaN are missing: the feature "key=missing", or with missing="refuse" an error.
"""

from __future__ import annotations

import datetime
import math
import numbers
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from noregret.arguments import ArgumentError
from noregret.streams.columns import (
    INDICATED,
    LABEL_NAMES,
    NAMES_READ,
    given_names,
    label_expected,
    named_pair,
    usual_label,
)
from noregret.streams.errors import Malformed, short
from noregret.streams.features import Words, largest_of
from noregret.streams.labels import Labels, are_classes, class_name
from noregret.streams.reading import Missing, Reading

#: Numbers of any kind, and booleans.
_NUMBERS = (float, int, numbers.Real, np.bool_, Decimal)
#: Dictionaries inside each other; names would be as long.
_DEEPEST = 64
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Absent(str):
    """The name of the feature for a missing value, told apart from a text that says "missing"."""

    def __new__(cls, key: str) -> Absent:
        """Return the name for a key."""
        return super().__new__(cls, f"{key}=missing")


class Unfit(Malformed):
    """A value that cannot be a feature or label, by the name of its key or column.

    >>> str(Unfit("age", None, "a number"))
    "'age': found None, expected a number"
    """

    def __init__(self, key: str, found: object, expected: str, argument: str = ""):
        try:
            shown = repr(found)
        except ValueError:
            # Python refuses to write integers of thousands of digits.
            shown = f"a {type(found).__name__} that is too long to show"
        #: The key as it is shown to people.
        self.place = short(repr(key))
        place = f"{self.place}: " if key else ""
        # The text of the base class counts columns, which an object has none of.
        Exception.__init__(self, f"{place}found {short(shown)}, expected {expected}")
        self.key, self.found, self.expected = key, found, expected
        self.argument = argument


def days(moment: datetime.date) -> float:
    """Return the days since the beginning of 1970, in UTC unless the moment has a zone.

    >>> days(datetime.date(1970, 1, 2)), days(datetime.datetime(1970, 1, 1, 6))
    (1.0, 0.25)
    """
    if not isinstance(moment, datetime.datetime):
        return float((moment - _EPOCH.date()).days)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
    return (aware - _EPOCH) / datetime.timedelta(days=1)


@dataclass(frozen=True)
class FeatureRules:
    """Which features a dictionary has; names of keys inside others are written with points."""

    missing: Missing = "refuse"
    ignore: frozenset[str] = frozenset()
    #: The outermost keys that are used, None for all.
    keep: frozenset[str] | None = None
    categorical: frozenset[str] = frozenset()
    #: Keys whose texts are bags of words.
    text: frozenset[str] = frozenset()
    words: Words = Words()  # noqa: RUF009 (frozen)
    #: The largest number that a feature may be.
    largest: float = sys.float_info.max

    @classmethod
    def of(cls, reading: Reading) -> FeatureRules:
        """Return the rules of a reading."""
        return cls(
            missing=reading.missing,
            ignore=frozenset(reading.ignore),
            keep=None if reading.keep is None else frozenset(reading.keep),
            categorical=frozenset(reading.categorical),
            text=frozenset(reading.text),
            words=Words(reading.ngram, reading.skips),
            largest=largest_of(reading.dtype),
        )

    def add(
        self,
        record: Mapping[Any, Any],
        names: list[str],
        values: list[float],
        prefix: str = "",
        depth: int = 0,
    ) -> None:
        """Append the names and values of the features of a dictionary.

        >>> names, values = [], []
        >>> record = {"age": 31, "home": {"city": "Bonn", "owned": True}, "words": ["a", "b", "a"]}
        >>> FeatureRules().add(record, names, values)
        >>> names, set(values)
        (['age', 'home.city=Bonn', 'home.owned', 'words=a', 'words=b', 'words=a'], {1.0, 31.0})
        """
        if depth > _DEEPEST:
            raise Unfit(prefix[:-1], record, f"at most {_DEEPEST} dictionaries inside each other")
        kept = self.keep if not depth else None
        chosen = bool(self.ignore) or kept is not None
        plain = not self.categorical
        largest = self.largest
        for key, value in record.items():
            name = f"{prefix}{key}"
            if chosen and (name in self.ignore or (kept is not None and name not in kept)):
                continue
            kind = type(value)
            # The most frequent types come first, without any look-up or call.
            if kind is float and plain and -largest <= value <= largest:
                if value:
                    names.append(name)
                    values.append(value)
            elif kind is str and not self.text:
                names.append(f"{name}={value}")
                values.append(1.0)
            elif kind is int or isinstance(value, _NUMBERS):
                self._add_number(name, value, names, values)
            elif value is None:
                self._add_missing(name, value, names, values)
            elif isinstance(value, Mapping):
                self.add(value, names, values, f"{name}.", depth + 1)
            elif isinstance(value, str):
                # Of a subclass, as those of NumPy, which may show itself in another way.
                whole = str.__str__(value)
                found = self.words.names(name, whole) if name in self.text else [f"{name}={whole}"]
                names += found
                values += [1.0] * len(found)
            elif isinstance(value, list | tuple | set | frozenset):
                for word in value:
                    if not isinstance(word, str):
                        raise Unfit(name, word, "texts only in a list")
                words = sorted(value) if isinstance(value, set | frozenset) else value
                # A word that comes twice is added up with its column.
                names += [f"{name}={str.__str__(word)}" for word in words]
                values += [1.0] * len(words)
            elif isinstance(value, datetime.date):
                self._add_number(name, days(value), names, values)
            elif type(value).__name__ == "NAType":
                # pandas.NA, the missing value of any type, recognised without importing pandas.
                self._add_missing(name, value, names, values)
            else:
                raise Unfit(name, value, "a number, text, a date, a dictionary or a list of texts")

    def _add_number(self, name: str, value: Any, names: list[str], values: list[float]) -> None:
        if value != value:
            self._add_missing(name, value, names, values)
        elif name in self.categorical:
            try:
                names.append(f"{name}={value}")
            except ValueError:
                raise Unfit(name, value, "a number that Python can write") from None
            values.append(1.0)
        elif number := as_number(name, value, self.largest):
            names.append(name)
            values.append(number)

    def _add_missing(self, name: str, value: Any, names: list[str], values: list[float]) -> None:
        if self.missing == "refuse":
            raise Unfit(name, value, f"a value{INDICATED}", "missing")
        names.append(Absent(name))
        values.append(1.0)


def as_number(key: str, value: Any, largest: float = sys.float_info.max) -> float:
    """Return a finite float, or raise Unfit."""
    number = math.nan
    if isinstance(value, _NUMBERS):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not abs(number) <= largest:
        raise Unfit(key, value, f"a number of size at most {largest:.3g}")
    return number


def _no_label(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(value != value))


@dataclass(frozen=True)
class LabelRules:
    """Labels of any type to numbers: as they are, or by their names."""

    #: (negative, positive), or None where labels are numbers.
    pair: tuple[str, str] | None = None
    unlabelled: bool = False
    #: Whether any label is the name of a class.
    classes: bool = False

    @classmethod
    def of(cls, reading: Reading, pair: tuple[str, str] | None) -> LabelRules:
        """Return the rules of a reading; of two labels with names, `pair` has them."""
        return cls(pair, reading.unlabelled == "keep", are_classes(reading.labels))

    def read(self, key: str, value: Any) -> float | str:
        """Return a label as a number, or the name of its class; NaN for none where that may be."""
        if _no_label(value):
            if self.unlabelled:
                return math.nan
            raise Unfit(key, value, "a label", "on_error")
        if self.classes and isinstance(value, str | bool | np.bool_):
            return str.__str__(value) if isinstance(value, str) else str(bool(value)).lower()
        if self.classes:
            return class_name(as_number(key, value))
        if self.pair is None:
            if isinstance(value, str):
                raise Unfit(key, value, f"a number as label{NAMES_READ}", "labels")
            return as_number(key, value)
        name = str(value)
        if name not in self.pair:
            raise Unfit(key, value, label_expected(self.pair), "labels")
        return 1.0 if name == self.pair[1] else -1.0


def names_among(found: Iterable[Any], labels: Labels, where: str) -> tuple[str, str] | None:
    """Return the names of the two labels by the rule and the first labels, None for numbers."""
    if labels != "binary":
        return given_names(labels)
    present = [label for label in found if not _no_label(label)]
    if not any(isinstance(label, str) for label in present):
        return None
    return named_pair(map(str, present), where)


def target_key(record: Mapping[str, Any], reading: Reading, where: str) -> str:
    """Return the key of the label: the one chosen, else by the first example."""
    if reading.target is not None:
        return str(reading.target)
    taken = {reading.weight, reading.id, *reading.ignore, *reading.text}
    if found := usual_label(key for key in record if key not in taken):
        return found
    if reading.unlabelled == "keep":
        return LABEL_NAMES[0]
    raise ArgumentError(
        "target",
        f"the first example of {where} has no {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}; "
        "name the key that holds the label",
    )
