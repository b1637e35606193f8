"""Where bytes come from: files, patterns of names, standard input; plain or compressed.

Files elsewhere have addresses: object stores, the web, whatever fsspec knows.
"""

from __future__ import annotations

import codecs
import glob
import lzma
import os
import re
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from noregret.arguments import refuse
from noregret.streams.errors import StreamError

Inputs: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""A path, a pattern with wildcards, an address, "-" for standard input, or several of these."""

STANDARD_INPUT = "-"
NO_INPUT = "no input: expected a path, several paths, a pattern or '-'"
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
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_address(text: str) -> bool:
    """Return whether a text is an address, not the name of a file.

    >>> is_address("s3://bucket/a.csv"), is_address("a.csv")
    (True, False)
    """
    return _ADDRESS.match(text) is not None


def name_in(text: str) -> str:
    """Return the part of an address that tells the format; a name as it is.

    >>> name_in("https://example.org/a.csv.gz?raw=1"), name_in("a.csv?")
    ('/a.csv.gz', 'a.csv?')
    """
    return urlsplit(text).path if text.startswith(("http://", "https://")) else text


@contextmanager
def remote_errors(address: str) -> Iterator[None]:
    """Turn whatever a file system raises into one line about the address."""
    try:
        yield
    except StreamError:
        raise
    except ImportError as error:
        # fsspec names the package that a protocol needs.
        raise StreamError(f"{address}: {error} (pip install 'noregret[remote]')") from None
    except FileNotFoundError:
        raise StreamError(f"{address}: no such file") from None
    except Exception as error:
        # Each file system has exceptions of its own, with no base in common.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise StreamError(f"{address}: {reason}") from error


def _file_system(address: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise StreamError(
            f"{address}: addresses need the package fsspec: pip install 'noregret[remote]'"
        ) from None
    with remote_errors(address):
        found: tuple[Any, str] = fsspec.core.url_to_fs(address)
        return found


def find_remote(address: str) -> list[tuple[str, int | None]]:
    """Return the addresses of files with their sizes, those of a pattern sorted by name."""
    system, path = _file_system(address)
    with remote_errors(address):
        # A question mark in an address of the web begins a query.
        pattern = glob.has_magic(path) and not address.startswith(("http://", "https://"))
        if not pattern:
            facts = system.info(path)
            if facts.get("type") == "directory":
                raise StreamError(f"{address}: a directory, expected a file")
            return [(address, facts.get("size"))]
        found = sorted(system.glob(path))
        if not found:
            raise StreamError(f"{address}: no file has such a name")
        return [(system.unstrip_protocol(one), system.info(one).get("size")) for one in found]


def open_remote(address: str) -> Any:
    """Return a file for reading bytes."""
    system, path = _file_system(address)
    with remote_errors(address):
        return system.open(path, "rb")


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
    refuse(
        {
            NO_INPUT: not found,
            "standard input can be read once only, found '-' twice": (
                sum(one.standard for one in found) > 1
            ),
        },
        StreamError,
    )
    return found


def _file(text: str) -> Input:
    refuse(
        {
            f"{text}: a directory, expected a file": os.path.isdir(text),
            f"{text}: no such file": not os.path.exists(text),
        },
        StreamError,
    )
    return Input(text, Path(text))


class Tap:
    """The bytes of one input, uncompressed and as UTF-8, as they come.

    It waits for a pipe in such a way that it can be woken.
    """

    def __init__(self, source: Input, encoding: str = "utf-8"):
        #: How many bytes were taken from the disk or the pipe.
        self.position = 0
        self._input, self._encoding = source, encoding
        #: What was read to recognise the content, and bytes that wait to be handed out.
        self._ahead = b""
        #: What unpacks or recodes, where that is needed; the first bytes tell, and a pipe may keep
        #: them waiting.
        self._pieces: Iterator[bytes] | None = None
        self._begun = False
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
        self._alarm: tuple[int, ...] = ()
        if hasattr(select, "poll") and not source.remote and _may_wait(self._file):
            self._alarm = os.pipe()
            self._poll = select.poll()
            for descriptor in (self._file.fileno(), self._alarm[0]):
                self._poll.register(descriptor, select.POLLIN)

    def _begin(self) -> None:
        """Look at the first bytes, and no further than to recognise a compression."""
        name, told = self._input.name, self._input.suffix
        found = ""
        patterns = {magic: suffix for suffix, (magic, _) in _MAGIC.items()}
        while not found and any(magic.startswith(self._ahead) for magic in patterns):
            more = self._take(max(map(len, patterns)) - len(self._ahead))
            self._ahead += more
            found = next((patterns[one] for one in patterns if self._ahead.startswith(one)), "")
            if not more:
                break
        if not self._input.standard and told != found and (found or self.position):
            if not told:
                raise StreamError(
                    f"{name}: the content is {_MAGIC[found][1]}-compressed, expected a name that "
                    f"ends in {found}"
                )
            content = f"the content is that of {found}" if found else "the content is not"
            raise StreamError(f"{name}: the name ends in {told} but {content}")
        self._begun = True
        if found or self._encoding != "utf-8":
            self._pieces = _worked(self._raw(self._ahead), found, self._encoding, name)
            self._ahead = b""

    def _raw(self, first: bytes) -> Iterator[bytes]:
        piece = first or self._take(_PIECE)
        while piece:
            yield piece
            piece = self._take(_PIECE)

    def readinto(self, room: memoryview) -> int:
        """Fill room with at least one byte, more if they are there; 0 says that it is the end."""
        if not self._begun:
            self._begin()
        while not self._ahead and self._pieces is not None:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._ahead = piece
        if not self._ahead:
            return self._take_into(room)
        part, self._ahead = self._ahead[: len(room)], self._ahead[len(room) :]
        room[: len(part)] = part
        return len(part)

    def _take(self, count: int) -> bytes:
        room = bytearray(count)
        return bytes(room[: self._take_into(memoryview(room))])

    def _take_into(self, room: memoryview) -> int:
        """Fill room with what is there, waiting for the first byte only."""
        if self._poll is not None:
            if any(descriptor == self._alarm[0] for descriptor, _ in self._poll.poll()):
                return 0
        if self._input.remote:
            with remote_errors(self._input.name):
                # Not all of them can read into memory that is there.
                data = self._file.read(len(room))
            count = len(data)
            room[:count] = data
        else:
            try:
                count = int(self._file.readinto(room) or 0)
            except OSError as error:
                # Only opening a file adds its name.
                raise OSError(error.errno, error.strerror, self._input.name) from error
        self.position += count
        return count

    def waiting(self) -> bool:
        """Say whether the next byte has yet to arrive."""
        return self._poll is not None and not self._ahead and not self._poll.poll(0)

    def wake(self) -> None:
        """Make a `readinto` that waits for a pipe return as if it had ended."""
        for descriptor in self._alarm[1:]:
            os.write(descriptor, b"!")

    def close(self) -> None:
        """Close what was opened here."""
        if not self._input.standard:
            self._file.close()
        for descriptor in self._alarm:
            os.close(descriptor)
        self._alarm, self._poll = (), None


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


def _worked(pieces: Iterator[bytes], suffix: str, encoding: str, name: str) -> Iterator[bytes]:
    """Yield the content of a file, unpacked and recoded; say what is wrong with it."""
    pieces = _unpacked(pieces, suffix) if suffix else pieces
    try:
        if encoding == "utf-8":
            yield from pieces
        else:
            yield from (text.encode() for text in codecs.iterdecode(pieces, encoding))
    except EOFError as error:
        raise StreamError(
            f"{name}: the compressed file is damaged or cut short ({error})"
        ) from error
    except UnicodeError as error:
        raise StreamError(
            f"{name}: is not {encoding} ({error}): name its encoding", "encoding"
        ) from None


def _unpacked(pieces: Iterator[bytes], suffix: str) -> Iterator[bytes]:
    """Yield what archives hold, one after the other; every one of them must be whole.

    The readers of the packages take what follows an archive of xz, or the end of a file within
    one of zstd, for the end of all.
    """
    fresh, damaged = _UNPACKERS[suffix]()
    archive: Any = None
    for piece in pieces:
        packed = piece
        # Zeros between archives are padding.
        while packed := packed if archive else packed.lstrip(b"\0"):
            archive = archive or fresh()
            try:
                yield archive.decompress(packed)
            except damaged as error:
                raise EOFError(str(error)) from error
            packed = archive.unused_data if archive.eof else b""
            archive = None if archive.eof else archive
    if archive is not None:
        raise EOFError("the last archive has no end")


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
