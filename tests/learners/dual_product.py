"""Dual ascent for every update and map, on one stream.

`python -m tests.learners.dual_product PAIR` learns all updates of a pair and prints what came out;
with NUMBA_DISABLE_JIT=1 it does so interpreted, kernels and components alike.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret import losses, mirrors
from noregret.learners import DualAscent

Vector = npt.NDArray[np.float64]

#: A loss and a map each; every map, and every kind of loss.
PAIRS: dict[str, tuple[losses.Loss, mirrors.Mirror]] = {
    "hinge, Euclidean": (losses.Hinge(0.8), mirrors.Euclidean()),
    "logistic, Euclidean": (losses.Logistic(), mirrors.Euclidean()),
    "squared, ball": (losses.Squared(), mirrors.Ball(0.6)),
    "hinge, p-norm": (losses.Hinge(0.6), mirrors.PNorm(3.0)),
    "hinge, simplex": (losses.Hinge(0.4), mirrors.Entropy(1.5)),
    "absolute, orthant": (losses.Absolute(), mirrors.UnnormalizedEntropy()),
    "hinge, 1-ball": (losses.Hinge(0.5), mirrors.SignedEntropy(2.0)),
}

UPDATES: dict[str, dict[str, Any]] = {
    "aggressive": {"update": "aggressive", "row_limit": 3.0},
    "exact": {"update": "exact"},
    "window 2": {"update": "window", "k": 2},
    "window 4": {"update": "window", "k": 4, "sweeps": 30},
    "last": {"update": "mini", "k": 4},
    "random": {"update": "mini", "k": 4, "schedule": "random", "memory": 7, "seed": 3},
    "oldest": {"update": "mini", "k": 4, "schedule": "oldest", "memory": 7},
    "support": {"update": "mini", "schedule": "support", "memory": 5},
    "leader": {"update": "leader", "sweeps": 20},
}

ROUNDS, FEATURES = 40, 5


def learners(pair: str, update: str, C: float = 0.7, **more: Any) -> DualAscent:
    """Return a fresh learner; the aggressive step needs a map with a bound on its Hessian."""
    loss, mirror = PAIRS[pair]
    settings = UPDATES[update] | more
    if pair == "absolute, orthant":
        settings.pop("row_limit", None)
    return DualAscent(loss, mirror, C, dimension=FEATURES, **settings)


def stream(pair: str, seed: int, rounds: int = ROUNDS) -> tuple[Vector, Vector, Vector, Vector]:
    """Return rows with zeros and repeats, labels of the loss's kind, weights and offsets.

    Features are multiples of 1/64, so that single precision holds them exactly.
    """
    random = np.random.default_rng(seed)
    X = np.round(random.uniform(-1.0, 1.2, (rounds, FEATURES)) * 64) / 64
    X[random.random(X.shape) < 0.3] = 0.0
    X[rounds // 3] = 0.0
    X[rounds // 2] = X[rounds // 2 - 1]
    hidden = X @ np.array([0.7, -0.4, 0.2, 0.3, -0.1])
    noise = random.normal(size=rounds)
    sign = PAIRS[pair][0].labels == "sign"
    y = np.where(hidden + 0.3 * noise > 0.1, 1.0, -1.0) if sign else hidden + 0.2 * noise
    weight = random.choice([0.0, 1.0, 1.0, 0.5, 1.75], rounds)
    return X, y, weight, np.round(random.normal(size=rounds) * 8) / 64


def outcome(pair: str, update: str) -> dict[str, Any]:
    """Return everything that two runs are compared by."""
    X, y, weight, offset = stream(pair, 20, 15)
    learner = learners(pair, update)
    predictions = learner.learn(X, y, weight, offset)
    certificate = learner.certificate()
    return {
        "predictions": predictions.tolist(),
        "weights": learner.weights.tolist(),
        "alpha": learner.alpha.tolist(),
        "dual": [learner.dual, certificate.dual, certificate.progress],
        "loss": [certificate.loss, certificate.intercept, float(certificate.mistakes)],
    }


def outcomes(pair: str) -> dict[str, Any]:
    """Return the outcomes of every update in a pair."""
    return {update: outcome(pair, update) for update in UPDATES}


def everything(learner: DualAscent) -> dict[str, Any]:
    """Return all that a user can see of a learner, as bytes where it is numbers."""
    certificate = learner.certificate()
    return {
        "weights": learner.weights.tobytes(),
        "alpha": learner.alpha.tobytes(),
        "dual": learner.dual,
        "rounds": learner.rounds,
        "dict": repr(certificate.as_dict(1.5)),
        "text": str(certificate),
    }


if __name__ == "__main__":
    json.dump(outcomes(sys.argv[1]), sys.stdout)
