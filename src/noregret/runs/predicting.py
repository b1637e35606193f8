"""What a model says about rows: margins, probabilities or labels, and what each feature adds.

And what its columns are called, with its largest weights by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from noregret.arguments import ArgumentError
from noregret.evaluate.holdout import select
from noregret.experts.representative import linear_part, offsets_of, words_of
from noregret.losses.links import link_of, logistic
from noregret.runs.opening import margins
from noregret.runs.progress import Watched
from noregret.runs.record import Record
from noregret.scoring.growing import predicted, widened
from noregret.streams import Block, Stream
from noregret.streams.hashing import CONSTANT
from noregret.streams.names import NO_ROOM, FeatureNames, HashedNames, split_names
from noregret.vocabulary.learners import Learner

#: Number of hashed names that are collected before they are looked up.
_MANY = 1 << 16
#: Number of names shown for a slot that several share.
_TOLD = 3


@dataclass(frozen=True)
class KnownNames:
    """Names by column; of names that share a slot the first few are shown.

    >>> names = KnownNames({3: ["a^x", "b^y"], 5: list("abcdef")}, "slot")
    >>> names.name(3), names.name(4), names.name(5)
    ('a^x or b^y', 'slot 4', 'a or b or c or others')
    """

    names: Mapping[int, list[str]]
    #: What a column without a name is called, before its number.
    word: str

    def name(self, column: int) -> str:
        """Return the name of a column, or its number where none is known."""
        known = self.names.get(column, [f"{self.word} {column}"])
        return " or ".join(known[:_TOLD] + ["others"] * (len(known) > _TOLD))


class NumberedNames:
    """The features of a format that numbers them; the constant feature comes first."""

    def __init__(self, reading: Mapping[str, Any]) -> None:
        self._constant = bool(reading.get("constant"))
        self._first = int(reading.get("first_index", 1))

    def name(self, column: int) -> str:
        """Return the index of a column as the file writes it."""
        if self._constant and column == 0:
            return "intercept"
        return f"feature {column - self._constant + self._first}"


#: What columns are called: `names.name(column)`.
Names: TypeAlias = KnownNames | NumberedNames | FeatureNames | HashedNames


def names_of(learner: Learner, record: Record) -> Names:
    """Return what the columns of a model are called, as far as the model knows."""
    if not record.names:
        return NumberedNames(record.reading)
    hashed = "name_slots" in record.names
    known = _by_column(record.names)
    if hashed and record.reading.get("constant"):
        known.setdefault(_constant(learner.dimension), []).append("intercept")
    return KnownNames(known, "slot" if hashed else "column")


def find_names(stream: Stream, columns: Iterable[int], constant: bool) -> KnownNames:
    """Read a stream that remembers hashed names, and return those of the columns asked for.

    In between all others are forgotten, so that memory does not grow with the stream.
    """
    names = stream.names
    assert isinstance(names, HashedNames)
    if hasattr(stream, "threads"):
        # What is forgotten between two blocks must not be written to by a thread that is ahead.
        stream.threads = 0
    names.limit = int(NO_ROOM)
    wanted = set(columns)
    found: dict[int, list[str]] = {}
    intercept = _constant(1 << names.bits)
    if constant and intercept in wanted:
        found[intercept] = ["intercept"]

    def look() -> None:
        for column, known in _by_column(names.arrays(), wanted).items():
            entry = found.setdefault(column, [])
            # One more than is shown means that there are others.
            entry += [name for name in known if name not in entry][: _TOLD + 1 - len(entry)]

    for _ in Watched(stream):
        if len(names) > _MANY:
            look()
            names.names = FeatureNames()
    look()
    return KnownNames(found, "slot")


def _constant(width: int) -> int:
    """Return the slot that hashing gives the constant feature."""
    return CONSTANT & (width - 1)


def _by_column(
    arrays: Mapping[str, npt.NDArray[Any]], wanted: set[int] | None = None
) -> dict[int, list[str]]:
    """Return the names that a dictionary or a model file keeps in arrays, by column."""
    names = split_names(arrays["name_text"], arrays["name_offsets"])
    columns = arrays["name_slots"].tolist() if "name_slots" in arrays else range(len(names))
    known: dict[int, list[str]] = {}
    for column, name in zip(columns, names, strict=True):
        if wanted is None or column in wanted:
            known.setdefault(column, []).append(name)
    return known


def top_weights(
    learner: Any, names: Names, count: int, classes: Sequence[str | None] = (), sizes: Any = None
) -> list[dict[str, Any]]:
    """Return the features that move predictions most, of each class the largest first.

    Args:
        learner: a learner or solution with `weights`.
        names: what the columns are called.
        count: how many, of each class.
        classes: names of the classes, where weights have a column for each.
        sizes: the largest |x_i| of each feature [default: as far as the learner knows them].

    Returns:
        for each the `class` (None for one score), `column`, `name`, `weight`, and as `effect` the
        weight times the size of the feature, None where sizes are not known.
    """
    from noregret.evaluate.effects import SIZED, effects, largest

    learner = linear_part(learner)
    values, unit = effects(learner, sizes)
    outputs = values if values.ndim == 2 else values[:, None]
    named: Sequence[str | None] = classes or [None]
    weights = learner.weights.reshape(outputs.shape)
    return [
        {
            "class": name,
            "column": column,
            "name": names.name(column),
            "weight": float(weights[column, k]),
            "effect": float(outputs[column, k]) if unit == SIZED else None,
        }
        # A class that was held out only has no weights.
        for k, name in zip(range(outputs.shape[1]), named, strict=False)
        for column in largest(outputs[:, k], count).tolist()
    ]


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
    the one that is predicted. A mixture is not linear: what features add, `offset` and `margin` are
    then those of the member that `weights_of` names, and the `prediction` is that of the mixture.

    Args:
        learner: what predicts.
        record: its record.
        stream: the examples, read as the model reads.
        rows: numbers of rows, counted from 1, ascending; those that there are not are left out
            [default: all].
    """
    linear, weights_of = linear_part(learner), words_of(learner)
    weights = linear.weights
    offsets = offsets_of(linear, max(len(record.classes), 1))
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
            offset = float(offsets[best])
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
                "weights_of": weights_of,
                "offset": offset,
                "margin": offset + sum(entry["added"] for entry in features),
                "prediction": float(np.ravel(scores[place])[best]),
                "features": features,
            }
        if rows and seen >= rows[-1]:
            return
