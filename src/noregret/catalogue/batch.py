"""From an online learner to one predictor for the future."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector
from noregret.learners import MirrorDescent
from noregret.rates import ScaleFree


def online_to_batch(
    learner: MirrorDescent, X: Any, y: Any, method: str = "average", seed: int = 0
) -> npt.NDArray[np.float64]:
    """Run a fresh learner over an i.i.d. sample and return one predictor for the future.

    "average": the mean of the weights played, w_1 to w_T. "random": one of them, drawn
    uniformly. `batch_predictor` says what is known about their risk. Both return weights, and
    refuse a learner that predicts by more than them.
    Reference: Shalev-Shwartz 2012, Theorem 5.1.

    >>> from noregret import catalogue, losses
    >>> learner = catalogue.ogd(losses.Absolute(), 0.3, dimension=1)
    >>> online_to_batch(learner, [[1.0], [1.0]], [1.0, 1.0])
    array([0.15])
    """
    labels = np.atleast_1d(np.asarray(y, np.float64))
    return one_pass(learner, X, labels, method, seed)[0]


def one_pass(
    learner: MirrorDescent, X: Any, labels: Vector, method: str, seed: int
) -> tuple[Vector, Vector]:
    """Return the weights of `online_to_batch` and the predictions made before each row."""
    if learner.rounds:
        raise ValueError(f"online_to_batch needs a fresh learner, this one has {learner.rounds}")
    _require_linear(learner)
    if method == "average":
        # Asked once before: a learner that keeps no average says so before it learns.
        _ = learner.average
        predictions = learner.learn(X, labels)
        return learner.average, predictions
    if method != "random":
        raise ValueError(f"method must be 'average' or 'random', got {method!r}")
    draw = int(np.random.default_rng(seed).integers(len(labels)))
    rows = X if hasattr(X, "tocsr") else np.atleast_2d(np.asarray(X))
    before = np.zeros(0)
    if draw:
        before = learner.learn(rows[:draw], labels[:draw])
    elif learner.dimension == 0:
        learner._open(rows.shape[1])
    chosen = learner.weights
    return chosen, np.concatenate([before, learner.learn(rows[draw:], labels[draw:])])


def _require_linear(learner: MirrorDescent) -> None:
    """Refuse a learner whose predictions are not <w, x>: its weights alone are no predictor."""
    if learner._parts.clip is not None:
        raise ValueError(
            f"online_to_batch returns weights, and this learner lowers predictions above "
            f"{learner._parts.clip:g}: make it with clip=None"
        )
    if isinstance(learner.rate, ScaleFree) and learner.loss.labels == "real":
        raise ValueError(
            "online_to_batch returns weights, and ScaleFree predicts real targets around their "
            "mean: use another rate, or the learner itself"
        )
