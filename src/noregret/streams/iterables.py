"""Examples from Python: an iterable of (features, label), as the data sets of River are."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, Literal

from noregret.streams.columns import Choice
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import Features, largest_of
from noregret.streams.labels import LOOK, Labels, are_classes, check
from noregret.streams.options import made, takes
from noregret.streams.records import FeatureRules, LabelRules, RowBuilder, Unfit, names_among
from noregret.streams.stream import Piece, Stream

_LABEL = "label"


class PairStream(Stream):
    """Blocks of an iterable of (features, label)."""

    def __init__(
        self,
        pairs: Iterable[tuple[Mapping[Any, Any], Any]],
        features: Features,
        rules: FeatureRules,
        *,
        labels: Labels,
        unlabelled: bool,
        dtype: str,
        **options: Any,
    ):
        self._pairs = pairs
        self._features, self._rules, self._dtype = features, rules, dtype
        name = f"a {type(pairs).__name__}"
        self._begun: Iterator[Any] | None = None
        self._once = iter(pairs) is pairs
        self._used = False
        pair = names_among(self._first_labels() if labels == "binary" else (), labels, name)
        self._labels = LabelRules(pair, unlabelled, are_classes(labels))
        super().__init__(
            name, labels=labels if pair is None else pair, names=features.names, **options
        )

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

    def _pieces(self) -> Generator[Piece, None, None]:
        examples = self._open()
        first = 1
        while batch := list(itertools.islice(examples, self.rows)):
            yield self._piece(batch, first)
            first += len(batch)

    def _piece(self, batch: list[Any], first: int) -> Piece:
        builder = RowBuilder(self._features, self._rules, self._dtype)
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
        parsed = builder.parsed(len(batch), [place for place, _ in reasons], weighted=False)
        return Piece(parsed, self.name, "example", first, 0, reasons)


#: Labels come beside the features, and Python itself tells numbers from texts.
_UNUSED = ("label", "weight", "numeric")


@takes(Choice, Features, without=_UNUSED)
def open_pairs(
    pairs: Iterable[tuple[Mapping[Any, Any], Any]],
    *,
    labels: Labels = "real",
    dtype: Literal["float32", "float64"] = "float64",
    **options: Any,
) -> PairStream:
    """Open (features, label) pairs as a stream of blocks; the arguments are those of `open_jsonl`.

    >>> stream = open_pairs([({"a": 2, "b": "x"}, True), ({"a": 0}, False)], labels="binary")
    >>> blocks = list(stream)
    >>> blocks[0].dense().tolist(), blocks[0].y.tolist(), list(stream.names)
    ([[2.0, 1.0], [0.0, 0.0]], [1.0, -1.0], ['a', 'b=x'])
    """
    check(labels)
    choice, options = made(Choice, options, _UNUSED)
    features, options = made(Features, options)
    return PairStream(
        pairs,
        features,
        FeatureRules.by_choice(choice, largest_of(dtype)),
        labels=labels,
        unlabelled=choice.unlabelled == "keep",
        dtype=dtype,
        **options,
    )
