"""Streams with the class whose floors `bench.floors` measures, and its best in hindsight.

A constant feature 1 is the last column; rows are in the order of the file, but for spambase and
mushrooms, which are shuffled. m_i is the largest |x_i| of the stream, w the minimiser of the loss
plus ||m w||^2 / 2, and the class ||m u||_2 <= B has B = ||m w||_2, so that w is its best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

import noregret as nr
from bench.quality import data

Vector = npt.NDArray[np.float64]
LOGISTIC, SQUARED = nr.losses.Logistic(), nr.losses.Squared()
COVTYPE_ROWS = 60_000
#: Up to this many features Newton's method finds the best, above them dual ascent does.
NARROW = 512


@dataclass(frozen=True)
class Problem:
    """Rows with a constant, labels, and the class."""

    loss: Any
    rows: sp.csr_matrix
    y: Vector
    sizes: Vector
    radius: float
    best: float


def _shuffled(stream: data.Stream) -> tuple[sp.csr_matrix, Vector]:
    order = np.random.default_rng(0).permutation(len(stream.y))
    return stream.rows[order], stream.y[order]


def _mushrooms() -> tuple[sp.csr_matrix, Vector]:
    stream = data._svmlight("mushrooms", "mushrooms/mushrooms.svm.xz", 2.0)
    return _shuffled(stream)


def _spambase() -> tuple[sp.csr_matrix, Vector]:
    last = data._last("spambase/spambase")
    return _shuffled(data._csv("spambase", "spambase/spambase.csv.xz", last, "spam"))


def _bike() -> tuple[sp.csr_matrix, Vector]:
    drop = ("casual", "registered", "instant", "dteday")
    stream = data._regression("bike", "bike_sharing/bike_sharing_hour.csv.xz", "cnt", drop)
    return stream.rows, stream.y


def _abalone() -> tuple[sp.csr_matrix, Vector]:
    table = pd.read_csv(data.folder() / "abalone/abalone.csv.xz")
    kinds = [(table["sex"] == kind).to_numpy(np.float64) for kind in "MFI"]
    numbers = table.drop(columns=["sex", "rings"]).to_numpy(np.float64)
    return sp.csr_matrix(np.column_stack([*kinds, numbers])), table["rings"].to_numpy(np.float64)


def _ccpp() -> tuple[sp.csr_matrix, Vector]:
    stream = data._regression("ccpp", "ccpp/ccpp.csv.xz", "PE")
    return stream.rows, stream.y


OWN: dict[str, Callable[[], tuple[sp.csr_matrix, Vector]]] = {
    "mushrooms": _mushrooms,
    "spambase": _spambase,
    "bike_sharing": _bike,
    "california": lambda: _shuffled(data.load("california")),
    "ccpp": _ccpp,
    "abalone": _abalone,
}


def load(name: str, rows: int | None = None) -> Problem:
    """Return a stream with its class, or the first rows of it."""
    if name in OWN:
        X, y = OWN[name]()
    else:
        stream = data.load(name).head(COVTYPE_ROWS if name == "covtype" else None)
        X, y = stream.rows, stream.y
    X, y = X[:rows], y[:rows]
    X = sp.csr_matrix(sp.hstack([X, np.ones((X.shape[0], 1))], format="csr"))
    X.eliminate_zeros()
    X.sort_indices()
    loss = LOGISTIC if set(np.unique(y)) <= {-1.0, 1.0} else SQUARED
    sizes = np.asarray(abs(X).max(axis=0).todense()).ravel()
    units = X @ sp.diags(1.0 / np.where(sizes > 0.0, sizes, 1.0))
    w = _ridge(loss, units, y) if units.shape[1] <= NARROW else _by_dual_ascent(loss, units, y)
    lost = [loss.value(label, p) for label, p in zip(y.tolist(), (units @ w).tolist(), strict=True)]
    return Problem(loss, X, y, sizes, float(np.linalg.norm(w)), math.fsum(lost))


def _ridge(loss: Any, X: sp.csr_matrix, y: Vector) -> Vector:
    """Return the minimiser of the loss plus ||w||^2 / 2, by Newton's method."""
    w = np.zeros(X.shape[1])

    def value(at: Vector) -> float:
        p = X @ at
        rows = np.logaddexp(0.0, -y * p) if loss is LOGISTIC else (p - y) ** 2
        return float(rows.sum() + 0.5 * at @ at)

    for _ in range(100):
        p = X @ w
        chance = 0.5 * (1.0 - np.tanh(0.5 * y * p))
        slope, bend = (
            (-y * chance, chance * (1.0 - chance)) if loss is LOGISTIC
            else (2.0 * (p - y), np.full(len(y), 2.0))
        )  # fmt: skip
        gradient = X.T @ slope + w
        matrix = (X.T @ sp.diags(bend) @ X).toarray() + np.eye(len(w))
        step, part = np.linalg.solve(matrix, gradient), 1.0
        while part > 1e-9 and value(w - part * step) > value(w):
            part *= 0.5
        if part <= 1e-9 or gradient @ step < 1e-14 * value(w):
            break
        w = w - part * step
    return w


def _by_dual_ascent(loss: Any, X: sp.csr_matrix, y: Vector) -> Vector:
    """Return the minimiser of the loss plus ||w||^2 / 2, to a part in a thousand million."""
    found = nr.hindsight(X, y, loss, l2=1.0, tol=1e-9, max_passes=20_000)
    return np.asarray(found.weights, np.float64)
