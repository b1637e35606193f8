"""What a model file remembers beside the learner: its inputs, its options, its course.

Of each input it keeps what was read, how, and how far; enough to read them all again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from noregret.streams import Stream
from noregret.streams.labels import Classes
from noregret.streams.names import FeatureNames
from noregret.streams.reading import translated
from noregret.visible import shown
from noregret.vocabulary.learners import Learner, Spec

if TYPE_CHECKING:
    # Not for commands that only read, as `convert`, nor before wrong options are refused.
    from noregret.evaluate import Point
    from noregret.proof.certificate import Certificate

#: Raised when an older program could not make sense of what is kept.
VERSION = 2

#: The rule for labels that are classes.
CLASSES = "classes"
#: In place of the names of files: standard input, and objects in memory.
STANDARD_INPUT, MEMORY = "-", "<memory>"
#: Inputs that have no name by which they could be read again.
NAMELESS = ([STANDARD_INPUT], [MEMORY])
#: What the fields of an input may be.
_KINDS: dict[str, Any] = {
    "files": list,
    "reading": dict,
    "label_rule": str | list,
    "labels": list,
    "holdout": dict,
    "on_error": str,
}
#: What a header keeps as it is, and what it may be.
_PLAIN: dict[str, Any] = {"floor_radii": list, "ended": bool}
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
    #: The fingerprint of the examples seen in this pass: another input shows in it.
    check: int = 0
    #: How many classes were met, where labels are classes.
    classes: int = 0
    #: Examples and fingerprint of every pass before this one: a file may have grown in between.
    passed: list[list[int]] = field(default_factory=list)

    @property
    def begun(self) -> bool:
        """Whether anything of the input was learnt."""
        return self.passes > 1 or self.examples > 0

    @property
    def course(self) -> list[list[int]]:
        """Examples and fingerprint of every pass, the last one as far as it has come."""
        return [*self.passed, [self.examples, self.check]]

    @property
    def often(self) -> tuple[int, int]:
        """How often an example was learnt, at least and at most."""
        seen = [examples for examples, _ in self.course]
        most = sum(examples > 0 for examples in seen)
        # A pass that was cut, or a file that has grown, leaves examples learnt less often.
        return max(1, sum(examples == max(seen) for examples in seen)), max(1, most)

    def turn(self) -> None:
        """Begin the next pass."""
        # In one stroke: an interrupt comes before or after it.
        vars(self).update(passes=self.passes + 1, examples=0, check=0, passed=self.course)


@dataclass
class Input:
    """One input of a model, from `learn` or `learn --resume`."""

    #: The files as they were found, patterns expanded; "-" for standard input.
    files: list[str] = field(default_factory=list)
    #: Options that make the same columns of the same bytes.
    reading: dict[str, Any] = field(default_factory=dict)
    #: How labels were to be read: "real", "binary", "classes" or a pair.
    label_rule: Any = "real"
    #: Pairs of a label as written and as learnt.
    labels: list[list[Any]] = field(default_factory=list)
    holdout: dict[str, Any] = field(default_factory=dict)
    #: What a bad line did: "stop" or "skip".
    on_error: str = "stop"
    position: Position = field(default_factory=Position)

    def following(self, **changes: Any) -> Input:
        """Return an input that comes after this one and is read alike, except for the changes."""
        position = Position(total=self.position.total, classes=self.position.classes)
        return replace(deepcopy(self), **{"position": position} | changes)

    def rule(self, classes: list[str]) -> Any:
        """Return the rule for labels: those that were met, of two kinds once both were."""
        if self.label_rule == CLASSES:
            return Classes(tuple(classes))
        by_value = {y: written for written, y in self.labels}
        if set(by_value) == {-1.0, 1.0}:
            return by_value[-1.0], by_value[1.0]
        return tuple(self.label_rule) if isinstance(self.label_rule, list) else self.label_rule


def class_names(label_map: Mapping[Any, float]) -> list[str]:
    """Return the names of classes in the order of their numbers."""
    return sorted(label_map, key=lambda name: label_map[name])


@dataclass
class Record:
    """The part of a model file that belongs to the command line."""

    spec: Spec
    #: Everything that was learnt, in order; the last one is being learnt, or was.
    inputs: list[Input]
    #: Pairs of a number of examples and the `--class-radius` that holds from there on.
    floor_radii: list[list[Any]] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    #: Whether the last point is only where a run ended, and no mark.
    ended: bool = False
    names: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    metrics: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    held_metrics: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    #: After how many examples a block was ended, so that a file held no row.
    closed: list[int] = field(default_factory=list)

    @property
    def current(self) -> Input:
        """The input that is being learnt, or was learnt last."""
        return self.inputs[-1]

    @property
    def position(self) -> Position:
        """How far the run has come in its current input."""
        return self.current.position

    @property
    def reading(self) -> dict[str, Any]:
        """Options that make the same columns of the same bytes, of the current input."""
        return self.current.reading

    @property
    def sources(self) -> list[str]:
        """The names of all files that were learnt, each once, in the order of their first use."""
        return list(dict.fromkeys(name for one in self.inputs for name in one.files))

    @property
    def passes(self) -> int:
        """The largest number of passes over an input."""
        return max(one.position.passes for one in self.inputs)

    def certificate(self, learner: Learner) -> Certificate:
        """Return the certificate of the learner, which names the passes over its examples."""
        often: dict[tuple[str, ...], tuple[int, int]] = {}
        for place, one in enumerate(self.inputs):
            # The same files again are the same examples; what has no name is not.
            key = tuple(one.files) if one.files not in NAMELESS else (str(place),)
            before, now = often.get(key, (0, 0)), one.position.often
            if one.position.begun:
                often[key] = before[0] + now[0], before[1] + now[1]
        counts = list(often.values()) or [(1, 1)]
        passes = min(least for least, _ in counts), max(most for _, most in counts)
        return replace(learner.certificate(), passes=passes)

    @property
    def floor_radius(self) -> float | None:
        """The size of the predictors that floors speak of from now on, None for the learner's."""
        return self.floor_radii[-1][1] if self.floor_radii else None

    def radius_at(self, total: int, is_mark: bool) -> float | None:
        """Return the floor's radius in force for a look after `total` examples.

        A mark is looked at before the run ends there, any other end only if nothing follows.
        """
        known = [radius for begun, radius in self.floor_radii if begun < total + (not is_mark)]
        return known[-1] if known else None

    def begin(self, **changes: Any) -> None:
        """Go on with a new input, read as the current one except for the changes."""
        following = self.current.following(**changes)
        if self.position.begun:
            self.inputs.append(following)
        else:
            self.inputs[-1] = following

    def note(self, stream: Stream) -> None:
        """Take over what the stream has found out by now."""
        current = self.current
        current.labels = [[written, y] for written, y in sorted(stream.label_map.items(), key=str)]
        if current.label_rule == CLASSES:
            # A stream knows more classes than were met, by what it has read ahead.
            names = class_names(stream.label_map)[: self.position.classes]
            current.labels = [[name, float(k)] for k, name in enumerate(names)]
        arrays = getattr(stream.names, "arrays", None)
        if arrays is not None:
            self.names = arrays()
        # Which columns of a table are numbers was decided by its first rows: the next table's may
        # tell otherwise.
        shape = getattr(stream, "format", stream)
        for role in ("target", "numeric", "categorical", "dates"):
            found = getattr(shape, role, None)
            if found:
                self.reading[role] = found

    def known(self, grow: bool = True) -> dict[str, Any]:
        """Return as options the dictionary of names, and whether others may join it.

        Where none may, rows need no label.
        """
        unlabelled = {} if grow else {"unlabelled": "keep"}
        if not self.names or "name_slots" in self.names:
            return unlabelled
        return {"names": FeatureNames.from_arrays(self.names), "grow": grow, **unlabelled}

    @property
    def label_names(self) -> list[Any]:
        """Labels as they are written: negative and positive, or every class; [] for numbers."""
        return self.classes or [a for a, _ in sorted(self.current.labels, key=lambda pair: pair[1])]

    def rule(self) -> Any:
        """Return the rule for labels: those that were met, of two kinds once both were."""
        return self.current.rule(self.classes)

    @property
    def classes(self) -> list[str]:
        """The names of the classes that were met, in the order of their numbers."""
        return (
            [written for written, _ in self.current.labels]
            if self.current.label_rule == CLASSES
            else []
        )

    def save(self, learner: Learner, path: Path) -> None:
        """Write the learner and this record, atomically."""
        from noregret.files.store import Extra

        header = {
            "version": VERSION,
            "spec": asdict(self.spec),
            "inputs": [asdict(one) for one in self.inputs],
            "points": [list(asdict(point).values()) for point in self.points],
            "closed": self.closed,
        }
        header |= {name: getattr(self, name) for name in _PLAIN}
        arrays = {
            f"{group}/{name}": array
            for group in ("names", "metrics", "held_metrics")
            for name, array in getattr(self, group).items()
        }
        if self.spec.rowless:
            learner.close_block()
            if self.position.total not in self.closed[-1:]:
                self.closed.append(self.position.total)
        learner.save(path, Extra({"stream": header}, arrays))


def load(path: Path) -> tuple[Learner, Record]:
    """Return the learner of a model file and what it remembers of its stream."""
    from noregret.learners import load_with_extra

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
        inputs=_restored_inputs(header["inputs"]),
        points=[Point(*values) for values in header["points"]],
        names=arrays("names"),
        metrics=arrays("metrics"),
        held_metrics=arrays("held_metrics"),
        closed=header.get("closed", []),
        **{name: header[name] for name in _PLAIN},
    )
    require(**{name: isinstance(header[name], kinds) for name, kinds in _PLAIN.items()})
    outputs = getattr(learner, "outputs", None)
    require(
        points=all(_is_point(point) for point in record.points),
        ended=record.points or not record.ended,
        floor_radii=all(_is_radius(entry) for entry in record.floor_radii),
        closed=all(type(total) is int for total in record.closed),
        label_rule=(outputs is not None) == (record.current.label_rule == CLASSES),
        names=set(record.names) in _NAMED,
    )
    if outputs is not None:
        numbers = [y for _, y in record.current.labels]
        texts = {name for name in record.classes if isinstance(name, str)}
        sound = numbers == [*range(record.position.classes)] and len(texts) == len(numbers)
        require(labels=sound and outputs <= max(len(numbers), record.spec.classes))
    # What does not fit is refused here, and not after hours.
    for one in record.inputs:
        Holdout(**one.holdout)
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


def _is_radius(entry: Any) -> bool:
    begun, radius = entry
    known = radius is None or (type(radius) in (int, float) and 0.0 <= radius < math.inf)
    return type(begun) is int and begun >= 0 and known


def _restored_inputs(kept: Any) -> list[Input]:
    """Return the inputs that a model file keeps, or say which of their fields is invalid."""
    require(inputs=isinstance(kept, list) and kept)
    inputs = [Input(**one | {"position": Position(**one["position"])}) for one in kept]
    for one in inputs:
        require(**{name: isinstance(getattr(one, name), kinds) for name, kinds in _KINDS.items()})
        one.reading = translated(one.reading)
        require(
            position=_is_position(one.position),
            files=all(isinstance(name, str) for name in one.files),
            labels=all(
                isinstance(y, float) and math.isfinite(y) and isinstance(written, str | int | float)
                for written, y in one.labels
            ),
            label_rule=not isinstance(one.label_rule, list) or len(one.label_rule) == 2,
        )
    return inputs


def _is_position(position: Position) -> bool:
    numbers = [number for name, number in vars(position).items() if name != "passed"]
    numbers += [number for entry in position.passed for number in entry]
    return (
        all(type(number) is int and number >= 0 for number in numbers)
        and all(len(entry) == 2 for entry in position.passed)
        and position.passes == len(position.passed) + 1
    )


def require(**sound: object) -> None:
    """Refuse a model file in which one of these fields is invalid."""
    for name, holds in sound.items():
        if not holds:
            raise ValueError(f"field '{name}' in the model file is invalid")
