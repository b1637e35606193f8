"""What labels mean in a cluster run: workers say which they found, the driver decides for all.

A rule that looks at labels ("binary", a pair of numbers, classes) needs to know in which order they
turn up. A worker notes the first row of each label in each of its files; sorted by file and row,
these notes let one `LabelReader` decide as if it had read all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noregret.streams.errors import StreamError
from noregret.streams.format import Parsed
from noregret.streams.labels import (
    LOOK,
    LabelMap,
    LabelReader,
    Labels,
    are_classes,
    class_name,
    conventions,
)
from noregret.streams.stream import KEPT

Vector: TypeAlias = NDArray[np.float64]
#: Most names of classes that a worker keeps: a column with more is not one of classes.
_MOST_NAMES = 1 << 16


class Note(NamedTuple):
    """A label as it was written, and where it turned up first."""

    label: float | str
    #: The number of the file and the row in it, both counted from 0.
    file: int
    row: int
    #: The name of the file and the line, for messages.
    place: str


class LabelNotes:
    """The labels that a worker has found."""

    def __init__(self, rule: Labels) -> None:
        self.notes: list[Note] = []
        self._known = conventions(rule)
        self._classes = are_classes(rule)
        #: The number of each class at this worker.
        self.names: dict[str, int] = {}
        self._seen: set[tuple[int, float | None]] = set()

    def read(self, parsed: Parsed, file: int, row: int) -> Vector:
        """Note the labels of some rows, the first of which is number `row` of its file.

        Returned are the labels as they were written; of classes, their numbers at this worker.
        """
        if self._classes:
            return self._numbered(parsed, file, row)
        if not self._known:
            return parsed.y
        others = ~np.isnan(parsed.y)
        for label in self._known:
            same = parsed.y == label
            if same.any():
                self._note(parsed, file, row, int(same.argmax()), label)
                others &= ~same
        if others.any():
            self._note(parsed, file, row, int(others.argmax()), None)
        return parsed.y

    def _note(self, parsed: Parsed, file: int, row: int, at: int, label: float | None) -> None:
        """Note a label of a file once; None stands for all that no rule knows."""
        if (file, label) not in self._seen:
            self._seen.add((file, label))
            place = parsed.place(parsed.line(at))
            self.notes.append(Note(float(parsed.y[at]), file, row + at, place))

    def _numbered(self, parsed: Parsed, file: int, row: int) -> Vector:
        labelled = np.flatnonzero(~np.isnan(parsed.y))
        found, places, of_row = np.unique(
            parsed.y[labelled], return_index=True, return_inverse=True
        )
        numbers = np.empty(len(found))
        for k in np.argsort(places).tolist():
            written = found[k]
            name = class_name(written) if parsed.classes is None else parsed.classes[int(written)]
            if name not in self.names:
                at = int(labelled[places[k]])
                place = parsed.place(parsed.line(at))
                if len(self.names) == _MOST_NAMES:
                    raise StreamError(
                        f"{place}: found more than {_MOST_NAMES:,} classes; is this the label?",
                        "labels",
                    )
                self.names[name] = len(self.names)
                self.notes.append(Note(name, file, row + at, place))
            numbers[k] = self.names[name]
        y = np.full(len(parsed.y), np.nan)
        y[labelled] = numbers[of_row]
        return y

    def meant(self, y: Vector, label_map: LabelMap) -> Vector:
        """Return labels as numbers by the common map; infinite for those that are not in it."""
        if self._classes:
            of_class = np.array([label_map.get(name, np.inf) for name in self.names] or [np.inf])
            found: Vector = np.full(len(y), np.nan)
            labelled = ~np.isnan(y)
            found[labelled] = of_class[y[labelled].astype(np.intp)]
            return found
        if not self._known:
            return y
        found = np.where(np.isnan(y), np.nan, np.inf)
        for label, value in label_map.items():
            found[y == label] = value
        return found


class Meaning(NamedTuple):
    """What labels became, and messages about those that are refused."""

    label_map: LabelMap
    complaints: list[str]


def decide(
    rule: Labels,
    notes: Sequence[Note],
    rows: Sequence[int],
    files: Sequence[str],
    target: str | None,
    on_error: str,
) -> Meaning:
    """Return what the labels of all files mean, as one process would read them.

    Args:
        rule: the rule for labels, of a stream.
        notes: the notes of all workers.
        rows: the number of rows of each file.
        files: their names.
        target: the column of the labels, None for formats without one.
        on_error: "stop" to raise StreamError for a label that is refused.
    """
    label_map: LabelMap = {}
    reader = LabelReader(rule, label_map)
    ordered = sorted(map(Note._make, notes), key=lambda one: (one.file, one.row))
    before = np.concatenate(([0], np.cumsum(rows)))
    classes: list[str] | None = None
    if are_classes(rule):
        classes = [str(one.label) for one in ordered]
        y = np.arange(float(len(ordered)))
    else:
        y = np.array([one.label for one in ordered], np.float64)
        early = [before[one.file] + one.row < LOOK for one in ordered]
        reader.look(y[np.array(early, np.bool_)])
        reader.decide()
    _, strange = reader.read(y, classes)
    column = "" if target is None else f" in column {target!r}"
    complaints: list[str] = []
    for k in strange[: 1 if on_error == "stop" else KEPT].tolist():
        bad = ordered[k]
        expected = reader.expected(y[:k])
        others = next((one.file for one in ordered[:k] if one.label in label_map), bad.file)
        # Pieces of one file have the same name.
        names = files[bad.file], files[others]
        if classes is None and names[0] != names[1]:
            own, first = (
                _listed(one.label for one in ordered if files[one.file] == name) for name in names
            )
            expected += f"; {names[0]} has the labels {own}, and {names[1]} {first}"
        found = bad.label if isinstance(bad.label, str) else class_name(bad.label)
        complaints.append(f"{bad.place}: found label {found!r}{column}, expected {expected}")
    if complaints and on_error == "stop":
        raise StreamError(complaints[0], "labels")
    return Meaning(label_map, complaints)


def _listed(labels: Any) -> str:
    return ", ".join(class_name(label) for label in sorted({*labels}))
