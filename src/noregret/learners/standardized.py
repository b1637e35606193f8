"""A learner that sees its features centred and scaled by the rows before."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from noregret.arguments import ArgumentError
from noregret.arrays import Vector, as_whole
from noregret.files import store
from noregret.files.fields import Saved, Setting
from noregret.learners.base import Diverged, learn_together
from noregret.learners.foreign import Certifier
from noregret.learners.foreign_scores import ScoreCertifier
from noregret.learners.marks import Undo, marked, with_attributes
from noregret.learners.matrix import MatrixDescent
from noregret.learners.mirror_descent import MirrorDescent
from noregret.learners.row_view import RowView
from noregret.learners.single_rows import cannot_overflow
from noregret.learners.standardized_fields import Booked, Scaled, Wrapped, as_epoch, as_limits
from noregret.passes.checks import sound_rows
from noregret.proof.certificate import Certificate
from noregret.proof.ledger import require_room
from noregret.rates.second_order import SecondOrder
from noregret.rows.examples import CHUNK, Rows, as_labels, as_rows, as_targets, as_weights, count_of
from noregret.turns import one_at_a_time


class Standardized(Saved):
    """A learner whose rows are centred and scaled by the rows before: units and offsets are free.

    Each round: z_i = squash((x_i - centre_i) / spread_i), 0 while a feature has not varied, with
    the moments of the rows before; the learner wrapped predicts from (1, z) and learns it; then x
    enters the moments, its deviation cut to `bound` spreads. Of the moments the rows of two
    epochs count, the last one included, of 1, 2, 4, ... up to 8192 rows: a change of regime is
    followed, an outlier forgotten. Squash leaves up to `limit` spreads as they are.

    The centres and spreads are the player's own business. The certificate speaks about the rows as
    they were given: its lines touch where the learner predicts, in the original features.

    Rows of weight 0 do not enter the moments, other rows count once whatever their weight.

    >>> import numpy as np, noregret as nr
    >>> rows = np.random.default_rng(0).normal(size=(500, 3)) * [1e3, 1.0, 1e-3] + [0, 1e6, 5]
    >>> y = np.sign(rows @ [1e-3, 1.0, 1e3] - 1e6 - 5e3)
    >>> plain = nr.mirrors.Euclidean(), nr.rates.ScaleFree()
    >>> learner = Standardized(nr.MirrorDescent(nr.losses.Logistic(), *plain))
    >>> predictions = learner.learn(rows, y)
    >>> bool(np.mean(np.sign(predictions[250:]) == y[250:]) > 0.9)
    True
    >>> weights, offset = learner.affine()
    >>> bool(np.allclose(learner.predict(rows[:1]), rows[:1] @ weights + offset))
    True

    References: Welford, Note on a Method for Calculating Corrected Sums of Squares and Products,
    1962, for the recursion; Huber, Robust Estimation of a Location Parameter, 1964, for cut
    deviations.
    """

    _KIND = "learner"
    _FIELDS = (
        Wrapped("wrapped", "_learner"),
        Setting("bound", "_view.scaler.scaling.bound"),
        Setting("limit", "_view.scaler.scaling.limit"),
        Setting("constants", "_view.constants"),
        Setting("widest", "_view.widest"),
        Setting("settled", "_settled"),
        Setting("certified"),
        Setting("blocks"),
        Scaled("known", "_view"),
        Booked("certificate", "_book"),
    )

    def __init__(
        self,
        learner: MirrorDescent | MatrixDescent,
        bound: float = 5.0,
        limit: float = 2.0,
        constants: int = 1,
        widest: int = 512,
        settled: int | None = None,
        certified: bool = True,
        blocks: bool | str = False,
    ) -> None:
        """Wrap a learner that has seen nothing.

        Args:
            learner: a `MirrorDescent` or `MatrixDescent` without blocks of its own.
            bound: deviations count up to so many spreads, in the moments and in z; > 1
                [default: 5].
            limit: beyond so many spreads z is limit + ln(1 + |z| - limit); from 0 to `bound`
                [default: 2].
            constants: columns of 1 that the learner sees before the features, >= 0; several make
                a learner of the kind of `ScaleFree` faster at finding the level [default: 1].
            widest: from the first row on that has a feature in a later column than so many, the
                learner is given the constants alone: centred rows are not sparse [default: 512].
            settled: keep the moments of the epoch of this many rows, a power of two up to 8192, and
                for a feature that did not vary in it the size of its first deviation; before that
                the learner sees the constants alone [default: none, they follow the rows].
            certified: keep the sums of the certificate [default: True].
            blocks: raise the floor by lines under blocks of rows, see `nr.certify`
                [default: False].
        """
        if type(learner) not in (MirrorDescent, MatrixDescent):
            raise ArgumentError("learner", "must be a MirrorDescent or a MatrixDescent", learner)
        if learner.rounds:
            raise ArgumentError("learner", "must be fresh, and this one has learnt rows", learner)
        if learner.blocks:
            words = "keeps blocks in units that move: give blocks to Standardized"
            raise ArgumentError("learner", words, learner)
        bound, limit = as_limits(bound, limit)
        self._learner, self._settled = learner, settled
        constants, rows = as_whole("constants", constants, 0), as_epoch("settled", settled)
        self._view = RowView(bound, limit, constants, as_whole("widest", widest), rows)
        self._book: Certifier | None = None
        if certified:
            kind: Any = ScoreCertifier if isinstance(learner, MatrixDescent) else Certifier
            self._book = kind(learner.loss, blocks=blocks)
        elif blocks:
            raise ArgumentError("blocks", "raise the floor of a certificate, and none is kept")

    def _made(self) -> str:
        own = super()._made()
        return f"{type(self._learner).__name__}({self._learner._made()}){own and ', ' + own}"

    @property
    def learner(self) -> MirrorDescent | MatrixDescent:
        """The learner wrapped: its features are the constants and the standardised ones."""
        return self._learner

    @property
    def rounds(self) -> int:
        """Number of rounds learnt."""
        return self._learner.rounds

    @property
    def loss(self) -> Any:
        """The loss."""
        return self._learner.loss

    @property
    def dimension(self) -> int:
        """Number of known features, without the constants."""
        return self._view.known or 0

    @property
    def growable(self) -> bool:
        """Whether features may be added to those that are known."""
        return self._learner.growable

    @property
    def certified(self) -> bool:
        """Whether a certificate is kept."""
        return self._book is not None

    @property
    def blocks(self) -> bool | str:
        """Whether lines under blocks of rows are kept, which raise the floor, or "parabolas"."""
        return False if self._book is None else self._book.blocks

    @property
    def outgrown(self) -> bool:
        """Whether a row had a feature beyond `widest`: the learner is given the constants alone."""
        return self._view.outgrown

    @property
    def moments(self) -> tuple[Vector, Vector]:
        """The centre and the spread of each of the first `widest` features."""
        return self._view.moments()

    @property
    def view(self) -> RowView:
        """How the learner sees its rows: learners of an aggregate may share their moments."""
        return self._view

    def learn_standardized(self, given: Rows, labels: Vector, weights: Vector) -> Vector:
        """Learn sound rows as the view of this learner shows them, whose moments they entered.

        Errors leave this learner as `MirrorDescent.learn` does, and the moments as they are.
        """
        if len(given) > 1 or self._learner.dimension != given.width:
            return self._learner.learn(given, labels, weights)
        y = labels[0].item() if labels.ndim == 1 else labels[0]
        only = self._learner.learn_one(given.indices, given.values, y, float(weights[0]))
        return np.array([only])

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest prediction that can be made, infinite if there is none."""
        if isinstance(self._learner, MirrorDescent):
            return self._learner.limits
        return -math.inf, math.inf

    @one_at_a_time
    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X one after the other; return the predictions made before each.

        Input that cannot be learnt raises ValueError and leaves the learner as it was. A learner
        whose rate is too large may diverge: OverflowError then, with the rounds before it kept.
        """
        rows = sound_rows(as_rows(X), 0)
        labels = self._as_labels(y, len(rows))
        weights = as_weights(weight, len(rows))
        self._check_width(rows)
        before = self.rounds
        require_room(before, len(rows))
        if len(rows) == 0:
            return self.predict(X)
        predictions = np.empty((len(rows), *self._shape(labels)))
        try:
            if self._light(rows, labels, weights):
                predictions[0] = self._play_one(rows, labels[0], weights)
            else:
                self._play_all(rows, labels, weights, predictions)
        except OverflowError as error:
            raise Diverged(str(error), predictions[: self.rounds - before]) from None
        return predictions

    def _as_labels(self, y: Any, count: int) -> Vector:
        if isinstance(self._learner, MatrixDescent):
            return as_targets(y, count, self.loss, self._learner.outputs or None)
        return as_labels(y, count, self.loss)

    def _shape(self, labels: Vector) -> tuple[int, ...]:
        """Return the shape of a prediction: a number, or one for each score."""
        if isinstance(self._learner, MatrixDescent):
            return (self._learner.outputs or count_of(labels),)
        return ()

    def _light(self, rows: Rows, labels: Vector, weights: Vector) -> bool:
        """Tell whether this is one row as wide as those before that no sum can overflow at."""
        if len(rows) > 1 or self._learner.dimension != self._view.width_for(rows.width):
            return False
        if self._book is None:
            return True
        if isinstance(self._learner, MatrixDescent) or self.loss.foreign:
            return False
        return cannot_overflow(self.loss, self.limits, rows, float(labels[0]), float(weights[0]))

    def _play_one(self, rows: Rows, label: Any, weights: Vector) -> Any:
        """Learn one row as `_play` does, without a copy of the learner to go back to."""
        kept = self._view.state()
        given = self._view.standardized(rows, weights, True)
        try:
            prediction = self.learn_standardized(given, np.asarray([label]), weights)[0]
        except (OverflowError, ValueError):
            self._view.put_back(kept)
            raise
        if self._book is not None:
            self._book.add_sound(rows, np.array([float(label)]), weights, np.array([prediction]))
        return prediction

    def _play_all(self, rows: Rows, labels: Vector, weights: Vector, predictions: Vector) -> None:
        """Learn rows part by part, each of which all parts of the learner learn, or none."""
        learner = self._learner
        new = learner if isinstance(learner, MatrixDescent) and not learner.outputs else None
        if new is not None:
            new.grow(predictions.shape[1])
        together = [learner, self._view] + ([] if self._book is None else [self._book])

        def play(start: int, stop: int) -> None:
            part = slice(start, stop)
            predictions[part] = self._play(rows.part(start, stop), labels[part], weights[part])

        try:
            for start, stop in self._pieces(rows):
                learn_together(together, start, stop, play)
        finally:
            if new is not None and not new.rounds:
                # The next targets may be of more or fewer scores.
                new._outputs = None

    def _mark(self, rows: Rows) -> Undo | None:
        """Return what puts the learner back after it has learnt these rows, see `marks`."""
        known = self._view.width_for(rows.width) == self._learner.dimension
        if self.blocks or rows.width > self.dimension or not known:
            return None
        # The certificate enters rows in copies of its arrays.
        return with_attributes([] if self._book is None else [self._book], self.marked_view(rows))

    def marked_view(self, rows: Rows) -> Undo:
        """Return what puts the moments and the learner wrapped back, see `marks`."""
        width, state = self._view.width_for(rows.width), self._view.state()
        known = width == self._learner.dimension
        undo = marked(self._learner, as_rows(np.empty((0, width))) if known else None)

        def back() -> None:
            undo()
            self._view.put_back(state)

        return back

    def _pieces(self, rows: Rows) -> Iterator[tuple[int, int]]:
        """Yield the start and the stop of parts of limited size, standardised or not."""
        most = max(1, CHUNK // max(1, self._view.width_for(rows.width)))
        for start, stop in rows.chunks():
            for first in range(start, stop, most):
                yield first, min(first + most, stop)

    def _play(self, rows: Rows, labels: Vector, weights: Vector) -> Vector:
        """Learn rows; the caller undoes it if one of them is refused."""
        given = self._view.standardized(rows, weights, True)
        predictions = self._learner.learn(given, labels, weights)
        if self._book is not None:
            try:
                self._book.add_sound(rows, labels, weights, predictions)
            except ValueError as error:
                raise OverflowError(f"the certificate cannot go on: {error}") from error
        return predictions

    def predict(self, X: Any) -> Vector:
        """Return the prediction for each row, with the moments and weights of the coming round."""
        rows = sound_rows(as_rows(X), 0)
        self._check_width(rows)
        weights = np.ones(len(rows))
        given = self._view.standardized(rows, weights, False)
        return self.predict_standardized(self._view.fitted(given, rows, weights, False))

    def predict_standardized(self, given: Rows) -> Vector:
        """Return the predictions for rows as the view of this learner shows them."""
        return self._learner.predict(given)

    def _check_width(self, rows: Rows) -> None:
        """Refuse rows whose number of columns does not fit."""
        known, fixed = self._view.known, self._learner._fixed
        if known is not None and rows.width != known and (not self.growable or rows.dense):
            raise ValueError(f"X has {rows.width} columns, the learner knows {known}")
        width = self._view.width_for(rows.width)
        if fixed is not None and width != fixed:
            raise ValueError(
                f"X has {rows.width} columns, {width} once it is standardised, and the learner "
                f"wrapped was made with dimension={fixed}"
            )

    def affine(self) -> tuple[Vector, Any]:
        """Return weights and offset in the original features: the coming round predicts by them.

        They predict rows that lie within `limit` spreads of the centre in every feature, before
        predictions are cut to `limits`; rows farther out are predicted by less than that. With
        several scores there is a column and an offset for each.
        """
        rate = self._learner.rate
        if isinstance(rate, SecondOrder) and not rate.linear():
            raise ValueError(
                f"{type(rate).__name__} anticipates the coming label: its predictions are not "
                "affine in the features"
            )
        constants, (centre, spread) = self._view.constants, self.moments
        own = self._learner.weights
        own = np.pad(own, [(0, constants + len(spread) - len(own))] + [(0, 0)] * (own.ndim - 1))
        varied = (spread > 0.0) & (not self._view.hidden)
        shares = np.divide(1.0, spread, out=np.zeros_like(spread), where=varied)
        weights = np.zeros((max(self.dimension, len(spread)), *own.shape[1:]))
        weights[: len(spread)] = (own[constants:].T * shares).T
        offset = own[:constants].sum(axis=0) - centre @ weights[: len(spread)]
        return weights, offset + getattr(self._learner, "offset", 0.0)

    @property
    def weights(self) -> Vector:
        """Refused: the learner does not predict by weights in the original features alone."""
        raise ValueError("Standardized has no weights of the features alone: see affine()")

    def _current_weights(self) -> Vector:
        """Return the vector that must be finite in a file: the weights in the learner's units."""
        return self._learner._current_weights()

    def certificate(self, thorough: bool = True) -> Certificate:
        """Return what the predictions so far prove about predictors in the original features.

        thorough: search for the best lines of the rows held back, if `blocks` are kept; without it
            the floor of a small or large class is lower, and found sooner [default: True].
        """
        if self._book is None:
            raise ValueError("this learner keeps no certificate: make it with certified=True")
        return self._book.certificate(thorough)

    def close_block(self) -> None:
        """End the blocks of rows held back: a file saved now holds no row."""
        self._learner.close_block()
        if self._book is not None:
            self._book.close_block()

    def save(self, path: str | os.PathLike[str], extra: store.Extra | None = None) -> None:
        """Write the learner to a file, atomically; `nr.load` resumes it to the bit.

        `extra` is stored with it for `load_with_extra` [default: nothing].
        """
        store.write(path, *store.attached(*self._to_file(), extra))

    def _check_loaded(self) -> None:
        """Refuse moments and a learner of different widths."""
        if self.rounds and self._learner.dimension != self._view.width_for(0):
            raise ValueError(
                f"the learner wrapped has {self._learner.dimension} features, the moments "
                f"{self._view.width_for(0)}"
            )
