"""The one data type: a block of sparse rows with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noregret.arguments import refuse
from noregret.rows.sealed import Seal, Sealed, sealed_rows

_ARRAYS = ("indptr", "indices", "values")

Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]


class Csr(NamedTuple):
    """Sparse rows as kernels take them, see `Block`."""

    indptr: NDArray[np.uint64]
    indices: NDArray[np.uint32]
    values: Floats

    def first(self, rows: int) -> Csr:
        """Return the first rows, and as many features as they have."""
        used = int(self.indptr[rows])
        return Csr(self.indptr[: rows + 1], self.indices[:used], self.values[:used])


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a stream in compressed sparse row form, ready for a compiled pass.

    Row i has the features `indices[indptr[i]:indptr[i + 1]]`, with the `values` at the same
    places. `indptr` need not begin at 0: a slice of rows shares the arrays of its parent.
    `width` is the number of columns known so far; a later block of the same stream may know
    of more.

    >>> import numpy as np
    >>> block = Block(
    ...     indptr=np.array([0, 2, 3], np.uint64),
    ...     indices=np.array([0, 2, 1], np.uint32),
    ...     values=np.array([0.5, 2.0, 1.0]),
    ...     y=np.array([-1.0, 1.0]),
    ...     width=3,
    ... )
    >>> len(block), block.nonzeros, block.rows(1, 2).dense().tolist()
    (2, 3, [[0.0, 1.0, 0.0]])
    """

    indptr: NDArray[np.uint64]
    indices: NDArray[np.uint32]
    values: Floats
    y: NDArray[np.float64]
    width: int
    weight: NDArray[np.float64] | None = None
    #: What tells the rows apart, where `id=` asked for it.
    ids: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Refuse arrays that a compiled pass could not read safely."""
        rows = len(self.y)
        refuse(
            {
                f"Block: indptr is {self.indptr.dtype}, not uint64": self.indptr.dtype != np.uint64,
                f"Block: indices are {self.indices.dtype}, not uint32": (
                    self.indices.dtype != np.uint32
                ),
                f"Block: values are {self.values.dtype}, not float32 or float64": (
                    self.values.dtype not in (np.float32, np.float64)
                ),
                f"Block: y is {self.y.dtype}, not float64": self.y.dtype != np.float64,
                f"Block: indptr has shape {self.indptr.shape}, expected ({rows + 1},) for {rows} "
                "labels": self.indptr.shape != (rows + 1,),
                f"Block: indices and values have shapes {self.indices.shape} and "
                f"{self.values.shape}, expected one and the same length": (
                    self.indices.shape != self.values.shape or self.values.ndim != 1
                ),
                "Block: ids are not one a row": self.ids is not None and len(self.ids) != rows,
            }
        )
        weight = self.y if self.weight is None else self.weight
        first, last = int(self.indptr[0]), int(self.indptr[-1])
        widest = int(self.indices[first:last].max(initial=0)) + (last > first)
        refuse(
            {
                f"Block: indptr must not fall and must end within the {len(self.indices)} "
                "nonzeros": np.any(self.indptr[1:] < self.indptr[:-1]) or last > len(self.indices),
                f"Block: weight is {weight.dtype} of shape {weight.shape}, expected float64 of "
                f"shape {self.y.shape}": (
                    weight.dtype != np.float64 or weight.shape != self.y.shape
                ),
                f"Block: width is {self.width} but column {widest - 1} occurs (columns count "
                "from 0)": widest > self.width,
            }
        )

    @classmethod
    def sound(
        cls,
        indptr: NDArray[np.uint64],
        indices: NDArray[np.uint32],
        values: Floats,
        y: NDArray[np.float64],
        width: int,
        weight: NDArray[np.float64] | None = None,
        ids: Sequence[str] | None = None,
    ) -> Block:
        """Return a block that its maker vouches for: checking costs a pass over its nonzeros.

        What a parser has written is sound by construction, and so is a part of a sound block.
        Learners check its rows nevertheless.
        """
        return cls._unchecked(
            indptr=indptr, indices=indices, values=values, y=y, width=width, weight=weight, ids=ids
        )

    @classmethod
    def _of_sealed(
        cls,
        rows: Sealed,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
        ids: Sequence[str] | None = None,
    ) -> Block:
        """Return a block of rows that learners need not check; for arrays nobody else has."""
        return cls._unchecked(y=y, width=rows.width, weight=weight, ids=ids, _sealed=rows)

    @classmethod
    def _of_parser(
        cls,
        rows: Csr,
        ordered: bool,
        y: NDArray[np.float64],
        width: int,
        weight: NDArray[np.float64] | None = None,
        ids: Sequence[str] | None = None,
    ) -> Block:
        """Return a block of rows that a parser wrote, sealed if it has found them in order."""
        if ordered:
            return cls._of_sealed(Sealed(*rows, width, Seal()), y, weight, ids)
        return cls.sound(*rows, y, width, weight, ids)

    @classmethod
    def _unchecked(cls, **attributes: Any) -> Block:
        block = object.__new__(cls)
        block.__dict__.update(attributes)
        return block

    def __getattr__(self, name: str) -> Any:
        """Hand out an array of sealed rows, which are sealed no longer."""
        rows: Sealed | None = self.__dict__.get("_sealed")
        if name not in _ARRAYS or rows is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        rows.seal.whole = False
        self.__dict__.update({array: getattr(rows, array) for array in _ARRAYS})
        return self.__dict__[name]

    def __reduce__(self) -> tuple[type[Block], tuple[Any, ...]]:
        """Return what copies are made from, by the constructor that checks."""
        arrays = self.indptr, self.indices, self.values
        return type(self), (*arrays, self.y, self.width, self.weight, self.ids)

    @property
    def ordered(self) -> bool:
        """Whether a parser has checked the rows and nobody can have changed them since.

        Columns ascend within every row and values are finite, so that a learner need not look
        again. Reading `indptr`, `indices` or `values` ends this, since the caller can then
        write to the array.
        """
        return sealed_rows(self) is not None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns, as of any matrix."""
        return len(self.y), self.width

    @property
    def nonzeros(self) -> int:
        """The number of values stored for these rows."""
        indptr = (sealed_rows(self) or self).indptr
        return int(indptr[-1]) - int(indptr[0])

    def rows(self, start: int, stop: int) -> Block:
        """Return rows start to stop (not included) as a block that shares the arrays."""
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"rows({start}, {stop}) of a block of {len(self)} rows")
        y = self.y[start:stop]
        weight = None if self.weight is None else self.weight[start:stop]
        ids = None if self.ids is None else self.ids[start:stop]
        rows = sealed_rows(self)
        if rows is not None:
            return Block._of_sealed(rows.part(start, stop), y, weight, ids)
        indptr = self.indptr[start : stop + 1]
        return Block.sound(indptr, self.indices, self.values, y, self.width, weight, ids)

    def dense(self) -> NDArray[np.float64]:
        """Return the rows as an ordinary matrix; meant for small blocks and for tests."""
        matrix = np.zeros(self.shape)
        # Only looked at, so that a seal stays whole.
        rows = sealed_rows(self) or self
        used = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
        of_row = np.repeat(np.arange(len(self)), np.diff(rows.indptr).astype(np.intp))
        # add, because a column may occur twice in a row of data that no reader has checked
        np.add.at(matrix, (of_row, rows.indices[used]), rows.values[used])
        return matrix


def summed(lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return where runs of these lengths end, after a 0.

    >>> summed(np.array([2, 0, 3], np.uint64)).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate((np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)))


def cut_rows(sizes: NDArray[np.uint64], most: int) -> list[int]:
    """Return where to cut rows of these sizes so that no part is larger, or it is one row.

    >>> cut_rows(np.array([3, 1, 1, 9, 2], np.uint64), 4)
    [2, 3, 4, 5]
    >>> cut_rows(np.empty(0, np.uint64), 4)
    [0]
    """
    ends = summed(sizes)
    stops = [0]
    while stops[-1] < len(sizes):
        begin = stops[-1]
        reached = int(ends.searchsorted(int(ends[begin]) + most, side="right")) - 1
        stops.append(max(reached, begin + 1))
    return stops[1:] or stops
