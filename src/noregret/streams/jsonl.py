"""JSON lines: one object a line, its features by the rules of `records`.

{"label": 1, "age": 31, "home": {"city": "Bonn"}, "words": ["cheap", "pills"]}
"""

from __future__ import annotations

import json
import sys
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noregret.streams.columns import LOOK, Choice
from noregret.streams.errors import Malformed
from noregret.streams.features import Features, largest_of
from noregret.streams.format import Parsed, explained
from noregret.streams.inputs import Inputs
from noregret.streams.labels import Labels, are_classes, check
from noregret.streams.options import made, takes
from noregret.streams.records import (
    FeatureRules,
    LabelRules,
    RowBuilder,
    Unfit,
    label_key,
    names_among,
)
from noregret.streams.source import Source
from noregret.streams.stream import TextStream

_BLANKS = b" \t\r"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        left = dict.fromkeys(held, 1)
        twice = next(key for key, _ in pairs if not left.pop(key, 0))
        raise Unfit(twice, held[twice], "a key that comes once")
    return held


#: Many programs write NaN and Infinity, which JSON does not know, for what `records` refuses.
_decode = json.JSONDecoder(object_pairs_hook=_object).decode


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line, None if it is blank; raise Malformed."""
    if not line.strip(_BLANKS):
        return None
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise Malformed(error.start, line[error.start :][:8], "UTF-8") from None
    try:
        held = _decode(text)
    except json.JSONDecodeError as error:
        found = text[error.pos :].encode("utf-8", "replace")
        raise Malformed(error.pos, found, f"JSON ({error.msg})") from None
    except Unfit as error:
        raise _located(error, line) from None
    except (RecursionError, ValueError):
        # Thousands of brackets, or of digits.
        raise Malformed(0, line, "JSON of modest depth, and numbers of modest length") from None
    if not isinstance(held, dict):
        raise Malformed(0, line, "an object, { ... }")
    return held


def _located(error: Unfit, line: bytes) -> Malformed:
    """Return the fault under a key with the column of that key in the line."""
    key = error.key.rpartition(".")[2]
    column = line.find(json.dumps(key, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    found = json.dumps(error.found, default=repr).encode("utf-8", "surrogatepass")
    return Malformed(max(column, 0), found, f"{error.expected}, under {error.place}")


def _weight(key: str, value: Any) -> float:
    if isinstance(value, int | float) and 0.0 <= value <= sys.float_info.max:
        return float(value)
    raise Unfit(key, value, "a number from 0 as weight")


class JsonFormat:
    """JSON lines whose keys for label and weight are known."""

    def __init__(
        self,
        features: Features,
        rules: FeatureRules,
        label: str,
        labels: LabelRules,
        weight: str | None,
        dtype: str,
    ):
        self.features, self.rules, self.dtype = features, rules, dtype
        self.label, self.weight = label, weight
        self._labels = labels
        self.parallel = not features.grows

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed:
        """Return the rows of buffer[:stop]."""
        builder = RowBuilder(self.features, self.rules, self.dtype)
        lines = buffer[:stop].tobytes().split(b"\n")[:-1]
        faults: list[int] = []
        start = 0
        for place, line in enumerate(lines):
            try:
                self._read(line, builder, place)
            except Malformed:
                faults.append(start)
            start += len(line) + 1
        return builder.parsed(len(lines), faults, self.weight is not None)

    def _read(self, line: bytes, builder: RowBuilder, place: int) -> None:
        record = decode_line(line)
        if record is None:
            return
        try:
            label = self._labels.read(self.label, record.pop(self.label, None))
            weight = 1.0
            if self.weight is not None:
                weight = _weight(self.weight, record.pop(self.weight, None))
            builder.add(record, label, weight, place)
        except Unfit as error:
            raise _located(error, line) from None

    def explain(self, line: bytes) -> Malformed:
        """Return the reason why a line is refused."""
        builder = RowBuilder(self.features, self.rules, self.dtype)
        return explained(lambda line: self._read(line, builder, 0), line)


#: JSON itself tells numbers from texts.
_UNUSED = ("numeric",)


@takes(Choice, Features, without=_UNUSED)
def open_jsonl(
    inputs: Inputs,
    *,
    labels: Labels = "real",
    dtype: Literal["float32", "float64"] = "float64",
    **options: Any,
) -> TextStream:
    r"""Open JSON lines as a stream of blocks; what is not explained here is as in `open_csv`.

    Args:
        inputs: a path, several, a pattern, or "-" for standard input.
        label: the key of the labels; without it label, target, class or y, whichever of these
            the first object has.
        weight: the key of the weights of examples.
        drop: keys to leave out; those inside others with points, as "home.city".
        keep: the only outermost keys to be used as features.
        categorical: keys whose numbers are names, as "zip=10115".
        missing: what null is: "refuse", or "indicator" for a feature "key=missing".
        unlabelled: "keep" gives objects without a label the label NaN.
        labels: as in `open_csv`.
        constant: as in `open_csv`, like all that follow.
        bits: hash the names of features.
        remember: how many names of hashed features to keep.
        names: the dictionary to begin with.
        grow: whether the dictionary may grow.
        dtype: the type of the values.
        options: what every stream takes: rows, threads, on_error.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.jsonl"
    ...     _ = path.write_text('{"y": 1, "a": 0.5, "w": ["b", "c"]}\n{"y": 0, "a": 2}\n')
    ...     stream = open_jsonl(path, labels="binary")
    ...     blocks = list(stream)
    >>> blocks[0].dense().tolist(), blocks[0].y.tolist(), list(stream.names)
    ([[0.5, 1.0, 1.0], [2.0, 0.0, 0.0]], [1.0, -1.0], ['a', 'w=b', 'w=c'])
    """
    check(labels)
    choice, options = made(Choice, options, _UNUSED)
    rules = FeatureRules.by_choice(choice, largest_of(dtype))
    features, options = made(Features, options)
    source = Source(inputs)
    where = source.inputs[0].name
    first: list[dict[str, Any]] = []
    if choice.label is None or labels == "binary":
        first = _objects(source.head(LOOK))
    key = label_key(first[0] if first else {}, choice, where)
    found = [record.get(key) for record in first]
    if labels == "binary" and len({name for name in found if isinstance(name, str)}) == 1:
        # Look for the other label in more lines.
        found = [record.get(key) for record in _objects(source.head())]
    pair = names_among(found, labels, where)
    label_rules = LabelRules(pair, choice.unlabelled == "keep", are_classes(labels))
    return TextStream(
        source,
        JsonFormat(features, rules, key, label_rules, choice.weight, dtype),
        labels=labels if pair is None else pair,
        names=features.names,
        **options,
    )


def _objects(lines: list[bytes]) -> list[dict[str, Any]]:
    """Return the objects of the first lines; bad ones are refused when they are parsed."""
    found = []
    for line in lines:
        try:
            record = decode_line(line)
        except Malformed:
            continue
        if record is not None:
            found.append(record)
    return found
