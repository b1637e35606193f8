"""The options by which every command reads its examples, and the stream they open."""

from __future__ import annotations

import glob
import inspect
import os
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from noregret.cli.writing import require_place

if TYPE_CHECKING:
    from noregret.streams import Stream

F = TypeVar("F", bound=Callable[..., Any])

_PANEL = "Reading"
LOSS_HELP = (
    "The loss, as hinge:0.5 of two classes or squared of numbers; `noregret list losses` has all. "
    "Logistic by default."
)
SEVERAL_HELP = f"{LOSS_HELP} Of several classes: softmax by default with --multiclass."
#: The options that formats may know, by the keywords that they have in the library.
_NAMES = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("format", "target", "header", "weight", "id", "ignore", "keep", "categorical", "text"),
        *("ngram", "skips", "missing", "separator", "encoding", "bits", "remember"),
        *("interactions", "constant", "first_index", "width", "shuffle"),
    )
} | {"constant": "--intercept", "width": "--features"}
#: Options of every format, or nearly.
_ANY = ("format", "encoding", "shuffle")
#: Those that have another name here.
_FIELDS = {"constant": "intercept"}
_SETTLED = ", whose columns were settled when it was written"
#: What gives a model its columns, so that nothing else can be said when it is used.
_COLUMNS = ("constant", "interactions")


#: The arguments of the commands that show a model.
ModelFile = Annotated[Path, typer.Argument(help="A model that `learn --save` wrote.")]
NamingFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="Hashed features: the examples it learnt, to find the names of their slots.",
    ),
]


def _option(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL)


@dataclass(frozen=True)
class Given:
    """What was said on the command line about the examples; None where nothing was."""

    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Examples: files, patterns, or - for standard input. svmlight, Vowpal Wabbit, "
            "CSV, TSV, JSON lines, Parquet or Arrow, plain or .gz, .xz, .zst.",
        ),
    ]
    format: Annotated[
        str | None,
        _option(
            "--format",
            "-f",
            help="svmlight, vw, csv, tsv, jsonl, parquet or arrow. [default: as the name tells]",
        ),
    ] = None
    classes_as: Annotated[
        str | None,
        _option(
            "--classes-as",
            help="The two classes as the file writes them, NEGATIVE,POSITIVE. [default: found out: "
            "-1 and 1, 0 and 1, 1 and 2, or two names]",
        ),
    ] = None
    target: Annotated[
        str | None,
        _option(
            "--target",
            help="Tables: the column to predict, by name or position (0 is the first, -1 the "
            "last). [default: label, target, class or y, else the last]",
        ),
    ] = None
    header: Annotated[
        bool | None,
        _option(
            "--header/--no-header",
            help="csv: whether the first line has the names of the columns; without it they are "
            "0, 1, ... [default: header]",
        ),
    ] = None
    weight: Annotated[
        str | None, _option("--weight", help="Tables: the column of importance weights.")
    ] = None
    id: Annotated[
        str | None,
        _option(
            "--id",
            help="Tables: a column that identifies rows and is not a feature; `tag` for vw. "
            "Predictions are written with it.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        _option(
            "--ignore",
            help="A column to leave out, or the first letter of a namespace of vw; repeat for "
            "several.",
        ),
    ] = None
    keep: Annotated[
        list[str] | None,
        _option("--keep", help="A column or namespace to use, and no others; repeat for several."),
    ] = None
    categorical: Annotated[
        list[str] | None,
        _option("--categorical", help="Tables: a column of categories, though it holds numbers."),
    ] = None
    text: Annotated[
        list[str] | None,
        _option("--text", help="Tables: a column of text, whose words are features; repeat."),
    ] = None
    ngram: Annotated[
        int | None,
        _option("--ngram", help="--text: up to N words in a row are a feature. [default: 1]"),
    ] = None
    skips: Annotated[
        int | None,
        _option("--skips", help="--text: words that --ngram may leave out. [default: 0]"),
    ] = None
    missing: Annotated[
        str | None,
        _option(
            "--missing",
            help="Tables: what an empty value is, a feature of its own beside 0 (`indicator`) or "
            "an error (`refuse`). [default: indicator]",
        ),
    ] = None
    separator: Annotated[
        str | None, _option("--separator", help="csv: the character between fields. [default: ,]")
    ] = None
    encoding: Annotated[
        str | None, _option("--encoding", help="How text is encoded. [default: utf-8]")
    ] = None
    bits: Annotated[
        int | None,
        _option(
            "--bits",
            "-b",
            help="Hash names into 2^BITS columns, or 0 to keep all names in a dictionary. "
            "[default: 18 for vw and --text, 0 for the rest]",
        ),
    ] = None
    remember: Annotated[
        int | None,
        _option(
            "--remember",
            help="Keep the first N names of hashed features in the model, at a cost of time; "
            "`inspect MODEL FILE` finds names without it.",
        ),
    ] = None
    interactions: Annotated[
        list[str] | None,
        _option(
            "--interactions",
            "-q",
            help="Products of two columns, as in -q age*city, or of two namespaces of vw, as in "
            "-q ab; repeat for several.",
        ),
    ] = None
    intercept: Annotated[
        float | None,
        _option(
            "--intercept",
            help="Value of a feature that every example has, 0 for none. [default: 1]",
        ),
    ] = None
    first_index: Annotated[
        int | None,
        _option("--first-index", help="svmlight: what features count from, 1 or 0. [default: 1]"),
    ] = None
    features: Annotated[
        int | None,
        _option(
            "--features",
            help="How many features there are at most, beside the intercept. The entropies need "
            "it, except for hashed features.",
        ),
    ] = None
    shuffle: Annotated[
        int | None,
        _option("--shuffle", help="Shuffle the rows of files, all in memory, by this seed."),
    ] = None
    on_error: Annotated[
        str | None,
        _option(
            "--on-error",
            help="What a bad line does: `stop` the run, `skip` it, or skip it and show the first "
            "(`count`). [default: stop]",
        ),
    ] = None
    threads: Annotated[
        int | None,
        _option("--threads", help="How many threads parse ahead, 0 for none. [default: 2]"),
    ] = None

    def reading(self) -> dict[str, Any]:
        """Return what makes the same columns of the same bytes again, as a model keeps it."""
        found = {name: getattr(self, _FIELDS.get(name, name)) for name in _NAMES if name != "width"}
        if self.target is not None and self.target.removeprefix("-").isdecimal():
            # A position; a column of that name comes first.
            found["target"] = int(self.target)
        return {name: value for name, value in found.items() if value not in (None, [])}

    def label_rule(self, kind: str) -> str | tuple[Any, Any]:
        """Return how labels are read for a loss whose labels are of this kind."""
        if self.classes_as is None:
            return {"sign": "binary", "class": "classes"}.get(kind, "real")
        if kind == "class":
            raise ValueError("--classes-as names two classes, and several are told by the examples")
        if kind != "sign":
            raise ValueError(
                "--classes-as belongs to classification losses; this loss takes real labels"
            )
        negative, comma, positive = self.classes_as.partition(",")
        if not comma or not negative or not positive or "," in positive:
            raise ValueError(
                f"--classes-as {self.classes_as}: expected NEGATIVE,POSITIVE as in 0,1"
            )
        return _number(negative), _number(positive)

    def open(
        self,
        labels: Any,
        kept: dict[str, Any] | None = None,
        width: int = 0,
        **more: Any,
    ) -> Stream:
        """Return the stream; what a model kept of its own one counts where nothing was said.

        With a `width` every block has that many columns, which some maps need.
        """
        from noregret.runs.opening import open_stream
        from noregret.streams import resolve

        said = self.reading()
        found = resolve(self.files, said.get("format", (kept or {}).get("format")))
        self._check(said, found.fields, kept)
        for name in ("on_error", "threads"):
            if getattr(self, name) is not None:
                said[name] = getattr(self, name)
        if "width" in found.fields and self.features is not None:
            width = width or self.columns()
        return open_stream(self.files, labels, said, kept, width, **more)

    def found(self) -> list[str]:
        """Return the names of the files, patterns expanded; "-" for standard input."""
        from noregret.runs.opening import found

        return found(self.files)

    def errors(self) -> str:
        """Return what a bad line does to the examples: "stop" or "skip"."""
        return "stop" if self.on_error in (None, "stop") else "skip"

    def columns(self) -> int:
        """Return the number of columns including the intercept's, 0 if unknown."""
        if self.features is None:
            return 0
        if self.features < 1:
            raise ValueError(f"--features {self.features}: expected a number above 0")
        return self.features + (self.intercept != 0.0)

    def _check(self, said: dict[str, Any], known: list[str], kept: dict[str, Any] | None) -> None:
        """Refuse options that the format does not have, and such as a model would not survive."""
        for name, value in said.items():
            shown = " ".join(value) if isinstance(value, list) else str(value).removesuffix(".0")
            if name not in known:
                takes = ", ".join(_NAMES[one] for one in known if one in _NAMES and one not in _ANY)
                raise ValueError(
                    f"{_NAMES[name]} {shown}: has no meaning for {self.files[0]}"
                    + (f", whose format takes {takes}" if takes else _SETTLED)
                )
            if kept is not None and name in _COLUMNS and value != kept.get(name):
                raise ValueError(
                    f"{_NAMES[name]} {shown}: the model was learnt with "
                    f"{kept.get(name, 'none')}, and its features would not find their weights"
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


@cache
def _hints() -> dict[str, Any]:
    return typing.get_type_hints(Given, include_extras=True)


def reads_examples(function: F, files: Any = None) -> F:
    """Give a command, in place of its parameter `given`, the options of `Given`.

    `files` declares its files where they are optional.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters
    shared = _hints() if files is None else _hints() | {"files": files}
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name != "given":
            parameters.append(_keyword(name, hints[name], parameter.default))
            continue
        for entry in fields(Given):
            default = entry.default
            if entry.name == "files":
                default = inspect.Parameter.empty if files is None else None
            parameters.append(_keyword(entry.name, shared[entry.name], default))

    @wraps(function)
    def command(**arguments: Any) -> Any:
        said = {entry.name: arguments.pop(entry.name) for entry in fields(Given)}
        said["files"] = said["files"] or []
        return function(given=Given(**said), **arguments)

    # The panel of reading options comes last in the help, the files first.
    parameters.sort(key=lambda one: one.name in shared and one.name != "files")
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return typing.cast(F, command)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
