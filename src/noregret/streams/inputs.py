"""Where bytes come from: files, patterns of names, standard input; plain or compressed."""

from __future__ import annotations

import codecs
import glob
import io
import lzma
import os
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from noregret.streams.errors import StreamError
from noregret.streams.remote import find_remote, is_address, name_in, open_remote, remote_errors

Inputs: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""A path, a pattern with wildcards, an address, "-" for standard input, or several of these."""

STANDARD_INPUT = "-"
_STDIN_NAME = "standard input"
#: Magic bytes of compressed files, and the name of the compression.
_MAGIC = {
    ".gz": (b"\x1f\x8b", "gzip"),
    ".xz": (b"\xfd7zXZ\x00", "xz"),
    ".zst": (b"\x28\xb5\x2f\xfd", "zstd"),
}
COMPRESSIONS = tuple(_MAGIC)
#: Bytes given to a decompressor at once. This alone bounds its output: from 8 KiB, gzip can make
#: 8 MiB, xz some 60 MiB and zstd 256 MiB.
_PIECE = 1 << 13


@dataclass(frozen=True)
class Input:
    """One file; a remote one, whose name is its address, and standard input have no path."""

    name: str
    path: Path | None
    remote: bool = False
    #: How many bytes a remote file has, None where nobody knows.
    remote_size: int | None = None

    @property
    def standard(self) -> bool:
        """Whether it is standard input."""
        return self.path is None and not self.remote

    @property
    def size(self) -> int | None:
        """How many bytes lie on the disk; None where nobody knows."""
        if self.path is None:
            return self.remote_size
        facts = self.path.stat()
        return facts.st_size if stat.S_ISREG(facts.st_mode) else None

    @property
    def lasting(self) -> bool:
        """Whether it can be read again: what came through a pipe is gone."""
        return self.remote or (self.path is not None and not self.path.is_fifo())

    @property
    def suffix(self) -> str:
        """The suffix of the name if it is that of a compression, else nothing."""
        suffix = "" if self.standard else os.path.splitext(name_in(self.name))[1].lower()
        return suffix if suffix in _MAGIC else ""


def find(inputs: Inputs) -> list[Input]:
    """Return the inputs in order, the matches of a pattern sorted by name.

    >>> find("-")[0].name
    'standard input'
    """
    if isinstance(inputs, str | os.PathLike):
        inputs = [inputs]
    found: list[Input] = []
    for one in inputs:
        text = os.fspath(one)
        if text == STANDARD_INPUT:
            found.append(Input(_STDIN_NAME, None))
        elif is_address(text):
            found += [Input(name, None, True, size) for name, size in find_remote(text)]
        elif os.path.lexists(text) or not glob.has_magic(text):
            found.append(_file(text))
        else:
            matches = sorted(glob.glob(text, recursive=True))
            if not matches:
                raise StreamError(f"{text}: no file has such a name")
            found += map(_file, matches)
    if not found:
        raise StreamError("no input: expected a path, several paths, a pattern or '-'")
    if sum(one.standard for one in found) > 1:
        raise StreamError("standard input can be read once only, found '-' twice")
    return found


def _file(text: str) -> Input:
    if os.path.isdir(text):
        raise StreamError(f"{text}: a directory, expected a file")
    if not os.path.exists(text):
        raise StreamError(f"{text}: no such file")
    return Input(text, Path(text))


class Tap:
    """The bytes of one input, uncompressed, as they come."""

    def __init__(self, source: Input, encoding: str = "utf-8"):
        self._input = source
        self._raw = _Raw(source)
        self._unpacked: _Unpacked | None = None
        self._recoded = None if encoding == "utf-8" else _Recoded(self._read, encoding, source.name)
        #: Whether the first bytes were examined; that may have to wait for a pipe.
        self._begun = False

    def _begin(self) -> None:
        self._begun = True
        name = self._input.name
        seen = self._raw.begins_like([magic for magic, _ in _MAGIC.values()])
        found = next((suffix for suffix, (magic, _) in _MAGIC.items() if seen == magic), "")
        told = self._input.suffix
        if not self._input.standard and told != found and (found or not self._raw.empty):
            if not told:
                raise StreamError(
                    f"{name}: the content is {_MAGIC[found][1]}-compressed, expected a name that "
                    f"ends in {found}"
                )
            content = f"the content is that of {found}" if found else "the content is not"
            raise StreamError(f"{name}: the name ends in {told} but {content}")
        if found:
            self._unpacked = _Unpacked(self._raw, found)

    @property
    def position(self) -> int:
        """How many bytes were taken from the disk or the pipe."""
        return self._raw.position

    def readinto(self, room: memoryview) -> int:
        """Fill room with at least one byte, more if they are there; 0 says that it is the end."""
        if not self._begun:
            self._begin()
        if self._recoded is None:
            return self._read(room)
        data = self._recoded.read(len(room))
        room[: len(data)] = data
        return len(data)

    def _read(self, room: memoryview) -> int:
        if self._unpacked is None:
            return self._raw.readinto(room)
        try:
            data = self._unpacked.read(len(room))
        except EOFError as error:
            raise StreamError(
                f"{self._input.name}: the compressed file is damaged or cut short ({error})"
            ) from error
        room[: len(data)] = data
        return len(data)

    def waiting(self) -> bool:
        """Say whether the next byte has yet to arrive."""
        return self._raw.waiting()

    def wake(self) -> None:
        """Make a `readinto` that waits for a pipe return as if it had ended."""
        self._raw.wake()

    def close(self) -> None:
        """Close the file."""
        self._raw.close()


class _Raw(io.RawIOBase):
    """Bytes as they lie on the disk; waits for a pipe in such a way that it can be woken."""

    def __init__(self, source: Input):
        self.position = 0
        self._name = source.name
        self._ahead = b""
        self._remote = source.remote
        self._owned = not source.standard
        self._file: Any
        if source.remote:
            self._file = open_remote(source.name)
        elif source.path is not None:
            self._file = _open(source.path)
        elif sys.stdin is None:
            raise StreamError("standard input is closed, expected examples from it")
        else:
            self._file = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        self._poll: Any = None
        self._alarm: tuple[int, int] | None = None
        if hasattr(select, "poll") and not source.remote and _may_wait(self._file):
            self._alarm = os.pipe()
            self._poll = select.poll()
            for descriptor in (self._file.fileno(), self._alarm[0]):
                self._poll.register(descriptor, select.POLLIN)

    @property
    def empty(self) -> bool:
        """Whether no byte was read."""
        return self.position == 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def begins_like(self, patterns: list[bytes]) -> bytes | None:
        """Return the pattern that the content begins with; reads no further than to decide."""
        while fitting := [pattern for pattern in patterns if pattern.startswith(self._ahead)]:
            longest = max(map(len, fitting)) - len(self._ahead)
            room = bytearray(longest)
            count = self._take(room) if longest else 0
            if not count:
                break
            self._ahead += room[:count]
            for pattern in patterns:
                if self._ahead.startswith(pattern):
                    return pattern
        return None

    def readinto(self, room: Any) -> int:
        """Fill room with what is there, waiting for the first byte only."""
        view = memoryview(room).cast("B")
        if self._ahead:
            part = self._ahead[: len(view)]
            view[: len(part)] = part
            self._ahead = self._ahead[len(part) :]
            return len(part)
        return self._take(view)

    def _take(self, room: Any) -> int:
        if self._alarm is not None:
            ready = self._poll.poll()
            if any(descriptor == self._alarm[0] for descriptor, _ in ready):
                return 0
        if self._remote:
            with remote_errors(self._name):
                # Not all of them can read into memory that is there.
                data = self._file.read(len(room))
            room[: len(data)] = data
            self.position += len(data)
            return len(data)
        try:
            count = int(self._file.readinto(room) or 0)
        except OSError as error:
            # Only opening a file adds its name.
            raise OSError(error.errno, error.strerror, self._name) from error
        self.position += count
        return count

    def waiting(self) -> bool:
        """Say whether the next byte has yet to arrive."""
        return self._poll is not None and not self._ahead and not self._poll.poll(0)

    def wake(self) -> None:
        """End a wait."""
        if self._alarm is not None:
            os.write(self._alarm[1], b"!")

    def close(self) -> None:
        """Close what was opened here."""
        if not self.closed:
            if self._owned:
                self._file.close()
            for descriptor in self._alarm or ():
                os.close(descriptor)
            self._alarm = self._poll = None
        super().close()


def _open(path: Path) -> Any:
    if not path.is_fifo():
        return path.open("rb", buffering=0)
    # Opening a named pipe blocks until it has a writer, and nothing could interrupt that.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb", buffering=0)


def _may_wait(file: Any) -> bool:
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):
        # An object in memory in place of standard input: it has no descriptor and never waits.
        return False


class _Unpacked:
    """Decompressed bytes of one archive after another; every one of them must be whole.

    The readers of the packages take what follows an archive of xz, or the end of a file within
    one of zstd, for the end of all.
    """

    def __init__(self, raw: _Raw, suffix: str):
        self._raw = raw
        self._fresh, self._damaged = _UNPACKERS[suffix]()
        self._archive: Any = None
        self._packed = b""
        self._made = b""

    def read(self, size: int) -> bytes:
        """Return at least one byte, at most `size`, or nothing at the end of all."""
        while not self._made:
            self._packed = self._packed or self._raw.read(_PIECE) or b""
            if not self._packed:
                if self._archive is not None:
                    raise EOFError("the last archive has no end")
                return b""
            if self._archive is None:
                # Zeros between archives are padding.
                self._packed = self._packed.lstrip(b"\0")
                self._archive = self._fresh() if self._packed else None
                continue
            try:
                self._made = self._archive.decompress(self._packed)
            except self._damaged as error:
                raise EOFError(str(error)) from error
            self._packed = self._archive.unused_data if self._archive.eof else b""
            if self._archive.eof:
                self._archive = None
        part, self._made = self._made[:size], self._made[size:]
        return part


class _Recoded:
    """Text in any encoding as UTF-8."""

    def __init__(self, read: Callable[[memoryview], int], encoding: str, name: str):
        self._read, self._encoding, self._name = read, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._room = bytearray(_PIECE)
        self._made = b""
        self._ended = False

    def read(self, size: int) -> bytes:
        """Return at least one byte, at most `size`, or nothing at the end of all."""
        while not self._made and not self._ended:
            count = self._read(memoryview(self._room))
            self._ended = not count
            try:
                self._made = self._decoder.decode(self._room[:count], self._ended).encode()
            except UnicodeError as error:
                raise StreamError(
                    f"{self._name}: is not {self._encoding} ({error}): name its encoding",
                    "encoding",
                ) from None
        part, self._made = self._made[:size], self._made[size:]
        return part


def _zstd() -> tuple[Callable[[], Any], type[Exception]]:
    try:
        import zstandard
    except ImportError:
        raise StreamError(
            "reading .zst needs the package zstandard: pip install 'noregret[zstd]'"
        ) from None
    return zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError


#: The decompressor of one archive, and the exception that it raises for damaged ones.
_UNPACKERS: dict[str, Callable[[], tuple[Callable[[], Any], type[Exception]]]] = {
    ".gz": lambda: (lambda: zlib.decompressobj(16 + zlib.MAX_WBITS), zlib.error),
    ".xz": lambda: (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), lzma.LZMAError),
    ".zst": _zstd,
}
