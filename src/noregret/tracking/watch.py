"""A tracker at work on a stream: its loss, and a floor under the loss of fixed predictors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.batch.solver import Progress
from noregret.learners.anyone import certify
from noregret.learners.foreign import Certifier
from noregret.losses import Loss, Squared
from noregret.passes.checks import sound_rows
from noregret.proof.wording import WrongConjugate
from noregret.rounding import certified_ceiling
from noregret.rows.examples import Rows, as_labels, as_rows, as_weights
from noregret.tracking.mixture import Tracker
from noregret.tracking.static import Moments, row_norms, static_floor
from noregret.turns import one_at_a_time

#: Rows that are learnt together; the first of them set the unit of the tracker's rates.
PORTION = 8192
#: Number of windows that begin within the length of one.
OVERLAP = 4
#: Rows below this size are measured by it.
SMALLEST_ROW = 1e-100
#: The largest prediction that the ball may allow, as for labels.
LARGEST_PREDICTION = 1e100


@dataclass(frozen=True)
class Span:
    """Consecutive rounds, counted from 1, with bounds on both losses on them."""

    first: int
    last: int
    #: Upper bound on the tracker's loss on these rounds.
    tracker_loss: float
    #: Lower bound on the loss of every fixed predictor of the ball.
    static_bound: float

    @property
    def rounds(self) -> int:
        """How many rounds these are."""
        return self.last - self.first + 1

    @property
    def proved(self) -> bool:
        """Whether no fixed predictor of the ball does as well as the tracker did."""
        return self.tracker_loss < self.static_bound

    @property
    def average_loss(self) -> float:
        """The tracker's loss a round, rounded up."""
        return math.nextafter(self.tracker_loss / self.rounds, math.inf)

    @property
    def average_bound(self) -> float:
        """The bound on fixed predictors a round, rounded down."""
        return math.nextafter(self.static_bound / self.rounds, -math.inf)

    @property
    def margin(self) -> float:
        """Lower bound on the gap a round between both losses; at most 0 where nothing is proved."""
        gap = math.nextafter(self.static_bound - self.tracker_loss, -math.inf)
        return math.nextafter(gap / self.rounds, -math.inf)


class Part:
    """Consecutive rows with labels, weights and the predictions of the tracker."""

    def __init__(self, rows: Rows, y: Vector, weight: Vector, predictions: Vector) -> None:
        self.rows, self.y, self.weight, self.predictions = rows, y, weight, predictions

    def __len__(self) -> int:
        return len(self.y)

    def cut(self, start: int, stop: int) -> Part:
        """Return rows start to stop - 1 as a view."""
        part = slice(start, stop)
        return Part(
            self.rows.part(start, stop), self.y[part], self.weight[part], self.predictions[part]
        )


class Watch:
    """A tracker at work, with the rows and sums needed to judge it.

    Rows wait until there are PORTION of them, in one pass, or until all are there: the tracker
    sees the same portions however the rows came, and does the same.
    """

    def __init__(
        self,
        loss: Loss,
        radius: float,
        window: int | None,
        one_pass: bool,
        tell: Callable[[str], None],
    ) -> None:
        self._loss, self._radius, self._window, self._tell = loss, radius, window, tell
        self._tracker: Tracker | None = None
        squared = type(loss) is Squared
        #: Without rows in memory blocks raise the floor; for the square loss moments are exact.
        self._one_pass = one_pass
        blocks = one_pass and not squared
        self._certifier = Certifier(loss, None, blocks, radius if blocks else None)
        self._moments = Moments() if one_pass and squared else None
        #: Consecutive parts from round `_dropped` on: those learnt and needed again, and those not
        #: yet learnt.
        self._parts: list[Part] = []
        self._given = self._learnt = self._dropped = 0
        self._windows: list[Span] = []
        #: The promise that the loss broke, in words.
        self.broken = ""
        #: The smallest and the largest example weight so far.
        self.weights = (math.inf, 0.0)

    @one_at_a_time
    def add(self, rows: Rows, y: Any, weight: Any) -> None:
        """Take rows in; learn them if they are enough for a portion."""
        labels = as_labels(y, len(rows), self._loss)
        weights = as_weights(weight, len(rows))
        rows = sound_rows(rows, self._given)
        if not len(rows):
            return
        least, most = self.weights
        self.weights = min(least, float(weights.min())), max(most, float(weights.max()))
        self._parts.append(Part(rows, labels, weights, np.empty(len(rows))))
        self._given += len(rows)
        if self._one_pass and self._given - self._learnt >= PORTION:
            self._learn((self._given - self._learnt) // PORTION * PORTION)

    def _learn(self, count: int) -> None:
        """Learn `count` of the waiting rows; judge complete windows, drop rows not needed again."""
        held, stop = _joined(self._parts), self._learnt + count
        for start in range(self._learnt, stop, PORTION):
            part = held.cut(start - self._dropped, min(start + PORTION, stop) - self._dropped)
            part.predictions[:] = self._track(part.rows.plain(), part.y, part.weight)
            self._learnt += len(part)
            self._tell(f"tracking, {self._learnt:,} examples")
        needed = self._learnt
        if self._window is not None:
            step = max(1, self._window // OVERLAP)
            while len(self._windows) * step + self._window <= self._learnt:
                first = len(self._windows) * step
                start = first - self._dropped
                self._windows.append(self._judge(held.cut(start, start + self._window), first))
                self._tell(f"judging windows, up to example {first + self._window:,}")
            needed = min(len(self._windows) * step, self._learnt)
        # In several passes the bound on fixed predictors needs all rows.
        gone = needed - self._dropped if self._one_pass else 0
        self._parts = [held.cut(gone, len(held))]
        self._dropped += gone

    def _track(self, X: Any, y: Vector, weight: Vector) -> Vector:
        if self._tracker is None:
            row = float(row_norms(as_rows(X)).max(initial=0.0))
            if not self._radius * row <= LARGEST_PREDICTION:
                raise ValueError(
                    f"radius {self._radius:g} with rows of norm {row:g}: predictions could be "
                    f"beyond {LARGEST_PREDICTION:g}; expected a smaller radius"
                )
            self._tracker = Tracker(self._loss, self._radius, row if row > SMALLEST_ROW else 1.0)
        predictions = self._tracker.learn(X, y, weight)
        self._certifier.add(X, y, predictions, weight)
        if self._moments is not None:
            self._moments.add(X, y, weight)
        return predictions

    def _judge(self, part: Part, first: int) -> Span:
        proof = certify(part.rows.plain(), part.y, part.predictions, self._loss, part.weight)
        static = self._static(part) if proof.broken is None else -math.inf
        floor = max(proof.floor(self._radius), static)
        return Span(first + 1, first + len(part), certified_ceiling(proof.loss_upper), floor)

    def _static(self, part: Part) -> float:
        def tell(now: Progress) -> None:
            self._tell(f"solving for the best fixed predictor, pass {now.passes:,}")

        try:
            return static_floor(
                part.rows.plain(), part.y, self._loss, self._radius, part.weight, tell
            )
        except WrongConjugate as error:
            self.broken = self.broken or str(error)
            return -math.inf

    def proof(self) -> tuple[Span, tuple[Span, ...]]:
        """Learn the waiting rows; return the bounds on all rounds and on each window."""
        if not self._given:
            raise ValueError("there are no rounds: expected at least one row")
        self._learn(self._given - self._learnt)
        assert self._tracker is not None
        proof = self._certifier.certificate()
        # A loss that broke a promise in one round invalidates all bounds.
        broken = proof.broken or self._tracker.broken
        if broken is not None:
            self.broken = str(broken)
        floors = [proof.floor(self._radius), self._tracker.floor()]
        if self._moments is not None:
            floors.append(self._moments.floor(self._radius))
        elif not self.broken and not self._one_pass:
            floors.append(self._static(_joined(self._parts)))
        floor = max(floors) if not self.broken else -math.inf
        return Span(1, self._learnt, certified_ceiling(proof.loss_upper), floor), tuple(
            self._windows
        )


def _joined(parts: list[Part]) -> Part:
    """Return parts one after the other as one."""
    if len(parts) == 1:
        return parts[0]
    rows = [part.rows for part in parts]
    y, weight, predictions = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("y", "weight", "predictions")
    )
    if rows[0].dense:
        values = np.concatenate([one.values for one in rows])
        return Part(replace(rows[0], values=values, trusted=len(y)), y, weight, predictions)
    spans = [slice(int(one.indptr[0]), int(one.indptr[-1])) for one in rows]
    lengths = np.concatenate([np.diff(one.indptr) for one in rows])
    joined = Rows(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64),
        np.concatenate([one.indices[span] for one, span in zip(rows, spans, strict=True)]),
        np.concatenate([one.values[span] for one, span in zip(rows, spans, strict=True)]),
        max(one.width for one in rows),
        len(y),
    )
    return Part(joined, y, weight, predictions)
