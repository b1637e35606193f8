"""The moments by which `Standardized` sees its rows, and its fields in model files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arguments import ArgumentError
from noregret.arrays import Vector, as_number, as_positive
from noregret.files.fields import Arrays, Field, Header
from noregret.learners.files import learner_of
from noregret.passes.frame import block
from noregret.passes.standardizing import (
    LONGEST,
    Count,
    Moment,
    Moments,
    Scaling,
    Written,
    read_moments,
    recast,
    standardize,
)
from noregret.rows.examples import Rows

#: The key of the wrapped learner in the header, and the beginning of the names of other arrays.
_WRAPPED, _BOOK = "wrapped", "book/"


class Scaler:
    """Centre and spread of each feature over the rows before, and rows in their units.

    bound: the largest deviation that enters the moments, in spreads.
    limit: the distance from the centre, in spreads, above which a feature is its logarithm.
    constants: columns of 1 before the features.
    widest: the number of features up to which rows are standardised.
    settled: rows of the epoch whose centres and spreads are kept; infinite: they follow the rows.

    >>> scaler = Scaler(20.0, 3.0, 1, 512, math.inf)
    >>> rows = Rows(np.zeros(1, np.uint64), np.zeros(0, np.uint32), np.array([[1.0], [3.0]]), 1, 2)
    >>> scaler.widen(1)
    >>> scaler.standardized(rows, np.ones(2), True).values, scaler.read()
    (array([1., 1.]), (array([2.]), array([1.])))
    """

    def __init__(
        self, bound: float, limit: float, constants: int, widest: int, settled: float
    ) -> None:
        self.scaling = Scaling(bound, limit, constants, widest, settled)
        #: The widest rows so far, None before the first.
        self.known: int | None = None
        self._table, self._counts = np.zeros((0, len(Moment))), np.zeros(len(Count))

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Continue from a copy: its arrays may lie in a file that cannot be written."""
        vars(self).update(kept)
        self._table, self._counts = kept["_table"].copy(), kept["_counts"].copy()

    @property
    def outgrown(self) -> bool:
        """Whether a row was too wide."""
        return bool(self._counts[Count.OUTGROWN])

    @property
    def hidden(self) -> bool:
        """Whether no feature is written: a row was too wide, or the moments are not settled."""
        settled = self.scaling.settled
        return self.outgrown or bool(self._counts[Count.BEFORE] < settled < math.inf)

    def width_for(self, width: int) -> int:
        """Return how many columns rows of that width have once they are standardised."""
        known = max(width, self.known or 0)
        return self.scaling.constants + min(known, self.scaling.widest)

    def widen(self, width: int) -> None:
        """Know that many features: those not seen before were 0 in all rows."""
        self.known = max(width, self.known or 0)
        more = min(self.known, self.scaling.widest) - len(self._table)
        if more > 0:
            self._table = np.pad(self._table, ((0, more), (0, 0)))

    def standardized(self, rows: Rows, weight: Vector, learning: bool) -> Rows:
        """Return sound rows in units of the moments, which they enter if they are learnt."""
        table = self._table
        moments = Moments(table, self._counts, np.empty(len(table)))
        most = len(rows) * (self.scaling.constants + len(table))
        written = _room(len(rows), most)
        used = standardize(self.scaling, moments, block(rows), weight, learning, written)
        return _rows(written, used, self.width_for(rows.width))

    def read(self) -> tuple[Vector, Vector]:
        """Return the centres and the spreads for the coming row."""
        centre, spread = np.empty((2, len(self._table)))
        read_moments(self._table, self._counts, centre, spread)
        return centre, spread

    def shifted(self) -> tuple[Vector, Vector, Vector]:
        """Return a shift of each feature, the mean of x - shift, and the spread.

        Centres are the sums of the first two, which lose digits where they are large.
        """
        table, (before, running, _) = self._table, self._counts
        share = running / max(before + running, 1.0)
        mean = table[:, Moment.MEAN_BEFORE]
        mean = mean + share * (table[:, Moment.MEAN] - mean)
        return table[:, Moment.SHIFT].copy(), mean, self.read()[1]

    def arrays(self, widest: int | None = None) -> Arrays:
        """Return copies of the moments of the first `widest` features [default: all] and counts."""
        return {"moments": self._table[:widest].copy(), "counts": self._counts.copy()}

    def agrees(self, other: Scaler) -> bool:
        """Tell whether another has the same moments, as far as it knows them."""
        table, own = other._table, self._table[: len(other._table)]
        return np.array_equal(own, table) and np.array_equal(self._counts[:2], other._counts[:2])

    def restore(self, arrays: Arrays) -> None:
        """Continue from what `arrays` returned, or refuse what is no state of a scaler."""
        table, counts = arrays["moments"], arrays["counts"]
        for name, array, shape in (
            ("moments", table, (min(self.known or 0, self.scaling.widest), len(Moment))),
            ("counts", counts, (len(Count),)),
        ):
            if array.shape != shape or array.dtype != np.float64:
                found = f"{array.shape} of {array.dtype}"
                raise ValueError(f"{name} has shape {found}, expected {shape} of float64")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} holds numbers that are not finite")
        before, running, outgrown = counts
        longest = min(max(2.0 * before, 1.0), LONGEST)
        # Lengths of epochs are powers of two.
        whole = before == 0.0 or (1.0 <= before <= LONGEST and before.hex().startswith("0x1.000"))
        if not (whole and 0.0 <= running < longest and running % 1.0 == 0.0 and outgrown in (0, 1)):
            raise ValueError("counts are not those of a scaler")
        if table[:, [Moment.SQUARE_BEFORE, Moment.SQUARE]].min(initial=0.0) < 0.0:
            raise ValueError("moments holds squares below 0")
        self._table, self._counts = table.copy(), counts.copy()


def as_limits(bound: Any, limit: Any) -> tuple[float, float]:
    """Return `bound` and `limit` as numbers, or refuse them."""
    bound, limit = as_positive("bound", bound), as_number("limit", limit)
    if not bound > 1.0:
        raise ArgumentError("bound", "must be a number above 1", bound)
    if not 0.0 <= limit <= bound:
        raise ArgumentError("limit", f"must be a number from 0 to bound={bound:g}", limit)
    return bound, limit


def as_epoch(name: str, rows: int | None) -> float:
    """Return the rows of an epoch as a number, infinite for None.

    >>> as_epoch("settled", 64), as_epoch("settled", None)
    (64.0, inf)
    """
    if rows is None:
        return math.inf
    if type(rows) is not int or not 1 <= rows <= LONGEST or rows & (rows - 1):
        raise ArgumentError(name, f"must be a power of two of at most {LONGEST:g}", rows)
    return float(rows)


def _room(count: int, most: int) -> Written:
    """Return room for `count` rows of `most` numbers in all."""
    return Written(np.empty(count + 1, np.uint64), np.empty(most, np.uint32), np.empty(most))


def _rows(written: Written, used: int, width: int) -> Rows:
    count = len(written.indptr) - 1
    return Rows(written.indptr, written.columns[:used], written.values[:used], width, count)


def with_constants(
    given: Rows, before: int, after: int, gone: npt.NDArray[np.bool_], width: int
) -> Rows:
    """Return standardised rows with `after` constants in place of `before`.

    Rows that are `gone` have the constants alone.

    >>> given = Rows(np.array([0, 2], np.uint64), np.array([0, 1], np.uint32), np.ones(2), 2, 1)
    >>> with_constants(given, 1, 2, np.zeros(1, bool), 3).indices
    array([0, 1, 2], dtype=uint32)
    """
    written = _room(len(given), given.stored + len(given) * after)
    used = recast(block(given), before, after, gone, written)
    return _rows(written, used, width)


def beyond(rows: Rows, widest: int) -> npt.NDArray[np.bool_]:
    """Return for each row whether it has a feature in column `widest` or a later one."""
    if rows.dense:
        return np.asarray((rows.values[:, widest:] != 0.0).any(axis=1))
    own = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
    wide = (rows.indices[own] >= widest) & (rows.values[own] != 0.0)
    counted = np.concatenate([[0], np.cumsum(wide)])
    ends = (rows.indptr - rows.indptr[0]).astype(np.int64)
    return np.asarray(np.diff(counted[ends]) > 0)


class Wrapped(Field):
    """The wrapped learner: its header under a key, its arrays under their own names."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the learner."""
        header[self.name], own = self.get(owner)._to_file()
        arrays.update(own)

    def arguments(self, header: Header, arrays: Arrays) -> Header:
        """Return a learner with the same settings that has seen nothing."""
        learner = learner_of(header[self.name], arrays)
        return {"learner": type(learner)(**learner._settings())}

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Take the learner over."""
        self.set(owner, learner_of(header[self.name], arrays))


class Scaled(Field):
    """The number of known features in the header, the moments of a view in the arrays."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter both."""
        header[self.name] = self.get(owner).known
        arrays.update(self.get(owner).arrays())

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Take both over."""
        known, scaler = header[self.name], self.get(owner).scaler
        if known is not None and (type(known) is not int or known < 0):
            raise ValueError(f"{self.name} is {known!r}, expected a number of features")
        scaler.known = known
        scaler.restore(arrays)


class Booked(Field):
    """The sums of the certificate, under names that begin with `book/`; none if it is not kept."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the sums."""
        book = self.get(owner)
        own = {} if book is None else book.arrays()
        arrays.update({f"{_BOOK}{name}": array for name, array in own.items()})

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Take the sums over."""
        book = self.get(owner)
        if book is None:
            return
        own = {
            name.removeprefix(_BOOK): array
            for name, array in arrays.items()
            if name.startswith(_BOOK)
        }
        book.restore(own)
        if book.rounds != owner.rounds:
            raise ValueError(f"the certificate has {book.rounds} rounds of {owner.rounds} learnt")
