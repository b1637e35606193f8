"""Learners that see rows by the same moments, and one that waits for rows too wide for these."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from noregret.arrays import Matrix, Vector
from noregret.experts.aggregate import Aggregate, Way
from noregret.experts.roster import NARROW
from noregret.learners.marks import Undo, marked
from noregret.learners.standardized import Standardized
from noregret.learners.standardized_fields import beyond
from noregret.rows.examples import CHUNK, Rows


class SharedMoments(Aggregate):
    """An aggregate that standardises rows once for all of its learners that see them so.

    Its last learner may wait: it sees no feature before a row is too wide to be standardised. The
    first learner is a `Standardized` then, which knows whether a row was.

    >>> import noregret as nr
    >>> mixture = nr.Mixture(nr.losses.Hinge())
    >>> _ = mixture.learn([[1.0], [2.0]], [1, -1])
    >>> isinstance(mixture, SharedMoments), mixture.outgrown, mixture.learners[-1].weights.tolist()
    (True, False, [0.0])
    """

    #: Whether the last learner waits, and whether a row was too wide for the others.
    _waits = _outgrown = False

    def _share_moments(self, waits: bool) -> None:
        """Share moments; let the last learner wait until rows are too wide, or not."""
        self._waits = waits
        self._outgrown = waits and bool(self.learners[0].outgrown)
        standardized = [
            (k, one) for k, one in enumerate(self.learners) if isinstance(one, Standardized)
        ]
        #: The learners that see rows by the moments of the first, by their places.
        self._seeing: dict[int, Standardized] = {
            k: one for k, one in standardized if waits and one.view.fits(self.learners[0].view)
        }
        for one in self._seeing.values():
            one.view.share(self.learners[0].view)

    @property
    def outgrown(self) -> bool:
        """Whether a row had a feature beyond 512: the members that standardise see none then."""
        return self._outgrown

    def _pieces(self, rows: Rows) -> Iterator[tuple[int, int]]:
        """Yield the start and the stop of parts of limited size, standardised or not."""
        width = self.learners[0].view.width_for(rows.width) if self._seeing else 0
        most = CHUNK // max(width, 1)
        for start, stop in rows.chunks():
            for first in range(start, stop, most):
                yield first, min(first + most, stop)

    def _ways(self, rows: Rows, weights: Vector) -> list[Way]:
        ways = super()._ways(rows, weights)
        if self._seeing:
            given = self.learners[0].view.standardized(rows, weights, True)
            for k, one in self._seeing.items():
                ways[k] = partial(self._learn_seen, one, given, rows, weights)
        if self._waits and not self._outgrown:
            ways[-1] = partial(self.learners[-1].learn, from_wide_on(rows, weights))
        return ways

    def _undos(self, rows: Rows) -> list[Undo]:
        # What is put back are the learners wrapped: a copy of a member would have moments of its
        # own.
        return [
            one.marked_view(rows) if k in self._seeing else marked(one, rows)
            for k, one in enumerate(self.learners)
        ]

    @staticmethod
    def _learn_seen(
        learner: Standardized, given: Rows, rows: Rows, weights: Vector, labels: Vector, *_: Vector
    ) -> Vector:
        seen = learner.view.fitted(given, rows, weights, True)
        return learner.learn_standardized(seen, labels, weights)

    def _predictions(self, rows: Rows) -> list[Vector]:
        if not self._seeing:
            return super()._predictions(rows)
        weights = np.ones(len(rows))
        given = self.learners[0].view.standardized(rows, weights, False)
        return [
            one.predict_standardized(one.view.fitted(given, rows, weights, False))
            if k in self._seeing
            else one.predict(rows.plain())
            for k, one in enumerate(self.learners)
        ]

    def _mix(self, given: Any, labels: Vector, weights: Vector, made: Matrix) -> Vector:
        mixed = super()._mix(given, labels, weights, made)
        self._outgrown = self._waits and bool(self.learners[0].outgrown)
        return mixed


def from_wide_on(rows: Rows, weight: Vector) -> Any:
    """Return rows without the features of those before the first that is too wide."""
    count = len(rows)
    starts = np.zeros(count + 1, np.uint64)
    if rows.width <= NARROW or not count:
        return Rows(starts, np.empty(0, np.uint32), np.empty(0), rows.width)
    wide = beyond(rows, NARROW)
    seen = wide | (np.cumsum(wide & (weight > 0.0)) > 0)
    if rows.dense:
        return np.where(seen[:, None], rows.values, 0.0)
    lengths = np.where(seen, np.diff(rows.indptr), 0).astype(np.uint64)
    starts[1:] = np.cumsum(lengths)
    first = rows.indptr[0]
    kept = np.repeat(seen, np.diff(rows.indptr).astype(np.int64))
    own = slice(int(first), int(rows.indptr[-1]))
    return Rows(starts, rows.indices[own][kept], rows.values[own][kept], rows.width)
