"""Columns of Arrow: what they are for by name and type, and the features that they hold."""

from __future__ import annotations

import importlib
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.arguments import ArgumentError
from noregret.jit import kernel
from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    ID,
    LABEL,
    NAMED_LABEL,
    NAMES_READ,
    NUMBER,
    SKIPPED,
    UNKNOWN,
    WEIGHT,
    WORDS,
    roles_of,
)
from noregret.streams.errors import StreamError
from noregret.streams.features import Features, Words
from noregret.streams.labels import are_classes
from noregret.streams.moments import HOURS, MONTHS, WEEKDAYS, part_names
from noregret.streams.names import NO_ROOM
from noregret.streams.reading import Reading
from noregret.streams.table_inputs import arrow, arrow_errors

types: Any = arrow.types
# Loaded here: it takes as long as pyarrow itself, and the compact form does not use it.
compute: Any = importlib.import_module("pyarrow.compute")

#: In place of a column: the words of a text go here. No dictionary is as large.
BAG = np.uint32(0xFFFFFFFE)
_1 = np.uint64(1)


def table_roles(schema: Any, reading: Reading, where: str) -> dict[str, int]:
    """Return what the columns of a table are for; those that are for nothing are left out."""
    index = _index(schema, reading, where)
    names = [name for name in schema.names if name not in index]
    roles = roles_of(names, reading, where).items()
    return {name: _role(schema.field(name), role, where) for name, role in roles if role != SKIPPED}


def _role(field: Any, role: int, where: str) -> int:
    """Return what a field is for, by what was chosen and its type."""
    if role == ID:
        return ID
    kind, numbers = _kind_of(field, where), _holds_numbers(field.type)
    if role == UNKNOWN:
        return kind
    if role == LABEL:
        return LABEL if numbers else NAMED_LABEL
    fits, expected, argument = {
        WORDS: (_holds_texts(field.type), "text", "text"),
        DATE: (kind == DATE, "dates", "dates"),
        WEIGHT: (numbers, "weights", "weight"),
        NUMBER: (numbers, "numbers", "numeric"),
    }.get(role, (True, "", ""))
    if not fits:
        raise ArgumentError(
            argument, f"the column is {field.type} in {where}, expected {expected}", field.name
        )
    return role


def label_role(
    field: Any, role: int, pair: tuple[str, str] | None, reading: Reading, where: str
) -> int:
    """Return what the target is once the names of two labels are known, None for numbers."""
    if are_classes(reading.labels):
        return CLASS if role == NAMED_LABEL else role
    if pair is None and role == NAMED_LABEL:
        raise StreamError(
            f"{where}: column {field.name!r} is {field.type}, expected numbers as labels"
            f"{NAMES_READ}",
            "labels",
        )
    return LABEL if pair is None else NAMED_LABEL


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
def assemble(columns, kept, constant, constant_slot, out, groups):  # type: ignore[no-untyped-def]
    """Write the rows kept of columns side by side as sparse rows; return how many features.

    `columns` has the slots and values of all, and the group of each, which is written to `groups`.
    """
    slots, values, group_of = columns
    indptr, indices, numbers = out
    n = np.uint64(0)
    row = np.uint64(0)
    indptr[0] = n
    for t in range(np.uint64(kept.shape[0])):
        if kept[t]:
            if constant != 0.0:
                indices[n] = constant_slot
                numbers[n] = constant
                groups[n] = np.uint8(0)
                n += _1
            for f in range(np.uint64(slots.shape[0])):
                if values[f, t] != 0.0:
                    indices[n] = slots[f, t]
                    numbers[n] = values[f, t]
                    groups[n] = group_of[f]
                    n += _1
            row += _1
            indptr[row] = n
    return n


def _kind_of(field: Any, where: str) -> int:
    """Return whether a field is NUMBER, CATEGORY or DATE by its type; refuse what is neither."""
    if _holds_numbers(field.type):
        return CATEGORY if types.is_dictionary(field.type) else NUMBER
    if _holds_texts(field.type):
        return CATEGORY
    if types.is_date(field.type) or types.is_timestamp(field.type):
        return DATE
    raise StreamError(
        f"{where}: column {field.name!r} is {field.type}, expected numbers, booleans, dates or "
        "texts; or ignore it",
        "ignore",
    )


def _is_any(kind: Any, *tests: str) -> bool:
    """Return whether a type, or that of the values of a dictionary, passes one of some tests."""
    kind = kind.value_type if types.is_dictionary(kind) else kind
    # Older versions of pyarrow do not know all of them.
    return any(getattr(types, test, lambda _: False)(kind) for test in tests)


def _holds_numbers(kind: Any) -> bool:
    return _is_any(kind, "is_integer", "is_floating", "is_boolean", "is_decimal", "is_null")


def _holds_texts(kind: Any) -> bool:
    return _is_any(kind, "is_string", "is_large_string", "is_string_view")


def _decoded(column: Any) -> Any:
    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def numbers_of(column: Any) -> NDArray[np.float64]:
    """Return a column of numbers as float64, NaN for nulls."""
    column = _decoded(column)
    if types.is_null(column.type):
        return np.full(len(column), np.nan)
    if types.is_decimal(column.type):
        # By way of what it would be written as: that is rounded to the nearest, the cast is not.
        column = compute.cast(column, arrow.string())
    wide = compute.cast(column, arrow.float64(), safe=False)
    # A copy where there are nulls, in which they are NaN.
    return np.array(wide.to_numpy(zero_copy_only=False), np.float64)


def texts_of(column: Any) -> tuple[NDArray[np.intp], list[str | None]]:
    """Return a code for each row, and for each code its text, None if the value is missing."""
    if not types.is_dictionary(column.type):
        column = _as_texts(column).dictionary_encode()
    places = column.indices.cast(arrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    # Of a dictionary only what occurs is looked at: many batches may share a large one.
    used, codes = np.unique(places, return_inverse=True)
    held = _as_texts(column.dictionary)
    return codes, held.take(arrow.array(used, arrow.int64(), mask=used < 0)).to_pylist()


def _as_texts(column: Any) -> Any:
    """Return texts, and numbers as they are written, NaN as null."""
    if types.is_string(column.type) or types.is_large_string(column.type):
        return column
    texts = compute.cast(column, arrow.string())
    if not types.is_floating(column.type):
        return texts
    return compute.if_else(compute.equal(texts, "nan"), arrow.scalar(None, arrow.string()), texts)


def ids_of(column: Any) -> list[str]:
    """Return what tells rows apart, as text; nothing for nulls."""
    return list(compute.cast(_decoded(column), arrow.string()).fill_null("").to_pylist())


def bag_feature(
    column: Any, name: str, words: Words, features: Features
) -> tuple[FeatureColumn, list[NDArray[np.uint32]]]:
    """Return a column of texts, each to be replaced by its words, and their columns by row."""
    codes, texts = texts_of(column)
    missing = np.array([text is None for text in texts], np.bool_)
    found = [words.names(name, text or "") for text in texts]
    columns = features.columns([*itertools.chain(*found)])
    bags = np.split(columns, np.cumsum([*map(len, found)])[:-1])
    slots = np.full(len(codes), BAG, np.uint32)
    feature = FeatureColumn(slots, np.ones(len(codes)), missing[codes])
    return feature, [bags[code] for code in codes.tolist()]


def number_feature(column: Any, name: str, features: Features) -> FeatureColumn:
    """Return a column of numbers; the feature has the same column in every row."""
    values = numbers_of(column)
    slots = np.full(len(values), features.columns([name])[0], np.uint32)
    return FeatureColumn(slots, values, np.isnan(values))


def text_feature(column: Any, name: str, features: Features) -> FeatureColumn:
    """Return a column of categories "name=text"; only texts that occur get a column."""
    codes, texts = texts_of(column)
    missing = np.array([text is None for text in texts], np.bool_)
    columns = np.zeros(len(texts), np.uint32)
    columns[~missing] = features.columns([f"{name}={text}" for text in texts if text is not None])
    return FeatureColumn(columns[codes], np.ones(len(codes)), missing[codes])


#: How often the units of moments are in a second.
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def date_names(field: Any) -> list[str]:
    """Return the names of the features of a field of dates; one of moments has hours."""
    return part_names(field.name, bool(types.is_timestamp(field.type)))


def date_features(column: Any, columns: NDArray[np.uint32]) -> list[FeatureColumn]:
    """Return a column of dates as days since 1970 and parts of the calendar, see `moments`."""
    missing = np.array(column.is_null(), np.bool_)
    timed = types.is_timestamp(column.type)
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
