"""Streams of examples from files, in blocks of bounded size."""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Iterable
from typing import Any

from noregret.streams.block import Block
from noregret.streams.errors import StreamError
from noregret.streams.inputs import COMPRESSIONS, STANDARD_INPUT, Inputs, find
from noregret.streams.labels import Labels
from noregret.streams.options import known as known_by
from noregret.streams.stream import OnError, Stream

__all__ = ["Block", "Inputs", "Labels", "OnError", "Stream", "StreamError", "known_options", "read"]

#: Each format: the module (loaded when needed), the function that opens it, fixed options.
_FORMATS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "svmlight": ("svmlight", "open_svmlight", {}),
    "vw": ("vw", "open_vw", {}),
    "csv": ("csv", "open_csv", {}),
    "tsv": ("csv", "open_csv", {"separator": "\t"}),
    "jsonl": ("jsonl", "open_jsonl", {}),
    "parquet": ("table", "open_table", {}),
    "arrow": ("table", "open_table", {}),
}
#: Objects that are not files: the module and the function that opens them.
_OBJECTS = {"data frame": ("table", "open_table"), "iterable": ("iterables", "open_pairs")}
#: Formats that are not text.
_TABLES = ("parquet", "arrow", *_OBJECTS)
_SUFFIXES = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".dat": "svmlight",
    ".vw": "vw",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


def read(
    inputs: Inputs | Any,
    *,
    format: str | None = None,
    labels: Labels = "real",
    rows: int = 8192,
    threads: int | None = None,
    on_error: OnError = "stop",
    **options: Any,
) -> Stream:
    r"""Open examples, whatever their format, as a stream of blocks.

    The format follows from the name: `.svm`, `.svmlight`, `.libsvm` and `.dat` are svmlight
    text, `.vw` that of Vowpal Wabbit, `.csv` and `.tsv` separated values, `.jsonl` and `.ndjson`
    JSON lines; each alone or followed by `.gz`, `.xz` or `.zst`. `.parquet` and `.arrow`,
    `.feather`, `.ipc` are tables, among them the compact form that `write_binary` makes.

    Args:
        inputs: a path, a pattern with wildcards, "-" for standard input, or several of these;
            a data frame (whatever exports Arrow); or an iterable of (dict, label) pairs, as the
            data sets of River are.
        format: the format where the name does not tell it.
        labels: "real" takes labels as they are written; "binary" maps -1/+1, 0/1 or 1/2 to
            -1/+1, whichever the first rows show; a pair (negative, positive) says which;
            "classes" numbers the classes from 0, as they appear.
        rows: the most rows a block holds.
        threads: how many parse ahead of the consumer; 0 for none, None for what the machine has.
        on_error: what a bad line does: "stop" ends the stream with an error, "skip" and "count"
            leave it out, "count" keeps the first messages.
        options: those of the format, see `known_options`: for svmlight `first_index`
            (1 or 0), `width` (the number of features where it is known), `constant` (the value
            of an intercept feature in column 0) and `dtype`; for the others see `open_vw`,
            `open_csv`, `open_jsonl` and `open_table` of their modules.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.svm"
    ...     _ = path.write_text("0 1:0.5 3:2\n1 2:1\n")
    ...     stream = read(path, labels="binary")
    ...     for block in stream:
    ...         print(len(block), block.width, block.y.tolist())
    ...     print(stream.label_map)
    2 3 [-1.0, 1.0]
    {0.0: -1.0, 1.0: 1.0}
    """
    several, chosen, opener, told = _opener(inputs, format)
    known = known_by(opener)
    for option in options:
        if option not in known:
            told_apart = (
                f"which knows {', '.join(known)}"
                if known
                else ("in its compact form, whose columns were settled when it was written")
            )
            raise StreamError(
                f"{option}={options[option]!r}: no option of format {chosen}, {told_apart}"
            )
    if threads is not None:
        if chosen in _TABLES:
            raise StreamError(f"threads={threads}: belongs to text, and this is {chosen}")
        told = told | {"threads": threads}
    return opener(  # type: ignore[no-any-return]
        several, labels=labels, rows=rows, on_error=on_error, **told, **options
    )


def known_options(inputs: Inputs, format: str | None = None) -> list[str]:
    """Return the names of the options that `read` takes for these inputs, beside the common ones.

    >>> known_options("examples.svm")
    ['first_index', 'width', 'constant', 'dtype']
    """
    _, _, opener, told = _opener(inputs, format)
    return [name for name in known_by(opener) if name not in told]


def _told_apart(inputs: Any) -> tuple[Any, str]:
    """Return paths as a list, or an object as it is and what kind of object it is."""
    if isinstance(inputs, str | os.PathLike):
        return [inputs], ""
    if hasattr(inputs, "__arrow_c_stream__"):
        return inputs, "data frame"
    if not isinstance(inputs, Iterable):
        raise StreamError(f"found {inputs!r}, expected paths, a data frame or (dict, label) pairs")
    items = iter(inputs)
    first = next(items, None)
    if isinstance(first, str | os.PathLike):
        return [first, *items], ""
    if first is None:
        return [], ""
    # An iterator gets its first item back; other iterables begin anew.
    return (itertools.chain([first], items) if items is inputs else inputs), "iterable"


def _opener(inputs: Inputs | Any, format: str | None) -> tuple[Any, str, Any, dict[str, Any]]:
    """Return the inputs, the name of their format, the function that opens it, fixed options."""
    several, kind = _told_apart(inputs)
    if kind:
        if format is not None:
            raise StreamError(f"format={format!r}: formats are of files, and this is a {kind}")
        module, function = _OBJECTS[kind]
        opener = getattr(importlib.import_module(f"noregret.streams.{module}"), function)
        return several, kind, opener, {}
    chosen = _format_of_names(several) if format is None else format
    if chosen not in _FORMATS:
        raise StreamError(f"format={chosen!r}: expected one of {', '.join(_FORMATS)}")
    module, function, told = _FORMATS[chosen]
    if chosen == "arrow" and _is_compact(several):
        module, function = "binary", "open_binary"
    opener = getattr(importlib.import_module(f"noregret.streams.{module}"), function)
    return several, chosen, opener, told


def _is_compact(inputs: list[Any]) -> bool:
    """Tell whether the first of some Arrow files was written by `write_binary`."""
    from noregret.streams.binary_file import is_binary
    from noregret.streams.table_inputs import TableFile

    first = find(inputs)[0]
    return first.path is not None and is_binary(TableFile(first.path).schema)


def _format_of_names(inputs: list[str | os.PathLike[str]]) -> str:
    """Return the format that the names tell, the same for all."""
    told: dict[str, str] = {}
    for one in inputs:
        name = os.fspath(one)
        if name == STANDARD_INPUT:
            raise StreamError(
                f"standard input has no name to tell the format: say which, format= one of "
                f"{', '.join(_FORMATS)}"
            )
        stem, suffix = os.path.splitext(name.lower())
        if suffix in COMPRESSIONS:
            suffix = os.path.splitext(stem)[1]
        if suffix not in _SUFFIXES:
            raise StreamError(
                f"{name}: the name does not tell the format; expected it to end in "
                f"{', '.join(_SUFFIXES)}, alone or followed by {', '.join(COMPRESSIONS)}; or say "
                f"which, format= one of {', '.join(_FORMATS)}"
            )
        told.setdefault(_SUFFIXES[suffix], name)
    if len(told) > 1:
        first, second, *_ = told
        raise StreamError(
            f"{told[first]} is {first} but {told[second]} is {second}: expected one format"
        )
    if not told:
        raise StreamError("no input: expected a path, several paths, a pattern or '-'")
    return next(iter(told))
