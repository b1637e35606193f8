"""Tables of Arrow as streams: Parquet, Feather and Arrow files, data frames of any library.

Columns are what `columns` says, with types in place of first lines: integers, floating-point
numbers, decimals and booleans are numbers, texts and dictionaries are categories, dates and
timestamps are dates, nulls and NaN are missing. Other types (lists, structures) are refused
unless they are ignored.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    FEATURES,
    ID,
    INDICATED,
    LABEL,
    NAMED_LABEL,
    NUMBER,
    WEIGHT,
    WORDS,
    distinct_note,
    given_names,
    having,
    label_expected,
    missing_note,
    named_pair,
    target_of,
)
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import ColumnProducts, Features, Words, largest_of
from noregret.streams.format import Parsed
from noregret.streams.inputs import Inputs, find
from noregret.streams.names import FeatureNames
from noregret.streams.reading import Reading
from noregret.streams.records import Unfit
from noregret.streams.sparse import settled, with_names
from noregret.streams.stream import Stream
from noregret.streams.table_columns import (
    BAG,
    FeatureColumn,
    assemble,
    bag_feature,
    date_features,
    date_names,
    ids_of,
    label_role,
    number_feature,
    numbers_of,
    table_roles,
    text_feature,
    texts_of,
)
from noregret.streams.table_inputs import Table, TableFile, TableObject, arrow_errors

_Problem: TypeAlias = tuple[str, NDArray[np.bool_], str, str]


class ArrowStream(Stream):
    """Blocks of tables whose columns are named and typed."""

    def __init__(self, tables: list[Table], reading: Reading, features: Features):
        first = tables[0]
        self._tables, self._features = tables, features
        self._largest = largest_of(reading.dtype)
        roles = [table_roles(table.schema, reading, table.name) for table in tables]
        self._roles = roles[0]
        #: The name of the column that holds the labels.
        self.target = target_of(self._roles)
        self._pair = self._label_names(reading)
        for table, own in zip(tables, roles, strict=True):
            if (target := target_of(own)) is not None:
                field = table.schema.field(target)
                own[target] = label_role(field, own[target], self._pair, reading, table.name)
            if differing := dict(self._roles.items() ^ own.items()):
                raise StreamError(
                    f"{table.name}: its columns are not those of {first.name}: "
                    f"{min(differing)!r} differs"
                )
        self.numeric, self.categorical, self.dates = (
            having(self._roles, role) for role in (NUMBER, CATEGORY, DATE)
        )
        features.refuse_intercept(self.numeric, first.name)
        # Numbers come first in the dictionary, as their columns do in every row.
        features.columns(self.numeric)
        self._dates = {
            name: features.columns(date_names(first.schema.field(name))) for name in self.dates
        }
        #: The categories of which the number of values has yet to be looked at.
        self._unseen = {*self.categorical} - {*reading.categorical}
        self._words = Words(reading.ngram, reading.skips)
        held = having(self._roles, *FEATURES)
        self._products = ColumnProducts(reading.interactions, held, first.name)
        super().__init__(tables, reading, labels=self._pair, names=features.names)

    def _label_names(self, reading: Reading) -> tuple[str, str] | None:
        """Return the names of the two labels by the rule and the first rows."""
        if reading.labels != "binary":
            return given_names(reading.labels)
        if self.target is None or self._roles[self.target] == LABEL:
            return None
        table = self._tables[0]
        found: set[str | None] = set()
        with arrow_errors(table.name):
            for batch in table.head([self.target]):
                found.update(texts_of(batch.column(self.target))[1])
        return named_pair((text for text in found if text is not None), table.name)

    def leave_first_out(self) -> None:
        """Leave out the rows of the first table."""
        self._tables = self._tables[1:]
        # The number of values of a category is judged by the first rows of all.
        self._unseen.clear()

    def restrict(self, groups: Sequence[tuple[int, int, int] | None]) -> None:
        """Read some row groups only of each table that is a file of Parquet, None for all.

        groups: begin and end of the row groups, and the rows before them.
        """
        for table, own in zip(self._tables, groups, strict=True):
            if own is not None:
                table.groups, table.before = own[:2], own[2]

    def _pieces(self) -> Generator[Parsed, None, None]:
        done = 0
        for number, table in enumerate(self._tables):
            row = 1 + table.before
            for batch, position in table.batches(list(self._roles)):
                with arrow_errors(table.name):
                    parsed = self._parse(batch)
                parsed.name, parsed.unit, parsed.first = table.name, "row", row
                parsed.position, parsed.number = done + position, number
                yield parsed
                row += batch.num_rows
            done += table.size or 0

    def _parse(self, batch: Any) -> Parsed:
        y, weight = np.full(batch.num_rows, np.nan), None
        #: Columns, the rows in which they are at fault, what was expected there, and the option.
        problems: list[_Problem] = []
        held: list[FeatureColumn] = []
        classes = ids = None
        notes: list[str] = []
        #: Columns of text with the words of each row; and of each feature the group of its column.
        bags: list[tuple[FeatureColumn, list[NDArray[np.uint32]]]] = []
        groups: list[int] = []
        for name, role in self._roles.items():
            column = batch.column(name)
            if role in (LABEL, NAMED_LABEL, CLASS):
                y, classes = self._labels_of(column, role)
                keep = self.reading.unlabelled == "keep"
                bad = np.isinf(y) if keep else ~np.isfinite(y)
                problems.append((name, bad, label_expected(self._pair, role == CLASS), "labels"))
            elif role == ID:
                ids = ids_of(column)
            elif role == WEIGHT:
                weight = numbers_of(column)
                bad = ~((weight >= 0.0) & (weight < np.inf))
                problems.append((name, bad, "a weight from 0", "weight"))
            else:
                if role == WORDS:
                    bags.append(bag_feature(column, name, self._words, self._features))
                    several = [bags[-1][0]]
                elif role == DATE:
                    several = date_features(column, self._dates[name])
                else:
                    feature_of = number_feature if role == NUMBER else text_feature
                    several = [feature_of(column, name, self._features)]
                # The first of several tells which values are missing.
                feature = several[0]
                if self.reading.missing == "refuse":
                    problems.append((name, feature.missing, f"a value{INDICATED}", "missing"))
                elif feature.missing.any():
                    notes.append(missing_note(name))
                    slot = self._features.columns([f"{name}=missing"])[0]
                    feature.slots[feature.missing] = slot
                    feature.values[feature.missing] = 1.0
                large = np.abs(feature.values) > self._largest
                expected = f"a number of size at most {self._largest:.3g}"
                problems.append((name, large, expected, ""))
                held += several
                groups += [self._products.groups.get(name, 0)] * len(several)
                if name in self._unseen:
                    self._unseen.remove(name)
                    present = feature.slots[~feature.missing]
                    notes.append(distinct_note(name, len(np.unique(present)), len(present)))
        kept = np.ones(batch.num_rows, np.bool_)
        for _, bad, _, _ in problems:
            kept &= ~bad
        # Of each refused row the first of its columns at fault, and its value.
        reasons: list[tuple[int, Malformed]] = []
        for row in np.flatnonzero(~kept)[: self._wanted].tolist():
            name, _, *wanted = next(problem for problem in problems if problem[1][row])
            reasons.append((row, Unfit(name, batch.column(name)[row].as_py(), *wanted)))
        places = np.flatnonzero(kept).tolist()
        rows, beside = self._assembled(held, groups, kept)
        if bags:
            words = [held[t] for t in places for one, held in bags if not one.missing[t]]
            marks = np.flatnonzero(rows.indices == BAG)
            columns = np.concatenate([np.empty(0, np.uint32), *words])
            rows, beside = with_names(rows, beside, marks, [*map(len, words)], columns)
        if self._products.groups and beside is not None:
            rows = self._products.multiplied(rows, beside, self._features)
        return Parsed(
            rows=settled(rows),
            y=y[kept],
            weight=None if weight is None else weight[kept],
            width=self._features.width,
            lines=len(kept),
            line_of_row=None if kept.all() else np.flatnonzero(kept).astype(np.uint32),
            faults=np.flatnonzero(~kept).astype(np.uint64),
            classes=classes,
            ids=None if ids is None else [ids[t] for t in places],
            notes=tuple(filter(None, notes)),
            reasons=reasons,
        )

    def _labels_of(self, column: Any, role: int) -> tuple[NDArray[np.float64], list[str] | None]:
        """Return the labels; of classes their places among the names, which come second."""
        if role == LABEL:
            return numbers_of(column), None
        codes, texts = texts_of(column)
        if self._pair is None:
            places = [np.nan if text is None else float(k) for k, text in enumerate(texts)]
            return np.array(places)[codes], [text or "" for text in texts]
        meaning = {None: np.nan, self._pair[0]: -1.0, self._pair[1]: 1.0}
        # Any other name becomes infinite, which is refused as a label.
        return np.array([meaning.get(text, np.inf) for text in texts])[codes], None

    def _assembled(
        self, held: list[FeatureColumn], groups: list[int], kept: NDArray[np.bool_]
    ) -> tuple[Csr, NDArray[np.uint8] | None]:
        """Return the rows that are kept, in the order of their columns, and groups of features."""
        rows, shape = int(kept.sum()), (len(held), len(kept))
        most = rows * (len(held) + 1)
        values: Any = np.empty(most, self.reading.dtype)
        out = Csr(np.empty(rows + 1, np.uint64), np.empty(most, np.uint32), values)
        beside = np.empty(most, np.uint8)
        columns = (
            np.array([feature.slots for feature in held], np.uint32).reshape(shape),
            np.array([feature.values for feature in held], np.float64).reshape(shape),
            np.array(groups, np.uint8),
        )
        slot = np.uint32(self._features.constant_column)
        used = int(assemble(columns, kept, self._features.constant, slot, out, beside))
        return out.first(rows), beside[:used]


def open_table(
    inputs: Inputs | Any, reading: Reading, names: FeatureNames | None = None, grow: bool = True
) -> ArrowStream:
    """Open files of Parquet, Feather or Arrow, or a data frame, as a stream of blocks.

    A data frame is any object that exports Arrow (`__arrow_c_stream__`): a table, a data frame
    of pandas or polars, a reader of batches.
    """
    tables: list[Table] = []
    if hasattr(inputs, "__arrow_c_stream__"):
        tables.append(TableObject(inputs))
    else:
        for one in find(inputs):
            if one.standard:
                raise StreamError("tables are not read in one go, expected a file, found '-'")
            tables.append(TableFile(one))
    return ArrowStream(tables, reading, Features.of(reading, names, grow))
