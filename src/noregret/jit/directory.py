"""The directory of compiled kernels: one checked file a kernel; the least recently used go first.

To load a kernel is to run the code in its file. So a file counts only if nobody but this user
(and root) can have put it there: it belongs to this user, as does its directory, neither may be
written to by group or others, and no directory above lets somebody else put another in its
place. Where that does not hold, kernels are compiled without the cache, and a warning says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

#: When the directory is larger than this, the kernels not used for longest are deleted.
LARGEST_DIRECTORY = 256 * 2**20

_SUFFIX = ".kernel"
_MAGIC = b"noregret kernel 1\n"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_READ = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)


@dataclass
class CacheEvents:
    """How often this process found a kernel on disk, compiled one, or could not cache it."""

    hits: int = 0
    misses: int = 0
    bypassed: int = 0


cache_events = CacheEvents()


def cache_directory() -> Path:
    """Return where compiled kernels are kept: NOREGRET_CACHE_DIR, else the user's cache.

    What lies there is run: it is used only if nobody else can write to it.
    """
    chosen = os.environ.get("NOREGRET_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    # A user without a home gets a place that cannot be written, and the warning that says so.
    return Path(os.devnull if base.startswith("~") else base) / "noregret"


def unsafe_reason(directory: Path) -> str:
    """Return why somebody else could put a kernel into the directory, '' if nobody can.

    `directory` is absolute and without links. What does not exist yet is judged by the
    directories above it. Windows has neither owners nor modes of this kind: no reason there.
    """
    if not hasattr(os, "geteuid"):
        return ""
    user = os.geteuid()
    for place in (directory, *directory.parents):
        try:
            found = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return f"cannot look at {place} ({error.strerror})"
        owners = (user,) if place == directory else (user, 0)
        if found.st_uid not in owners:
            return f"{place} belongs to user {found.st_uid}, this is user {user}"
        # In a sticky directory, such as /tmp, others cannot rename what is ours or root's; that
        # the entry on our way is one of these, if there is one, was checked in the round before.
        sticky = found.st_mode & stat.S_ISVTX and place != directory
        if found.st_mode & _OTHERS_WRITE and not sticky:
            mode = stat.S_IMODE(found.st_mode)
            return f"others may write to {place} (its mode is {mode:o})"
    return ""


def usable_directory() -> Path | None:
    """Return `cache_directory()` without links if only this user writes to it, else None.

    The first time that it is None a warning gives the reason.
    """
    # Only what nobody else can change is left in the path: no link can be turned later.
    directory = Path(os.path.realpath(cache_directory()))
    reason = unsafe_reason(directory)
    if reason:
        _warn_unused(str(directory), f"the cache {directory} is not safe to use, {reason}")
        return None
    return directory


def load(key: str) -> bytes | None:
    """Return what was saved under a key, None if nothing or if the file cannot be trusted."""
    directory = usable_directory()
    content = None if directory is None else _content(directory / (key + _SUFFIX))
    start = len(_MAGIC) + 32
    if content is None or content[:start] != _MAGIC + hashlib.sha256(content[start:]).digest():
        return None
    return content[start:]


def _content(path: Path) -> bytes | None:
    """Return the bytes of a regular file that only this user can have written, else None."""
    try:
        # A link is not followed, and a FIFO without a writer is opened without waiting for one.
        with open(os.open(path, _READ), "rb") as file:
            found = os.fstat(file.fileno())
            foreign = hasattr(os, "geteuid") and (
                found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE
            )
            if foreign or not stat.S_ISREG(found.st_mode):
                return None
            content = file.read()
            # A cache that may only be read still serves; it just cannot note the use.
            with contextlib.suppress(OSError):
                os.utime(file.fileno() if os.utime in os.supports_fd else path)
            return content
    except OSError:
        return None


def save(key: str, payload: bytes) -> None:
    """Keep a payload under a key, all of it or nothing; warn once if it cannot be written."""
    directory = usable_directory()
    if directory is None:
        return
    try:
        _make_private(directory)
        # In /tmp somebody else could have made it in the meantime.
        if usable_directory() != directory:
            return
        handle, temporary = tempfile.mkstemp(suffix=".tmp", dir=directory)
        try:
            with open(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, directory / (key + _SUFFIX))
        except BaseException:
            os.unlink(temporary)
            raise
        prune(directory, LARGEST_DIRECTORY)
    except OSError as error:
        _warn_unused(str(directory), f"cannot write to {directory} ({error})")


def _make_private(directory: Path) -> None:
    """Make a directory and those above it that are missing, for this user only."""
    if not directory.parent.exists():
        _make_private(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=True)


_warned: set[str] = set()


def _warn_unused(directory: str, reason: str) -> None:
    if directory not in _warned:
        _warned.add(directory)
        warnings.warn(
            f"kernels are compiled anew in every process: {reason}; set NOREGRET_CACHE_DIR to a "
            "directory of your own that only you can write to",
            stacklevel=2,
        )


def prune(directory: Path, limit: int) -> None:
    """Delete the least recently used kernels until the rest fits, and forgotten leftovers."""
    kept: list[tuple[float, int, str]] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            # Another process may delete a file between listing and looking.
            with contextlib.suppress(FileNotFoundError):
                found = entry.stat(follow_symlinks=False)
                if entry.name.endswith(_SUFFIX):
                    kept.append((found.st_mtime, found.st_size, entry.path))
                elif entry.name.endswith(".tmp") and found.st_mtime < time.time() - 3600.0:
                    os.unlink(entry.path)
    excess = sum(size for _, size, _ in kept) - limit
    for _, size, path in sorted(kept):
        if excess <= 0:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        excess -= size
