"""JSON lines: one object a line, its features by the rules of `records`.

Flat records, as most are, are read by a kernel, see `json_rows`; all others in plain Python.

{"label": 1, "age": 31, "home": {"city": "Bonn"}, "words": ["cheap", "pills"]}
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.streams.columns import LOOK
from noregret.streams.errors import Malformed
from noregret.streams.features import INTERCEPT, Features
from noregret.streams.format import Parsed, Slabs, Written
from noregret.streams.inputs import Inputs
from noregret.streams.json_rows import (
    CATEGORY,
    EXACT,
    FEATURE,
    ID,
    LEFT_OUT,
    SEEN,
    TARGET,
    WEIGHT,
    RecordRules,
    Spans,
    read_records,
)
from noregret.streams.labels import class_name
from noregret.streams.names import FeatureNames, split_names
from noregret.streams.reading import Reading
from noregret.streams.record_rows import NamedRows, RowBuilder
from noregret.streams.records import (
    FeatureRules,
    LabelRules,
    Unfit,
    names_among,
    target_key,
)
from noregret.streams.source import Source, most_lines
from noregret.streams.stream import TextStream
from noregret.streams.texts import MISSING, Pair, bare, spelled

_BLANKS = b" \t\r"
_LARGEST = sys.float_info.max


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


class JsonFormat:
    """JSON lines whose keys for label and weight are known."""

    def __init__(
        self, reading: Reading, features: Features, target: str, pair: tuple[str, str] | None
    ):
        self.reading, self.features, self.target = reading, features, target
        self.parallel = not features.grows
        self._features, self._labels = FeatureRules.of(reading), LabelRules.of(reading, pair)
        self._slabs = Slabs()
        roles = dict.fromkeys(reading.keep or (), FEATURE)
        categories = [key for key in reading.categorical if reading.keep is None or key in roles]
        roles |= dict.fromkeys(categories, CATEGORY)
        if features.constant and features.exact:
            roles[INTERCEPT] = EXACT
        roles |= dict.fromkeys(reading.text, EXACT) | dict.fromkeys(reading.ignore, LEFT_OUT)
        for key, role in ((reading.id, ID), (reading.weight, WEIGHT), (target, TARGET)):
            if key is not None:
                roles[key] = role
        self._rules = RecordRules(
            keys=FeatureNames(roles).dictionary,
            roles=np.array([*roles.values()], np.uint8),
            other=FEATURE if reading.keep is None else LEFT_OUT,
            pair=Pair.of(pair),
            named=pair is not None,
            classes=self._labels.classes,
            unlabelled=self._labels.unlabelled,
            indicate=reading.missing == "indicator",
            weighted=reading.weight is not None,
            largest=self._features.largest,
        )

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed:
        """Return the rows of buffer[:stop]: flat records by the kernel, odd lines one by one."""
        text = buffer[:stop].tobytes()
        most_rows, most = most_lines(buffer, stop), len(buffer) // 4
        out = Written.take(self._slabs, buffer, stop, most_rows, most, np.dtype(self.reading.dtype))
        spans = Spans.take(self._slabs, most_rows, most)
        seen = np.zeros((SEEN, 2), np.uint32)
        counts = read_records(buffer, np.uint64(stop), self._rules, out, spans, seen)
        rows, lines, odd = map(int, counts)
        starts = out.faults[:odd]
        sound = _is_text(text)
        line_ends = np.flatnonzero(buffer[:stop] == ord("\n")) if odd or not sound else starts
        if not sound:
            # The kernel does not look for UTF-8: every line is read once more.
            rows, starts = 0, np.append(0, line_ends[:-1] + 1).astype(np.uint64)
        builder = RowBuilder(self.features, self._features, self.reading.dtype)
        faults: list[int] = []
        lines_read = line_ends.searchsorted(starts)
        ends = line_ends[lines_read].tolist()
        for start, end, line in zip(starts.tolist(), ends, lines_read.tolist(), strict=True):
            try:
                self._add(text[start:end], builder, line)
            except Malformed:
                faults.append(start)
        found, absent = self._flat(buffer, out.part(0, rows), spans)
        if builder.added:
            found, absent = found.joined(builder.rows()), absent | dict.fromkeys(builder.absent)
        return found.parsed(self.features, lines, faults, self.reading.weight is not None, absent)

    def _flat(
        self, buffer: NDArray[np.uint8], out: Written, spans: Spans
    ) -> tuple[NamedRows, dict[str, None]]:
        """Return the rows that the kernel has read, and the keys of values that are missing."""
        rows, used = len(out.y), int(out.rows.indptr[-1])
        features, styles, of_row = spans.features[:used], spans.styles[:used], spans.rows[:rows]
        classes: list[str] = []
        if self._labels.classes:
            names = FeatureNames()
            texts = of_row[:, 0] > 0
            out.y[texts] = names.columns_of(*bare(buffer, of_row[texts]))
            numbers = np.flatnonzero(~texts & ~np.isnan(out.y))
            distinct, places = np.unique(out.y[numbers], return_inverse=True)
            out.y[numbers] = places + len(names)
            classes = [*names, *map(class_name, distinct)]
        ids = [] if self.reading.id is None else split_names(*bare(buffer, of_row[:, 2:]))
        absent = FeatureNames()
        if self._features.missing == "indicator":
            absent.columns_of(*bare(buffer, features[styles == MISSING]))
        found = NamedRows(
            names=spelled(buffer, buffer, features, styles),
            ends=out.rows.indptr,
            values=out.rows.values[:used],
            y=out.y,
            classes=classes,
            weight=out.weight,
            places=out.line_of_row,
            ids=ids,
        )
        return found, dict.fromkeys(absent)

    def _add(self, line: bytes, builder: RowBuilder, place: int) -> None:
        """Add the row of a line, unless it is blank; raise Malformed."""
        record = decode_line(line)
        if record is None:
            return
        try:
            label = self._labels.read(self.target, record.pop(self.target, None))
            weight: Any = 1.0
            if (key := self.reading.weight) is not None:
                weight = record.pop(key, None)
                if not isinstance(weight, int | float) or not 0.0 <= weight <= _LARGEST:
                    raise Unfit(key, weight, "a number from 0 as weight")
            told = None
            if self.reading.id is not None:
                told = record.pop(self.reading.id, "")
                told = told if isinstance(told, str) else json.dumps(told)
            builder.add(record, label, float(weight), place, told)
        except Unfit as error:
            raise _located(error, line) from None

    def explain(self, line: bytes) -> Malformed:
        """Return the reason why a line is refused."""
        try:
            self._add(line, RowBuilder(self.features, self._features, self.reading.dtype), 0)
        except Malformed as reason:
            return reason
        raise AssertionError(f"{line!r} was refused, but can be read")


def _is_text(text: bytes) -> bool:
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


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
        first = _objects(source.peek().head(LOOK))
    key = target_key(first[0] if first else {}, reading, where)
    found = [record.get(key) for record in first]
    if binary and len({name for name in found if isinstance(name, str)}) == 1:
        # Look for the other label in more lines.
        found = [record.get(key) for record in _objects(source.peek().head())]
    pair = names_among(found, reading.labels, where)
    text = JsonFormat(reading, features, key, pair)
    return TextStream(source, text, reading, labels=pair, names=features.names)


def _objects(lines: list[bytes]) -> list[dict[str, Any]]:
    """Return the objects of the first lines; bad ones are refused when they are parsed."""
    found: list[dict[str, Any] | None] = []
    for line in lines:
        with suppress(Malformed):
            found.append(decode_line(line))
    return [record for record in found if record is not None]
