"""The directory where compiled kernels rest: one checked file a kernel, oldest use goes first."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

#: When the directory is larger than this, the kernels not used for longest are deleted.
LARGEST_DIRECTORY = 256 * 2**20

_SUFFIX = ".kernel"
_MAGIC = b"noregret kernel 1\n"


@dataclass
class CacheEvents:
    """How often this process found a kernel on disk, compiled one, or could not cache it."""

    hits: int = 0
    misses: int = 0
    bypassed: int = 0


cache_events = CacheEvents()


def cache_directory() -> Path:
    """Return where compiled kernels are kept: NOREGRET_CACHE_DIR, else the user's cache.

    What lies there is machine code that will be run: let nobody else write to it.
    """
    chosen = os.environ.get("NOREGRET_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    # A user without a home gets a place that cannot be written, and the warning that says so.
    return Path(os.devnull if base.startswith("~") else base) / "noregret"


def load(key: str) -> bytes | None:
    """Return what was saved under a key, None if nothing or if the file is damaged."""
    path = cache_directory() / (key + _SUFFIX)
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + 32
    payload = content[start:]
    if content[:start] != _MAGIC + hashlib.sha256(payload).digest():
        return None
    # A cache that may only be read still serves; it just cannot note the use.
    with contextlib.suppress(OSError):
        os.utime(path)
    return payload


def save(key: str, payload: bytes) -> None:
    """Keep a payload under a key, all of it or nothing; warn once if it cannot be written."""
    directory = cache_directory()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        _warn_unwritable(str(directory), str(error))


_warned: set[str] = set()


def _warn_unwritable(directory: str, reason: str) -> None:
    if directory not in _warned:
        _warned.add(directory)
        warnings.warn(
            f"kernels are compiled anew in every process: cannot write to {directory} "
            f"({reason}); set NOREGRET_CACHE_DIR to a directory that can be written",
            stacklevel=2,
        )


def prune(directory: Path, limit: int) -> None:
    """Delete the least recently used kernels until the rest fits, and forgotten leftovers."""
    kept: list[tuple[float, int, str]] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            # Another process may delete a file between listing and looking.
            with contextlib.suppress(FileNotFoundError):
                found = entry.stat()
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
