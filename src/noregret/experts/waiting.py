"""A learner that waits until rows are too wide for the others to standardise them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Matrix, Vector
from noregret.experts.aggregate import Aggregate
from noregret.experts.roster import NARROW
from noregret.rows.examples import Rows, as_rows


class Waiting(Aggregate):
    """An aggregate whose last learner may wait: it sees no feature before a row is too wide.

    The first learner is a `Standardized` then, which knows whether a row was.

    >>> import noregret as nr
    >>> mixture = nr.Mixture(nr.losses.Hinge())
    >>> _ = mixture.learn([[1.0], [2.0]], [1, -1])
    >>> isinstance(mixture, Waiting), mixture.outgrown, mixture.learners[-1].weights.tolist()
    (True, False, [0.0])
    """

    #: Whether the last learner waits, and whether a row was too wide for the others.
    _waits = _outgrown = False

    def _wait(self, waits: bool) -> None:
        """Let the last learner wait until rows are too wide, or not."""
        self._waits = waits
        self._outgrown = waits and bool(self.learners[0].outgrown)

    @property
    def outgrown(self) -> bool:
        """Whether a row had a feature beyond 512: the members that standardise see none then."""
        return self._outgrown

    def _learn_member(
        self, k: int, rows: Any, terms: tuple[Vector, ...], made: Matrix, first: bool
    ) -> None:
        if k == len(self.learners) - 1 and self._waits and not self._outgrown:
            rows = from_wide_on(as_rows(rows), *terms[1:])
        super()._learn_member(k, rows, terms, made, first)

    def _mix(self, given: Any, labels: Vector, weights: Vector, made: Matrix) -> Vector:
        mixed = super()._mix(given, labels, weights, made)
        self._wait(self._waits)
        return mixed


def from_wide_on(rows: Rows, weight: Vector | None = None) -> Any:
    """Return rows without the features of those before the first that is too wide."""
    count = len(rows)
    starts = np.zeros(count + 1, np.uint64)
    if rows.width <= NARROW or not count:
        return Rows(starts, np.empty(0, np.uint32), np.empty(0), rows.width)
    beyond = _beyond(rows)
    enters = beyond if weight is None else beyond & (weight > 0.0)
    seen = beyond | (np.cumsum(enters) > 0)
    if rows.dense:
        return np.where(seen[:, None], rows.values, 0.0)
    lengths = np.where(seen, np.diff(rows.indptr), 0).astype(np.uint64)
    starts[1:] = np.cumsum(lengths)
    first = rows.indptr[0]
    kept = np.repeat(seen, np.diff(rows.indptr).astype(np.int64))
    own = slice(int(first), int(rows.indptr[-1]))
    return Rows(starts, rows.indices[own][kept], rows.values[own][kept], rows.width)


def _beyond(rows: Rows) -> npt.NDArray[np.bool_]:
    """Return for each row whether it has a feature beyond those that are standardised."""
    if rows.dense:
        return np.asarray((rows.values[:, NARROW:] != 0.0).any(axis=1))
    own = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
    wide = (rows.indices[own] >= NARROW) & (rows.values[own] != 0.0)
    counted = np.concatenate([[0], np.cumsum(wide)])
    ends = (rows.indptr - rows.indptr[0]).astype(np.int64)
    return np.asarray(np.diff(counted[ends]) > 0)
