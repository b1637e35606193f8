"""The statements of a model of several classes, each judged against the examples themselves."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

import noregret as nr
from noregret.experts.representative import linear_part
from noregret.losses import ScoreLoss
from noregret.passes.matrices.score_rounds import score_losses, score_rows
from noregret.proof.ledger import Entry
from noregret.rounding import rounding_error
from noregret.runs.record import Record
from noregret.runs.replay import Replay
from noregret.runs.verdicts import Statements
from noregret.streams import Block
from noregret.vocabulary.learners import Learner

Vector = npt.NDArray[np.float64]


class MatrixStatements(Statements):
    """The statements of a model with a column of weights for each class.

    A class that appears later belongs to the losses of later rounds only, as the certificate has
    it. Comparators are the columns of a matrix one after the other.
    """

    def __init__(self, learner: Learner, record: Record, **options: Any) -> None:
        super().__init__(learner, record, **options)
        self.matrix = cast("nr.MatrixDescent | nr.experts.ScoreAggregate", learner)
        self.loss = cast("ScoreLoss", learner.loss)
        self._known = record.spec.classes
        self._played = 0.0
        self._mistakes = 0

    def add(self, rows: Block, predictions: Vector) -> None:
        """Take rows as they are learnt again, with the predictions made before."""
        counts = self._counts(rows.y)
        new = np.flatnonzero(np.diff(counts, prepend=self._known))
        self._known = int(counts[-1])
        # Classes that are not known yet do not count.
        scores = np.zeros((len(rows), self._known))
        scores[:, : predictions.shape[1]] = np.where(np.isfinite(predictions), predictions, 0.0)
        # A class has a score at the round where it appears, which nobody predicted.
        for place, made in zip(new, self.met, strict=True):
            scores[place, : len(made)] = made
        self.met.clear()
        self._played += self._sum(rows, scores, counts, np.ones(len(rows)))
        self._mistakes += sum(
            bool(self.loss.mistake(y, row[:count]))
            for y, row, count in zip(rows.y, scores, counts, strict=True)
        )

    def _counts(self, y: Vector) -> npt.NDArray[np.int64]:
        """Return how many classes were known at each of the next rounds."""
        return np.maximum(np.maximum.accumulate(y) + 1.0, self._known).astype(np.int64)

    def _sum(
        self, rows: Block, scores: Vector, counts: npt.NDArray[np.int64], often: Vector
    ) -> float:
        weight = often if rows.weight is None else often * rows.weight
        return float(score_losses(self.loss, rows.y, weight, scores, counts))

    def _take(self, replayed: Replay) -> None:
        super()._take(replayed)
        self.parts = replayed.parts
        # Those of the class that the certificate names, as the gradient has them.
        sizes = getattr(self.certificate.evidence, "sizes", None)
        if sizes is not None:
            self.sizes = np.where(sizes > 0.0, sizes, 1.0)

    def _played_loss(self) -> tuple[float, float, int]:
        return self._played, 0.0, self._mistakes

    def loss_of(self, u: Vector) -> float:
        """Return the loss of a fixed matrix on all rounds, not below the true one."""
        # Scores are rounded; no loss here changes by more than that times its steepest slope.
        steepest = self.loss.slope_norm(self.matrix.outputs)
        matrix = np.ascontiguousarray(u.reshape(self.matrix.outputs, -1).T)
        self._known = self.record.spec.classes
        total = error = 0.0
        for part in self.parts:
            for length in part.lengths:
                rows = part.rows.rows(0, length)
                if not length:
                    continue
                counts = self._counts(rows.y)
                self._known = int(counts[-1])
                often = np.ones(length)
                total += self._sum(rows, self._scores(matrix, rows), counts, often)
                sizes = self._scores(np.abs(matrix), rows, np.abs(rows.values)).sum(axis=1)
                weight = often if rows.weight is None else rows.weight
                error += steepest * float(weight @ sizes)
        terms = 64.0 + 4.0 * (self.rows.width + self.matrix.outputs)
        return total + rounding_error(terms, total + error)

    def _scores(self, matrix: Vector, rows: Block, values: Any = None) -> Vector:
        scores = np.zeros((len(rows), matrix.shape[1]))
        score_rows(
            matrix, rows.indptr, rows.indices, rows.values if values is None else values, scores
        )
        return scores

    def _problem(self) -> tuple[Block, dict[str, Any]]:
        eta = float(self.certificate.ledger[Entry.LAST_ETA])
        strength = 1.0 / eta if self.sizes is None and 0.0 < eta < np.inf else 1.0
        return self.rows, {"l2": strength}

    def _tried(self, best: Vector | None) -> dict[str, Vector]:
        shape = self.matrix.dimension, self.matrix.outputs
        last = linear_part(self.matrix).weights
        tried = {"zero": np.zeros(shape), "the learner's last weights": last}
        if best is not None:
            found = best[: shape[0], : shape[1]]
            missing = [(0, size - have) for size, have in zip(shape, found.shape, strict=True)]
            tried["the best in hindsight"] = np.pad(found, missing)
        units = 1.0 if self.sizes is None else self.sizes
        return {name: u.T.ravel() * units for name, u in tried.items()}
