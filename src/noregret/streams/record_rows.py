"""Rows of records, whose features have names: collected, joined, by columns, and as a stream.

The stream is one of examples from Python: pairs (features, label), as the data sets of River are.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.columns import missing_note
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import INTERCEPT, Features
from noregret.streams.format import Parsed
from noregret.streams.inputs import Input
from noregret.streams.labels import LOOK
from noregret.streams.names import FeatureNames, Spelled, laid_out
from noregret.streams.reading import Reading
from noregret.streams.records import Absent, FeatureRules, LabelRules, Unfit, names_among
from noregret.streams.sparse import gathered, settled
from noregret.streams.stream import Stream
from noregret.streams.texts import woven

_LABEL = "label"


class NamedRows(NamedTuple):
    """Rows whose features have names."""

    names: Spelled
    #: Where the features of each row end, after a 0, and their values.
    ends: NDArray[np.uint64]
    values: Any
    #: Labels, or their places among the names of classes, in which one may come twice.
    y: NDArray[np.float64]
    classes: list[str]
    weight: NDArray[np.float64]
    #: The numbers of the rows, as their source counts them from 0.
    places: NDArray[np.uint32]
    #: What tells the rows apart, where that was asked for.
    ids: list[str]

    def joined(self, other: NamedRows) -> NamedRows:
        """Return the rows of both in the order of their places."""
        places = np.concatenate([self.places, other.places])
        order = np.argsort(places, kind="stable")
        ends = np.concatenate([self.ends, self.ends[-1] + other.ends[1:]])
        stops, items = gathered(ends, order)
        ids = self.ids + other.ids
        return NamedRows(
            names=woven(self.names, other.names, items < self.ends[-1]),
            ends=stops,
            values=np.concatenate([self.values, other.values])[items],
            y=np.concatenate([self.y, other.y + len(self.classes)])[order],
            classes=self.classes + other.classes,
            weight=np.concatenate([self.weight, other.weight])[order],
            places=places[order],
            ids=[ids[k] for k in order.tolist()] if ids else [],
        )

    def parsed(
        self,
        features: Features,
        lines: int,
        faults: list[int],
        weighted: bool,
        absent: Iterable[str],
    ) -> Parsed:
        """Return the rows by columns; `absent` are the keys of values that are missing."""
        rows = Csr(self.ends, features.columns_of(*self.names), self.values)
        return Parsed(
            rows=settled(rows, features.constant_column, features.constant),
            y=self.y,
            weight=self.weight if weighted else None,
            width=features.width,
            lines=lines,
            line_of_row=None if len(self.places) == lines else self.places,
            faults=np.array(faults, np.uint64),
            classes=self.classes or None,
            ids=self.ids or None,
            notes=tuple(map(missing_note, absent)),
        )


class RowBuilder:
    """Collects rows of named features and makes arrays of them."""

    def __init__(self, features: Features, rules: FeatureRules, dtype: str):
        self.rules, self.dtype = rules, dtype
        self._reserved = bool(features.constant) and features.exact
        self.names: list[str] = []
        self.values: list[float] = []
        self.ends: list[int] = [0]
        #: Of each row its label (a number, or the name of a class, NaN for none), its weight, its
        #: number as its source counts from 0, and its id, None where that was not asked for.
        self.added: list[tuple[float | str, float, int, str | None]] = []

    def add(
        self,
        record: Mapping[Any, Any],
        label: float | str,
        weight: float,
        place: int,
        id: str | None = None,
    ) -> None:
        """Add a row, or raise Unfit and leave everything as it was."""
        try:
            self.rules.add(record, self.names, self.values)
            if self._reserved and INTERCEPT in record and INTERCEPT in self.names[self.ends[-1] :]:
                raise Unfit(
                    INTERCEPT, record[INTERCEPT], "another key: this is the constant feature"
                )
        except Unfit:
            del self.names[self.ends[-1] :], self.values[self.ends[-1] :]
            raise
        self.ends.append(len(self.names))
        self.added.append((label, weight, place, id))

    @property
    def absent(self) -> list[str]:
        """The keys of the values that are missing."""
        found = dict.fromkeys(name for name in self.names if isinstance(name, Absent))
        return [name.removesuffix("=missing") for name in found]

    def rows(self) -> NamedRows:
        """Return the rows."""
        labels = [row[0] for row in self.added]
        classes = [*dict.fromkeys(label for label in labels if isinstance(label, str))]
        number: dict[float | str, float] = {name: k for k, name in enumerate(classes)}
        return NamedRows(
            names=laid_out(self.names),
            ends=np.array(self.ends, np.uint64),
            values=np.array(self.values, self.dtype),
            y=np.array([number.get(label, label) for label in labels], np.float64),
            classes=classes,
            weight=np.array([row[1] for row in self.added], np.float64),
            places=np.array([row[2] for row in self.added], np.uint32),
            ids=[row[3] for row in self.added if row[3] is not None],
        )


class PairStream(Stream):
    """Blocks of an iterable of (features, label)."""

    def __init__(
        self,
        pairs: Iterable[tuple[Mapping[Any, Any], Any]],
        reading: Reading,
        features: Features,
    ):
        self._pairs = pairs
        self._features, self._rules = features, FeatureRules.of(reading)
        name = f"a {type(pairs).__name__}"
        self._once = iter(pairs) is pairs
        self._used = False
        labels = reading.labels
        pair = names_among(self._first_labels() if labels == "binary" else (), labels, name)
        self._labels = LabelRules.of(reading, pair)
        super().__init__([Input(name, None)], reading, labels=pair, names=features.names)

    def _first_labels(self) -> list[Any]:
        """Return the first labels; an iterator will yield its examples nevertheless."""
        examples = iter(self._pairs)
        first = list(itertools.islice(examples, LOOK))
        if self._once:
            self._pairs = itertools.chain(first, examples)
        return [one[1] for one in first if isinstance(one, tuple) and len(one) == 2]

    def _pieces(self) -> Generator[Parsed, None, None]:
        if self._used and self._once:
            raise StreamError(f"{self.name} can be read once only; make a list of it to go again")
        self._used = True
        examples, first = iter(self._pairs), 1
        while batch := list(itertools.islice(examples, self.reading.rows)):
            parsed = self._piece(batch)
            parsed.name, parsed.unit, parsed.first = self.name, "example", first
            yield parsed
            first += len(batch)

    def _piece(self, batch: list[Any]) -> Parsed:
        builder = RowBuilder(self._features, self._rules, self.reading.dtype)
        reasons: list[tuple[int, Malformed]] = []
        for place, example in enumerate(batch):
            try:
                if not (
                    isinstance(example, tuple)
                    and len(example) == 2
                    and isinstance(example[0], Mapping)
                ):
                    raise Unfit("", example, "a pair of a dictionary and a label")
                label = self._labels.read(_LABEL, example[1])
                builder.add(example[0], label, 1.0, place)
            except Unfit as error:
                reasons.append((place, error))
        faults = [place for place, _ in reasons]
        parsed = builder.rows().parsed(self._features, len(batch), faults, False, builder.absent)
        parsed.reasons = reasons
        return parsed


def open_pairs(
    pairs: Iterable[tuple[Mapping[Any, Any], Any]],
    reading: Reading,
    names: FeatureNames | None = None,
    grow: bool = True,
) -> PairStream:
    """Open (features, label) pairs as a stream of blocks, by the rules of `records`.

    >>> pairs = [({"a": 2, "b": "x"}, True), ({"a": 0}, False)]
    >>> stream = open_pairs(pairs, Reading(labels="binary"))
    >>> blocks = list(stream)
    >>> blocks[0].dense().tolist(), blocks[0].y.tolist(), list(stream.names)
    ([[2.0, 1.0], [0.0, 0.0]], [1.0, -1.0], ['a', 'b=x'])
    """
    return PairStream(pairs, reading, Features.of(reading, names, grow))
