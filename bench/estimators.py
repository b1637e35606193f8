"""What scikit-learn's face costs: `partial_fit` on chunks beside the core's `learn` on the same.

`python -m bench.estimators` prints a line a kind of rows: the time of `OnlineClassifier` or
`OnlineRegressor` over that of the core on the same chunks, to which the constant column was added
beforehand. They take turns, chunk by chunk; the ratio of the best times counts, the median of
the ratios within a turn is printed beside it. Both end with the same weights, to the bit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle
from typing import Any

import numpy as np
from scipy import sparse

import noregret as nr
from bench.timing import Line, interleave
from noregret.sklearn import OnlineClassifier, OnlineRegressor

#: How many times the core's time a chunk may take.
BAR = 1.2
ROWS, CHUNKS = 1_000, 20


def dense(width: int, rows: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(0).standard_normal((rows, width)).astype(dtype)


def csr(nonzeros: int, rows: int, index: Any = np.int32, width: int = 50_000) -> Any:
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, width, (rows, nonzeros)), axis=1)
    columns += np.arange(nonzeros)  # no column twice
    values = rng.standard_normal(rows * nonzeros).astype(np.float32)
    indptr = np.arange(0, rows * nonzeros + 1, nonzeros)
    matrix = sparse.csr_array((values, columns.ravel(), indptr), shape=(rows, width + nonzeros))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def with_constant(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1), X.dtype)
    if not sparse.issparse(X):
        return np.hstack([X, ones])
    wide = sparse.hstack([X, ones], format="csr")
    # scipy chooses the type of the indices afresh.
    wide.indices, wide.indptr = (
        wide.indices.astype(X.indices.dtype),
        wide.indptr.astype(X.indptr.dtype),
    )
    return wide


def kinds(rows: int) -> Iterator[tuple[str, Any, bool]]:
    yield "float32, 30 features", dense(30, rows), True
    yield "float32, 300 features", dense(300, rows), True
    yield "CSR, 75 nonzeros", csr(75, rows), True
    yield "CSR, 75 nonzeros, int64 indices", csr(75, rows, np.int64), True
    yield "float32, 30 features, regression", dense(30, rows), False


Contest = tuple[Mapping[str, Callable[[], None]], Any, nr.MirrorDescent]


def contest(X: Any, classes: bool, rows: int = ROWS) -> Contest:
    """Return both contestants, who learn the next chunk when called, and what they teach."""
    total = X.shape[0]
    wide = with_constant(X)
    signal = np.asarray(X[:, [0]].todense() if sparse.issparse(X) else X[:, [0]]).ravel()
    targets = signal + np.random.default_rng(1).standard_normal(total)
    y = np.where(targets > 0.0, 1.0, -1.0) if classes else targets.astype(np.float64)
    spans = [slice(start, start + rows) for start in range(0, total, rows)]
    chunks = [(X[span], y[span]) for span in spans]
    own = cycle(chunks)
    core = cycle([(wide[span], y[span]) for span in spans])
    model: Any = (
        OnlineClassifier(rate="scale_free") if classes else OnlineRegressor(rate="scale_free")
    )
    loss = nr.losses.Logistic() if classes else nr.losses.Squared()
    learner = nr.MirrorDescent(
        loss, nr.mirrors.Euclidean(), nr.rates.ScaleFree(), dimension=wide.shape[1], averaging=False
    )
    declared = {"classes": np.array([-1.0, 1.0])} if classes else {}
    model.partial_fit(X[:1], y[:1], **declared)
    learner.learn(wide[:1], y[:1])

    def estimator() -> None:
        model.partial_fit(*next(own))

    def direct() -> None:
        learner.learn(*next(core))

    return {"partial_fit": estimator, "learn": direct}, model, learner


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=400)
    turns = options.parse_args().turns
    print(f"{'rows of a chunk of 1,000':<36}{'ratio':>8}{'median':>8}  bar")
    for name, X, classes in kinds(ROWS * CHUNKS):
        contestants, _, _ = contest(X, classes)
        times = interleave(contestants, turns)
        line = Line.of(name, times, "partial_fit", "learn", at_most=BAR)
        what, value, median, bar = line.cells()
        print(f"{what:<36}{value:>8}{median:>8}  {bar}", flush=True)


if __name__ == "__main__":
    main()
