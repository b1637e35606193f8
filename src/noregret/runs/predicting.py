"""What a model says about rows: margins, probabilities or labels, and what each feature adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arguments import ArgumentError
from noregret.evaluate.holdout import select
from noregret.losses.links import link_of, logistic
from noregret.runs.naming import names_of
from noregret.runs.opening import margins
from noregret.runs.record import Record
from noregret.scoring.growing import predicted, widened
from noregret.streams import Block, Stream
from noregret.streams.names import HashedNames
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
        self._written = {y: written for written, y in record.current.labels}
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


def explained(
    learner: Learner, record: Record, stream: Stream, rows: Sequence[int] = ()
) -> Iterator[dict[str, Any]]:
    """Yield for each row what its features add, the largest first, and what that makes.

    The `margin` is the sum of what features add and of the `offset`; the `prediction` is it, kept
    within the range that the learner allows. Of several classes both are the score of `class`,
    the one that is predicted.

    Args:
        learner: what predicts.
        record: its record.
        stream: the examples, read as the model reads.
        rows: numbers of rows, counted from 1, ascending; those that there are not are left out
            [default: all].
    """
    weights, offset = learner.weights, float(getattr(learner, "offset", 0.0))
    seen = 0
    for block in stream:
        numbers = np.arange(seen + 1, seen + len(block) + 1)
        chosen = np.isin(numbers, rows) if rows else numbers > 0
        seen += len(block)
        part = select(block, chosen)
        if isinstance(stream.names, HashedNames) and stream.names.limit:
            # Hashed names are those that these rows have; those of the model stay as they are.
            record = replace(record, names=stream.names.arrays())
        names = names_of(learner, record)
        scores = learner.predict(part)
        for place, row in enumerate(np.flatnonzero(chosen).tolist()):
            best = int(np.argmax(scores[place]))
            known = weights if scores.ndim == 1 else weights[:, best]
            span = slice(int(part.indptr[place]), int(part.indptr[place + 1]))
            features: list[dict[str, Any]] = [
                {
                    "name": names.name(j),
                    "value": float(x),
                    "added": float(known[j]) * float(x) if j < len(known) else 0.0,
                }
                for j, x in zip(part.indices[span].tolist(), part.values[span], strict=True)
            ]
            features.sort(key=lambda entry: -abs(entry["added"]))
            yield {
                "row": int(numbers[row]),
                "id": None if block.ids is None else str(block.ids[row]),
                "class": record.classes[best] if scores.ndim == 2 else None,
                "offset": offset,
                "margin": offset + sum(entry["added"] for entry in features),
                "prediction": float(np.ravel(scores[place])[best]),
                "features": features,
            }
        if rows and seen >= rows[-1]:
            return
