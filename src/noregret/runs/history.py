"""The inputs of a model: what was read, how, and how far; enough to read them all again."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

#: The rule for labels that are classes.
CLASSES = "classes"
#: In place of the names of files: standard input, and objects in memory.
STANDARD_INPUT, MEMORY = "-", "<memory>"
#: Inputs that have no name by which they could be read again.
NAMELESS = ([STANDARD_INPUT], [MEMORY])


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
            from noregret.streams.labels import Classes

            return Classes(tuple(classes))
        by_value = {y: written for written, y in self.labels}
        if set(by_value) == {-1.0, 1.0}:
            return by_value[-1.0], by_value[1.0]
        return tuple(self.label_rule) if isinstance(self.label_rule, list) else self.label_rule


#: What the fields of an input may be.
_KINDS: dict[str, Any] = {
    "files": list,
    "reading": dict,
    "label_rule": str | list,
    "labels": list,
    "holdout": dict,
    "on_error": str,
}


def restored_inputs(kept: Any) -> list[Input]:
    """Return the inputs that a model file keeps, or say which of their fields is invalid."""
    require(isinstance(kept, list) and bool(kept), "inputs")
    from noregret.streams.reading import translated

    inputs = [Input(**one | {"position": Position(**one["position"])}) for one in kept]
    for one in inputs:
        for name, kinds in _KINDS.items():
            require(isinstance(getattr(one, name), kinds), name)
        one.reading = translated(one.reading)
        require(_is_position(one.position), "position")
        require(all(isinstance(name, str) for name in one.files), "files")
        require(
            all(
                isinstance(y, float) and math.isfinite(y) and isinstance(written, str | int | float)
                for written, y in one.labels
            ),
            "labels",
        )
        require(not isinstance(one.label_rule, list) or len(one.label_rule) == 2, "label_rule")
    return inputs


def _is_position(position: Position) -> bool:
    numbers = [number for name, number in vars(position).items() if name != "passed"]
    numbers += [number for entry in position.passed for number in entry]
    return (
        all(type(number) is int and number >= 0 for number in numbers)
        and all(len(entry) == 2 for entry in position.passed)
        and position.passes == len(position.passed) + 1
    )


def require(sound: bool, name: str) -> None:
    """Refuse a model file in which a field is invalid."""
    if not sound:
        raise ValueError(f"field '{name}' in the model file is invalid")
