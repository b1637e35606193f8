"""Real streams: what is certified on them is true, and learning on them works.

The data are found through the environment variable NOREGRET_DATA.
"""

from __future__ import annotations

import csv
import lzma
import math
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import noregret as nr

DATA = Path(os.environ.get("NOREGRET_DATA", ""))
pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(
        "NOREGRET_DATA" not in os.environ,
        reason="NOREGRET_DATA does not name a folder of real data",
    ),
]

FILES = {
    "a9a": "a9a/a9a.svm.xz",
    "mushrooms": "mushrooms/mushrooms.svm.xz",
    "phishing": "phishing/phishing.svm.xz",
    "splice": "splice/splice.svm.xz",
    "rcv1_small": "rcv1_small/rcv1_small.svm.xz",
}


def matrix(name: str) -> tuple[sp.csr_array, np.ndarray]:
    blocks = list(nr.read(DATA / FILES[name], labels="binary"))
    width = max(block.width for block in blocks)
    parts = []
    for block in blocks:
        begin, end = int(block.indptr[0]), int(block.indptr[-1])
        parts.append(
            sp.csr_array(
                (
                    block.values[begin:end],
                    block.indices[begin:end].astype(np.int64),
                    (block.indptr - block.indptr[0]).astype(np.int64),
                ),
                shape=(len(block), width),
            )
        )
    return sp.csr_array(sp.vstack(parts)), np.concatenate([block.y for block in blocks])


def best_in_ball(X: sp.csr_array, y: np.ndarray, radius: float) -> tuple[float, np.ndarray]:
    """Minimise the logistic loss over the ball: Lagrange multiplier by bisection on its log."""

    def solve(multiplier: float, start: np.ndarray) -> np.ndarray:
        def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
            margin = y * (X @ w)
            loss = float(np.logaddexp(0.0, -margin).sum()) + 0.5 * multiplier * float(w @ w)
            slope = -y / (1.0 + np.exp(np.minimum(margin, 700.0)))
            return loss, X.T @ slope + multiplier * w

        options = {"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-7}
        return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x

    low, high = -8.0, 8.0
    w = np.zeros(X.shape[1])
    for _ in range(18):
        middle = 0.5 * (low + high)
        w = solve(math.exp(middle), w)
        low, high = (middle, high) if np.linalg.norm(w) > radius else (low, middle)
    # Feasible, so that its loss is an upper bound on the optimum over the ball.
    w = w * min(1.0, radius / float(np.linalg.norm(w)))
    return float(np.logaddexp(0.0, -y * (X @ w)).sum()), w


@pytest.mark.parametrize("name", sorted(FILES))
def test_floor_lies_below_the_best_fixed_predictor(name: str) -> None:
    X, y = matrix(name)
    if name == "a9a":
        X, y = X[:4000], y[:4000]
    # Rows of splice are long (norm about 20): a smaller ball has predictions of the same size.
    radius = 0.5 if name == "splice" else 5.0
    learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(radius), nr.rates.Adaptive())
    learner.learn(X, y)
    certificate = learner.certificate()
    best, w = best_in_ball(X, y, radius)
    assert 0.0 < certificate.floor(radius) <= best * (1 + 1e-12)
    assert certificate.loss - best <= certificate.regret(w) * (1 + 1e-12)
    assert certificate.loss - best <= certificate.regret_bound(radius) * (1 + 1e-12)
    for bound in certificate.bounds_for(radius):
        assert not bound.applies or certificate.loss - best <= bound.value


def test_online_learning_beats_the_majority_class_on_a9a() -> None:
    X, y = matrix("a9a")
    learner = nr.MirrorDescent(
        nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.PerCoordinate(0.5)
    )
    learner.learn(X, y)
    accuracy = 1.0 - learner.certificate().mistakes / len(y)
    assert accuracy > 0.84
    average = float(np.mean(np.where(X @ learner.average > 0, 1.0, -1.0) == y))
    assert average > 0.84


def test_row_order_of_a_drifting_stream_is_kept_and_certified() -> None:
    with lzma.open(DATA / "elec2/elec2.csv.xz", "rt") as file:
        rows = list(csv.DictReader(file))[:20_000]
    names = ["period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"]
    X = np.array([[1.0, *(float(row[name]) for name in names)] for row in rows])
    label = next(name for name in rows[0] if name.lower() in ("class", "label", "target"))
    y = np.where(np.array([row[label] for row in rows]) == rows[0][label], 1.0, -1.0)
    learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(20.0), nr.rates.Adaptive())
    learner.learn(X, y)
    best, _ = best_in_ball(sp.csr_array(X), y, 20.0)
    assert learner.certificate().floor(20.0) <= best
