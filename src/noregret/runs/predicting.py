"""What a model says about rows: margins, probabilities or labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from noregret.arguments import ArgumentError
from noregret.losses.links import link_of, logistic
from noregret.runs.whole import margins
from noregret.scoring.growing import predicted, widened

if TYPE_CHECKING:
    from noregret.runs.record import Record
    from noregret.streams import Block
    from noregret.vocabulary.learners import Learner

Vector = npt.NDArray[np.float64]

#: The kinds of predictions, the default first, by the labels that a loss takes.
KINDS = {
    "sign": ("margin", "probability", "label"),
    "class": ("label", "score", "probability"),
    "real": ("margin",),
}
#: The label of a row for which no class is known.
UNKNOWN = "?"


class Predictor:
    """Predicts blocks of rows.

    Attributes:
        kind: "margin", "score", "probability" or "label".
        classes: the names of the columns of scores and probabilities of several classes.
    """

    def __init__(
        self, learner: Learner, record: Record, kind: str | None = None, average: bool = False
    ) -> None:
        """Choose what is predicted.

        Args:
            learner: what predicts.
            record: its record, which knows the names of labels.
            kind: one of `KINDS` [default: the first for the labels of the loss].
            average: predict by the average of all weights played.
        """
        labels = learner.loss.labels
        known = KINDS.get(labels, KINDS["real"])
        self.kind = kind or known[0]
        if self.kind not in known:
            expected = f"expected one of {', '.join(known)} for {learner.loss}"
            raise ArgumentError("kind", expected, self.kind)
        if average and not record.spec.average:
            raise ArgumentError("average", "the model keeps none, it was not learnt so")
        self.classes = record.classes
        self._learner = learner
        self._weights: Any = learner.average if average else None  # type: ignore[union-attr]
        self._written = {y: written for written, y in record.labels}
        self._link = link_of(learner.loss) if labels == "class" else None
        if self.kind == "probability" and labels == "class" and self._link is None:
            reason = f"the scores of {learner.loss} mean none"
            raise ArgumentError("kind", reason, self.kind)

    def scores(self, block: Block) -> Vector:
        """Return margins, one a row, or scores, one a row and class."""
        if self._weights is not None:
            return margins(block, self._weights)
        scores: Vector = self._learner.predict(block)
        return scores[:, : len(self.classes)] if scores.ndim == 2 else scores

    def shown(self, scores: Vector) -> npt.NDArray[Any]:
        """Return what scores mean: themselves, probabilities or labels as they were written."""
        if scores.ndim == 1:
            if self.kind == "label":
                signs = np.where(scores > 0.0, 1.0, -1.0).tolist()
                return _labels([self._written.get(sign, sign) for sign in signs])
            return scores if self.kind == "margin" else logistic(scores)[:, 1]
        if self.kind == "label":
            names = [*self.classes, UNKNOWN]
            return _labels([names[k] for k in predicted(scores).tolist()])
        # Classes that were met and not learnt have no score.
        whole = widened(scores, len(self.classes))
        return whole if self.kind == "score" else self._link.probabilities(whole)  # type: ignore[union-attr]


def _labels(written: list[Any]) -> npt.NDArray[Any]:
    """Return labels as an array of text or of numbers, as they were written."""
    return np.array(written, dtype=object if len({*map(type, written)}) > 1 else None)
