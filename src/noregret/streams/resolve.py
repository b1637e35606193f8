"""Which format inputs have, and the stream that it opens."""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from noregret.arguments import ArgumentError
from noregret.streams.errors import StreamError
from noregret.streams.inputs import COMPRESSIONS, NO_INPUT, STANDARD_INPUT, Inputs, find, name_in
from noregret.streams.reading import COMPACT, FIELDS, FORMATS, FRAME, PAIRS, Reading

if TYPE_CHECKING:
    from noregret.streams.names import FeatureNames
    from noregret.streams.stream import Stream

#: Each format: the module, loaded when needed, and the function that opens it.
_OPENERS = {
    "svmlight": ("svmlight", "open_svmlight"),
    "vw": ("vw", "open_vw"),
    "csv": ("csv", "open_csv"),
    "tsv": ("csv", "open_csv"),
    "jsonl": ("jsonl", "open_jsonl"),
    "parquet": ("table", "open_table"),
    "arrow": ("table", "open_table"),
    FRAME: ("table", "open_table"),
    PAIRS: ("record_rows", "open_pairs"),
    COMPACT: ("binary", "open_binary"),
}
#: Formats whose columns have no names of their own.
_NUMBERED = ("svmlight", COMPACT)
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


@dataclass(frozen=True)
class Resolved:
    """Inputs whose format is known."""

    inputs: Any
    #: One of `FORMATS`, "data frame", "iterable", or "compact" for what `write_binary` made.
    format: str

    @property
    def fields(self) -> list[str]:
        """The names of the options that the format knows.

        >>> Resolved((), "svmlight").fields[2:6]
        ['encoding', 'first_index', 'width', 'constant']
        """
        return [name for name, one in FIELDS.items() if self.format in one.metadata["formats"]]

    @property
    def named(self) -> bool:
        """Whether features have names, so that a dictionary of them can be given."""
        return self.format not in _NUMBERED

    def refuse_unknown(self, names: Iterable[str], reading: Reading) -> None:
        """Refuse options that the format does not know."""
        for name in names:
            formats = sorted(FIELDS[name].metadata["formats"])
            if self.format not in formats:
                raise ArgumentError(
                    name,
                    f"no option of format {self.format}, but of {', '.join(formats)}",
                    getattr(reading, name),
                )

    def open(
        self, reading: Reading, names: FeatureNames | None = None, grow: bool = True
    ) -> Stream:
        """Return the stream; refuse options that the format does not know."""
        self.refuse_unknown(reading.said, reading)
        if not self.named and (names is not None or not grow):
            raise ArgumentError("names", f"format {self.format} has no dictionary of names")
        endless = isinstance(self.inputs, list) and STANDARD_INPUT in self.inputs
        if reading.shuffle is not None and endless:
            raise ArgumentError(
                "shuffle",
                "needs all rows in memory, and standard input may never end: save it to a file"
                ", or shuffle it before",
                reading.shuffle,
            )
        module, function = _OPENERS[self.format]
        opener = getattr(importlib.import_module(f"noregret.streams.{module}"), function)
        dictionary = (names, grow) if self.named else ()
        return opener(self.inputs, replace(reading, format=self.format), *dictionary)  # type: ignore[no-any-return]


def resolve(inputs: Inputs | Any, format: str | None = None) -> Resolved:
    """Return inputs with their format: as given, or as their names or their type tell it.

    >>> resolve("examples.svm.gz").format
    'svmlight'
    """
    several, kind = _told_apart(inputs)
    if kind:
        if format is not None:
            raise ArgumentError("format", f"formats are of files, found: {kind}", format)
        return Resolved(several, kind)
    chosen = _format_of_names(several) if format is None else format
    if chosen not in FORMATS:
        raise ArgumentError("format", f"expected one of {', '.join(FORMATS)}", chosen)
    return Resolved(several, COMPACT if chosen == "arrow" and _is_compact(several) else chosen)


def _told_apart(inputs: Any) -> tuple[Any, str]:
    """Return paths as a list, or an object as it is and what kind of object it is."""
    if isinstance(inputs, str | os.PathLike):
        return [inputs], ""
    if hasattr(inputs, "__arrow_c_stream__"):
        return inputs, FRAME
    if not isinstance(inputs, Iterable):
        raise StreamError(f"found {inputs!r}, expected paths, a data frame or (dict, label) pairs")
    items = iter(inputs)
    first = next(items, None)
    if isinstance(first, str | os.PathLike):
        return [first, *items], ""
    if first is None:
        return [], ""
    # An iterator gets its first item back; other iterables begin anew.
    return (itertools.chain([first], items) if items is inputs else inputs), PAIRS


def _is_compact(inputs: list[Any]) -> bool:
    """Tell whether the first of some Arrow files was written by `write_binary`."""
    from noregret.streams.binary_file import is_binary
    from noregret.streams.table_inputs import TableFile

    first = find(inputs)[0]
    return not first.standard and is_binary(TableFile(first).schema)


def _format_of_names(inputs: list[str | os.PathLike[str]]) -> str:
    """Return the format that the names tell, the same for all."""
    told: dict[str, str] = {}
    for one in inputs:
        name = os.fspath(one)
        if name == STANDARD_INPUT:
            raise ArgumentError(
                "format",
                f"standard input has no name to tell it, expected one of {', '.join(FORMATS)}",
            )
        stem, suffix = os.path.splitext(name_in(name).lower())
        if suffix in COMPRESSIONS:
            suffix = os.path.splitext(stem)[1]
        if suffix not in _SUFFIXES:
            raise StreamError(
                f"{name}: the name does not tell the format, which is one of {', '.join(FORMATS)}; "
                f"expected it to end in {', '.join(_SUFFIXES)}, alone or followed by "
                f"{', '.join(COMPRESSIONS)}",
                "format",
            )
        told.setdefault(_SUFFIXES[suffix], name)
    if len(told) > 1:
        first, second, *_ = told
        raise StreamError(
            f"{told[first]} is {first} but {told[second]} is {second}: expected one format"
        )
    if not told:
        raise StreamError(NO_INPUT)
    return next(iter(told))
