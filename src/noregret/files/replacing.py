"""Atomic replacement of files: a reader finds the old content or the new one, never a mixture.

The new content goes to a temporary file beside the target, is forced to the disk, and only then
takes the target's name. A writer locks its temporary file, and the lock ends with its process: the
next writer of the same target removes unlocked temporary files, which a killed writer has left. Of
two writers at once the later wins.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedWriter
from pathlib import Path

if sys.platform != "win32":
    import fcntl


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[BufferedWriter]:
    """Let the body write a temporary file, then rename it to `path`.

    On any failure the file at `path` stays as it was; its permissions are kept, and a symbolic
    link is followed. A failure to write is an OSError that names `path`. The body may also open
    `stream.name` itself.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replaced(folder + "/file") as stream:
    ...         _ = stream.write(b"content")
    ...     os.listdir(folder), Path(folder, "file").read_bytes()
    (['file'], b'content')
    """
    target = Path(os.path.realpath(path))
    name = ""
    try:
        mode = _mode_of(target)
        if not target.parent.is_dir():
            reason = f"no directory {str(target.parent)!r} to write to"
            raise FileNotFoundError(errno.ENOENT, reason)
        with _synced(target.parent):
            _clear(target)
            stream = _temporary(target, mode)
            name = str(stream.name)
            try:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
                if mode is not None and stat.S_IMODE(os.fstat(stream.fileno()).st_mode) != mode:
                    os.chmod(name, mode)
                if sys.platform == "win32":
                    stream.close()  # Windows does not rename open files
                os.replace(name, target)
            finally:
                # Not stream.close(), which would flush the buffer and could fail again.
                stream.raw.close()
                Path(name).unlink(missing_ok=True)
    except OSError as error:
        # An error of the body about another file keeps its name.
        if error.filename not in (None, name, str(target), str(target.parent)):
            raise
        raise OSError(error.errno, error.strerror or str(error), os.fsdecode(path)) from error


def _mode_of(target: Path) -> int | None:
    """Return the permissions of the target, None if there is none; refuse what is no plain file."""
    try:
        mode = os.stat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file, expected a place for one")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file there may not be written to")
    return stat.S_IMODE(mode)


def _prefix(target: Path) -> str:
    """Return the prefix of a target's temporary files: a hash, as its name could be too long."""
    return f".noregret-{zlib.crc32(os.fsencode(target.name)):08x}-"


def _temporary(target: Path, mode: int | None) -> BufferedWriter:
    """Return a new locked file beside the target, readable by others only if the target is new."""
    made_with = partial(os.open, mode=0o666 if mode is None else 0o600)
    while True:
        path = target.parent / f"{_prefix(target)}{os.urandom(8).hex()}.tmp"
        stream = open(path, "xb", opener=made_with)
        # Another writer may have removed it before it was locked: then try again.
        if _lock(stream.fileno()) is not False and path.exists():
            return stream
        stream.close()


def _lock(descriptor: int) -> bool | None:
    """Lock a file; return False if another process holds the lock, None without locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _clear(target: Path) -> None:
    """Remove the unlocked temporary files of this target."""
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    for left in target.parent.glob(f"{_prefix(target)}*.tmp"):
        try:
            descriptor = os.open(left, flags)
            try:
                if _lock(descriptor):
                    left.unlink()
            finally:
                os.close(descriptor)
        except OSError:
            # Already removed, or without permission: writing can go on.
            continue


@contextmanager
def _synced(folder: Path) -> Iterator[None]:
    """Sync the directory to the disk after the body, where the system supports it."""
    if sys.platform == "win32":
        yield
        return
    # Open it before the body: a directory that cannot be opened is refused before any change.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield
        try:
            os.fsync(descriptor)
        except OSError as error:
            # Some network file systems have no such operation; the file itself is on the disk.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
    finally:
        os.close(descriptor)
