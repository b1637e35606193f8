"""Files elsewhere, by their addresses: object stores, the web, whatever fsspec knows."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from noregret.streams.errors import StreamError

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
