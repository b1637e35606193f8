"""How one learner sees rows: by moments that others may share, with constants of its own."""

from __future__ import annotations

import numpy as np

from noregret.arrays import Vector
from noregret.files.fields import Arrays
from noregret.learners.standardized_fields import Scaler, beyond, with_constants
from noregret.passes.standardizing import Count
from noregret.rows.examples import Rows


class RowView:
    """Rows centred and scaled for one learner.

    bound: the largest deviation that enters the moments, in spreads.
    limit: the distance from the centre, in spreads, above which a feature is its logarithm.
    constants: columns of 1 before the features.
    widest: from the first row on that has a feature in a later column the learner sees the
        constants alone.
    settled: rows of the epoch whose centres and spreads are kept; infinite: they follow the rows.

    >>> one, other = RowView(20.0, 3.0, 1, 512, np.inf), RowView(20.0, 3.0, 2, 512, np.inf)
    >>> other.share(one)
    >>> rows = Rows(np.zeros(1, np.uint64), np.zeros(0, np.uint32), np.array([[1.0], [3.0]]), 1, 2)
    >>> given = one.standardized(rows, np.ones(2), True)
    >>> given.values, other.fitted(given, rows, np.ones(2), True).values
    (array([1., 1.]), array([1., 1., 1., 1.]))
    """

    def __init__(
        self, bound: float, limit: float, constants: int, widest: int, settled: float
    ) -> None:
        self.constants, self.widest = constants, widest
        self.scaler = Scaler(bound, limit, constants, widest, settled)
        #: Whether a row was too wide for this learner, though not for the moments it shares.
        self._gone = False

    @property
    def known(self) -> int | None:
        """The widest rows so far, None before the first."""
        return self.scaler.known

    @property
    def outgrown(self) -> bool:
        """Whether a row was too wide."""
        return self._gone or self.scaler.outgrown

    @property
    def hidden(self) -> bool:
        """Whether the learner sees no feature of the coming row."""
        return self._gone or self.scaler.hidden

    def width_for(self, width: int) -> int:
        """Return how many columns rows of that width have once they are standardised."""
        return self.constants + min(max(width, self.known or 0), self.widest)

    def moments(self) -> tuple[Vector, Vector]:
        """Return the centres and the spreads for the coming row."""
        centre, spread = self.scaler.read()
        return centre[: self.widest], spread[: self.widest]

    def shifted(self) -> tuple[Vector, Vector, Vector]:
        """Return a shift of each feature, the mean of x - shift, and the spread."""
        shift, mean, spread = self.scaler.shifted()
        return shift[: self.widest], mean[: self.widest], spread[: self.widest]

    def fits(self, other: RowView) -> bool:
        """Tell whether the moments of another view would do: made alike, for as many features."""
        own, given = self.scaler.scaling, other.scaler.scaling
        alike = own._replace(constants=given.constants, widest=given.widest) == given
        return alike and self.widest <= given.widest

    def share(self, other: RowView) -> None:
        """Take the moments of another view from now on, which fit and have seen the same rows."""
        own, shared = self.scaler, other.scaler
        if own is shared:
            return
        if not self.fits(other):
            raise ValueError("learners share moments that were made alike, the widest first")
        if own.known != shared.known or not (own.outgrown or shared.agrees(own)):
            raise ValueError("learners that share moments must have learnt the same rows")
        self._gone, self.scaler = own.outgrown, shared

    def standardized(self, rows: Rows, weights: Vector, learning: bool) -> Rows:
        """Return sound rows in units of the moments, which they enter if they are learnt."""
        if learning:
            self.scaler.widen(rows.width)
        return self.scaler.standardized(rows, weights, learning)

    def fitted(self, given: Rows, rows: Rows, weights: Vector, learning: bool) -> Rows:
        """Return rows that a view with the same moments has standardised, as this one sees them."""
        shared, width = self.scaler.scaling, self.width_for(rows.width)
        gone = np.full(len(rows), self._gone)
        if self.widest < shared.widest and rows.width > self.widest and not self._gone:
            wide = beyond(rows, self.widest)
            entering = wide & (weights > 0.0) & learning
            gone = wide | (np.cumsum(entering) > 0)
            self._gone = bool(entering.any())
        if shared.constants == self.constants and not gone.any():
            return Rows(given.indptr, given.indices, given.values, width, len(rows))
        return with_constants(given, shared.constants, self.constants, gone, width)

    def state(self) -> tuple[bool, int | None, Arrays]:
        """Return what `put_back` takes."""
        return self._gone, self.scaler.known, self.scaler.arrays()

    def put_back(self, state: tuple[bool, int | None, Arrays]) -> None:
        """Go back to an earlier state, that of the moments included."""
        self._gone, self.scaler.known, arrays = state
        self.scaler.restore(arrays)

    def arrays(self) -> Arrays:
        """Return copies of the moments for a file, as if this view had them for itself."""
        arrays = self.scaler.arrays(self.widest)
        arrays["counts"][Count.OUTGROWN] = self.outgrown
        return arrays
