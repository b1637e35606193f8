"""Every tracker on one stream; `python -m tracking.interpreted` prints what came out.

With NUMBA_DISABLE_JIT=1 it does so interpreted, kernels and components alike.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import scipy.sparse

from noregret import catalogue, losses
from noregret.domains import ClippedSimplex
from noregret.learners import MirrorDescent
from tests.sizes import some

ABSOLUTE = losses.Absolute()


def learners() -> dict[str, MirrorDescent]:
    """Return one of each, explicit and implicit."""
    return {
        "c_gd": catalogue.c_gd(0.4, 2.0),
        "c_gd implicit": catalogue.c_gd(0.4, 2.0, implicit=True),
        "egu": catalogue.egu(1.0, 0.5),
        "c_egu": catalogue.c_egu(0.3, 9, 1.0, 0.5),
        "c_egu implicit": catalogue.c_egu(0.3, 9, 1.0, 0.5, implicit=True),
        "eg implicit": catalogue.eg(losses.Squared(), 0.5, implicit=True),
        "c_eg": catalogue.c_eg(0.4, 0.5),
        "c_eg absolute": catalogue.c_eg(0.4, loss=ABSOLUTE, eta=2.0),
        "c_eg implicit": catalogue.c_eg(0.4, 0.5, implicit=True),
        "p-norm": catalogue.shifting_p_norm(3.0, 0.4, 2.0),
        "p-norm implicit": catalogue.shifting_p_norm(3.0, 0.4, 2.0, implicit=True),
    }


#: Learners that are tried on dense rows, too: each is another kernel to compile.
DENSE = some(learners(), 4)


def outcomes() -> dict[str, dict[str, Any]]:
    """Return predictions, weights, average and ledger of each, on sparse and dense rows."""
    rng = np.random.default_rng(17)
    X = scipy.sparse.random(60, 9, 0.25, format="csr", random_state=rng)
    y = rng.random(60) * 0.5
    found: dict[str, dict[str, Any]] = {}
    for kind, rows in (("sparse", X), ("dense", X.toarray())):
        for name, learner in learners().items():
            if kind == "dense" and name not in DENSE:
                continue
            found[f"{name}, {kind}"] = {
                "predictions": learner.learn(rows, y).tolist(),
                "weights": learner.weights.tolist(),
                "average": learner.average.tolist(),
                "floor": learner.certificate().floor(),
            }
    w = rng.pareto(0.5, 500)
    found["projection"] = {"weights": ClippedSimplex(0.5).project_entropic(w).tolist()}
    return found


if __name__ == "__main__":
    print(json.dumps(outcomes()))
