"""Errors of a cluster run, and how they travel from a worker to the driver: as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noregret.arguments import ArgumentError
from noregret.streams.errors import CutShort, StreamError

#: What to do about a file that a worker cannot read.
SAME_FILES = "expected a file that every worker can read under this name"


class ClusterError(OSError):
    """A run that cannot go on, in one line: what happened, and what to do."""


class WorkerLost(ClusterError):
    """Workers that ended in the middle of a call; their shards can be set up again."""


#: The errors of a worker that its user can act on, by the name under which they travel.
KINDS: dict[str, type[Exception]] = {
    "argument": ArgumentError,
    "cut": CutShort,
    "stream": StreamError,
    "overflow": OverflowError,
    "memory": MemoryError,
    "value": ValueError,
    "cluster": ClusterError,
}
#: What `told` takes.
KNOWN: tuple[type[Exception], ...] = (*KINDS.values(), OSError)


def told(error: BaseException) -> dict[str, Any]:
    """Return an error as plain data, for `raised`."""
    if isinstance(error, ArgumentError):
        return {"kind": "argument", "fields": error.args}
    if isinstance(error, StreamError):
        kind = "cut" if isinstance(error, CutShort) else "stream"
        return {"kind": kind, "fields": (str(error), error.argument)}
    if isinstance(error, ClusterError):
        return {"kind": "cluster", "fields": (str(error),)}
    if isinstance(error, MemoryError):
        remedy = "a worker has too little memory for its shards: use more workers or more shards"
        return {"kind": "memory", "fields": (remedy,)}
    if isinstance(error, OSError):
        about = f"{error.filename or 'a file'}: {error.strerror or error}; {SAME_FILES}"
        return {"kind": "stream", "fields": (about, "")}
    found = next(kind for kind, one in KINDS.items() if isinstance(error, one))
    return {"kind": found, "fields": (str(error),)}


def raised(error: Mapping[str, Any]) -> Exception:
    """Return the error that `told` has described.

    >>> raised(told(StreamError("a.csv: no such file", "format")))
    StreamError('a.csv: no such file')
    """
    return KINDS[error["kind"]](*error["fields"])
