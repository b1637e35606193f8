"""What a text format does: whole lines of bytes in, rows out, and a reason for what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Floats
from noregret.streams.errors import Malformed


@dataclass(frozen=True, eq=False)
class Parsed:
    """The rows of one chunk of text, with labels as they were written."""

    indptr: NDArray[np.uint64]
    indices: NDArray[np.uint32]
    values: Floats
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    #: One more than the largest column that occurs.
    width: int
    #: How many line ends the chunk holds.
    lines: int
    #: The line of each row, counted from 0 within the chunk; None where row i is line i.
    line_of_row: NDArray[np.uint32] | None
    #: Where the lines that were refused begin, in bytes from the start; their rows are left out.
    faults: NDArray[np.uint64]


class TextFormat(Protocol):
    """A format whose examples are lines of text."""

    #: Whether chunks may be parsed at once; a dictionary that grows needs them in order.
    parallel: bool

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed:
        """Return the rows of buffer[:stop], which ends with a line end."""

    def explain(self, line: bytes) -> Malformed:
        """Say why a line is refused; called for refused lines only."""
