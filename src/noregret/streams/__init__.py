"""Streams of examples from files, in blocks of bounded size."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from noregret.streams.block import Block
from noregret.streams.svmlight import Labels, Stream, StreamError, read_svmlight

__all__ = ["Block", "Labels", "Stream", "StreamError", "read", "read_svmlight"]

_COMPRESSIONS = (".gz", ".xz")
_READERS: dict[str, Callable[..., Stream]] = {
    ".svm": read_svmlight,
    ".svmlight": read_svmlight,
    ".libsvm": read_svmlight,
    ".dat": read_svmlight,
}


def read(
    path: str | os.PathLike[str],
    *,
    labels: Labels = "real",
    rows: int = 8192,
    first_index: int = 1,
    width: int = 0,
) -> Stream:
    r"""Open a file of examples, whatever its format, as a stream of blocks.

    The format follows from the name: `.svm`, `.svmlight`, `.libsvm` and `.dat` are svmlight
    text, alone or followed by `.gz` or `.xz`.

    Args:
        path: the file.
        labels: "real" takes labels as they are written; "binary" maps -1/+1, 0/1 or 1/2 to
            -1/+1, whichever the first block shows; a pair (negative, positive) says which.
        rows: the most rows a block holds.
        first_index: the index of the first feature, 1 as the format has it, or 0.
        width: the number of features where it is known; a wider file is refused.

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
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    reader = _READERS.get(suffixes[-1] if suffixes else "")
    if reader is None:
        raise StreamError(
            f"{os.fspath(path)}: the name does not tell the format; expected it to end in "
            f"{', '.join(_READERS)}, alone or followed by {', '.join(_COMPRESSIONS)}"
        )
    return reader(path, labels=labels, rows=rows, first_index=first_index, width=width)
