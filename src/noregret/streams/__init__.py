"""Streams of examples from files, in blocks of bounded size."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from noregret.streams.block import Block
from noregret.streams.errors import StreamError
from noregret.streams.inputs import Inputs
from noregret.streams.labels import Labels
from noregret.streams.reading import OnError, Reading, refuse_unknown
from noregret.streams.resolve import Resolved, resolve
from noregret.streams.stream import Stream

if TYPE_CHECKING:
    from noregret.streams.names import FeatureNames

__all__ = [
    "Block",
    "Inputs",
    "Labels",
    "OnError",
    "Reading",
    "Resolved",
    "Stream",
    "StreamError",
    "read",
    "resolve",
]


def read(
    inputs: Inputs | Any,
    reading: Reading | None = None,
    *,
    names: FeatureNames | None = None,
    grow: bool = True,
    **options: Any,
) -> Stream:
    r"""Open examples, whatever their format, as a stream of blocks.

    The format follows from the name: `.svm`, `.svmlight`, `.libsvm` and `.dat` are svmlight
    text, `.vw` that of Vowpal Wabbit, `.csv` and `.tsv` separated values, `.jsonl` and `.ndjson`
    JSON lines; each alone or followed by `.gz`, `.xz` or `.zst`. `.parquet` and `.arrow`,
    `.feather`, `.ipc` are tables, among them the compact form that `write_binary` makes.

    Args:
        inputs: a path, a pattern with wildcards, an address (`s3://`, `gs://`, `https://` and
            whatever fsspec knows), "-" for standard input, or several of these;
            a data frame (whatever exports Arrow); or an iterable of (dict, label) pairs, as the
            data sets of River are.
        reading: how they are read; the default is `Reading()`.
        names: the dictionary of names to begin with; the default is an empty one.
        grow: whether names that are not in the dictionary get columns, or are left out.
        options: fields of `Reading`, in place of those of `reading`.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.csv"
    ...     _ = path.write_text("age,city,class\n31,Bonn,UP\n0,Rome,DOWN\n")
    ...     stream = read(path, labels="binary")
    ...     blocks = list(stream)
    >>> blocks[0].dense().tolist(), blocks[0].y.tolist()
    ([[31.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [1.0, -1.0])
    >>> list(stream.names), stream.label_map
    (['age', 'city=Bonn', 'city=Rome'], {'DOWN': -1.0, 'UP': 1.0})
    """
    refuse_unknown(options)
    whole = replace(reading or Reading(), **options)
    found = resolve(inputs, whole.format)
    # Also those that are given with their default.
    found.refuse_unknown(options, whole)
    return found.open(whole, names, grow)
