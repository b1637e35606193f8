"""The examples of a command: its files and reading options, and the stream they open."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noregret.arguments import refuse
from noregret.cli.table import READING_OPTIONS
from noregret.cli.writing import require_place
from noregret.runs.opening import open_stream, require_same_columns, stream_reading
from noregret.runs.record import Input, Record
from noregret.streams import Reading, Stream, resolve
from noregret.vocabulary import learners as choices

_FLAGS = {one.name: one.flag for one in READING_OPTIONS}
#: Options that do not change the columns of the same bytes: a model does not keep them.
_NOT_KEPT = ("labels", "width", "on_error", "threads")
#: Options of every format, or nearly.
_ANY = ("format", "labels", "encoding", "shuffle", "on_error", "threads")
_SETTLED = ", whose columns were settled when it was written"
#: What gives a model its columns, so that nothing else can be said when it is used.
_COLUMNS = ("constant", "interactions")


@dataclass(frozen=True)
class Given:
    """What was said on the command line about the examples.

    Attributes:
        files: names of files, patterns, or "-".
        said: the reading options that were given, by their keywords in the library.
    """

    files: list[str]
    said: Mapping[str, Any] = field(default_factory=dict)

    def saying(self, **more: Any) -> Given:
        """Return the same with more said."""
        return Given(self.files, {**self.said, **more})

    def reading(self) -> dict[str, Any]:
        """Return what makes the same columns of the same bytes again, as a model keeps it."""
        kept = {name: value for name, value in self.said.items() if name not in _NOT_KEPT}
        if kept.get("target", "").removeprefix("-").isdecimal():
            # A position; a column of that name comes first.
            kept["target"] = int(kept["target"])
        return kept

    def label_rule(self, kind: str) -> str | tuple[Any, Any]:
        """Return how labels are read for a loss whose labels are of this kind."""
        pair = self.said.get("labels")
        if pair is None:
            return {"sign": "binary", "class": "classes"}.get(kind, "real")
        negative, _, positive = pair.partition(",")
        wrong = not negative or not positive or "," in positive
        refuse(
            {
                "--classes-as names two classes, and several are told by the examples": (
                    kind == "class"
                ),
                "--classes-as belongs to classification losses; this loss takes real labels": (
                    kind != "sign"
                ),
                f"--classes-as {pair}: expected NEGATIVE,POSITIVE as in 0,1": wrong,
            }
        )
        return _number(negative), _number(positive)

    def open(
        self, labels: Any, kept: dict[str, Any] | None = None, width: int = 0, **more: Any
    ) -> Stream:
        """Return the stream; what a model kept of its own one counts where nothing was said.

        With a `width` every block has that many columns, which some maps need.
        """
        said, width = self._said(kept, width)
        return open_stream(self.files, labels, said, kept, width, **more)

    def how(self, labels: Any, **more: Any) -> Reading:
        """Return how the files are read, for workers that open them themselves."""
        said, width = self._said(None, 0)
        found = resolve(self.files, said.get("format"))
        return stream_reading(found, labels, said, None, width, **more)

    def _said(self, kept: dict[str, Any] | None, width: int) -> tuple[dict[str, Any], int]:
        """Return the checked reading options and the width of the rows."""
        said = self.reading()
        found = resolve(self.files, said.get("format", (kept or {}).get("format")))
        self._check(said, found.fields, kept)
        said |= {name: self.said[name] for name in ("on_error", "threads") if name in self.said}
        return said, width or self.columns() * ("width" in found.fields)

    def again(
        self,
        learner: choices.Learner,
        record: Record,
        grow: bool = False,
        *,
        one: Input | None = None,
        rule: Any = None,
    ) -> Stream:
        """Return the stream of a model, whose columns are those that it has learnt.

        Args:
            learner: the learner of the model.
            record: what it remembers.
            grow: whether features that are new get a column; if not, rows need no label.
            one: the input that is read again [default: the last].
            rule: the rule for labels [default: that of the input].
        """
        one = one or record.current
        width = learner.dimension if record.spec.needs_width else 0
        rule = rule or one.rule(record.classes)
        stream = self.open(rule, one.reading, width, **record.known(grow))
        require_same_columns(learner, record, stream)
        return stream

    def errors(self) -> str:
        """Return what a bad line does to the examples: "stop" or "skip"."""
        return "stop" if self.said.get("on_error", "stop") == "stop" else "skip"

    def columns(self) -> int:
        """Return the number of columns including the intercept's, 0 if unknown."""
        features = self.said.get("width")
        if features is None:
            return 0
        refuse({f"--features {features}: expected a number above 0": features < 1})
        return int(features) + (self.said.get("constant") != 0.0)

    def _check(self, said: dict[str, Any], known: list[str], kept: dict[str, Any] | None) -> None:
        """Refuse options that the format does not have, and such as a model would not survive."""
        takes = ", ".join(_FLAGS[one] for one in known if one in _FLAGS and one not in _ANY)
        whose = f", whose format takes {takes}" if takes else _SETTLED
        for name, value in said.items():
            shown = " ".join(value) if isinstance(value, list) else str(value).removesuffix(".0")
            before = (kept or {}).get(name, "none")
            other = kept is not None and name in _COLUMNS and value != before
            place = f"{_FLAGS[name]} {shown}"
            refuse(
                {
                    f"{place}: has no meaning for {self.files[0]}{whose}": name not in known,
                    f"{place}: the model was learnt with {before}, and its features would not "
                    "find their weights": other,
                }
            )


def require_outputs(inputs: Iterable[str | Path], *outputs: tuple[str, Path | None]) -> None:
    """Refuse places that cannot be written, and such as hold what is read or written as well."""
    taken = {}
    for name in map(str, inputs):
        for found in glob.glob(name) or [name]:
            taken[os.path.realpath(found)] = "what is read"
    for option, path in outputs:
        if path is None or str(path) == "-":
            continue
        require_place(option, path)
        real = os.path.realpath(path)
        if real in taken:
            raise ValueError(f"{option} {path}: is {taken[real]} too, and would be lost")
        if not path.exists() or path.is_file():
            taken[real] = f"where {option} writes"


def _number(text: str) -> float | str:
    """Return a label as a number where it is one, else as a name."""
    try:
        return float(text)
    except ValueError:
        return text
