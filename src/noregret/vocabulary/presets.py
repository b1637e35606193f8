"""Learners by the names people know them by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Not one rate but many, each with a learner of its own.
GRID = "grid"
#: Nor one learner but several kinds, mixed.
MIXTURE = "mixture"
#: The settings of each name; what follows a colon overrides.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "scale-free": {"rate": "scale-free"},
    "ogd": {"rate": "constant", "eta": 0.1},
    "sgd": {"rate": "inverse-sqrt"},
    "adagrad": {"rate": "per-coordinate"},
    "perceptron": {"loss": "hinge", "rate": "constant", "update": "mistakes"},
    "pa": {"loss": "hinge", "update": "exact"},
    "pa2": {"loss": "squared-hinge", "update": "exact"},
    "leader": {"update": "leader"},
    "coin-betting": {"rate": "coin-betting"},
    "grid": {"rate": GRID},
    "mixture": {"rate": MIXTURE},
    "softmax": {"loss": "softmax", "rate": "scale-free"},
    "one-against-rest": {"loss": "one-against-rest"},
    "multiclass-hinge": {"loss": "multiclass-hinge"},
}
#: Where the loss of several classes is another than that of two, one against the rest.
PRESETS_OF_SEVERAL: Mapping[str, Mapping[str, Any]] = {"perceptron": {"loss": "multiclass-hinge"}}
