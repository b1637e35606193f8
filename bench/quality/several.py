"""More than two classes: the tools at their defaults, error rates and log losses.

A tool whose classes have probabilities is judged by both; the others by their errors. Of equal
scores the first is the prediction; where a tool has none it is an error. A tool that is slow in
Python may stop where it has made more than `limit` errors: it returns fewer rounds then.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit, log_softmax, logsumexp

from bench.quality.data import Stream
from bench.quality.ours import noregret
from bench.quality.rivals import records, write_rows

Vector = npt.NDArray[np.float64]

#: Probabilities are not taken for less, as River's own measure does: a kindness to the tools.
LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True)
class Judged:
    """What the predictions of each round were worth: errors, and log losses where there are any."""

    errors: npt.NDArray[np.bool_]
    losses: Vector | None = None

    def rates(self, rounds: int) -> tuple[float, float | None]:
        """Return error rate and mean log loss; of fewer rounds, lower bounds on them."""
        losses = None if self.losses is None else float(self.losses.sum() / rounds)
        return float(self.errors.sum() / rounds), losses


def judged(y: Vector, scores: Vector, logs: Vector | None = None) -> Judged:
    """Judge scores, the largest of which is the prediction, and logarithms of probabilities."""
    rows, labels = np.arange(len(scores)), y[: len(scores)].astype(np.intp)
    errors = (scores.argmax(axis=1) != labels) | np.isnan(scores).any(axis=1)
    if logs is None:
        return Judged(errors)
    return Judged(errors, -np.fmax(logs[rows, labels], np.log(LEAST_PROBABILITY)))


def one_against_rest(scores: Vector) -> Vector:
    """Return logarithms of the logistic functions of the scores, divided by their sum."""
    logs = log_expit(scores)
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


def ours(stream: Stream, limit: float) -> Judged:
    """Judge the scores of this package, which are those of softmax regression."""
    scores = noregret(stream, limit)
    return judged(stream.y, scores, log_softmax(scores, axis=1))


def _vowpal_wabbit(stream: Stream, *options: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "rows.vw", Path(folder) / "predictions"
        write_rows(stream.rows, (stream.y.astype(int) + 1).tolist(), text)
        command = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--oaa", str(stream.outputs)]
        subprocess.run([*command, *options, "-d", str(text), "-p", str(out)], check=True)
        return out.read_text().split("\n")


def vowpal_wabbit(stream: Stream, limit: float) -> Judged:
    """Run `--oaa`, which has the squared loss by default and tells the class only."""
    lines = _vowpal_wabbit(stream)
    told = np.array([float(line.split()[0]) for line in lines if line.strip()])
    return Judged(told != stream.y + 1.0)


def vowpal_logistic(stream: Stream, limit: float) -> Judged:
    """Run `--oaa` with the logistic loss, which tells probabilities."""
    lines = _vowpal_wabbit(stream, "--loss_function", "logistic", "--probabilities")
    told = [[float(part.rpartition(":")[2]) for part in line.split()] for line in lines]
    chances = np.array([row for row in told if row])
    with np.errstate(divide="ignore"):
        return judged(stream.y, chances, np.log(chances))


def _river(stream: Stream, limit: float, model: Any, scaled: bool = False) -> Judged:
    labels = stream.y.astype(int).tolist()
    chances = np.zeros((len(labels), stream.outputs))
    wrong = 0
    for t, (row, label) in enumerate(zip(records(stream.rows, scaled), labels, strict=True)):
        told = model.predict_proba_one(row)
        chances[t] = 0.0 if told else np.nan
        for k, chance in told.items():
            chances[t, k] = chance
        wrong += int(np.argmax(chances[t])) != label
        if wrong > limit:
            chances = chances[: t + 1]
            break
        model.learn_one(row, label)
    with np.errstate(divide="ignore", invalid="ignore"):
        return judged(stream.y, chances, np.log(chances))


def river_softmax(stream: Stream, limit: float) -> Judged:
    """Run SoftmaxRegression()."""
    from river import linear_model

    return _river(stream, limit, linear_model.SoftmaxRegression())


def river_softmax_scaled(stream: Stream, limit: float) -> Judged:
    """Run StandardScaler() | SoftmaxRegression()."""
    from river import linear_model, preprocessing

    model = preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
    return _river(stream, limit, model, scaled=True)


def river_rest(stream: Stream, limit: float) -> Judged:
    """Run OneVsRestClassifier(LogisticRegression())."""
    from river import linear_model, multiclass

    return _river(stream, limit, multiclass.OneVsRestClassifier(linear_model.LogisticRegression()))


def _scikit_learn(stream: Stream, limit: float, model: Any, logistic: bool = False) -> Judged:
    import sklearn
    from scipy.sparse import csr_matrix

    rows, y = stream.rows, stream.y
    scores = np.zeros((len(y), stream.outputs))
    wrong = 0
    more: dict[str, Any] = {"classes": np.arange(stream.outputs, dtype=np.float64)}
    with (
        sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for t in range(len(y)):
            begin, end = rows.indptr[t], rows.indptr[t + 1]
            indices, values = rows.indices[begin:end], rows.data[begin:end]
            row = csr_matrix((values, indices, [0, end - begin]), (1, rows.shape[1]))
            if t > 0:
                scores[t] = model.coef_[:, indices] @ values + model.intercept_
            wrong += int(np.argmax(scores[t])) != int(y[t])
            if wrong > limit:
                scores = scores[: t + 1]
                break
            try:
                model.partial_fit(row, y[t : t + 1], **more)
            except ValueError as refusal:
                # It stops where its weights overflow: what comes after is lost.
                if "overflow" not in str(refusal):
                    raise
                scores[t + 1 :] = np.nan
                break
            more = {}
    return judged(y, scores, one_against_rest(scores) if logistic else None)


def _chance() -> np.random.RandomState:
    """Return what shuffles single rows; a number would have it made afresh for every one."""
    return np.random.RandomState(0)


def sgd(stream: Stream, limit: float) -> Judged:
    """Run SGDClassifier(), which has the hinge loss by default, one sparse row at a time."""
    from sklearn.linear_model import SGDClassifier

    return _scikit_learn(stream, limit, SGDClassifier(random_state=_chance()))


def sgd_logistic(stream: Stream, limit: float) -> Judged:
    """Run SGDClassifier(loss="log_loss"); probabilities as its `predict_proba` makes them."""
    from sklearn.linear_model import SGDClassifier

    return _scikit_learn(
        stream, limit, SGDClassifier(loss="log_loss", random_state=_chance()), True
    )


def passive_aggressive(stream: Stream, limit: float) -> Judged:
    """Run PassiveAggressiveClassifier(), one sparse row at a time."""
    from sklearn.linear_model import PassiveAggressiveClassifier

    with warnings.catch_warnings():
        # Newer releases would have it written as an SGDClassifier of the same steps.
        warnings.simplefilter("ignore")
        model = PassiveAggressiveClassifier(random_state=_chance())
    return _scikit_learn(stream, limit, model)


def last_label(stream: Stream, limit: float) -> Judged:
    """Repeat the label before: what order alone is worth, without looking at a feature."""
    return Judged(np.concatenate([[True], stream.y[1:] != stream.y[:-1]]))


SEVERAL: dict[str, Callable[[Stream, float], Judged]] = {
    "noregret": ours,
    "VW": vowpal_wabbit,
    "VW logistic": vowpal_logistic,
    "River softmax": river_softmax,
    "River softmax scaled": river_softmax_scaled,
    "River one-vs-rest": river_rest,
    "SGDClassifier": sgd,
    "SGD log loss": sgd_logistic,
    "PassiveAggressive": passive_aggressive,
    "last label": last_label,
}
