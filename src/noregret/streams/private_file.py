"""A file that Arrow reads into memory of this process, so that nobody can change what was read.

A mapped file is shared: cut short by somebody else it ends the program (SIGBUS), and an index that
is overwritten after it was checked is used unchecked. What was read into private memory stays.
"""

from __future__ import annotations

import io
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.streams.errors import StreamError
from noregret.streams.slabs import Slabs

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
#: Buffers are multiples of this many words, so that batches of similar size reuse them.
_STEP = 1 << 16


class PrivateFile(io.FileIO):
    """A file as `pyarrow.PythonFile` wants it; each read returns an array of its own.

    It stays open and the same file whatever its name becomes. One thread at a time.
    """

    def __init__(self, path: Path) -> None:
        #: The text that error messages begin with.
        self.where = str(path)
        #: What was read since `forget`: where in the file, and the bytes.
        self.held: list[tuple[int, NDArray[np.uint8]]] = []
        self._slabs = Slabs()
        try:
            descriptor = os.open(path, _FLAGS)
            # Closed with the last reference: Arrow closes what it was given, and reads go on.
            weakref.finalize(self, os.close, descriptor)
            super().__init__(descriptor, closefd=False)
        except OSError as error:
            raise StreamError(f"{path}: {error.strerror or error}") from error
        self.size = os.fstat(descriptor).st_size
        if self.size == 0:
            raise StreamError(f"{path}: the file is empty")

    def close(self) -> None:
        """Do nothing: the file may be read again."""

    def forget(self) -> None:
        """Drop what was read; memory that nobody refers to is used again."""
        self.held.clear()

    def require_whole(self) -> None:
        """Refuse a file that has become shorter."""
        if os.fstat(self.fileno()).st_size < self.size:
            raise self._cut()

    def _cut(self) -> StreamError:
        return StreamError(f"{self.where}: the file was cut short while it was read")

    def read(self, count: int = -1) -> NDArray[np.uint8]:  # type: ignore[override]
        """Return the next bytes, as far as the file had any when it was opened."""
        place = self.tell()
        left = max(self.size - place, 0)
        # A damaged file may ask for any number.
        count = left if count < 0 else min(count, left)
        words = -(-count // (8 * _STEP)) * _STEP
        bytes_read = self._slabs.take(np.uint64, words).view(np.uint8)[:count]
        view = memoryview(bytes_read)  # type: ignore[arg-type]
        done = 0
        while done < count:
            more = self.readinto(view[done:])
            if not more:
                raise self._cut()
            done += more
        self.held.append((place, bytes_read))
        return bytes_read

    def array(self, buffer: Any, kind: Any, count: int) -> NDArray[Any] | None:
        """Return the content of a buffer of Arrow as an array, None if it was not read here."""
        size = count * np.dtype(kind).itemsize
        for _, held in self.held:
            begin = buffer.address - held.ctypes.data
            if 0 <= begin <= len(held) - size and begin % 8 == 0:
                part: NDArray[Any] = held[begin : begin + size].view(kind)
                return part
        return None

    def end_of(self, array: NDArray[Any]) -> int:
        """Return where in the file an array ends, 0 for none."""
        for place, held in self.held:
            begin = array.ctypes.data - held.ctypes.data
            if len(array) and 0 <= begin < len(held):
                return int(place + begin + array.nbytes)
        return 0
