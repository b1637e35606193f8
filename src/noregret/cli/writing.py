"""Files that commands write: whole under their name, or not there at all."""

from __future__ import annotations

import json
import math
import os
import secrets
import stat
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


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


def require_place(option: str, path: Path) -> None:
    """Refuse a place where no file can be put, before hours are spent on its content."""
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"{option} {path}: is a directory, expected a file name")
    if not folder.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ValueError(f"{option} {path}: cannot be written")


class Output:
    """A text or binary file that takes its name when all of it is on the disk.

    `-` is standard output; a device or a pipe is written to as it is.
    """

    def __init__(self, path: Path) -> None:
        self._target = Path(os.path.realpath(path)) if str(path) != "-" else path
        self._temporary: Path | None = None
        self._file: Any

    def __enter__(self) -> Self:
        if str(self._target) == "-":
            self._file = sys.stdout.buffer
        elif self._target.exists() and not stat.S_ISREG(self._target.stat().st_mode):
            self._file = self._target.open("wb")
        else:
            name = f".noregret-{secrets.token_hex(8)}.tmp"
            self._temporary = self._target.parent / name
            self._file = self._temporary.open("xb")
        return self

    def write(self, text: str | bytes) -> None:
        """Write a text in UTF-8, or bytes."""
        self._file.write(text.encode() if isinstance(text, str) else text)

    def numbers(self, values: npt.NDArray[np.float64]) -> None:
        """Write one number a line, in as many digits as it takes to read it back exactly."""
        self.write("".join(f"{value!r}\n" for value in values.tolist()))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._file.flush()
                if self._temporary is not None:
                    os.fsync(self._file.fileno())
                    if self._target.exists():
                        os.chmod(self._temporary, stat.S_IMODE(self._target.stat().st_mode))
                    os.replace(self._temporary, self._target)
                    self._temporary = None
        except OSError as failure:
            raise OSError(failure.errno, failure.strerror, str(self._target)) from failure
        finally:
            if self._file is not sys.stdout.buffer:
                self._close()
            if self._temporary is not None:
                self._temporary.unlink(missing_ok=True)

    def _close(self) -> None:
        try:
            self._file.close()
        except OSError as failure:
            # A full disk shows when what is left of the buffer is written.
            raise OSError(failure.errno, failure.strerror, str(self._target)) from failure
