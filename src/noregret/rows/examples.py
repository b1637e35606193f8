"""Convert a user's input to the arrays that passes read: rows, labels, targets, weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Floats, Vector, real_array
from noregret.losses import Loss, ScoreLoss
from noregret.rounding import exact
from noregret.rows.sealed import sealed_rows
from noregret.rows.soundness import sort_rows

#: Approximate number of features in a chunk of rows; copies of rows are never larger.
CHUNK = 1 << 21

#: Upper bound on the size of targets and of example weights.
LARGEST_LABEL = LARGEST_WEIGHT = 1e100

#: Widest rows that are sorted by a bit a column.
_SPREAD = 1 << 22

_NO_INDPTR = np.zeros(1, np.uint64)
_NO_INDICES = np.zeros(0, np.uint32)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in the form the passes read: CSR arrays, or a dense matrix in `values`."""

    indptr: npt.NDArray[np.uint64]
    indices: npt.NDArray[np.uint32]
    values: Floats
    width: int
    #: How many of the first rows are known to be sound.
    trusted: int = 0

    def __len__(self) -> int:
        return len(self.values) if self.dense else len(self.indptr) - 1

    @property
    def dense(self) -> bool:
        """Whether `values` is a matrix."""
        return self.values.ndim == 2

    @property
    def stored(self) -> int:
        """How many features are stored: those of these rows, not of all that a view shares."""
        return self.values.size if self.dense else int(self.indptr[-1] - self.indptr[0])

    def part(self, start: int, stop: int) -> Rows:
        """Return rows start to stop - 1 as a view."""
        if start == 0 and stop == len(self):
            return self
        trusted = min(max(self.trusted - start, 0), stop - start)
        # `dataclasses.replace` takes several times as long, which tells where rows come singly.
        if self.dense:
            return Rows(self.indptr, self.indices, self.values[start:stop], self.width, trusted)
        starts = self.indptr[start : stop + 1]
        return Rows(starts, self.indices, self.values, self.width, trusted)

    def plain(self) -> Any:
        """Return the rows in a form that every learner takes: a matrix, or themselves."""
        return self.values if self.dense else self

    def chunks(self, size: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield (start, stop) of consecutive parts with about `size` features [default: CHUNK]."""
        size = CHUNK if size is None else size
        if self.dense:
            cuts = list(range(0, len(self), max(1, size // max(1, self.width))))
        else:
            goals = np.arange(int(self.indptr[0]), int(self.indptr[-1]), size, dtype=np.uint64)
            cuts = np.unique(np.searchsorted(self.indptr, goals)).tolist()
        # Rows without any features are a part too.
        cuts = cuts or [0]
        for start, stop in zip(cuts, [*cuts[1:], len(self)], strict=True):
            if stop > start:
                yield start, stop


def as_rows(X: Any) -> Rows:
    """Return the rows of a block, a scipy sparse matrix or a dense array, without copying.

    Values are kept in float32 or float64; anything else becomes float64.

    >>> as_rows([[1, 0], [0, 2]]).values.dtype
    dtype('float64')
    """
    sealed = sealed_rows(X)
    if sealed is not None:
        return Rows(
            sealed.indptr, sealed.indices, sealed.values, sealed.width, len(sealed.indptr) - 1
        )
    if hasattr(X, "tocsr"):
        X = X.tocsr()
    if all(hasattr(X, name) for name in ("indptr", "indices")):
        values = X.values if hasattr(X, "values") else X.data
        width = X.width if hasattr(X, "width") else X.shape[1]
        indices, starts = np.ascontiguousarray(X.indices), np.ascontiguousarray(X.indptr)
        for what, array in (("column indices", indices), ("indptr", starts)):
            if array.dtype.kind not in "iu" and array.size:
                raise ValueError(f"X has {what} of type {array.dtype}, expected whole numbers")
        if indices.dtype == np.int32:
            # A negative index becomes a huge one, which the check of the rows refuses.
            indices = indices.view(np.uint32)
        elif indices.dtype != np.uint32:
            if indices.size and (indices.min() < 0 or indices.max() > 0xFFFFFFFF):
                raise ValueError("X has a column index outside 0 ... 2^32 - 1")
            indices = indices.astype(np.uint32)
        indptr = np.ascontiguousarray(starts, np.uint64)
        values = _as_floats(values)
        if len(indptr) == 0 or values.ndim != 1 or values.shape != indices.shape:
            raise ValueError("X is not a CSR matrix: indptr, indices and values do not fit")
        if int(indptr[-1]) > len(values) or np.any(indptr[1:] < indptr[:-1]):
            raise ValueError("X is not a CSR matrix: indptr falls or ends beyond the values")
        return Rows(indptr, indices, values, int(width))
    values = _as_floats(X)
    if values.ndim == 1:
        values = values.reshape(1, -1)
    if values.ndim != 2:
        raise ValueError(f"X must have rows and columns, got an array of shape {values.shape}")
    return Rows(_NO_INDPTR, _NO_INDICES, values, values.shape[1])


def _as_floats(values: Any) -> Floats:
    return np.ascontiguousarray(real_array("X", values))


def canonical(rows: Rows) -> Rows:
    """Return the rows with sorted columns and without duplicates (which are added up)."""
    from scipy.sparse import csr_array

    begin, end = int(rows.indptr[0]), int(rows.indptr[-1])
    if rows.width <= _SPREAD and rows.indices[begin:end].max(initial=0) < rows.width:
        words = -(-rows.width // 64)
        bits, groups = np.zeros(words, np.uint64), np.zeros(-(-words // 64), np.uint64)
        columns, values = np.empty(end - begin, np.uint32), np.empty(end - begin)
        given = rows.indptr, rows.indices, rows.values
        if sort_rows(*given, bits, groups, np.empty_like(bits), columns, values):
            return Rows(rows.indptr - rows.indptr[0], columns, values, rows.width)
    matrix = csr_array(
        (
            # Duplicates are added in double precision, whatever the values are stored in.
            rows.values[begin:end].astype(np.float64),
            rows.indices[begin:end].astype(np.int64),
            (rows.indptr - rows.indptr[0]).astype(np.int64),
        ),
        shape=(len(rows), rows.width),
    )
    matrix.sum_duplicates()
    return Rows(
        matrix.indptr.astype(np.uint64), matrix.indices.astype(np.uint32), matrix.data, rows.width
    )


def as_labels(y: Any, count: int, loss: Loss) -> Vector:
    """Return the labels as float64; refuse those that the loss does not accept."""
    labels = as_column("y", y, count)
    if loss.labels == "sign":
        good = (labels == 1.0) | (labels == -1.0)
        expected = f"{type(loss).__name__} expects -1 or +1"
    else:
        good = np.abs(labels) <= LARGEST_LABEL
        expected = f"expected a finite number of size at most {LARGEST_LABEL:g}"
    return checked("y", labels, good, expected, "label ")


def as_targets(y: Any, count: int, loss: ScoreLoss, outputs: int | None) -> Vector:
    """Return classes as a vector, sets or relevances as a matrix, both of float64.

    Without `outputs` the number of scores follows from the targets.

    >>> from noregret.losses import Softmax
    >>> as_targets([0, 2], 2, Softmax(), None)
    array([0., 2.])
    """
    targets = np.ascontiguousarray(np.atleast_1d(real_array("y", y)), np.float64)
    if loss.labels == "class" and targets.ndim == 1:
        return _classes(targets, count, outputs)
    name = type(loss).__name__
    if loss.labels == "class" and not loss.sets:
        raise ValueError(f"y has shape {targets.shape}, {name} expects ({count},): a class a row")
    width = "K" if outputs is None else outputs
    if targets.ndim != 2 or len(targets) != count or width not in ("K", targets.shape[1]):
        raise ValueError(
            f"y has shape {targets.shape}, {name} expects ({count}, {width}): a number a score"
        )
    if loss.labels == "relevance":
        sound, expected = np.abs(targets) <= LARGEST_LABEL, "a finite number"
    else:
        sound, expected = (targets == 0.0) | (targets == 1.0), "0 or 1"
    if not sound.all():
        row, column = np.argwhere(~sound)[0]
        raise ValueError(f"y row {row}: {exact(targets[row, column])}; {name} expects {expected}")
    return targets


def _classes(targets: Vector, count: int, outputs: int | None) -> Vector:
    if targets.shape != (count,):
        raise ValueError(f"y has shape {targets.shape}, expected ({count},): one class a row of X")
    highest = float(0xFFFFFFFF if outputs is None else outputs - 1)
    whole = targets == np.floor(targets)
    bad = np.flatnonzero(~((targets >= 0.0) & (targets <= highest) & whole))
    if bad.size:
        given = targets[bad[0]]
        hint = "" if outputs is None or not highest < given else "; grow(outputs) adds classes"
        raise ValueError(
            f"y row {bad[0]}: class {exact(given)}, expected a whole number from 0 to "
            f"{exact(highest)}{hint}"
        )
    return targets


def count_of(targets: Vector) -> int:
    """Return the number of scores that the targets imply.

    >>> count_of(np.array([0.0, 2.0])), count_of(np.zeros((5, 4)))
    (3, 4)
    """
    return targets.shape[1] if targets.ndim == 2 else int(targets.max(initial=0.0)) + 1


def as_weights(weight: Any, count: int) -> Vector:
    """Return the example weights, ones if there are none."""
    if weight is None:
        return np.ones(count)
    weights = as_column("weight", weight, count)
    good = (weights >= 0.0) & (weights <= LARGEST_WEIGHT)
    return checked("weight", weights, good, f"expected a number from 0 to {LARGEST_WEIGHT:g}")


def as_predictions(predictions: Any, count: int) -> Vector:
    """Return predictions as float64; refuse numbers that are not finite."""
    vector = as_column("predictions", predictions, count)
    expected = "expected a finite number of size below 1e150"
    return checked("predictions", vector, np.abs(vector) < 1e150, expected)


def as_scores(predictions: Any, count: int) -> Vector:
    """Return rows of scores as a matrix of float64; refuse numbers that are not finite.

    >>> as_scores([[0.5, 1.0], [0.0, 2.0]], 2).shape
    (2, 2)
    """
    matrix = np.ascontiguousarray(real_array("predictions", predictions), np.float64)
    if matrix.ndim != 2 or len(matrix) != count or not matrix.shape[1]:
        raise ValueError(
            f"predictions have shape {matrix.shape}, expected ({count}, K): a row of scores a row"
        )
    sound = np.abs(matrix) < 1e150
    if not sound.all():
        row, column = np.argwhere(~sound)[0]
        raise ValueError(
            f"predictions row {row}, score {column}: {exact(matrix[row, column])}, expected a "
            "finite number of size below 1e150"
        )
    return matrix


def as_offsets(offset: Any, count: int, name: str = "offset") -> Vector:
    """Return the fixed parts of the predictions, or margins, zeros if there are none."""
    if offset is None:
        return np.zeros(count)
    return as_bounded(name, offset, count)


def as_bounded(name: str, values: Any, count: int) -> Vector:
    """Return one number a row as float64; refuse those that are not finite or too large."""
    vector = as_column(name, values, count)
    good = np.abs(vector) <= LARGEST_LABEL
    return checked(name, vector, good, "expected a finite number of size at most 1e100")


def as_column(name: str, values: Any, count: int) -> Vector:
    """Return one number a row as float64."""
    given = real_array(name, values)
    # Tested first: `atleast_1d` takes as long as the rest where rows come singly.
    vector = np.ascontiguousarray(given if given.ndim else np.atleast_1d(given), np.float64)
    if vector.shape != (count,):
        raise ValueError(
            f"{name} has shape {vector.shape}, expected ({count},): one entry a row of X"
        )
    return vector


def checked(
    name: str, vector: Vector, good: npt.NDArray[np.bool_], expected: str, kind: str = ""
) -> Vector:
    """Return the vector, or refuse its first entry that is not good."""
    if good.all():
        return vector
    row = int(good.argmin())
    raise ValueError(f"{name} row {row}: {kind}{exact(vector[row])}; {expected}")
