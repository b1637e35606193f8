"""Rows of records, whose features have names: collected one by one, joined, and by columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.columns import missing_note
from noregret.streams.features import INTERCEPT, Features
from noregret.streams.format import Parsed
from noregret.streams.names import Spelled, laid_out
from noregret.streams.records import Absent, FeatureRules, Unfit
from noregret.streams.sparse import gathered, settled
from noregret.streams.texts import woven


class NamedRows(NamedTuple):
    """Rows whose features have names."""

    names: Spelled
    #: Where the features of each row end, after a 0, and their values.
    ends: NDArray[np.uint64]
    values: Any
    #: Labels, or their places among the names of classes, in which one may come twice.
    y: NDArray[np.float64]
    classes: list[str]
    weight: NDArray[np.float64]
    #: The numbers of the rows, as their source counts them from 0.
    places: NDArray[np.uint32]
    #: What tells the rows apart, where that was asked for.
    ids: list[str]

    def joined(self, other: NamedRows) -> NamedRows:
        """Return the rows of both in the order of their places."""
        places = np.concatenate([self.places, other.places])
        order = np.argsort(places, kind="stable")
        ends = np.concatenate([self.ends, self.ends[-1] + other.ends[1:]])
        stops, items = gathered(ends, order)
        ids = self.ids + other.ids
        return NamedRows(
            names=woven(self.names, other.names, items.astype(np.intp)),
            ends=stops,
            values=np.concatenate([self.values, other.values])[items],
            y=np.concatenate([self.y, other.y + len(self.classes)])[order],
            classes=self.classes + other.classes,
            weight=np.concatenate([self.weight, other.weight])[order],
            places=places[order],
            ids=[ids[k] for k in order.tolist()] if ids else [],
        )

    def parsed(
        self,
        features: Features,
        lines: int,
        faults: list[int],
        weighted: bool,
        absent: Iterable[str],
    ) -> Parsed:
        """Return the rows by columns; `absent` are the keys of values that are missing."""
        rows = Csr(self.ends, features.columns_of(*self.names), self.values)
        indptr, indices, values = settled(rows, features.constant_column, features.constant)
        return Parsed(
            indptr=indptr,
            indices=indices,
            values=values,
            y=self.y,
            weight=self.weight if weighted else None,
            width=features.width,
            lines=lines,
            line_of_row=None if len(self.places) == lines else self.places,
            faults=np.array(faults, np.uint64),
            classes=self.classes or None,
            ids=self.ids or None,
            notes=tuple(map(missing_note, absent)),
        )


class RowBuilder:
    """Collects rows of named features and makes arrays of them."""

    def __init__(self, features: Features, rules: FeatureRules, dtype: str):
        self.features, self.rules, self.dtype = features, rules, dtype
        self._reserved = bool(features.constant) and features.exact
        self.names: list[str] = []
        self.values: list[float] = []
        self.ends: list[int] = [0]
        #: Numbers, or names of classes, NaN for none.
        self.y: list[float | str] = []
        self.weight: list[float] = []
        #: The numbers of the rows, as their source counts them from 0.
        self.places: list[int] = []
        #: What tells the rows apart, where that was asked for.
        self.ids: list[str] = []

    def add(
        self,
        record: Mapping[Any, Any],
        label: float | str,
        weight: float,
        place: int,
        id: str | None = None,
    ) -> None:
        """Add a row, or raise Unfit and leave everything as it was."""
        try:
            self.rules.add(record, self.names, self.values)
            if self._reserved and INTERCEPT in record and INTERCEPT in self.names[self.ends[-1] :]:
                raise Unfit(
                    INTERCEPT, record[INTERCEPT], "another key: this is the constant feature"
                )
        except Unfit:
            del self.names[self.ends[-1] :], self.values[self.ends[-1] :]
            raise
        self.ends.append(len(self.names))
        self.y.append(label)
        self.weight.append(weight)
        self.places.append(place)
        if id is not None:
            self.ids.append(id)

    @property
    def absent(self) -> list[str]:
        """The keys of the values that are missing."""
        found = dict.fromkeys(name for name in self.names if isinstance(name, Absent))
        return [name.removesuffix("=missing") for name in found]

    def rows(self) -> NamedRows:
        """Return the rows."""
        classes = [*dict.fromkeys(label for label in self.y if isinstance(label, str))]
        number: dict[float | str, float] = {name: k for k, name in enumerate(classes)}
        return NamedRows(
            names=laid_out(self.names),
            ends=np.array(self.ends, np.uint64),
            values=np.array(self.values, self.dtype),
            y=np.array([number.get(label, label) for label in self.y], np.float64),
            classes=classes,
            weight=np.array(self.weight, np.float64),
            places=np.array(self.places, np.uint32),
            ids=self.ids,
        )
