"""Rows that need no check, because only this package can have written them.

Compiled passes do not look at the indices of such rows again, so a wrong one would read or write
beyond an array. Why none can get here through the public interface:

- `Sealed` is made by our own parsers only, from arrays that they wrote and checked, and is kept in
  a private attribute. `Block(...)` never makes one, and neither do `copy`, `pickle` and
  `dataclasses.replace`, which go through `Block(...)`.
- Arrays of sealed rows are not handed out: asking a block for one breaks the seal first, for that
  block and for all that share its memory. From then on its rows are checked like any others.
- The width is sealed with the arrays. Setting an attribute of a block by force changes what the
  block shows, not what is learnt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Seal:
    """Whether no other code has had access to the arrays; shared by all views of them."""

    __slots__ = ("whole",)

    def __init__(self) -> None:
        self.whole = True


class Sealed:
    """Rows in CSR form: columns ascend in each and are below `width`, values are within bounds."""

    __slots__ = ("indices", "indptr", "seal", "values", "width")

    def __init__(
        self,
        indptr: NDArray[np.uint64],
        indices: NDArray[np.uint32],
        values: NDArray[Any],
        width: int,
        seal: Seal,
    ) -> None:
        self.indptr, self.indices, self.values = indptr, indices, values
        self.width, self.seal = width, seal

    def part(self, start: int, stop: int) -> Sealed:
        """Return rows start to stop - 1, under the same seal."""
        return Sealed(
            self.indptr[start : stop + 1], self.indices, self.values, self.width, self.seal
        )


def sealed_rows(X: Any) -> Sealed | None:
    """Return the rows of a block whose seal is unbroken, else None."""
    found = getattr(X, "_sealed", None)
    return found if type(found) is Sealed and found.seal.whole else None


def opened(X: Any) -> Any:
    """Return X with its seal broken, for learners that are not of this package."""
    rows = sealed_rows(X)
    if rows is not None:
        rows.seal.whole = False
    return X
