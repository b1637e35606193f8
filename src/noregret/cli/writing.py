"""Files that commands write: whole under their name, or not there at all."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TextIO

import numpy as np
import numpy.typing as npt

from noregret.cli.output import OutputLost
from noregret.files.replacing import replaced
from noregret.runs.interrupt import unwinding
from noregret.visible import escaped


def to_json(value: Any) -> str:
    """Return JSON that every reader takes: null for what is not finite.

    >>> to_json({"floor": float("-inf"), "points": [1.5]})
    '{"floor": null, "points": [1.5]}'
    """
    return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def fitted(text: str, file: TextIO | None = None) -> str:
    """Return a text for a file [default: stdout]: on a terminal lines are wrapped, with an indent.

    Into a pipe it goes as it is.
    """
    if not (sys.stdout if file is None else file).isatty():
        return text
    width, lines = shutil.get_terminal_size().columns, []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        options: Any = {"break_long_words": False, "break_on_hyphens": False}
        lines += textwrap.wrap(line, width, subsequent_indent=indent, **options) or [""]
    return "\n".join(lines)


def require_place(option: str, path: Path) -> None:
    """Refuse a place where no file can be put, before hours are spent on its content."""
    if path.is_dir():
        raise ValueError(f"{option} {path}: is a directory, expected a file name")
    needed = [path] if path.exists() else []
    if not _is_special(path):
        # A link stays a link: a file is put beside what it names.
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise ValueError(f"{option} {path}: there is no folder {folder}")
        needed.append(folder)
    if not all(os.access(place, os.W_OK) for place in needed):
        raise ValueError(f"{option} {path}: cannot be written")


def require_file(option: str, path: Path) -> None:
    """Refuse a place where something lies that is not a file to replace."""
    if _is_special(path):
        raise ValueError(f"{option} {path}: is a device or a pipe, expected a file name")


def _is_special(path: Path) -> bool:
    """Tell whether there is something that is written to as it is."""
    return path.exists() and not path.is_file()


class Output:
    """A text or binary file that takes its name when all of it is on the disk.

    `-` is standard output; a device or a pipe is written to as it is. What cannot be written is
    an `OutputLost`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = _opened(path)
        self._file: BinaryIO

    def __enter__(self) -> Self:
        with self._lost():
            self._file = self._opened.__enter__()
        return self

    def write(self, text: str | bytes) -> None:
        """Write a text in UTF-8, or bytes."""
        with self._lost():
            self._file.write(text.encode() if isinstance(text, str) else text)

    def numbers(self, values: npt.NDArray[np.float64]) -> None:
        """Write one number a line, in as many digits as it takes to read it back exactly."""
        self.write("".join(f"{value!r}\n" for value in values.tolist()))

    def classes(self, numbers: npt.NDArray[np.intp], names: Sequence[str]) -> None:
        """Write one class a line by its name, `escaped`, ? where none was known."""
        known = dict(enumerate(map(escaped, names)))
        self.write("".join(f"{known.get(number, '?')}\n" for number in numbers.tolist()))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What the body failed to read is no failure to write, and goes on as it is.
        with self._lost():
            self._opened.__exit__(kind, error, trace)

    @contextmanager
    def _lost(self) -> Iterator[None]:
        try:
            yield
        except OutputLost:
            raise
        except OSError as error:
            name = error.filename or str(self._path)
            raise OutputLost(error.errno, error.strerror or str(error), name) from error


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    # A signal must not leave a temporary file behind.
    with unwinding():
        if str(path) == "-":
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with path.open("wb") if _is_special(path) else replaced(path) as file:
                yield file
