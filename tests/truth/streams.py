"""Streams for every mood: random, separable, adversarial, degenerate, huge and tiny.

A stream is played row by row, because an adversary chooses each label against the learner's own
prediction. What was played is returned as plain arrays, for the referee.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

import noregret as nr

Vector = npt.NDArray[np.float64]
Random = np.random.Generator


@dataclass
class Played:
    """The rounds that a learner played, in double precision, and the learner afterwards."""

    X: Vector
    y: Vector
    weight: Vector
    predictions: Vector
    learner: Any
    #: Certificates after so many rounds, the last one after all of them.
    certificates: dict[int, nr.Certificate]


@dataclass(frozen=True)
class Kind:
    """A kind of stream: rows, how labels are chosen, example weights, size of the features."""

    name: str
    rows: Callable[[Random, int, int], Vector]
    labels: str = "random"
    weights: str = "ones"
    size: float = 1.0
    rounds: int = 60
    #: Size of real targets, in units of 1.
    targets: float = 1.0


def _normal(random: Random, rounds: int, d: int) -> Vector:
    X = random.normal(size=(rounds, d)) / np.sqrt(d)
    return np.where(random.random((rounds, d)) < 0.3, 0.0, X)


def _positive(random: Random, rounds: int, d: int) -> Vector:
    return (random.random((rounds, d)) < 0.4).astype(float)


def _one_row(random: Random, rounds: int, d: int) -> Vector:
    return np.tile(random.normal(size=d), (rounds, 1))


def _zeros(random: Random, rounds: int, d: int) -> Vector:
    return np.zeros((rounds, d))


def _see_saw(random: Random, rounds: int, d: int) -> Vector:
    """Rows +-x and x/2: follow-the-leader is always on the wrong side."""
    X = np.zeros((rounds, d))
    X[:, 0] = 1.0
    X[0, 0] = 0.5
    X[1::2, 0] = -1.0
    return X


def _cancelling(random: Random, rounds: int, d: int) -> Vector:
    """A long way out and the same way back, so that Z nearly vanishes after much travel."""
    half = random.normal(size=(rounds // 2, d)) * 10.0 ** random.uniform(-8, 8, (rounds // 2, 1))
    return np.concatenate([half, -half[::-1]])


def _mixed(random: Random, rounds: int, d: int) -> Vector:
    return random.normal(size=(rounds, d)) * 10.0 ** random.uniform(-30, 30, (rounds, d))


KINDS = [
    Kind("random", _normal),
    Kind("random, weighted", _normal, weights="mixed"),
    Kind("random, heavy weights", _normal, weights="heavy"),
    Kind("random, light weights", _normal, weights="light"),
    Kind("separable", _normal, labels="separable"),
    Kind("separable, positive", _positive, labels="separable"),
    Kind("adversarial", _normal, labels="adversarial"),
    Kind("adversarial, positive", _positive, labels="adversarial"),
    Kind("adversarial, weighted", _normal, labels="adversarial", weights="mixed"),
    Kind("see-saw", _see_saw, labels="plus"),
    Kind("see-saw, adversarial", _see_saw, labels="adversarial"),
    Kind("constant", _one_row, labels="plus"),
    Kind("one example", _normal, rounds=1),
    Kind("zero rows", _zeros, rounds=10),
    Kind("far targets", _normal, labels="adversarial", targets=1e4),
    Kind("huge", _normal, size=1e90),
    Kind("huge, adversarial", _normal, labels="adversarial", size=1e90, targets=1e60),
    Kind("large", _normal, size=1e9, weights="mixed", targets=1e9),
    Kind("tiny", _normal, size=1e-90),
    Kind("tiny, adversarial", _normal, labels="adversarial", size=1e-30, targets=1e-30),
    Kind("denormal", _normal, size=1e-310, targets=1e-310),
    Kind("denormal weights", _normal, weights="denormal", targets=1e90),
    Kind("cancelling", _cancelling, labels="plus"),
    Kind("cancelling, adversarial", _cancelling, labels="adversarial"),
    Kind("mixed scales", _mixed, size=1e30),
]

LONG = Kind("long", _normal, labels="adversarial", rounds=3000)


def layout(X: Vector, name: str) -> Any:
    """Return the rows in the layout and precision of that name."""
    values = X.astype(np.float32 if name.endswith("32") else np.float64)
    return csr_array(values) if name.startswith("sparse") else values


def weights_of(random: Random, kind: str, rounds: int) -> Vector | None:
    """Return example weights of that kind, None for ones."""
    if kind == "ones":
        return None
    if kind == "heavy":
        return 10.0 ** random.uniform(0, 90, rounds)
    if kind == "light":
        return 10.0 ** random.uniform(-90, 0, rounds)
    if kind == "denormal":
        return 10.0 ** random.uniform(-323, -300, rounds)
    weights = 10.0 ** random.uniform(-3, 3, rounds)
    weights[random.random(rounds) < 0.2] = 0.0
    return weights


def play(
    random: Random,
    kind: Kind,
    learner: nr.MirrorDescent,
    form: str,
    dimension: int,
    rounds: int | None = None,
) -> Played:
    """Let the learner play a stream, saved and loaded on the way, and return what happened.

    A learner that stops because numbers overflow is judged by the rounds before.
    """
    rounds = kind.rounds if rounds is None else rounds
    rows = kind.rows(random, rounds, dimension) * kind.size
    if form.endswith("32"):
        # What single precision cannot hold would be another stream.
        rows = np.clip(rows, -1e38, 1e38).astype(np.float32).astype(np.float64)
    rounds = len(rows)
    real = learner.loss.labels == "real"
    hidden = random.normal(size=dimension) / max(float(np.abs(rows).max(initial=0.0)), 1e-300)
    given = weights_of(random, kind.weights, rounds)
    weight = np.ones(rounds) if given is None else given
    y, predictions = np.ones(rounds), np.zeros(rounds)
    certificates: dict[int, nr.Certificate] = {}
    cut = int(random.integers(rounds)) if rounds > 1 else 0
    played = 0
    for t in range(rounds):
        row = layout(rows[t : t + 1], form)
        if kind.labels == "adversarial":
            y[t] = -1.0 if learner.predict(row)[0] > 0.0 else 1.0
        elif kind.labels == "separable":
            y[t] = 1.0 if float(hidden @ rows[t]) >= 0.0 else -1.0
        elif kind.labels == "random":
            y[t] = random.normal() if real else random.choice([-1.0, 1.0])
        if real:
            y[t] *= kind.targets
        try:
            predictions[t] = learner.learn(row, y[t : t + 1], weight[t : t + 1])[0]
        except OverflowError:
            break
        played = t + 1
        if t == cut:
            certificates[played] = learner.certificate()
            learner = saved_and_loaded(learner)
    certificates[played] = learner.certificate()
    part = slice(0, played)
    return Played(rows[part], y[part], weight[part], predictions[part], learner, certificates)


def saved_and_loaded(learner: Any) -> Any:
    """Return the learner as its file has it."""
    handle, path = tempfile.mkstemp(suffix=".nr")
    os.close(handle)
    try:
        learner.save(path)
        return nr.load(path)
    finally:
        os.remove(path)
