"""What the columns of a model are called, and its largest weights by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy.typing as npt

from noregret.arguments import ArgumentError
from noregret.runs.progress import Watched
from noregret.runs.record import Record
from noregret.streams import Stream
from noregret.streams.hashing import CONSTANT
from noregret.streams.names import NO_ROOM, FeatureNames, HashedNames, split_names
from noregret.vocabulary.learners import Learner

#: Number of hashed names that are collected before they are looked up.
_MANY = 1 << 16
#: Number of names shown for a slot that several share.
_TOLD = 3
_KINDS = {"numbered": "numbers", "named": "names", "hashed": "hashed names"}


class Names(Protocol):
    """A source of column names."""

    def name(self, column: int) -> str:
        """Return the name of a column, or its number where none is known."""
        ...


class KnownNames:
    """Names by column; of names that share a slot the first few are shown.

    >>> names = KnownNames({3: ["a^x", "b^y"], 5: list("abcdef")}, "slot")
    >>> names.name(3), names.name(4), names.name(5)
    ('a^x or b^y', 'slot 4', 'a or b or c or others')
    """

    def __init__(self, names: Mapping[int, list[str]], word: str) -> None:
        self._names = names
        self._word = word

    def name(self, column: int) -> str:
        """Return the name of a column, or its number where none is known."""
        known = self._names.get(column, [f"{self._word} {column}"])
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


def require_same_columns(learner: Learner, record: Record, stream: Stream) -> None:
    """Refuse a stream whose features cannot be those of the model."""
    found = (
        "named"
        if isinstance(stream.names, FeatureNames)
        else "hashed" if isinstance(stream.names, HashedNames) else "numbered"
    )  # fmt: skip
    known = (
        "numbered" if not record.names else "hashed" if "name_slots" in record.names else "named"
    )
    if found != known:
        raise ValueError(
            f"{stream.name}: its features have {_KINDS[found]}, and those of the model "
            f"{_KINDS[known]}: they do not go together"
        )
    if isinstance(stream.names, FeatureNames) and not _agree(record.names, stream.names.arrays()):
        raise ValueError(
            f"{stream.name}: its columns were settled in another order than those of the model"
        )
    # Not the width of the stream, which some formats know only when they have read a row.
    if isinstance(stream.names, HashedNames) and 1 << stream.names.bits != learner.dimension:
        raise ArgumentError(
            "bits",
            f"the features of {stream.name} are hashed into {1 << stream.names.bits:,} slots, and "
            f"those of the model into {learner.dimension:,}: expected "
            f"{learner.dimension.bit_length() - 1}",
            stream.names.bits,
        )


def _agree(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Tell whether two dictionaries name the columns that both have alike."""
    shared = min(len(one["name_offsets"]), len(other["name_offsets"]))
    offsets = one["name_offsets"][:shared]
    used = int(offsets[-1])
    return bool(
        (offsets == other["name_offsets"][:shared]).all()
        and (one["name_text"][:used] == other["name_text"][:used]).all()
    )


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
