"""JSON lines: one object a line, its features by the rules of `records`.

Flat records, as most are, are read by a kernel, see `json_rows`; all others in plain Python.

{"label": 1, "age": 31, "home": {"city": "Bonn"}, "words": ["cheap", "pills"]}
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.streams.columns import LOOK
from noregret.streams.errors import Malformed
from noregret.streams.features import Features
from noregret.streams.format import Parsed, check_text, explained
from noregret.streams.inputs import Inputs
from noregret.streams.json_flat import FlatRecords
from noregret.streams.labelling import are_classes
from noregret.streams.names import FeatureNames
from noregret.streams.reading import Reading
from noregret.streams.records import (
    FeatureRules,
    LabelRules,
    RowBuilder,
    Unfit,
    names_among,
    target_key,
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
    expected = f"{error.expected}, under {error.place}"
    return Malformed(max(column, 0), found, expected, error.argument)


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
        target: str,
        labels: LabelRules,
        weight: str | None,
        dtype: str,
        id: str | None = None,
    ):
        self.features, self.rules, self.dtype = features, rules, dtype
        self.target, self.weight, self.id = target, weight, id
        self._labels = labels
        self.parallel = not features.grows
        keys = {"target": target, "weight": weight, "id": id}
        self._flat = FlatRecords(features, rules, labels, keys, dtype)

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed:
        """Return the rows of buffer[:stop]."""
        check_text(buffer, stop)
        text = buffer[:stop].tobytes()
        builder = RowBuilder(self.features, self.rules, self.dtype)

        def read(line: bytes, place: int) -> bool:
            try:
                self._read(line, builder, place)
            except Malformed:
                return False
            return True

        found = self._flat.parse(buffer, text, builder, read)
        return self._exact(text) if found is None else found

    def _exact(self, text: bytes) -> Parsed:
        """Return the rows of a text, every line in plain Python."""
        builder = RowBuilder(self.features, self.rules, self.dtype)
        lines = text.split(b"\n")[:-1]
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
            label = self._labels.read(self.target, record.pop(self.target, None))
            weight = 1.0
            if self.weight is not None:
                weight = _weight(self.weight, record.pop(self.weight, None))
            told = None
            if self.id is not None:
                told = record.pop(self.id, "")
                told = told if isinstance(told, str) else json.dumps(told)
            builder.add(record, label, weight, place, told)
        except Unfit as error:
            raise _located(error, line) from None

    def explain(self, line: bytes) -> Malformed:
        """Return the reason why a line is refused."""
        builder = RowBuilder(self.features, self.rules, self.dtype)
        return explained(lambda line: self._read(line, builder, 0), line)


def open_jsonl(
    inputs: Inputs, reading: Reading, names: FeatureNames | None = None, grow: bool = True
) -> TextStream:
    """Open JSON lines as a stream of blocks.

    Without `target` its key is label, target, class or y, whichever the first object has. Keys
    inside others are ignored with points, as "home.city"; `keep` is about the outermost ones.
    """
    features = Features.of(reading, names, grow)
    source = Source(inputs, encoding=reading.encoding)
    where = source.inputs[0].name
    binary = reading.labels == "binary"
    first: list[dict[str, Any]] = []
    if reading.target is None or binary:
        first = _objects(source.head(LOOK))
    key = target_key(first[0] if first else {}, reading, where)
    found = [record.get(key) for record in first]
    if binary and len({name for name in found if isinstance(name, str)}) == 1:
        # Look for the other label in more lines.
        found = [record.get(key) for record in _objects(source.head())]
    pair = names_among(found, reading.labels, where)
    rules = LabelRules(pair, reading.unlabelled == "keep", are_classes(reading.labels))
    text = JsonFormat(
        features, FeatureRules.of(reading), key, rules, reading.weight, reading.dtype, reading.id
    )
    return TextStream(source, text, reading, labels=pair, names=features.names)


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
