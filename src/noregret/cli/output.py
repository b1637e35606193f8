"""Standard output and standard error as the program uses them: what fails there loses nothing.

A failed write to stdout is an `OutputLost`, which `learn` takes as a reason to save and stop. The
libraries between us and the file would otherwise decide themselves: rich and click both turn a
closed pipe into exit code 1. What stderr cannot take is dropped: there is nobody left to tell, and
the exit code says the same.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import Any

#: The exit code for a closed pipe is that of a process that SIGPIPE ended.
CLOSED_PIPE = 128 + 13
#: What a person can mend: usage, input, and places that cannot be written.
MENDABLE = 2
#: A fault of the program itself; 1 says that a statement is false.
FAULT = 70


class OutputLost(OSError):
    """An output that cannot be written: error number, reason, and what it is called.

    >>> lost = OutputLost(errno.EPIPE, "Broken pipe", "standard output")
    >>> lost.code, lost.filename
    (141, 'standard output')
    """

    @property
    def code(self) -> int:
        """The exit code for it."""
        return CLOSED_PIPE if self.errno == errno.EPIPE else MENDABLE


class _Outlet(io.RawIOBase):
    """Bytes for an open file descriptor, or for one that was closed before the program began."""

    def __init__(self, inner: Any, name: str, lossy: bool) -> None:
        self._inner, self._name = inner, name
        #: Whether what cannot be written is dropped.
        self._lossy = lossy

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        if self._inner is None:
            raise io.UnsupportedOperation("closed before the program began")
        return int(self._inner.fileno())

    def isatty(self) -> bool:
        return self._inner is not None and bool(self._inner.isatty())

    def write(self, data: Any) -> int:
        try:
            if self._inner is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            while (count := self._inner.write(data)) is None:
                # Another process that shares the pipe or terminal made it non-blocking.
                select.select([], [self._inner], [])
            return int(count)
        except OSError as error:
            if self._lossy:
                return len(data)
            raise OutputLost(error.errno, error.strerror, self._name) from error


def guard_streams() -> None:
    """Make a failed write to stdout an `OutputLost`, and one to stderr no failure."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # Else the next file opened would get descriptor 1 and receive what goes to stdout.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _rewrapped(sys.stdout, "standard output", lossy=False)
    sys.stderr = _rewrapped(sys.stderr, "standard error", lossy=True)


def _rewrapped(stream: Any, name: str, lossy: bool) -> io.TextIOWrapper:
    if stream is None:
        return io.TextIOWrapper(io.BufferedWriter(_Outlet(None, name, lossy)), "utf-8", "replace")
    # Unbuffered streams have no further layer.
    raw = _Outlet(getattr(stream.buffer, "raw", stream.buffer), name, lossy)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        stream.encoding,
        # A terminal that lacks a symbol shows a question mark in its place.
        "replace",
        line_buffering=stream.line_buffering or stream.write_through,
    )
