"""What a model file remembers beside the learner: its stream, its options, its course."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from noregret.cli.choices import Spec

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from noregret.evaluate import Point
    from noregret.learners import DualAscent, MirrorDescent
    from noregret.streams import Stream

#: Raised when an older program could not make sense of what is kept.
VERSION = 1


@dataclass
class Position:
    """How far a run has come in its input."""

    passes: int = 1
    examples: int = 0
    #: Examples over all inputs and passes, held-out ones included.
    total: int = 0
    #: CRC-32 of the labels of the examples seen in this pass: another input shows in it.
    check: int = 0


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
        """Return the rule for labels: the two that were met, once both were."""
        by_value = {y: written for written, y in self.labels}
        if set(by_value) == {-1.0, 1.0}:
            return by_value[-1.0], by_value[1.0]
        return tuple(self.label_rule) if isinstance(self.label_rule, list) else self.label_rule

    def save(self, learner: MirrorDescent | DualAscent, path: Path) -> None:
        """Write the learner and this record, atomically."""
        from noregret.store import Extra

        header = {
            "version": VERSION,
            "spec": asdict(self.spec),
            "reading": self.reading,
            "labels": self.labels,
            "label_rule": self.label_rule,
            "holdout": self.holdout,
            "floor_radius": self.floor_radius,
            "sources": self.sources,
            "position": asdict(self.position),
            "points": [list(asdict(point).values()) for point in self.points],
            "ended": self.ended,
            "replayable": self.replayable,
        }
        arrays = {
            f"{group}/{name}": array
            for group in ("names", "metrics", "held_metrics")
            for name, array in getattr(self, group).items()
        }
        learner.save(path, Extra({"stream": header}, arrays))


def load(path: Path) -> tuple[MirrorDescent | DualAscent, Record]:
    """Return the learner of a model file and what it remembers of its stream."""
    from noregret.evaluate import Point
    from noregret.learners import load_with_extra

    learner, extra = load_with_extra(path)
    header = extra.header.get("stream")
    if header is None:
        raise ValueError(f"{path}: was not written by `noregret learn`: it remembers no stream")
    if header.get("version") != VERSION:
        raise ValueError(
            f"{path}: remembers its stream in version {header.get('version')!r}, expected {VERSION}"
        )

    def arrays(group: str) -> dict[str, npt.NDArray[np.generic]]:
        prefix = f"{group}/"
        return {
            name.removeprefix(prefix): array
            for name, array in extra.arrays.items()
            if name.startswith(prefix)
        }

    plain = (
        "reading",
        "labels",
        "label_rule",
        "holdout",
        "floor_radius",
        "sources",
        "ended",
        "replayable",
    )
    try:
        record = Record(
            spec=Spec(**header["spec"]),
            position=Position(**header["position"]),
            points=[Point(*values) for values in header["points"]],
            names=arrays("names"),
            metrics=arrays("metrics"),
            held_metrics=arrays("held_metrics"),
            **{name: header[name] for name in plain},
        )
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: what it remembers of its stream is not whole: {error}"
        ) from error
    return learner, record
