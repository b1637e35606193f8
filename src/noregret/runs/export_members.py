"""The members of a mixture for other programs: how each of them sees a row and predicts from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Matrix, Vector
from noregret.experts import Aggregate
from noregret.experts.stacking import LARGEST_MARGIN
from noregret.learners import DualAscent, MirrorDescent
from noregret.learners.matrix import MatrixDescent
from noregret.learners.standardized import Standardized
from noregret.rates.second_order import Aioli, Ridge, SecondOrder

#: The label that a prediction is made ready for, by the rate.
_ANTICIPATED = {Aioli: "both", Ridge: "0"}


@dataclass(frozen=True)
class Columns:
    """What columns are called, and which of them is the constant feature.

    namer: the name of a column, None for the constant feature.
    constant: the value of the constant feature, 0 without one.
    first: the number of the feature in column 0 of a file that numbers its features, None where
        they have names.
    count: how many columns have names.
    """

    namer: Callable[[int], str | None]
    constant: float = 0.0
    first: int | None = None
    count: int = 0


def is_compound(learner: Any) -> bool:
    """Tell whether predictions need more than weights, an offset and a range.

    >>> import noregret as nr
    >>> is_compound(nr.catalogue.ogd(nr.losses.Hinge(), 0.1)), is_compound(nr.catalogue.aioli())
    (False, True)
    """
    return isinstance(learner, Aggregate | Standardized) or _anticipates(learner)


def mixture(learner: Any, columns: Columns) -> dict[str, Any]:
    """Return the members of a learner, their shares and how they are mixed.

    A learner that is no mixture is the only member of one.
    """
    if not isinstance(learner, Aggregate):
        member = _member(learner, columns)
        return {"mixing": "losses", "members": [member | {"share": 1.0}], "stack": None}
    shares = learner.shares.tolist()
    members = [
        _member(one, columns) | {"share": share}
        for one, share in zip(learner.learners, shares, strict=False)
    ]
    stack = None
    if learner.stack is not None:
        # Its features are the predictions of the others, called "1", "2", ...
        stack = _member(learner.stack, Columns(lambda k: str(k + 1)))
        largest = LARGEST_MARGIN if learner.loss.labels == "sign" else None
        stack |= {"share": shares[-1], "largest": largest}
    return {"mixing": learner.mixing, "members": members, "stack": stack}


def _member(learner: Any, columns: Columns) -> dict[str, Any]:
    """Return what one member predicts by."""
    if isinstance(learner, Standardized):
        return _standardized(learner, columns)
    weights, low, high = _weights(learner), *_limits(learner)
    kept = [(k, columns.namer(k)) for k in range(len(weights))]
    named = [(k, name) for k, name in kept if name is not None]
    always = np.zeros(len(weights))
    always[[k for k, name in kept if name is None]] = columns.constant
    return {
        "learner": _words(learner),
        "standardized": None,
        "scores": _scores(weights, always, named),
        "offset": float(getattr(learner, "offset", 0.0)),
        "range": [None if math.isinf(end) else end for end in (low, high)],
        "anticipated": _anticipated(learner, always, named),
    }


def _standardized(learner: Standardized, columns: Columns) -> dict[str, Any]:
    """Return the moments of the coming round, and what the learner wrapped predicts by."""
    view, (shift, mean, spread) = learner.view, learner.view.shifted()
    scaling = view.scaler.scaling
    varied = np.flatnonzero(spread > 0.0).tolist()
    if view.hidden:
        varied = []
    elif any(columns.namer(k) is None for k in varied):
        raise ValueError(
            "the constant feature has had several values, and a member that standardises it cannot "
            "be exported: learn with one constant="
        )
    inner, named = learner.learner, [(view.constants + k, str(columns.namer(k))) for k in varied]
    weights = _weights(inner)
    lacking = max(0, view.constants + len(spread) - len(weights))
    weights = np.pad(weights, [(0, lacking)] + [(0, 0)] * (weights.ndim - 1))
    always = np.zeros(len(weights))
    always[: view.constants] = 1.0
    low, high = _limits(learner)
    beyond = () if learner.outgrown else range(view.widest, columns.count)
    last = None if columns.first is None else columns.first + view.widest - 1
    return {
        "learner": _words(inner),
        "standardized": {
            "features": [name for _, name in named],
            "shift": shift[varied].tolist(),
            "mean": mean[varied].tolist(),
            "spread": spread[varied].tolist(),
            "limit": scaling.limit,
            "bound": scaling.bound,
            "constants": view.constants,
            "outgrown": learner.outgrown,
            "beyond": [columns.namer(k) for k in beyond],
            "last": last,
        },
        "scores": _scores(weights, always, named),
        "offset": float(getattr(inner, "offset", 0.0)),
        "range": [None if math.isinf(end) else end for end in (low, high)],
        "anticipated": _anticipated(inner, always, named),
    }


def _scores(weights: Matrix, always: Vector, named: list[tuple[int, str]]) -> list[dict[str, Any]]:
    """Return intercept and coefficients, other than 0, of each score.

    always: the values of columns that are the same in every row, 0 for all others.
    """
    return [
        {
            "intercept": float(column @ always),
            "coefficients": {name: float(column[k]) for k, name in named if column[k] != 0.0},
        }
        for column in (weights.T if weights.ndim == 2 else [weights])
    ]


def _anticipated(
    learner: Any, always: Vector, named: list[tuple[int, str]]
) -> dict[str, Any] | None:
    """Return how the prediction is corrected by k = ||R x||^2, R the `root`; None if it is not.

    The first column of R belongs to the constant 1, the others to the features in their order;
    what a row of R lacks at its end is 0.
    """
    if not _anticipates(learner):
        return None
    label = _ANTICIPATED.get(type(learner.rate))
    if label is None:
        raise ValueError(f"{learner.rate} corrects its predictions, and cannot be exported")
    root = np.zeros((0, len(always)))
    if learner._engine is not None:
        root = learner._engine.root()
    first = root @ always[: root.shape[1]]
    seen = [(k, name) for k, name in named if k < root.shape[1]]
    table = np.column_stack([first, root[:, [k for k, _ in seen]]])
    return {
        "label": label,
        "features": [name for _, name in seen],
        "root": [np.trim_zeros(row, "b").tolist() for row in table if row.any()],
    }


def _anticipates(learner: Any) -> bool:
    rate = getattr(learner, "rate", None)
    return isinstance(rate, SecondOrder) and not rate.linear()


def _weights(learner: Any) -> Matrix:
    if type(learner) not in (MirrorDescent, MatrixDescent, DualAscent):
        name = type(learner).__name__
        raise ValueError(f"the mixture has a member that cannot be exported, a {name}")
    return np.asarray(learner.weights)


def _limits(learner: Any) -> tuple[float, float]:
    found: tuple[float, float] = getattr(learner, "limits", (-math.inf, math.inf))
    return found


def _words(learner: Any) -> str:
    return str(getattr(learner, "rate", None) or type(learner).__name__)
