"""What labels mean: real numbers as they are written, two kinds as -1 and +1, or classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noregret.arguments import ArgumentError

#: Largest number of classes: a column with more is most likely not one of classes.
MOST_CLASSES = 1000


LabelMap: TypeAlias = dict[float | str, float]
"""What was written, and the -1 or +1 or the number of a class that it became."""

_CONVENTIONS = ((-1.0, 1.0), (0.0, 1.0), (1.0, 2.0))
#: A 1 is +1 beside -1 or 0, and -1 beside 2: the first LOOK rows decide.
LOOK = 8192


@dataclass(frozen=True)
class Classes:
    """Labels are names of classes, numbered from 0 as they appear, after those `known` before."""

    known: tuple[str, ...] = ()


Labels: TypeAlias = (
    Literal["real", "binary", "classes"] | Classes | tuple[float, float] | tuple[str, str]
)
"""How labels are read: as written, mapped to -1/+1, numbered, or mapped from a given pair."""


def check(labels: Labels) -> None:
    """Refuse what is no rule for labels.

    >>> check(("ham", "spam"))
    """
    if isinstance(labels, Classes) and len({*labels.known}) < len(labels.known):
        raise ArgumentError("labels", "expected names of classes, each of them once", labels)
    words = isinstance(labels, tuple) and all(isinstance(one, str) for one in labels)
    numbers = isinstance(labels, tuple) and all(
        isinstance(one, int | float) and one - one == 0 for one in labels
    )
    if (
        labels not in ("real", "binary", "classes")
        and not isinstance(labels, Classes)
        and not ((words or numbers) and len(labels) == 2 and labels[0] != labels[1])
    ):
        raise ArgumentError(
            "labels", 'expected "real", "binary", "classes" or a pair (negative, positive)', labels
        )


def are_classes(labels: Labels) -> bool:
    """Return whether labels are names of classes, as many as there may be."""
    return labels == "classes" or isinstance(labels, Classes)


def conventions(labels: Labels) -> list[float]:
    """Return the numbers that a rule knows as one of two labels, none for other rules.

    >>> conventions("binary"), conventions("real")
    ([-1.0, 0.0, 1.0, 2.0], [])
    """
    if labels == "binary":
        return sorted({label for pair in _CONVENTIONS for label in pair})
    if isinstance(labels, tuple) and not any(isinstance(one, str) for one in labels):
        return [float(one) for one in labels]
    return []


def class_name(number: float) -> str:
    """Return what a class is called that is written as a number.

    >>> class_name(3.0), class_name(-0.0), class_name(0.1)
    ('3', '0', '0.1')
    """
    return repr(float(number) + 0.0).removesuffix(".0")


class LabelReader:
    """The labels of one pass over a stream.

    Which of -1/+1, 0/1 and 1/2 a stream uses is told by the first LOOK rows, however they are
    cut into blocks; ones alone are positive. What contradicts that later is refused. Classes
    keep their numbers in all passes.

    >>> label_map = {}
    >>> reader = LabelReader("binary", label_map)
    >>> reader.look(np.array([1.0, 2.0]))
    True
    >>> reader.read(np.array([1.0, 2.0, 0.0]))
    (array([-1.,  1.,  1.]), array([2]))
    >>> label_map
    {1.0: -1.0, 2.0: 1.0}
    """

    def __init__(self, labels: Labels, label_map: LabelMap):
        self._map = label_map
        self._classes = are_classes(labels)
        if not self._classes:
            self._map.clear()
        elif isinstance(labels, Classes) and not self._map:
            self._map.update({name: float(k) for k, name in enumerate(labels.known)})
        self._pairs: tuple[tuple[float, float], ...] = ()
        #: Labels as they were read before the rows that were read last.
        self._before: LabelMap = {}
        self._left = 0
        if labels == "binary":
            self._pairs = _CONVENTIONS
            self._left = LOOK
        elif isinstance(labels, tuple):
            negative, positive = labels
            if isinstance(negative, str) or isinstance(positive, str):
                # The format knows the names and writes -1 and +1 itself.
                self._map.update({negative: -1.0, positive: 1.0})
            else:
                self._pairs = ((float(negative), float(positive)),)

    def look(self, y: NDArray[np.float64]) -> bool:
        """Look at the next rows before they are read; say whether that is enough to go on."""
        if self._left:
            self._narrow(y[: self._left])
            self._left = 0 if len(self._pairs) == 1 else max(self._left - len(y), 0)
            if self._left == 0:
                self.decide()
        return self._left == 0

    def decide(self) -> None:
        """Decide what the labels mean by the rows seen: there are no more."""
        self._left = 0
        self._pairs = tuple(pair for pair in self._pairs if pair[1] == 1.0) or self._pairs

    def read(
        self, y: NDArray[np.float64], names: Sequence[str] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the labels as -1 and +1 or by number, and the rows whose label cannot be one.

        Where `names` are given, y holds for each row the place of its class among them.
        """
        if self._classes:
            return self._numbered(y, names)
        self._before = dict(self._map)
        none = np.empty(0, np.intp)
        if not self._pairs or not len(y):
            return y, none
        self._narrow(y)
        negatives = sorted({negative for negative, _ in self._pairs})
        positives = sorted({positive for _, positive in self._pairs})
        low = np.isin(y, negatives)
        known = low | np.isin(y, positives)
        if not all(label in self._map for label in (*negatives, *positives)):
            for labels, meaning in ((negatives, -1.0), (positives, 1.0)):
                self._map.update({a: meaning for a in labels if a not in self._map and a in y})
        mapped = np.where(low, -1.0, 1.0)
        if known.all():
            return mapped, none
        # A row without a label (a format may allow them) has nan for one.
        mapped[np.isnan(y)] = np.nan
        return mapped, np.flatnonzero(~known & ~np.isnan(y))

    def _numbered(
        self, y: NDArray[np.float64], names: Sequence[str] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        labelled = np.flatnonzero(~np.isnan(y))
        found, places, of_row = np.unique(y[labelled], return_index=True, return_inverse=True)
        numbers = np.full(len(found), np.inf)
        for k in np.argsort(places).tolist():
            name = class_name(found[k]) if names is None else names[int(found[k])]
            if name not in self._map and len(self._map) < MOST_CLASSES:
                self._map[name] = float(len(self._map))
            numbers[k] = self._map.get(name, np.inf)
        mapped = np.full(len(y), np.nan)
        mapped[labelled] = numbers[of_row]
        return mapped, np.flatnonzero(np.isinf(mapped))

    def _narrow(self, y: NDArray[np.float64]) -> None:
        """Keep the pairs that go with every label, in the order in which they turn up."""
        if len(self._pairs) == 1:
            return
        labels, places = np.unique(y, return_index=True)
        for label in labels[np.argsort(places)].tolist():
            self._pairs = tuple(pair for pair in self._pairs if label in pair) or self._pairs

    def expected(self, before: NDArray[np.float64]) -> str:
        """Say what a label should have been, after labels `before` in the rows read last."""
        if self._classes:
            return (
                f"one of the {MOST_CLASSES:,} classes before it; is this the label, and are "
                "there that many classes?"
            )
        # The map knows labels of later rows, too, which are no reason.
        seen = self._before | {a: b for a, b in self._map.items() if a in before}
        # Before any label was read, no convention was settled either.
        pairs = self._pairs if seen or self._pairs[0] not in _CONVENTIONS else _CONVENTIONS
        allowed = " or ".join(f"{a:g}/{b:g}" for a, b in pairs)
        read = ", ".join(f"{float(a):g} as {b:+g}" for a, b in sorted(seen.items()))
        since = f", since those before it were read {read}" if read else ""
        return (
            f"{allowed}{since}; name the negative and the positive one if they are others, read "
            "labels as several classes, or as numbers"
        )
