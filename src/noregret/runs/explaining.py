"""Single predictions taken apart: what each feature adds, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.evaluate.holdout import select
from noregret.runs.naming import names_of
from noregret.streams.names import HashedNames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from noregret.runs.record import Record
    from noregret.streams import Stream
    from noregret.vocabulary.learners import Learner


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
