"""Chunks of JSON lines: flat records by the kernel, odd lines by the exact path, in one order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.columns import missing_note
from noregret.streams.features import INTERCEPT, Features
from noregret.streams.format import Parsed, Written
from noregret.streams.json_rows import (
    CATEGORY,
    EXACT,
    FEATURE,
    ID,
    LEFT_OUT,
    NAMED_KEY,
    NAMED_MISSING,
    NAMED_TEXT,
    SEEN,
    TARGET,
    WEIGHT,
    RecordRules,
    Spans,
    read_records,
    spell_names,
)
from noregret.streams.labels import class_name
from noregret.streams.names import FeatureNames, Spelled, split_names
from noregret.streams.records import FeatureRules, LabelRules, RowBuilder, in_columns
from noregret.streams.slabs import Slabs
from noregret.streams.source import most_lines

#: With a larger share of odd lines, all lines take the exact path.
_ODD_SHARE = 0.125
_MISSING = np.frombuffer(bytearray(b"=missing"), np.uint8)


class FlatRecords:
    """Reads chunks of which most lines are flat records."""

    def __init__(
        self,
        features: Features,
        rules: FeatureRules,
        labels: LabelRules,
        roles: dict[str, str | None],
        dtype: str,
    ):
        """Prepare the kernel; `roles` has the keys of "target", "weight" and "id"."""
        self._features, self._dtype = features, np.dtype(dtype)
        self._classes, self._weighted = labels.classes, roles["weight"] is not None
        self._identified = roles["id"] is not None
        self._slabs = Slabs()
        found = dict.fromkeys(rules.keep or (), FEATURE)
        found |= dict.fromkeys(rules.categorical, CATEGORY)
        if rules.keep is not None:
            found = {key: role for key, role in found.items() if key in rules.keep}
        if features.constant and features.exact:
            found[INTERCEPT] = EXACT
        found |= dict.fromkeys(rules.text, EXACT) | dict.fromkeys(rules.ignore, LEFT_OUT)
        for role, key in ((ID, roles["id"]), (WEIGHT, roles["weight"]), (TARGET, roles["target"])):
            if key is not None:
                found[key] = role
        keyed = Features()
        keyed.columns(list(found))
        keys = keyed.names
        assert isinstance(keys, FeatureNames)
        pair = [name.encode("utf-8", "surrogatepass") for name in labels.pair or ("", "")]
        self._rules = RecordRules(
            keys=keys.dictionary,
            roles=np.array(list(found.values()), np.uint8),
            other=FEATURE if rules.keep is None else LEFT_OUT,
            pair=np.frombuffer(bytearray(b"".join(pair)), np.uint8),
            negative_length=np.uint64(len(pair[0])),
            named=labels.pair is not None,
            classes=labels.classes,
            unlabelled=labels.unlabelled,
            indicate=rules.missing == "indicator",
            weighted=self._weighted,
            largest=rules.largest,
        )

    def parse(
        self,
        buffer: NDArray[np.uint8],
        text: bytes,
        builder: RowBuilder,
        read: Callable[[bytes, int], bool],
    ) -> Parsed | None:
        """Return the rows of a chunk, None if too many of its lines are odd.

        `read` takes an odd line and its number to the builder, and returns whether it is sound.
        """
        if not text.isascii():
            try:
                text.decode()
            except UnicodeDecodeError:
                return None
        most_rows, most = most_lines(buffer, len(text)), len(buffer) // 4
        out = Written.take(self._slabs, most_rows, most, self._dtype)
        spans = Spans(
            self._slabs.take(np.uint32, 4 * most).reshape(most, 4),
            self._slabs.take(np.uint8, most),
            self._slabs.take(np.uint32, 4 * most_rows).reshape(most_rows, 4),
        )
        seen = np.zeros((SEEN, 2), np.uint32)
        counts = read_records(buffer, np.uint64(len(text)), self._rules, out, spans, seen)
        rows, lines, odd = map(int, counts)
        if odd > _ODD_SHARE * (rows + odd):
            return None
        used = int(out.indptr[rows])
        spans = Spans(spans.features[:used], spans.styles[:used], spans.rows[:rows])
        faults: list[int] = []
        line_ends = np.flatnonzero(buffer[: len(text)] == ord("\n")) if odd else np.empty(0, int)
        for start in out.faults[:odd].tolist():
            line = int(line_ends.searchsorted(start))
            if not read(text[start : line_ends[line]], line):
                faults.append(start)
        return self._merged(buffer, out, spans, builder, lines, faults)

    def _merged(
        self,
        buffer: NDArray[np.uint8],
        out: Written,
        spans: Spans,
        builder: RowBuilder,
        lines: int,
        faults: list[int],
    ) -> Parsed:
        """Return the rows of the kernel and of the builder in the order of their lines."""
        rows, used = len(spans.rows), len(spans.styles)
        names = _spelled(buffer, spans.features, spans.styles)
        lengths = np.diff(out.indptr[: rows + 1])
        values: Any = out.values[:used]
        weight, places = out.weight[:rows], out.line_of_row[:rows]
        before = places.searchsorted(np.array(builder.places, np.int64))
        y, classes = self._labels(buffer, spans.rows, out.y[:rows], builder, before)
        ids = None
        if self._identified:
            styles = np.full(rows, NAMED_KEY, np.uint8)
            ids = split_names(*_spelled(buffer, spans.rows[:, [2, 3, 2, 2]], styles))
        if builder.places:
            own = np.diff(builder.ends)
            inside = np.repeat(out.indptr[before].astype(np.int64), own)
            names = _inserted(names, out.indptr[before], builder)
            values = np.insert(values, inside, np.array(builder.values, self._dtype))
            lengths = np.insert(lengths, before, own.astype(np.uint64))
            weight = np.insert(weight, before, builder.weight)
            places = np.insert(places, before, builder.places)
            if ids is not None:
                ids = np.insert(np.array(ids, object), before, builder.ids).tolist()
        columns = self._features.columns_of(*names)
        indptr = np.zeros(len(lengths) + 1, np.uint64)
        np.cumsum(lengths, out=indptr[1:])
        indptr, columns, values = in_columns(Csr(indptr, columns, values), self._features)
        absent = dict.fromkeys([*_missing(buffer, spans), *builder.absent])
        return Parsed(
            indptr=indptr,
            indices=columns,
            values=values,
            y=y,
            weight=weight.copy() if self._weighted else None,
            width=self._features.width,
            lines=lines,
            line_of_row=None if len(places) == lines else places.copy(),
            faults=np.array(faults, np.uint64),
            classes=classes,
            ids=ids or None,
            notes=tuple(map(missing_note, absent)),
        )

    def _labels(
        self,
        buffer: NDArray[np.uint8],
        spans: NDArray[np.uint32],
        y: NDArray[np.float64],
        builder: RowBuilder,
        before: NDArray[np.intp],
    ) -> tuple[NDArray[np.float64], list[str] | None]:
        """Return the labels of all rows; of classes their places among the names, which follow."""
        y = y.copy()
        called: dict[str, int] = {}
        if self._classes:
            names = FeatureNames()
            texts = spans[:, 0] > 0
            numbers = np.flatnonzero(~texts & ~np.isnan(y))
            held = spans[texts][:, [0, 1, 0, 0]]
            styles = np.full(len(held), NAMED_KEY, np.uint8)
            y[texts] = names.columns_of(*_spelled(buffer, held, styles))
            called = {name: place for place, name in enumerate(names)}
            distinct, of_row = np.unique(y[numbers], return_inverse=True)
            places = [called.setdefault(class_name(one), len(called)) for one in distinct]
            y[numbers] = np.array(places, np.float64)[of_row]
        own = [
            called.setdefault(one, len(called)) if isinstance(one, str) else one
            for one in builder.y
        ]
        if own:
            y = np.insert(y, before, np.array(own, np.float64))
        return y, list(called) or None


def _spelled(
    buffer: NDArray[np.uint8], spans: NDArray[np.uint32], styles: NDArray[np.uint8]
) -> Spelled:
    lengths = (spans[:, 1] - spans[:, 0]).astype(np.int64)
    texts = styles == NAMED_TEXT
    lengths[texts] += (spans[texts, 3] - spans[texts, 2]).astype(np.int64) + 1
    lengths[styles == NAMED_MISSING] += len(_MISSING)
    arena = np.empty(int(lengths.sum()), np.uint8)
    ends = np.empty(len(styles) + 1, np.uint64)
    spell_names(buffer, spans, styles, _MISSING, arena, ends)
    return arena, ends


def _inserted(names: Spelled, before: NDArray[np.uint64], builder: RowBuilder) -> Spelled:
    """Return names with those of each row of the builder before the name of that number."""
    arena, ends = names
    held = arena.tobytes()
    pieces: list[bytes] = []
    done = 0
    lengths: list[int] = []
    for place, begin, end in zip(before.tolist(), builder.ends, builder.ends[1:], strict=False):
        keys = [name.encode("utf-8", "surrogatepass") for name in builder.names[begin:end]]
        pieces += [held[done : int(ends[place])], *keys]
        lengths += map(len, keys)
        done = int(ends[place])
    pieces.append(held[done:])
    stops = np.zeros(len(ends) + len(lengths), np.uint64)
    inside = np.repeat(before.astype(np.int64), np.diff(builder.ends))
    np.cumsum(np.insert(np.diff(ends), inside, np.array(lengths, np.uint64)), out=stops[1:])
    return np.frombuffer(bytearray(b"".join(pieces)), np.uint8), stops


def _missing(buffer: NDArray[np.uint8], spans: Spans) -> list[str]:
    """Return the keys of the values that are missing."""
    found = spans.features[spans.styles == NAMED_MISSING]
    if not len(found):
        return []
    names = FeatureNames()
    names.columns_of(*_spelled(buffer, found, np.full(len(found), NAMED_KEY, np.uint8)))
    return list(names)
