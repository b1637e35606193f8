"""Examples from Python: an iterable of (features, label), as the data sets of River are."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any

from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import Features
from noregret.streams.format import Parsed
from noregret.streams.labels import LOOK
from noregret.streams.names import FeatureNames
from noregret.streams.reading import Reading
from noregret.streams.record_rows import RowBuilder
from noregret.streams.records import FeatureRules, LabelRules, Unfit, names_among
from noregret.streams.stream import Stream

_LABEL = "label"


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
        self._begun: Iterator[Any] | None = None
        self._once = iter(pairs) is pairs
        self._used = False
        labels = reading.labels
        pair = names_among(self._first_labels() if labels == "binary" else (), labels, name)
        self._labels = LabelRules.of(reading, pair)
        super().__init__(name, reading, labels=pair, names=features.names)

    def _first_labels(self) -> list[Any]:
        """Return the first labels; an iterator will yield its examples nevertheless."""
        examples = iter(self._pairs)
        first = list(itertools.islice(examples, LOOK))
        if self._once:
            self._begun = itertools.chain(first, examples)
        return [one[1] for one in first if isinstance(one, tuple) and len(one) == 2]

    def _open(self) -> Iterator[Any]:
        if self._used and self._once:
            raise StreamError(f"{self.name} can be read once only; make a list of it to go again")
        self._used = True
        begun, self._begun = self._begun, None
        return iter(self._pairs) if begun is None else begun

    def _pieces(self) -> Generator[Parsed, None, None]:
        examples = self._open()
        first = 1
        while batch := list(itertools.islice(examples, self.rows)):
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
