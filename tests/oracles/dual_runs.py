"""How the tests of dual ascent run a learner and read it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noregret import losses, mirrors
from noregret.learners import DualAscent
from tests.oracles.data import near
from tests.sizes import sized

HINGE = losses.Hinge()
EUCLID = mirrors.Euclidean()
#: Windows are solved to the last place, as slowly as that may be.
FULLY = {"tolerance": 0.0, "sweeps": sized(1_500, 20_000)}
#: The least P(w) of set A at C = 1.
BEST = 2.9874567474
#: The last trial of set A at C = 5 from theta = (0.3, -0.2, 0.5): the map, the margin, the step
#: alpha, and the weights before and after it.
PROXIMAL_STEPS = [
    pytest.param(
        EUCLID,
        1.0,
        0.974025974026,
        (0.3, -0.2, 0.5),
        (-0.0896103896104, -0.784415584416, 0.987012987013),
        id="euclid",
    ),
    pytest.param(
        mirrors.Entropy(),
        0.3,
        1.66322886539,
        (0.353615114727, 0.214478408819, 0.431906476454),
        (0.145097148902, 0.0631023327163, 0.791800518381),
        id="entropy",
    ),
    pytest.param(
        mirrors.PNorm(4),
        1.0,
        1.71478572028,
        (0.100483595221, -0.0297729171026, 0.465201829728),
        (-0.0240785109372, -0.777457031499, 1.04778875345),
        id="p=4",
    ),
]


def numbers(text: str) -> list[float]:
    """Return the numbers of a line."""
    return [float(number) for number in text.split()]


def run(
    learner: DualAscent, X: np.ndarray, y: np.ndarray, offset: Any = None
) -> tuple[list[float], list[float], list[float]]:
    """Return the margins met, the alpha given to each new example, and D after each trial."""
    margins, alphas, duals = [], [], []
    for t in range(len(y)):
        shift = None if offset is None else [offset[t]]
        margins.append(float(y[t] * learner.learn(X[t], y[t], offset=shift)[0]))
        alphas.append(float(learner.alpha[-1]))
        duals.append(learner.dual)
        if learner.dual > 0.0:
            assert learner.certificate().dual == near(learner.dual)
            assert learner.certificate().dual <= learner.dual
    return margins, alphas, duals


def theta(learner: DualAscent) -> np.ndarray:
    return -learner.C * learner.certificate().gradient


def ascent(update: str = "exact", C: float = 1.0, **settings: Any) -> DualAscent:
    return DualAscent(HINGE, EUCLID, C, update, **settings)
