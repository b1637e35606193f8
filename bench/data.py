"""The generated sparse set: the shape of a bag of words, made afresh from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

ROWS = 500_000
FEATURES = 47_236
NONZEROS = 75
SEED = 20_240_229

#: Popularity of the feature of rank r is 1 / (r + FLATTENING).
FLATTENING = 10.0
#: Draws of one popular feature twice in a row are merged, which costs this part of them.
MERGED = 0.05
#: Rows are made in portions, so that the sorting needs little memory beside the result.
PORTION = 50_000


@dataclass(frozen=True, eq=False)
class Data:
    """CSR rows of unit 2-norm and labels -1 or +1."""

    X: csr_matrix
    y: npt.NDArray[np.float64]

    def head(self, rows: int) -> Data:
        """Return the first rows."""
        return Data(self.X[:rows], self.y[:rows])

    def describe(self) -> str:
        """Return one line of shape and type."""
        rows, features = self.X.shape
        return (
            f"{rows:,} rows, {features:,} features, {self.X.nnz / rows:.1f} nonzeros a row, "
            f"{self.X.dtype} values"
        )


def make(
    rows: int = ROWS,
    features: int = FEATURES,
    nonzeros: float = NONZEROS,
    dtype: npt.DTypeLike = np.float32,
    seed: int = SEED,
) -> Data:
    """Draw rows with Zipf popularity and labels from a planted logistic model.

    Columns are sorted and distinct within a row, so that nobody has to sort them again.
    """
    rng = np.random.default_rng(seed)
    # Popular features are spread over all columns, as hashing or a dictionary would do it.
    column_of_rank = rng.permutation(features)
    planted = 2.0 * rng.standard_normal(features)
    parts = [
        _portion(rng, count, nonzeros, column_of_rank, planted, dtype)
        for count in np.diff([*range(0, rows, PORTION), rows]).tolist()
    ]
    lengths, indices, values, labels = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    indptr = np.zeros(rows + 1, np.int64 if len(indices) > 2**31 - 1 else np.int32)
    np.cumsum(lengths, out=indptr[1:])
    X = csr_matrix((values, indices, indptr), shape=(rows, features))
    X.has_canonical_format = True
    return Data(X, labels)


def _portion(
    rng: np.random.Generator,
    rows: int,
    nonzeros: float,
    column_of_rank: npt.NDArray[Any],
    planted: npt.NDArray[Any],
    dtype: npt.DTypeLike,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    features = len(planted)
    draws = np.maximum(rng.poisson(nonzeros * (1.0 + MERGED), rows), 1)
    # The distribution function of 1/(r + f) is ln(1 + r/f) / ln(1 + d/f), here inverted.
    span = np.log1p(features / FLATTENING)
    rank = (FLATTENING * np.expm1(span * rng.random(int(draws.sum())))).astype(np.int64)
    key = np.repeat(np.arange(rows), draws) * features + column_of_rank[rank]
    key.sort()
    key = key[np.append(True, key[1:] != key[:-1])]
    row, column = np.divmod(key, features)
    lengths = np.bincount(row, minlength=rows)
    starts = np.cumsum(lengths) - lengths
    values = (rng.random(len(key)) + 0.1).astype(dtype)
    values /= np.sqrt(np.add.reduceat(values * values, starts))[row]
    margin = 2.0 * np.add.reduceat(planted[column] * values, starts)
    labels = np.where(rng.random(rows) < 1.0 / (1.0 + np.exp(-margin)), 1.0, -1.0)
    return lengths, column.astype(np.int32), values, labels
