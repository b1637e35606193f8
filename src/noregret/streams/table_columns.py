"""Columns of Arrow to columns of features: by type, with nulls as missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.jit import kernel
from noregret.streams.arrow import import_arrow
from noregret.streams.columns import CATEGORY, NUMBER
from noregret.streams.errors import StreamError
from noregret.streams.features import Features

_1 = np.uint64(1)


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
    """Return whether a field is NUMBER or CATEGORY by its type; refuse what is neither."""
    types = import_arrow(where).types
    kind = field.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if is_number(types, kind):
        return CATEGORY if types.is_dictionary(field.type) else NUMBER
    if is_text(types, kind):
        return CATEGORY
    if types.is_null(kind):
        return NUMBER
    raise StreamError(
        f"{where}: column {field.name!r} is {field.type}, expected numbers, truth values or "
        f"texts (drop={field.name!r} leaves it out)"
    )


def is_number(types: Any, kind: Any) -> bool:
    """Return whether a type of Arrow is one of numbers or truth values."""
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def is_text(types: Any, kind: Any) -> bool:
    """Return whether a type of Arrow is one of texts."""
    named = (types.is_string, types.is_large_string, getattr(types, "is_string_view", None))
    return any(test is not None and test(kind) for test in named)


def numbers_of(column: Any, where: str) -> NDArray[np.float64]:
    """Return a column of numbers as float64, NaN for nulls."""
    arrow = import_arrow(where)
    import pyarrow.compute

    if arrow.types.is_null(column.type):
        return np.full(len(column), np.nan)
    wide = pyarrow.compute.cast(column, arrow.float64(), safe=False)
    # A copy where there are nulls, in which they are NaN.
    return np.array(wide.to_numpy(zero_copy_only=False), np.float64)


def texts_of(column: Any, where: str) -> tuple[NDArray[np.int64], list[str]]:
    """Return the code of each row, -1 for null, and the texts that the codes stand for."""
    arrow = import_arrow(where)
    import pyarrow.compute

    if not arrow.types.is_dictionary(column.type):
        if not is_text(arrow.types, column.type):
            column = pyarrow.compute.cast(column, arrow.string())
        column = column.dictionary_encode()
    codes = column.indices.cast(arrow.int64())
    found = np.where(codes.is_null(), -1, codes.fill_null(-1).to_numpy(zero_copy_only=False))
    texts = [None if text is None else str(text) for text in column.dictionary.to_pylist()]
    # A dictionary may have null among its texts.
    empty = np.array([text is None for text in texts] + [True])
    return np.where(empty[found], -1, found), [text or "" for text in texts]


def number_feature(column: Any, slot: int, where: str) -> FeatureColumn:
    """Return a column of numbers; the feature has the same column in every row."""
    values = numbers_of(column, where)
    slots = np.full(len(values), slot, np.uint32)
    return FeatureColumn(slots, values, np.isnan(values))


def text_feature(column: Any, name: str, features: Features, where: str) -> FeatureColumn:
    """Return a column of categories "name=text"; only texts that occur get a column."""
    codes, texts = texts_of(column, where)
    used, places = np.unique(codes, return_inverse=True)
    known = used[used >= 0]
    columns = features.columns([f"{name}={texts[code]}" for code in known.tolist()])
    # The code -1, if it occurs, comes first.
    padded = np.concatenate([np.zeros(len(used) - len(known), np.uint32), columns])
    return FeatureColumn(padded[places].astype(np.uint32), np.ones(len(codes)), codes < 0)
