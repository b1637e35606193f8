"""The other tools at their default settings: predictions made before each update.

All return raw predictions: margins for classes, so that nobody's log loss suffers from the
rounding of a probability to 0 or 1. Each has its own intercept, on by default. A tool that is
slow in Python may stop where its summed loss exceeds `limit`: it returns fewer predictions then.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from bench.quality.data import Stream

Vector = npt.NDArray[np.float64]


def vowpal_wabbit(stream: Stream, limit: float) -> Vector:
    """Run `python -m vowpalwabbit` from its own text format; it clips at the labels seen."""
    loss = "logistic" if stream.classes else "squared"
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "rows.vw", Path(folder) / "predictions"
        write_rows(stream.rows, stream.y.tolist(), text)
        command = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--loss_function", loss]
        subprocess.run([*command, "-d", str(text), "-p", str(out)], check=True)
        return np.loadtxt(out, ndmin=1)


def write_rows(rows: csr_matrix, labels: list[Any], path: Path) -> None:
    """Write VW text; features named by numbers get slots of their own."""
    indices, values = rows.indices.tolist(), rows.data.tolist()
    with path.open("w") as file:
        for t, label in enumerate(labels):
            begin, end = rows.indptr[t], rows.indptr[t + 1]
            pairs = zip(indices[begin:end], values[begin:end], strict=True)
            file.write(f"{label!r} | " + " ".join(f"{i}:{x!r}" for i, x in pairs) + "\n")


def river(stream: Stream, limit: float) -> Vector:
    """Run LogisticRegression() or LinearRegression(), one row at a time."""
    from river import linear_model

    model = linear_model.LogisticRegression() if stream.classes else linear_model.LinearRegression()
    rows = stream.rows
    indices, values = rows.indices.tolist(), rows.data.tolist()
    labels = (stream.y > 0.0).tolist() if stream.classes else stream.y.tolist()
    result = np.empty(len(labels))
    for t, label in enumerate(labels):
        begin, end = rows.indptr[t], rows.indptr[t + 1]
        row = dict(zip(indices[begin:end], values[begin:end], strict=True))
        # The margin itself: the public probability is a rounding of its logistic function.
        result[t] = model._raw_dot_one(row)
        model.learn_one(row, label)
    return result


def scikit_learn(stream: Stream, limit: float) -> Vector:
    """Run SGDClassifier(loss="log_loss") or SGDRegressor(), partial_fit one sparse row at a time.

    Sparse rows throughout: it then damps the steps of its intercept, which does it good.
    """
    import sklearn
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    rows, y = stream.rows, stream.y
    result = np.zeros(len(y))
    total = 0.0
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        model = SGDClassifier(loss="log_loss", random_state=0) if stream.classes else SGDRegressor()
        more = {"classes": np.array([-1.0, 1.0])} if stream.classes else {}
        for t in range(len(y)):
            begin, end = rows.indptr[t], rows.indptr[t + 1]
            indices, values = rows.indices[begin:end], rows.data[begin:end]
            row = csr_matrix((values, indices, [0, end - begin]), (1, rows.shape[1]))
            if t > 0:
                result[t] = model.coef_.ravel()[indices] @ values + model.intercept_[0]
            total += float(losses(stream.classes, y[t], result[t]))
            if total > limit:
                return result[: t + 1]
            try:
                model.partial_fit(row, y[t : t + 1], **more)
            except ValueError as refusal:
                # It stops where its weights overflow: what comes after is lost.
                if "overflow" not in str(refusal):
                    raise
                result[t + 1 :] = np.nan
                break
            more = {}
    return result


RIVALS: dict[str, Callable[[Stream, float], Vector]] = {
    "VW": vowpal_wabbit,
    "River": river,
    "scikit-learn": scikit_learn,
}


def losses(classes: bool, y: Vector | float, predictions: Vector | float) -> Vector:
    """Return the loss of each round, infinite where a prediction is not a finite number."""
    with np.errstate(over="ignore", invalid="ignore"):
        if classes:
            values = np.logaddexp(0.0, -np.asarray(y) * predictions)
        else:
            values = np.square(np.asarray(predictions) - y)
    return np.where(np.isfinite(predictions), values, math.inf)


def progressive_loss(stream: Stream, predictions: Vector) -> float:
    """Return the mean loss of predictions made before each update.

    Of fewer predictions than rows the sum is divided by all rows: a lower bound, no loss being
    negative.
    """
    seen = stream.y[: len(predictions)]
    return float(losses(stream.classes, seen, predictions).sum() / len(stream.y))
