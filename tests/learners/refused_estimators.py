"""Trackers and estimators, with rows that they take and rows that they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from noregret import losses, rates, tracking
from noregret import river as streams
from noregret import sklearn as estimators
from noregret.tracking.static import Moments
from tests.learners.refused_rounds import NAN, Case, Round, calls, faults

X = np.round(np.random.default_rng(3).uniform(-1.0, 1.0, (12, 3)), 2)
BIG = np.array([[1e99, 5e98, -1e99]])
Y = np.where(np.arange(12) % 3 == 0, "b", "a")
Z = np.round(X @ [1.0, -0.5, 0.25], 2)
THREE = np.array(["a", "b", "c"])[np.arange(12) % 3]
ROWS = [calls("partial_fit", X[k : k + 3], Y[k : k + 3]) for k in (0, 3, 6, 9)]
BAD_ROWS = faults(
    "partial_fit",
    nan=(np.full((2, 3), NAN), ["a", "b"]),
    large=(np.vstack([X[:1], [[1e101, 0, 0]]]), ["a", "new"]),
    width=(np.ones((2, 4)), ["a", "new"]),
    labels=(X[:2], ["a"]),
    weight=(X[:2], ["a", "new"], None, [1.0, -1.0]),
    weights=(X[:2], ["a", "new"], None, [1.0, 1e101]),
    kind=(X[:2], [1, 2]),
    overflow=(BIG, ["a"], None, [1e100]),
    alone=(BIG, ["new"], None, [1e100]),
)
REALS = [calls("partial_fit", X[k : k + 3], Z[k : k + 3]) for k in (0, 3, 6, 9)]
BAD_REALS = faults(
    "partial_fit",
    nan=(np.full((2, 3), NAN), [1.0, 1.0]),
    target=(X[:2], [1.0, math.inf]),
    width=(np.ones((2, 4)), [1.0, 1.0]),
    weight=(X[:2], [1.0, 1.0], [1.0, -1.0]),
    overflow=(BIG, [1e99], [1e100]),
)


def classifier(**options: Any) -> Case:
    make = estimators.OnlineClassifier
    return Case(lambda: make(**options), ROWS, BAD_ROWS, 1)


def examples(labels: Any) -> list[Round]:
    rows = [dict(zip("pqr", row, strict=True)) for row in X.tolist()]
    return [calls("learn_one", x, y) for x, y in zip(rows, list(labels), strict=True)]


BAD_EXAMPLES = faults(
    "learn_one",
    nan=({"p": NAN, "new": 1.0}, "z"),
    large=({"p": 1e101, "new": 1.0}, "z"),
    weight=({"p": 1.0, "new": 1.0}, "z", -1.0),
    label=({"p": 1.0, "new": 1.0}, None),
    overflow=({"p": 1e99, "new": 1e99}, "z", 1e100),
    known=({"p": 1e99, "new": 1e99}, "a", 1e100),
) | faults(
    "learn_many",
    count=(pd.DataFrame({"p": [1.0, 2.0]}), ["z"]),
    overflow_many=(pd.DataFrame({"new": [1e99]}), ["z"], 1e100),
)

ESTIMATORS: dict[str, Case] = {
    "tracker": Case(
        lambda: tracking.Tracker(losses.Squared(), radius=1.0),
        [calls("learn", X[k : k + 3], Z[k : k + 3]) for k in (0, 3, 6)],
        faults(
            "learn",
            nan=(np.full((2, 3), NAN), [1.0, 1.0]),
            label=(X[:2], [1.0, math.inf]),
            weight=(X[:2], [1.0, 1.0], [1.0, -1.0]),
            overflow=(BIG, [1e99], [1e100]),
        ),
    ),
    "moments": Case(
        Moments,
        [calls("add", X[k : k + 3], Z[k : k + 3]) for k in (0, 3, 6)],
        faults("add", nan=(np.full((2, 9), NAN), [1.0, 1.0]), label=(np.ones((2, 9)), [1.0, NAN])),
    ),
    "classifier": classifier(),
    "classifier, hinge": classifier(loss="hinge"),
    "classifier, balanced": classifier(loss="hinge", class_weight="balanced"),
    "classifier, softmax": classifier(multiclass="softmax", rate=rates.Constant(0.5)),
    "classifier, columns": classifier(rate="coin_betting"),
    "classifier, dual": Case(
        lambda: estimators.DualClassifier("squared_hinge", class_weight="balanced"),
        ROWS, BAD_ROWS, 1,
    ),
    "classifier, from an optimum": Case(
        lambda: estimators.DualClassifier("squared_hinge", random_state=0),
        [calls("fit", X, Y), *ROWS],
        BAD_ROWS,
        1,
    ),
    "regressor": Case(estimators.OnlineRegressor, REALS, BAD_REALS, 1),
    "regressor, grid": Case(lambda: estimators.OnlineRegressor(rate="grid"), REALS, BAD_REALS, 1),
    "regressor, dual": Case(estimators.DualRegressor, REALS, BAD_REALS, 1),
    "regressor, from an optimum": Case(
        lambda: estimators.DualRegressor(random_state=0),
        [calls("fit", X, Z), *REALS],
        BAD_REALS,
        1,
    ),
    "river, classes": Case(streams.OnlineClassifier, examples(THREE), BAD_EXAMPLES, 2),
    "river, two classes": Case(
        lambda: streams.OnlineClassifier(losses.Hinge(), rates.Constant(0.5)),
        examples(Y), BAD_EXAMPLES, 1,
    ),
    "river, regression": Case(
        streams.OnlineRegressor,
        examples(Z),
        faults(
            "learn_one",
            nan=({"p": 1.0, "new": NAN}, 1.0),
            target=({"p": 1.0, "new": 1.0}, "x"),
            weight=({"p": 1.0, "new": 1.0}, 1.0, NAN),
            overflow=({"p": 1e99, "new": 1e99}, 1e99, 1e100),
        ),
    ),
}  # fmt: skip
