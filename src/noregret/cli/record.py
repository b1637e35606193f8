"""What a model file remembers beside the learner: its stream, its options, its course."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from noregret.cli.choices import Spec

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from noregret.cli.choices import Learner
    from noregret.evaluate import Point
    from noregret.streams import Stream

#: Raised when an older program could not make sense of what is kept.
VERSION = 1
#: The rule for labels that are classes.
CLASSES = "classes"

#: What a header keeps as it is, and what it may be.
_PLAIN: dict[str, Any] = {
    "reading": dict,
    "labels": list,
    "label_rule": str | list,
    "holdout": dict,
    "floor_radius": float | int | None,
    "sources": list,
    "ended": bool,
    "replayable": bool,
}
#: Nothing, a dictionary, or what is remembered of hashed names.
_NAMED: tuple[set[str], ...] = (
    set(),
    {"name_text", "name_offsets"},
    {"name_text", "name_offsets", "name_slots"},
)


@dataclass
class Position:
    """How far a run has come in its input."""

    passes: int = 1
    examples: int = 0
    #: Examples over all inputs and passes, held-out ones included.
    total: int = 0
    #: CRC-32 of the labels of the examples seen in this pass: another input shows in it.
    check: int = 0
    #: How many classes were met, where labels are classes.
    classes: int = 0


def class_names(label_map: Mapping[Any, float]) -> list[str]:
    """Return the names of classes in the order of their numbers."""
    return sorted(label_map, key=lambda name: label_map[name])


@dataclass
class Record:
    """The part of a model file that belongs to the command line."""

    spec: Spec
    #: Options that make the same columns of the same bytes.
    reading: dict[str, Any]
    #: Pairs of a label as written and as learnt.
    labels: list[list[Any]] = field(default_factory=list)
    label_rule: Any = "real"
    holdout: dict[str, Any] = field(default_factory=dict)
    floor_radius: float | None = None
    sources: list[str] = field(default_factory=list)
    position: Position = field(default_factory=Position)
    points: list[Point] = field(default_factory=list)
    #: Whether the last point is only where a run ended, and no mark.
    ended: bool = False
    names: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    metrics: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    held_metrics: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    #: Whether all that was learnt came from the stream as it is described here.
    replayable: bool = True

    def note(self, stream: Stream) -> None:
        """Take over what the stream has found out by now."""
        self.labels = [[written, y] for written, y in sorted(stream.label_map.items(), key=str)]
        if self.label_rule == CLASSES:
            # A stream knows more classes than were met, by what it has read ahead.
            names = class_names(stream.label_map)[: self.position.classes]
            self.labels = [[name, float(k)] for k, name in enumerate(names)]
        arrays = getattr(stream.names, "arrays", None)
        if arrays is not None:
            self.names = arrays()
        # Which columns of a table are numbers was told by its first rows: the next table's may
        # tell otherwise.
        shape = getattr(stream, "format", stream)
        for role in ("label", "numeric", "categorical"):
            found = getattr(shape, role, None)
            if found:
                self.reading[role] = found

    def known(self, grow: bool = True) -> dict[str, Any]:
        """Return as options the dictionary of names, and whether others may join it."""
        if not self.names or "name_slots" in self.names:
            return {}
        from noregret.streams.names import FeatureNames

        return {"names": FeatureNames.from_arrays(self.names), "grow": grow}

    def rule(self) -> Any:
        """Return the rule for labels: those that were met, of two kinds once both were."""
        if self.label_rule == CLASSES:
            from noregret.streams.labels import Classes

            return Classes(tuple(self.classes))
        by_value = {y: written for written, y in self.labels}
        if set(by_value) == {-1.0, 1.0}:
            return by_value[-1.0], by_value[1.0]
        return tuple(self.label_rule) if isinstance(self.label_rule, list) else self.label_rule

    @property
    def classes(self) -> list[str]:
        """The names of the classes that were met, in the order of their numbers."""
        return [written for written, _ in self.labels] if self.label_rule == CLASSES else []

    def save(self, learner: Learner, path: Path) -> None:
        """Write the learner and this record, atomically."""
        from noregret.store import Extra

        header = {
            "version": VERSION,
            "spec": asdict(self.spec),
            "position": asdict(self.position),
            "points": [list(asdict(point).values()) for point in self.points],
        }
        header |= {name: getattr(self, name) for name in _PLAIN}
        arrays = {
            f"{group}/{name}": array
            for group in ("names", "metrics", "held_metrics")
            for name, array in getattr(self, group).items()
        }
        learner.save(path, Extra({"stream": header}, arrays))


def load(path: Path) -> tuple[Learner, Record]:
    """Return the learner of a model file and what it remembers of its stream."""
    from noregret.learners import load_with_extra
    from noregret.store import shown

    learner, extra = load_with_extra(path)
    header = extra.header.get("stream")
    if not isinstance(header, dict):
        raise ValueError(f"{path}: was not written by `noregret learn`: it remembers no stream")
    if header.get("version") != VERSION:
        version = shown(header.get("version"))
        raise ValueError(f"{path}: remembers its stream in version {version}, expected {VERSION}")
    try:
        return learner, _restored(header, extra.arrays, learner)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"{path}: what it remembers of its stream is not whole: {shown(error)}"
        ) from error


def _restored(
    header: dict[str, Any], kept: dict[str, npt.NDArray[Any]], learner: Learner
) -> Record:
    from noregret.evaluate import Holdout, Point, metrics_for

    def arrays(group: str) -> dict[str, npt.NDArray[Any]]:
        prefix = f"{group}/"
        return {
            name.removeprefix(prefix): array
            for name, array in kept.items()
            if name.startswith(prefix)
        }

    record = Record(
        spec=Spec(**header["spec"]),
        position=Position(**header["position"]),
        points=[Point(*values) for values in header["points"]],
        names=arrays("names"),
        metrics=arrays("metrics"),
        held_metrics=arrays("held_metrics"),
        **{name: header[name] for name in _PLAIN},
    )
    for name, kinds in _PLAIN.items():
        _require(isinstance(header[name], kinds), name)
    _require(
        all(type(number) is int and number >= 0 for number in vars(record.position).values())
        and record.position.passes > 0,
        "position",
    )
    _require(all(_is_point(point) for point in record.points), "points")
    _require(bool(record.points) or not record.ended, "ended")
    _require(all(isinstance(source, str) for source in record.sources), "sources")
    _require(
        all(
            isinstance(y, float) and math.isfinite(y) and isinstance(written, str | int | float)
            for written, y in record.labels
        ),
        "labels",
    )
    outputs = getattr(learner, "outputs", None)
    _require((outputs is not None) == (record.label_rule == CLASSES), "label_rule")
    if outputs is not None:
        numbers = [y for _, y in record.labels]
        texts = {name for name in record.classes if isinstance(name, str)}
        sound = numbers == [*range(record.position.classes)] and len(texts) == len(numbers)
        _require(sound and outputs <= max(len(numbers), record.spec.classes), "labels")
    _require(not isinstance(record.label_rule, list) or len(record.label_rule) == 2, "label_rule")
    _require(set(record.names) in _NAMED, "names")
    # What does not fit is refused here, and not after hours.
    Holdout(**record.holdout)
    for group in (record.metrics, record.held_metrics):
        if group:
            metrics_for(learner.loss).restore(group)
    return record


def _is_point(point: Point) -> bool:
    numbers = list(vars(point).values())
    return (
        type(point.rounds) is int
        and point.rounds > 0
        and type(point.mistakes) is int
        and all(number is None or type(number) in (int, float) for number in numbers)
        and None not in numbers[:-1]
    )


def _require(sound: bool, name: str) -> None:
    if not sound:
        raise ValueError(f"{name} cannot be as it is stored")
