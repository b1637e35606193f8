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
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from bench.quality.data import Stream

Vector = npt.NDArray[np.float64]


def vowpal_wabbit(stream: Stream, limit: float, *options: str) -> Vector:
    """Run `python -m vowpalwabbit` from its own text format; it clips at the labels seen."""
    loss = "logistic" if stream.classes else "squared"
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "rows.vw", Path(folder) / "predictions"
        write_rows(stream.rows, stream.y.tolist(), text)
        command = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--loss_function", loss]
        subprocess.run([*command, *options, "-d", str(text), "-p", str(out)], check=True)
        return np.loadtxt(out, ndmin=1)


def vowpal_coin(stream: Stream, limit: float) -> Vector:
    """Run it with `--coin`, which needs no rate."""
    return vowpal_wabbit(stream, limit, "--coin")


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
    return _river(stream, limit, None)


def river_scaled(stream: Stream, limit: float) -> Vector:
    """Run the same behind StandardScaler(), which is told of every feature in every row.

    A wide stream is given what is not 0 only: the scaler then knows the features that occur.
    """
    from river import preprocessing

    return _river(stream, limit, preprocessing.StandardScaler())


#: Up to so many features a row is written out with its zeros for a scaler.
WRITTEN_OUT = 1000


def _river(stream: Stream, limit: float, scaler: Any) -> Vector:
    from river import linear_model

    model = linear_model.LogisticRegression() if stream.classes else linear_model.LinearRegression()
    labels = (stream.y > 0.0).tolist() if stream.classes else stream.y.tolist()
    result = np.empty(len(labels))
    total = 0.0
    rows = records(stream.rows, scaler is not None)
    for t, (row, label) in enumerate(zip(rows, labels, strict=True)):
        if scaler is not None:
            scaler.learn_one(row)
            row = scaler.transform_one(row)
        # The margin itself: the public probability is a rounding of its logistic function.
        result[t] = model._raw_dot_one(row)
        total += float(losses(stream.classes, stream.y[t], result[t]))
        if total > limit:
            return result[: t + 1]
        model.learn_one(row, label)
    return result


def records(rows: csr_matrix, scaled: bool) -> Iterator[dict[int, float]]:
    """Yield each row as a dictionary, for a scaler with its zeros if there are not too many."""
    zeros = dict.fromkeys(range(rows.shape[1]), 0.0) if scaled else {}
    zeros = zeros if len(zeros) <= WRITTEN_OUT else {}
    indices, values = rows.indices.tolist(), rows.data.tolist()
    for begin, end in pairwise(rows.indptr.tolist()):
        yield zeros | dict(zip(indices[begin:end], values[begin:end], strict=True))


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
    "VW --coin": vowpal_coin,
    "River": river,
    "River scaled": river_scaled,
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
