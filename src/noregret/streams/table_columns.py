"""Columns of Arrow: what they are for by name and type, and the features that they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.jit import kernel
from noregret.streams.arrow import arrow_errors, import_arrow
from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    ID,
    LABEL,
    NAMED_LABEL,
    NUMBER,
    SKIPPED,
    TEXT,
    UNKNOWN,
    WEIGHT,
    roles_of,
)
from noregret.streams.errors import StreamError
from noregret.streams.features import Features
from noregret.streams.moments import HOURS, MONTHS, WEEKDAYS, part_names
from noregret.streams.names import NO_ROOM
from noregret.streams.reading import Reading
from noregret.streams.words import BAG, Words

_1 = np.uint64(1)


class TableColumns:
    """What the columns of a table are for, by their names and types."""

    def __init__(self, schema: Any, reading: Reading, where: str):
        self._schema, self._where = schema, where
        names = [name for name in schema.names if name not in _index(schema, reading, where)]
        roles, self.target = roles_of(names, reading, where)
        #: What each column is for; those that are for nothing are left out.
        self.roles = {
            name: self._role(schema.field(name), role)
            for name, role in zip(names, roles, strict=True)
            if role != SKIPPED
        }

    def _role(self, field: Any, role: int) -> int:
        """Return what a field is for, by what was chosen and its type."""
        if role == ID:
            return ID
        kind = kind_of(field, self._where)
        if role in (TEXT, DATE):
            if not (holds_texts(field, self._where) if role == TEXT else kind == DATE):
                expected = "text" if role == TEXT else "dates"
                raise StreamError(
                    f"{self._where}: column {field.name!r} is {field.type}, expected {expected}",
                    expected,
                )
            return role
        if role in (UNKNOWN, CATEGORY):
            return CATEGORY if CATEGORY in (role, kind) else kind
        if role == LABEL:
            return LABEL if holds_numbers(field, self._where) else NAMED_LABEL
        if not holds_numbers(field, self._where):
            expected = "weights" if role == WEIGHT else "numbers"
            raise StreamError(
                f"{self._where}: column {field.name!r} is {field.type}, expected {expected}"
            )
        return role

    def name_labels(self, pair: tuple[str, str] | None, classes: bool) -> None:
        """Set the role of the label: the names of two labels, None for numbers, or classes."""
        if self.target is None:
            return
        if classes:
            if self.roles[self.target] == NAMED_LABEL:
                self.roles[self.target] = CLASS
            return
        if pair is None and self.roles[self.target] == NAMED_LABEL:
            raise StreamError(
                f"{self._where}: column {self.target!r} is {self._schema.field(self.target).type}, "
                "expected numbers as labels (read names as two classes, or as several)",
                "labels",
            )
        self.roles[self.target] = LABEL if pair is None else NAMED_LABEL


def _index(schema: Any, reading: Reading, where: str) -> set[str]:
    """Return the columns that are the index of a data frame of pandas, unless they are asked for.

    Numbers of rows are no feature, and an index, written last, would be taken for the label.
    """
    with arrow_errors(where):
        kept = (schema.pandas_metadata or {}).get("index_columns", ())
    asked = {reading.target, reading.weight, reading.id, *(reading.keep or ()), *reading.ignore}
    asked |= {*reading.categorical, *reading.numeric, *reading.dates, *reading.text}
    return {one for one in kept if isinstance(one, str)} - asked


@dataclass(frozen=True, eq=False)
class FeatureColumn:
    """One column of a batch: for each row the column of its feature and the value, 0 for none."""

    slots: NDArray[np.uint32]
    values: NDArray[np.float64]
    #: Rows that hold no value.
    missing: NDArray[np.bool_]


@kernel
def assemble(slots, values, kept, constant, constant_slot, indptr, indices, out):  # type: ignore[no-untyped-def]
    """Write the rows kept of columns side by side as sparse rows; return how many features."""
    n = np.uint64(0)
    row = np.uint64(0)
    indptr[0] = n
    for t in range(np.uint64(kept.shape[0])):
        if kept[t]:
            if constant != 0.0:
                indices[n] = constant_slot
                out[n] = constant
                n += _1
            for f in range(np.uint64(slots.shape[0])):
                if values[f, t] != 0.0:
                    indices[n] = slots[f, t]
                    out[n] = values[f, t]
                    n += _1
            row += _1
            indptr[row] = n
    return n


def kind_of(field: Any, where: str) -> int:
    """Return whether a field is NUMBER, CATEGORY or DATE by its type; refuse what is neither."""
    if holds_numbers(field, where):
        types = import_arrow(where).types
        return CATEGORY if types.is_dictionary(field.type) else NUMBER
    if holds_texts(field, where):
        return CATEGORY
    types = import_arrow(where).types
    if types.is_date(field.type) or types.is_timestamp(field.type):
        return DATE
    raise StreamError(
        f"{where}: column {field.name!r} is {field.type}, expected numbers, booleans, dates or "
        "texts; or ignore it",
        "ignore",
    )


def holds_numbers(field: Any, where: str) -> bool:
    """Return whether a field is one of numbers, booleans or nulls, or a dictionary of them."""
    types = import_arrow(where).types
    kind = _value_type(field.type, types)
    tests = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null
    return any(test(kind) for test in tests)


def holds_texts(field: Any, where: str) -> bool:
    """Return whether a field is one of texts, or a dictionary of them."""
    types = import_arrow(where).types
    return _is_text(_value_type(field.type, types), types)


def _value_type(kind: Any, types: Any) -> Any:
    return kind.value_type if types.is_dictionary(kind) else kind


def _is_text(kind: Any, types: Any) -> bool:
    tests = (types.is_string, types.is_large_string, getattr(types, "is_string_view", None))
    return any(test is not None and test(kind) for test in tests)


def numbers_of(column: Any, where: str) -> NDArray[np.float64]:
    """Return a column of numbers as float64, NaN for nulls."""
    arrow = import_arrow(where)
    import pyarrow.compute

    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if arrow.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if arrow.types.is_decimal(column.type):
        # By way of what it would be written as: that is rounded to the nearest, the cast is not.
        column = pyarrow.compute.cast(column, arrow.string())
    wide = pyarrow.compute.cast(column, arrow.float64(), safe=False)
    # A copy where there are nulls, in which they are NaN.
    return np.array(wide.to_numpy(zero_copy_only=False), np.float64)


def texts_of(column: Any, where: str) -> tuple[NDArray[np.intp], list[str | None]]:
    """Return a code for each row, and for each code its text, None if the value is missing."""
    arrow = import_arrow(where)
    import pyarrow.compute

    if not arrow.types.is_dictionary(column.type):
        column = _as_texts(column, arrow, pyarrow.compute).dictionary_encode()
    places = column.indices.cast(arrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    # Of a dictionary only what occurs is looked at: many batches may share a large one.
    used, codes = np.unique(places, return_inverse=True)
    held = _as_texts(column.dictionary, arrow, pyarrow.compute)
    return codes, held.take(arrow.array(used, arrow.int64(), mask=used < 0)).to_pylist()


def _as_texts(column: Any, arrow: Any, compute: Any) -> Any:
    """Return texts, and numbers as they are written, NaN as null."""
    if arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type):
        return column
    texts = compute.cast(column, arrow.string())
    if not arrow.types.is_floating(column.type):
        return texts
    return compute.if_else(compute.equal(texts, "nan"), arrow.scalar(None, arrow.string()), texts)


def ids_of(column: Any, where: str) -> list[str]:
    """Return what tells rows apart, as text; nothing for nulls."""
    arrow = import_arrow(where)
    import pyarrow.compute

    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    texts = pyarrow.compute.cast(column, arrow.string()).fill_null("")
    return list(texts.to_pylist())


def bag_feature(
    column: Any, name: str, words: Words, features: Features, where: str
) -> tuple[FeatureColumn, list[NDArray[np.uint32]]]:
    """Return a column of texts, each to be replaced by its words, and their columns by row."""
    codes, texts = texts_of(column, where)
    known = np.array([text is not None for text in texts], np.bool_)
    bags = [features.columns(words.names(name, text or "")) for text in texts]
    slots = np.full(len(codes), BAG, np.uint32)
    feature = FeatureColumn(slots, np.ones(len(codes)), ~known[codes])
    return feature, [bags[code] for code in codes.tolist()]


def number_feature(column: Any, slot: int, where: str) -> FeatureColumn:
    """Return a column of numbers; the feature has the same column in every row."""
    values = numbers_of(column, where)
    slots = np.full(len(values), slot, np.uint32)
    return FeatureColumn(slots, values, np.isnan(values))


def text_feature(column: Any, name: str, features: Features, where: str) -> FeatureColumn:
    """Return a column of categories "name=text"; only texts that occur get a column."""
    codes, texts = texts_of(column, where)
    known = np.array([text is not None for text in texts], np.bool_)
    columns = np.zeros(len(texts), np.uint32)
    columns[known] = features.columns([f"{name}={text}" for text in texts if text is not None])
    return FeatureColumn(columns[codes], np.ones(len(codes)), ~known[codes])


#: How often the units of moments are in a second.
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def date_names(field: Any, where: str) -> list[str]:
    """Return the names of the features of a field of dates; one of moments has hours."""
    return part_names(field.name, bool(import_arrow(where).types.is_timestamp(field.type)))


def date_features(column: Any, columns: NDArray[np.uint32], where: str) -> list[FeatureColumn]:
    """Return a column of dates as days since 1970 and parts of the calendar, see `moments`."""
    arrow = import_arrow(where)
    import pyarrow.compute as compute

    missing = np.array(column.is_null(), np.bool_)
    timed = arrow.types.is_timestamp(column.type)
    local = column
    if timed:
        per_second = _UNITS[column.type.unit]
        ticks = np.array(column.cast(arrow.int64()).fill_null(0), np.int64)
        days, rest = np.divmod(ticks, 86400 * per_second)
        seconds = rest // per_second + (rest % per_second) / per_second
        values = days + seconds / 86400.0
        if column.type.tz is not None:
            local = compute.local_timestamp(column)
    else:
        values = np.array(column.cast(arrow.date32()).cast(arrow.int32()).fill_null(0), np.float64)
    rows = len(missing)
    found = [FeatureColumn(np.full(rows, columns[0], np.uint32), values, missing)]
    parts = [(compute.month(local), MONTHS - 1), (compute.day_of_week(local), WEEKDAYS)]
    if timed:
        parts.append((compute.hour(local), HOURS))
    for part, first in parts:
        places = np.array(part.fill_null(1), np.int64) + first
        found.append(FeatureColumn(columns[places], np.ones(rows), np.zeros(rows, np.bool_)))
    for feature in found:
        feature.values[missing | (feature.slots == NO_ROOM)] = 0.0
    return found
