"""The options by which every command reads its examples, and the stream they open."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from noregret.streams import Stream

F = TypeVar("F", bound=Callable[..., Any])

_PANEL = "Reading"
INTERCEPT = 1.0


def _option(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL)


@dataclass(frozen=True)
class Given:
    """What was said on the command line about the examples; None where nothing was."""

    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Examples: files, patterns, or - for standard input. svmlight, Vowpal Wabbit, "
            "CSV, TSV, JSON lines, Parquet or Arrow, plain or .gz, .xz, .zst.",
        ),
    ]
    format: Annotated[
        str | None,
        _option(
            "--format", "-f", help="svmlight, vw, csv, tsv, jsonl, ...: where the name is silent."
        ),
    ] = None
    labels: Annotated[
        str | None,
        _option("--labels", help="The two labels as written, NEGATIVE,POSITIVE."),
    ] = None
    label: Annotated[str | None, _option("--label", help="The column of the label.")] = None
    weight: Annotated[str | None, _option("--weight", help="The column of importance weights.")] = (
        None
    )
    drop: Annotated[
        list[str] | None, _option("--drop", help="A column to leave out; may be repeated.")
    ] = None
    categorical: Annotated[
        list[str] | None,
        _option("--categorical", help="A column of categories, though it holds numbers."),
    ] = None
    missing: Annotated[
        str | None, _option("--missing", help="Empty values: `refuse`, or `indicator` features.")
    ] = None
    separator: Annotated[
        str | None, _option("--separator", help="csv: what parts fields, a comma unless told.")
    ] = None
    bits: Annotated[
        int | None,
        _option("--bits", "-b", help="Hash names into 2^BITS columns; 0 for a dictionary."),
    ] = None
    remember: Annotated[
        int | None, _option("--remember", help="Keep so many names of hashed features.")
    ] = None
    interactions: Annotated[
        list[str] | None,
        _option("--interactions", "-q", help="Products of two namespaces, as in -q ab."),
    ] = None
    intercept: Annotated[
        float | None,
        _option("--intercept", help="Value of a constant feature; 1 unless told, 0 for none."),
    ] = None
    first_index: Annotated[
        int | None, _option("--first-index", help="svmlight: index of the first feature, 1 or 0.")
    ] = None
    features: Annotated[
        int | None, _option("--features", help="Number of features; the entropies need it.")
    ] = None
    on_error: Annotated[
        str | None,
        _option("--on-error", help="A bad line: `stop`, `skip` it, or skip it and `count`."),
    ] = None
    threads: Annotated[
        int | None, _option("--threads", help="Threads that parse while another learns.")
    ] = None

    def reading(self) -> dict[str, Any]:
        """Return what makes the same columns of the same bytes again, as a model keeps it."""
        named = {
            "format": self.format,
            "label": self.label,
            "weight": self.weight,
            "drop": self.drop or None,
            "categorical": self.categorical or None,
            "missing": self.missing,
            "separator": self.separator,
            "bits": self.bits,
            "remember": self.remember,
            "interactions": self.interactions or None,
            "constant": self.intercept,
            "first_index": self.first_index,
            "width": self.features,
        }
        return {name: value for name, value in named.items() if value is not None}

    def label_rule(self, classification: bool) -> str | tuple[Any, Any]:
        """Return how labels are read: as numbers, or as one of two classes."""
        if self.labels is None:
            return "binary" if classification else "real"
        if not classification:
            raise ValueError(
                "--labels belongs to classification losses; this loss takes real labels"
            )
        negative, comma, positive = self.labels.partition(",")
        if not comma or not negative or not positive or "," in positive:
            raise ValueError(f"--labels {self.labels}: expected NEGATIVE,POSITIVE as in 0,1")
        return _number(negative), _number(positive)

    def open(
        self, labels: str | tuple[Any, Any], kept: dict[str, Any] | None = None, **more: Any
    ) -> Stream:
        """Return the stream; what a model kept of its own one counts where nothing was said."""
        import noregret as nr
        from noregret.streams import known_options

        files = self.files[0] if len(self.files) == 1 else self.files
        said = self.reading()
        known = known_options(files, said.get("format", (kept or {}).get("format")))
        # What a model kept and what goes without saying count as far as the format knows them;
        # what was said on the command line is the format's to refuse.
        silent = {"constant": INTERCEPT} | (kept or {}) | more
        options = {name: value for name, value in silent.items() if name in (*known, "format")}
        options |= said
        if options.get("constant") == 0.0:
            del options["constant"]
        if options.get("bits") == 0:
            options["bits"] = None
        for name in ("on_error", "threads"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
        for name in ("drop", "categorical", "numeric", "interactions"):
            if name in options:
                options[name] = tuple(options[name])
        return nr.read(files, labels=labels, **options)  # type: ignore[arg-type]


def _number(text: str) -> float | str:
    """Return a label as a number where it is one, else as a name."""
    try:
        return float(text)
    except ValueError:
        return text


@cache
def _hints() -> dict[str, Any]:
    return typing.get_type_hints(Given, include_extras=True)


def reads_examples(function: F) -> F:
    """Give a command, in place of its parameter `given`, the options of `Given`."""
    hints = typing.get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters
    shared = _hints()
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name != "given":
            parameters.append(_keyword(name, hints[name], parameter.default))
            continue
        for entry in fields(Given):
            default = inspect.Parameter.empty if entry.name == "files" else entry.default
            parameters.append(_keyword(entry.name, shared[entry.name], default))

    @wraps(function)
    def command(**arguments: Any) -> Any:
        said = {entry.name: arguments.pop(entry.name) for entry in fields(Given)}
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
