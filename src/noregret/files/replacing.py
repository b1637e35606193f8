"""Files that are replaced as a whole: the old content or the new one, whatever happens between.

The new content goes to a temporary file beside the target, is forced to the disk, and only then
takes the target's name. A writer locks its temporary file, and the lock ends with its process:
the next writer of the same target removes temporary files that nobody locks, which a killed writer
left. Of two writers at once the later wins.
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
    """Let the body write a file, which takes the name `path` once it is whole and on the disk.

    On any failure what was at `path` stays as it was; permissions stay in any case, and a link
    stays a link. A failure to write is an OSError that names `path`. The body may also open
    `stream.name` by itself.

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
                    stream.close()  # what is open there cannot be renamed
                os.replace(name, target)
            finally:
                # Not that of the buffer, which would write what is left in it, and fail again.
                stream.raw.close()
                Path(name).unlink(missing_ok=True)
    except OSError as error:
        # What the body failed to read keeps its own name.
        if error.filename not in (None, name, str(target), str(target.parent)):
            raise
        raise OSError(error.errno, error.strerror or str(error), os.fsdecode(path)) from error


def _mode_of(target: Path) -> int | None:
    """Return the permissions of what is replaced, and refuse to replace what must not be."""
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
    """Return how the temporary files of a target begin; its own name could be too long."""
    return f".noregret-{zlib.crc32(os.fsencode(target.name)):08x}-"


def _temporary(target: Path, mode: int | None) -> BufferedWriter:
    """Return a new file beside the target, locked; what may be private is so from the beginning."""
    made_with = partial(os.open, mode=0o666 if mode is None else 0o600)
    while True:
        path = target.parent / f"{_prefix(target)}{os.urandom(8).hex()}.tmp"
        stream = open(path, "xb", opener=made_with)
        # Before its lock another writer can take it for one that was left.
        if _lock(stream.fileno()) is not False and path.exists():
            return stream
        stream.close()


def _lock(descriptor: int) -> bool | None:
    """Lock a file; return False if somebody else has, None where the system has no locks."""
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
    """Remove the temporary files of this target that nobody holds any more."""
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
            # Gone by now, or somebody else's to remove: no reason not to write.
            continue


@contextmanager
def _synced(folder: Path) -> Iterator[None]:
    """Force what the body did in the directory to the disk, where the system can do that."""
    if sys.platform == "win32":
        yield
        return
    # Opened before the body: a directory that cannot be opened is refused with nothing done.
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
