"""pyarrow, an optional package: imported here alone, and its errors in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from noregret.streams.errors import StreamError

try:
    import pyarrow
    import pyarrow.ipc
except ImportError:
    raise StreamError(
        "tables of Arrow and Parquet need the package pyarrow: pip install 'noregret[arrow]'"
    ) from None

arrow: Any = pyarrow


@contextmanager
def arrow_errors(where: str) -> Iterator[None]:
    """Turn what pyarrow raises about a file into one line about that file."""
    try:
        yield
    except StreamError:
        raise
    except (arrow.ArrowException, OSError, MemoryError, ValueError, LookupError) as error:
        # Names that are not text or occur twice, and columns that are not there, are no
        # exceptions of its own.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise StreamError(f"{where}: {reason}") from error
