"""Access to pyarrow: imported when it is needed, its errors in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from noregret.streams.errors import StreamError


def import_arrow(purpose: str) -> Any:
    """Return the module pyarrow, or say how to get it."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise StreamError(
            f"{purpose} needs the package pyarrow: pip install 'noregret[arrow]'"
        ) from None
    return pyarrow


@contextmanager
def arrow_errors(where: str) -> Iterator[None]:
    """Turn what pyarrow raises about a file into one line about that file."""
    arrow = import_arrow(where)
    try:
        yield
    except StreamError:
        raise
    except (arrow.ArrowException, OSError, MemoryError, ValueError, LookupError) as error:
        # Names that are not text or occur twice, and columns that are not there, are no
        # exceptions of its own.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise StreamError(f"{where}: {reason}") from error
