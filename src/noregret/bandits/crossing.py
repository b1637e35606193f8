"""Contexts crossed with arms: one linear learner with weights of its own for each arm.

Feature j of a context becomes column (j + 1) K + a for arm a of K, and column a is a constant, so
that new features add columns at the end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noregret.rows.examples import Rows

Vector = npt.NDArray[np.float64]
Row = tuple[npt.NDArray[np.uint32], Vector]

_NOTHING = np.zeros(1, np.uint32), np.zeros(1)


def crossed(rows: Rows, arms: npt.NDArray[np.int64], count: int) -> Rows:
    """Return each context crossed with each arm in its row of `arms`, one after the other.

    >>> from noregret.rows.examples import as_rows
    >>> part = crossed(as_rows([[0.5, 2.0]]), np.array([[0, 2]]), 3)
    >>> part.indices, part.values
    (array([0, 3, 6, 2, 5, 8], dtype=uint32), array([1. , 0.5, 2. , 1. , 0.5, 2. ]))
    """
    size, copies = arms.shape
    width = (rows.width + 1) * count
    if width > 2**32:
        raise ValueError(f"{rows.width} features for each of {count} arms are more than 2^32")
    starts = np.zeros(size * copies + 1, np.uint64)
    columns, values = (_dense if rows.dense else _sparse)(rows, arms, count, starts)
    return Rows(starts, columns.astype(np.uint32), values, width, size * copies)


def _dense(
    rows: Rows, arms: npt.NDArray[np.int64], count: int, starts: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], Vector]:
    shape = (*arms.shape, rows.width + 1)
    starts[:] = np.arange(0, arms.size * shape[2] + 1, shape[2])
    columns = np.arange(0, shape[2] * count, count) + arms[:, :, None]
    values = np.ones(shape)
    values[:, :, 1:] = rows.values[:, None, :]
    return columns.ravel(), values.ravel()


def _sparse(
    rows: Rows, arms: npt.NDArray[np.int64], count: int, starts: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], Vector]:
    begins = rows.indptr.astype(np.int64)
    lengths = np.repeat(np.diff(begins) + 1, arms.shape[1])
    ends = np.cumsum(lengths)
    starts[1:] = ends
    firsts = ends - lengths
    # The k-th entry of a copy is the (k-1)-th of its context, behind the constant.
    shifts = np.repeat(begins[:-1], arms.shape[1]) - firsts - 1
    taken = np.arange(int(starts[-1])) + np.repeat(shifts, lengths)
    constant = np.zeros(len(taken), np.bool_)
    constant[firsts] = True
    taken[constant] = 0
    # Without any feature there is nothing to take from, only constants.
    indices, stored = (rows.indices, rows.values) if len(rows.indices) else _NOTHING
    columns = np.where(constant, 0, indices[taken].astype(np.int64) + 1) * count
    columns += np.repeat(arms.ravel(), lengths)
    return columns, np.where(constant, 1.0, stored[taken].astype(np.float64))


def joined(parts: list[Row], width: int) -> Rows:
    """Return rows that were kept one by one.

    >>> joined([(np.array([0, 4], np.uint32), np.ones(2))], 6).indptr
    array([0, 2], dtype=uint64)
    """
    starts = np.zeros(len(parts) + 1, np.uint64)
    np.cumsum([len(columns) for columns, _ in parts], out=starts[1:])
    columns = np.concatenate([columns for columns, _ in parts] or [np.zeros(0, np.uint32)])
    values = np.concatenate([values for _, values in parts] or [np.zeros(0)])
    return Rows(starts, columns, values, width, len(parts))
