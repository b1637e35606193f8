"""Tables of Arrow as streams: Parquet, Feather and Arrow files, data frames of any library.

Columns are what `columns` says, with types in place of first lines: integers, floating-point
numbers, decimals and booleans are numbers, texts and dictionaries are categories, dates and
timestamps are dates, nulls and NaN are missing. Other types (lists, structures) are refused
unless they are ignored.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noregret.streams.arrow import arrow_errors, import_arrow
from noregret.streams.block import Csr
from noregret.streams.column_products import ColumnProducts
from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    FEATURES,
    ID,
    LABEL,
    NAMED_LABEL,
    NUMBER,
    TEXT,
    WEIGHT,
    distinct_note,
    given_names,
    missing_note,
    named_pair,
)
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import Features, largest_of, without_unknown
from noregret.streams.format import Parsed
from noregret.streams.inputs import Inputs, find
from noregret.streams.labelling import Labels, are_classes
from noregret.streams.names import FeatureNames
from noregret.streams.order import order_rows
from noregret.streams.reading import Reading
from noregret.streams.records import Unfit
from noregret.streams.stream import Piece, Stream
from noregret.streams.table_columns import (
    FeatureColumn,
    TableColumns,
    assemble,
    bag_feature,
    date_features,
    date_names,
    ids_of,
    number_feature,
    numbers_of,
    text_feature,
    texts_of,
)
from noregret.streams.table_inputs import TableFile, TableInput, TableObject
from noregret.streams.words import Words, with_bags

_Problem: TypeAlias = tuple[str, NDArray[np.bool_], str, str]


class ArrowStream(Stream):
    """Blocks of tables whose columns are named and typed."""

    def __init__(self, tables: list[TableInput], reading: Reading, features: Features):
        first = tables[0]
        self._tables, self._features = tables, features
        self._dtype = np.dtype(reading.dtype)
        self._largest = largest_of(reading.dtype)
        columns = TableColumns(first.schema, reading, first.name)
        self._roles = columns.roles
        #: The name of the column that holds the labels.
        self.target = columns.target
        self._pair = self._label_names(reading.labels)
        classes = are_classes(reading.labels)
        columns.name_labels(self._pair, classes)
        for other in tables[1:]:
            others = TableColumns(other.schema, reading, other.name)
            others.name_labels(self._pair, classes)
            if differing := dict(self._roles.items() ^ others.roles.items()):
                raise StreamError(
                    f"{other.name}: its columns are not those of {first.name}: "
                    f"{min(differing)!r} differs"
                )
        features.refuse_intercept(self.numeric, first.name)
        # Numbers come first in the dictionary, as their columns do in every row.
        features.columns(self.numeric)
        self._dates = {
            name: features.columns(date_names(first.schema.field(name), first.name))
            for name in self.dates
        }
        #: The categories of which the number of values has yet to be looked at.
        self._unseen = {*self.categorical} - {*reading.categorical}
        self._words = Words(reading.ngram, reading.skips)
        held = [name for name, role in self._roles.items() if role in FEATURES]
        self._products = ColumnProducts(reading.interactions, held, first.name)
        sizes = [table.size for table in tables]
        super().__init__(
            first.name + (f" and {len(tables) - 1} more" if len(tables) > 1 else ""),
            reading,
            labels=self._pair,
            names=features.names,
            size=None if None in sizes else sum(size or 0 for size in sizes),
        )

    @property
    def numeric(self) -> list[str]:
        """The names of the columns that are numbers."""
        return self._of(NUMBER)

    @property
    def categorical(self) -> list[str]:
        """The names of the columns that are categories."""
        return self._of(CATEGORY)

    @property
    def dates(self) -> list[str]:
        """The names of the columns that are dates or moments."""
        return self._of(DATE)

    def _of(self, role: int) -> list[str]:
        return [name for name, its_role in self._roles.items() if its_role == role]

    def _label_names(self, labels: Labels) -> tuple[str, str] | None:
        """Return the names of the two labels by the rule and the first rows."""
        if labels != "binary":
            return given_names(labels)
        if self.target is None or self._roles[self.target] == LABEL:
            return None
        table = self._tables[0]
        found: set[str | None] = set()
        with arrow_errors(table.name):
            for batch in table.head([self.target]):
                found.update(texts_of(batch.column(self.target), table.name)[1])
        return named_pair((text for text in found if text is not None), table.name)

    def _pieces(self) -> Generator[Piece, None, None]:
        done = 0
        for table in self._tables:
            row = 1
            for batch, position in table.batches(list(self._roles)):
                with arrow_errors(table.name):
                    parsed, reasons = self._parse(batch, table.name)
                yield Piece(parsed, table.name, "row", row, done + position, reasons)
                row += batch.num_rows
            done += table.size or 0

    def _parse(self, batch: Any, where: str) -> tuple[Parsed, list[tuple[int, Malformed]]]:
        rows = batch.num_rows
        y, weight = np.full(rows, np.nan), np.ones(rows)
        #: Columns, the rows in which they are at fault, what was expected there, and the option.
        problems: list[_Problem] = []
        held: list[FeatureColumn] = []
        classes: list[str] | None = None
        notes: list[str] = []
        ids: list[str] | None = None
        #: Columns of text with the words of each row; and of each feature the group of its column.
        bags: list[tuple[FeatureColumn, list[NDArray[np.uint32]]]] = []
        groups: list[int] = []
        for name, role in self._roles.items():
            column = batch.column(name)
            if role in (LABEL, NAMED_LABEL, CLASS):
                y, classes = self._labels_of(column, role, where)
                keep = self.reading.unlabelled == "keep"
                bad = np.isinf(y) if keep else ~np.isfinite(y)
                problems.append((name, bad, self._label_expected(role), "labels"))
            elif role == ID:
                ids = ids_of(column, where)
            elif role == WEIGHT:
                weight = numbers_of(column, where)
                bad = ~((weight >= 0.0) & (weight < np.inf))
                problems.append((name, bad, "a weight from 0", "weight"))
            else:
                if role == TEXT:
                    bags.append(bag_feature(column, name, self._words, self._features, where))
                    several = self._indicated([bags[-1][0]], name)
                else:
                    several = self._features_of(column, name, role, where)
                feature = several[0]
                if self.reading.missing == "refuse":
                    expected = 'a value, or missing="indicator"'
                    problems.append((name, feature.missing, expected, "missing"))
                elif feature.missing.any():
                    notes.append(missing_note(name))
                large = np.abs(feature.values) > self._largest
                expected = f"a number of size at most {self._largest:.3g}"
                problems.append((name, large, expected, ""))
                held += several
                groups += [self._products.groups.get(name, 0)] * len(several)
                if name in self._unseen:
                    self._unseen.remove(name)
                    present = feature.slots[~feature.missing]
                    notes.append(distinct_note(name, len(np.unique(present)), len(present)))
        kept = np.ones(rows, np.bool_)
        for _, bad, _, _ in problems:
            kept &= ~bad
        reasons = [] if kept.all() else self._reasons(batch, kept, problems)
        rows = self._assembled(held, kept)
        beside = None
        if self._products:
            # The same rows once more, with groups in place of columns.
            marked = zip(held, groups, strict=True)
            shown = [replace(one, slots=np.full_like(one.slots, group)) for one, group in marked]
            beside = self._assembled(shown, kept, constant_slot=0).indices.astype(np.uint8)
        places = np.flatnonzero(kept).tolist()
        if bags:
            words = [held[t] for t in places for one, held in bags if not one.missing[t]]
            rows, beside = with_bags(rows, beside, words)
        if beside is not None:
            rows = self._products.multiplied(rows, beside, self._features)
        rows = without_unknown(rows)
        order_rows(*rows)
        used = int(rows.indptr[-1])
        parsed = Parsed(
            indptr=rows.indptr,
            indices=rows.indices[:used],
            values=rows.values[:used],
            y=y[kept],
            weight=weight[kept] if WEIGHT in self._roles.values() else None,
            width=self._features.width,
            lines=len(kept),
            line_of_row=None if kept.all() else np.flatnonzero(kept).astype(np.uint32),
            faults=np.flatnonzero(~kept).astype(np.uint64),
            classes=classes,
            ids=None if ids is None else [ids[t] for t in places],
            notes=tuple(filter(None, notes)),
        )
        return parsed, reasons

    def _features_of(self, column: Any, name: str, role: int, where: str) -> list[FeatureColumn]:
        """Return the features of a column; the first one tells which values are missing."""
        if role == NUMBER:
            slot = int(self._features.columns([name])[0])
            several = [number_feature(column, slot, where)]
        elif role == DATE:
            several = date_features(column, self._dates[name], where)
        else:
            several = [text_feature(column, name, self._features, where)]
        return self._indicated(several, name)

    def _indicated(self, several: list[FeatureColumn], name: str) -> list[FeatureColumn]:
        """Put the indicator feature in place of what is missing."""
        feature = several[0]
        if self.reading.missing == "indicator" and feature.missing.any():
            slot = int(self._features.columns([f"{name}=missing"])[0])
            feature.slots[feature.missing] = slot
            feature.values[feature.missing] = 1.0
        return several

    def _labels_of(
        self, column: Any, role: int, where: str
    ) -> tuple[NDArray[np.float64], list[str] | None]:
        """Return the labels; of classes their places among the names, which come second."""
        if role == LABEL:
            return numbers_of(column, where), None
        codes, texts = texts_of(column, where)
        if self._pair is None:
            places = [np.nan if text is None else float(k) for k, text in enumerate(texts)]
            return np.array(places)[codes], [text or "" for text in texts]
        meaning = {None: np.nan, self._pair[0]: -1.0, self._pair[1]: 1.0}
        # Any other name becomes infinite, which is refused as a label.
        return np.array([meaning.get(text, np.inf) for text in texts])[codes], None

    def _label_expected(self, role: int) -> str:
        if role == CLASS:
            return "a class as label"
        if self._pair is None:
            return "a finite number as label"
        return f"{self._pair[0]!r} or {self._pair[1]!r} as label"

    def _reasons(
        self,
        batch: Any,
        kept: NDArray[np.bool_],
        problems: list[_Problem],
    ) -> list[tuple[int, Malformed]]:
        """Return for each refused row the first of its columns at fault, and its value."""
        reasons: list[tuple[int, Malformed]] = []
        for row in np.flatnonzero(~kept)[: self._wanted].tolist():
            name, _, *expected = next(problem for problem in problems if problem[1][row])
            reasons.append((row, Unfit(name, batch.column(name)[row].as_py(), *expected)))
        return reasons

    def _assembled(
        self, held: list[FeatureColumn], kept: NDArray[np.bool_], constant_slot: int | None = None
    ) -> Csr:
        """Return the rows that are kept, features in the order of their columns."""
        if constant_slot is None:
            constant_slot = self._features.constant_column
        rows = int(kept.sum())
        most = rows * (len(held) + 1)
        indptr = np.empty(rows + 1, np.uint64)
        indices, values = np.empty(most, np.uint32), np.empty(most, self._dtype)
        shape = (len(held), len(kept))
        used = assemble(
            np.array([feature.slots for feature in held], np.uint32).reshape(shape),
            np.array([feature.values for feature in held], np.float64).reshape(shape),
            kept,
            self._features.constant,
            np.uint32(constant_slot),
            indptr,
            indices,
            values,
        )
        return Csr(indptr, indices[:used], values[:used])


def open_table(
    inputs: Inputs | Any, reading: Reading, names: FeatureNames | None = None, grow: bool = True
) -> ArrowStream:
    """Open files of Parquet, Feather or Arrow, or a data frame, as a stream of blocks.

    A data frame is any object that exports Arrow (`__arrow_c_stream__`): a table, a data frame
    of pandas or polars, a reader of batches.
    """
    import_arrow("a table of Arrow")
    tables: list[TableInput] = []
    if hasattr(inputs, "__arrow_c_stream__"):
        tables.append(TableObject(inputs))
    else:
        for one in find(inputs):
            if one.standard:
                raise StreamError("tables are not read in one go, expected a file, found '-'")
            tables.append(TableFile(one))
    return ArrowStream(tables, reading, Features.of(reading, names, grow))
