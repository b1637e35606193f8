"""A file that Arrow reads into memory of this process, so that nobody can change what was read.

A mapped file is shared: cut short by somebody else it ends the program (SIGBUS), and an index that
is overwritten after it was checked is used unchecked. What was read into private memory stays.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.streams.errors import StreamError
from noregret.streams.slabs import Slabs

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
#: Buffers are multiples of this many words, so that batches of similar size reuse them.
_STEP = 1 << 16


class PrivateFile:
    """A file as `pyarrow.PythonFile` wants it; each read returns an array of its own.

    It stays open and the same file whatever its name becomes. One thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = -1
        #: The text that error messages begin with.
        self.where = str(path)
        #: What was read since `forget`: where in the file, and the bytes.
        self.held: list[tuple[int, NDArray[np.uint8]]] = []
        self._slabs = Slabs()
        self._place = 0
        try:
            self._descriptor = os.open(path, _FLAGS)
            self._file = io.FileIO(self._descriptor, closefd=False)
            self.size = os.fstat(self._descriptor).st_size
        except OSError as error:
            raise StreamError(f"{path}: {error.strerror or error}") from error
        if self.size == 0:
            raise StreamError(f"{path}: the file is empty")

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def forget(self) -> None:
        """Drop what was read; memory that nobody refers to is used again."""
        self.held.clear()

    def require_whole(self) -> None:
        """Refuse a file that has become shorter."""
        if os.fstat(self._descriptor).st_size < self.size:
            raise self._cut()

    def _cut(self) -> StreamError:
        return StreamError(f"{self.where}: the file was cut short while it was read")

    def read(self, count: int = -1) -> NDArray[np.uint8]:
        """Return the next bytes, as far as the file had any when it was opened."""
        left = max(self.size - self._place, 0)
        # A damaged file may ask for any number.
        count = left if count < 0 else min(count, left)
        words = -(-count // (8 * _STEP)) * _STEP
        bytes_read = self._slabs.take(np.uint64, words).view(np.uint8)[:count]
        view = memoryview(bytes_read)  # type: ignore[arg-type]
        done = 0
        self._file.seek(self._place)
        while done < count:
            more = self._file.readinto(view[done:])
            if not more:
                raise self._cut()
            done += more
        self.held.append((self._place, bytes_read))
        self._place += count
        return bytes_read

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self.size}[whence]
        self._place = begin + offset
        return self._place

    def tell(self) -> int:
        """Return the place."""
        return self._place

    @property
    def closed(self) -> bool:
        """False: the file stays open as long as anyone refers to it."""
        return False

    def close(self) -> None:
        """Do nothing: Arrow closes what it was given, and the file may be read again."""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def writable(self) -> bool:
        """Return that it cannot be written to."""
        return False

    def seekable(self) -> bool:
        """Return that any place can be gone to."""
        return True

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
