"""From dictionaries of features, whatever their names, to the columns and values of a row."""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.rows.examples import Rows
from noregret.rows.soundness import LARGEST_FEATURE
from noregret.streams.records import FeatureRules, Unfit

Columns = npt.NDArray[np.uint32]
Vector = npt.NDArray[np.float64]

#: Plans are forgotten when they hold more features than this together.
MOST_PLANNED = 1 << 16
#: The value of the constant feature, which has column 0 and no name.
_CONSTANT = 1.0
#: What a value that is no number raises when it is written as one.
_NO_NUMBER = (struct.error, OverflowError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The columns of a dictionary with these very keys, and how its values come there."""

    keys: list[Any]
    columns: Columns
    #: Puts the values into bytes, after the constant if there is one.
    pack: Callable[..., bytes]
    #: The order of the columns among the values, None where that is the one they come in.
    order: npt.NDArray[np.intp] | None
    #: Writes the values into bytes that are there, from this place on, after the constant.
    fill: Callable[..., None]
    start: int
    #: Takes the values out of a dictionary with these keys, in whatever order they are there.
    values: Callable[[dict[Any, Any]], tuple[Any, ...]] | None
    #: Bytes of a row and the array over them, for as many readers as there were at a time.
    free: list[tuple[bytearray, Vector]]
    #: The types of keys that are not all text: 1, 1.0 and True are equal and have other names.
    kinds: list[type] | None

    def new_room(self) -> tuple[bytearray, Vector]:
        """Return bytes for the values of a row, after the constant if there is one."""
        bytes_ = bytearray(np.ones(len(self.columns)).tobytes())
        return bytes_, np.frombuffer(bytes_)


class FeatureColumns:
    """The columns of named features: numbers under their names, text as "name=text".

    The rules are those of `nr.read` for (dict, label) pairs, see `FeatureRules`, except that a
    number of value 0 keeps its place.

    >>> features = FeatureColumns(constant=True)
    >>> features.row({"age": 31, "city": "Bonn"}, grow=True)
    (array([0, 1, 2], dtype=uint32), array([ 1., 31.,  1.]))
    >>> features.row({"city": "Rome", "age": 30.5}, grow=False), list(features.names)
    ((array([0, 1], dtype=uint32), array([ 1. , 30.5])), ['age', 'city=Bonn'])
    """

    def __init__(self, constant: bool, missing: Any = "refuse") -> None:
        self.rules = FeatureRules(missing=missing, largest=LARGEST_FEATURE)
        self.constant = constant
        #: The column of every name.
        self.names: dict[str, int] = {}
        self._plans: dict[tuple[Any, ...], _Plan] = {}
        self._planned = 0
        #: The plan of the last dictionary: to compare its keys is quicker than to look them up.
        self._last: _Plan | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the plans, which are made anew."""
        return {**vars(self), "_plans": {}, "_planned": 0, "_last": None}

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.names) + self.constant

    def row(self, x: Mapping[Any, Any], grow: bool) -> tuple[Columns, Vector]:
        """Return columns, in order, and values; names that are new get columns if it may `grow`.

        A NaN may be among the values: then `by_rules` says what is missing, or replaces it.
        """
        keys, plan = list(x), self._last
        if plan is None or plan.keys != keys:
            plan = self._last = self._plans.get(tuple(keys)) or self._plan(x, grow)
        if plan is not None and plan.kinds is not None and plan.kinds != list(map(type, keys)):
            plan = None
        if plan is not None:
            try:
                # Bytes of its own for every row: several threads may ask at a time.
                values = np.frombuffer(bytearray(plan.pack(*x.values())))
            except _NO_NUMBER:
                return self.by_rules(x, grow)
            return plan.columns, values if plan.order is None else values[plan.order]
        return self.by_rules(x, grow)

    def by_rules(self, x: Mapping[Any, Any], grow: bool) -> tuple[Columns, Vector]:
        """Return the row as the rules have it, or raise ValueError with the name at fault."""
        names: list[str] = []
        values: list[float] = []
        try:
            self.rules.add(x, names, values)
        except Unfit as error:
            raise ValueError(f"features: {error}") from None
        if grow:
            self._add(names)
        sums: dict[int, float] = {0: _CONSTANT} if self.constant else {}
        for name, value in zip(names, values, strict=True):
            column = self.names.get(name)
            if column is not None:
                sums[column] = sums.get(column, 0.0) + value
        columns = sorted(sums)
        return np.array(columns, np.uint32), np.array([sums[column] for column in columns])

    def teach(self, learner: Any, x: Mapping[Any, Any], y: float, weight: float) -> None:
        """Have a learner learn an example; what it refuses changes nothing here either.

        The caller lets one thread at a time come here.
        """
        count = len(self.names)
        try:
            try:
                columns, values = self.row(x, grow=True)
                if learner.learn_row(columns, values, y, weight) is None:
                    learner.learn_one(columns, values, y, weight)
            except ValueError:
                self.forget(count)
                # Names what is missing or out of range, unless it stands in for it.
                learner.learn_one(*self.by_rules(x, grow=True), y, weight)
        except (OverflowError, ValueError):
            self.forget(count)
            raise

    def ask(self, learner: Any, x: Mapping[Any, Any]) -> Any:
        """Return what a learner predicts for a dictionary."""
        plan = self._last
        try:
            # Other mappings may insert a missing key when it is looked up.
            if (
                plan is None
                or plan.values is None
                or type(x) is not dict
                or len(x) != len(plan.keys)
            ):
                return learner.predict_row(*self.row(x, grow=False))
            # Arrays are taken and given back: several threads may ask at a time.
            try:
                room = plan.free.pop()
            except IndexError:
                room = plan.new_room()
            try:
                plan.fill(room[0], plan.start, *plan.values(x))
                return learner.predict_row(plan.columns, room[1])
            except (KeyError, *_NO_NUMBER):
                return learner.predict_row(*self.row(x, grow=False))
            finally:
                plan.free.append(room)
        except ValueError:
            return learner.predict_one(*self.by_rules(x, grow=False))

    def named(self, weights: Vector) -> dict[str, float]:
        """Return weights by the names of their features, without the constant one."""
        # Names of a row that was refused may be known, but not to the learner.
        known = weights.tolist()
        return {name: known[place] for name, place in self.names.items() if place < len(known)}

    def forget(self, count: int) -> None:
        """Let go of all names but the first `count`."""
        if count < len(self.names):
            while len(self.names) > count:
                self.names.popitem()
            self._plans.clear()
            self._planned, self._last = 0, None

    @contextmanager
    def forgotten_if_refused(self, learner: Any) -> Iterator[None]:
        """Let go of names that are new if the learner refuses all rows that they came with."""
        count, rounds = len(self.names), learner.rounds
        try:
            yield
        except (OverflowError, ValueError):
            if learner.rounds == rounds:
                self.forget(count)
            raise

    def rows(self, frame: Any, grow: bool) -> Rows:
        """Return the rows of a data frame of pandas, equal to those of its dictionaries."""
        count = len(self.names)
        if all(getattr(kind, "kind", "O") in "fiub" for kind in frame.dtypes):
            matrix = frame.to_numpy(np.float64, na_value=np.nan)
            names = [str(name) for name in frame.columns]
            if len(set(names)) == len(names) and len(frame) and _bounded(matrix):
                if grow:
                    self._add(names)
                known = [k for k, name in enumerate(names) if name in self.names]
                return self._dense_rows(matrix[:, known], [self.names[names[k]] for k in known])
        keys = list(frame.columns)
        records = (dict(zip(keys, row, strict=True)) for row in frame.itertuples(False, None))
        indices, values = [np.zeros(0, np.uint32)], [np.zeros(0)]
        try:
            for record in records:
                columns, features = self.row(record, grow)
                if not _bounded(features):
                    columns, features = self.by_rules(record, grow)
                indices.append(columns)
                values.append(features)
        except ValueError:
            self.forget(count)
            raise
        ends = np.cumsum([len(columns) for columns in indices], dtype=np.uint64)
        return Rows(ends, np.concatenate(indices), np.concatenate(values), self.width)

    def _dense_rows(self, matrix: Vector, columns: list[int]) -> Rows:
        """Return the rows of a matrix of finite numbers."""
        order = np.argsort(columns)
        values = matrix[:, order]
        ascending = np.array(columns, np.uint32)[order]
        if self.constant:
            values = np.insert(values, 0, _CONSTANT, axis=1)
            ascending = np.insert(ascending, 0, np.uint32(0))
        count, width = values.shape
        ends = np.arange(count + 1, dtype=np.uint64) * np.uint64(width)
        return Rows(ends, np.tile(ascending, count), values.ravel(), self.width)

    def _add(self, names: list[str]) -> None:
        for name in names:
            if name not in self.names:
                self.names[name] = self.width

    def _plan(self, x: Mapping[Any, Any], grow: bool) -> _Plan | None:
        """Return a plan for dictionaries with these keys, None if they may not be numbers."""
        if not all(type(value) in (float, int, bool) for value in x.values()):
            return None
        kinds = list(map(type, x))
        if not {*kinds} <= {str, int}:
            # Keys of other types may be equal and yet differ in name, as 0.0 and -0.0 do.
            return None
        names = [str(key) for key in x]
        if grow:
            self._add(names)
        columns = [self.names.get(name, -1) for name in names]
        if len(set(columns)) < len(columns) or -1 in columns:
            return None
        before = [_CONSTANT] if self.constant else []
        columns = [0] * len(before) + columns
        order = np.argsort(columns)
        packed = struct.Struct(f"{len(columns)}d")
        ordered, texts = bool((np.diff(order) > 0).all()), {*kinds} <= {str}
        plan = _Plan(
            list(x),
            np.array(columns, np.uint32)[order],
            functools.partial(packed.pack, *before),
            None if ordered else order,
            struct.Struct(f"{len(columns) - len(before)}d").pack_into,
            8 * len(before),
            operator.itemgetter(*x) if ordered and texts and len(x) > 1 else None,
            [],
            None if texts else kinds,
        )
        self._planned += len(columns)
        if self._planned > MOST_PLANNED:
            self._plans.clear()
            self._planned = len(columns)
        self._plans[tuple(x)] = plan
        return plan


def _bounded(values: Vector) -> bool:
    return bool((np.abs(values) <= LARGEST_FEATURE).all())
