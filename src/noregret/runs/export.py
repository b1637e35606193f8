"""Models for other programs: coefficients by name, as JSON."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.experts import Aggregate
from noregret.losses import Logistic, OneAgainstRest, Softmax
from noregret.runs.naming import NumberedNames, names_of

if TYPE_CHECKING:
    from noregret.runs.record import Record
    from noregret.vocabulary.learners import Learner

#: Raised when a scorer for older files would misread newer ones.
VERSION = 1
INTERCEPT = "intercept"
_PREFIX = "feature "


def coefficients(learner: Learner, record: Record) -> list[dict[str, float]]:
    """Return the weights by name, other than 0, one dictionary for each score.

    Features that a file numbers are called by their number. ValueError for hashed features, which
    have no names.
    """
    if "name_slots" in record.names:
        raise ValueError(
            "the features are hashed, and their weights have no names: learn with bits=0 to keep "
            "the names"
        )
    names = names_of(learner, record)
    weights = learner.weights
    numbered = isinstance(names, NumberedNames)
    found = []
    for column in weights.T if weights.ndim == 2 else [weights]:
        chosen = np.flatnonzero(column)
        called = [names.name(int(place)) for place in chosen]
        if numbered:
            called = [name.removeprefix(_PREFIX) for name in called]
        found.append(dict(zip(called, column[chosen].tolist(), strict=True)))
    return found


def as_json(learner: Learner, record: Record) -> str:
    """Return all that is needed to score rows elsewhere, as JSON.

    The score of a row is offset + intercept + sum of coefficient times value, kept within `range`;
    of a text the feature is "column=text" with the value 1, of a missing value "column=missing".
    """
    if isinstance(learner, Aggregate):
        raise ValueError("a mixture of learners is not one linear predictor and cannot be exported")
    several = learner.loss.labels == "class"
    named = coefficients(learner, record)
    constant = float(record.reading.get("constant", 0.0))
    # The constant feature has the same value in every row.
    intercepts = [constant * part.pop(INTERCEPT, 0.0) if constant else 0.0 for part in named]
    low, high = getattr(learner, "limits", (-math.inf, math.inf))
    scores = [
        {"intercept": intercept, "coefficients": part}
        for intercept, part in zip(intercepts, named, strict=True)
    ]
    labels = sorted(record.labels, key=lambda pair: pair[1])
    kept = {
        "format": "noregret linear model",
        "version": VERSION,
        "loss": str(learner.loss),
        "link": _link(learner.loss),
        "labels": record.classes if several else [written for written, _ in labels],
        "offset": float(getattr(learner, "offset", 0.0)),
        "range": [None if math.isinf(end) else end for end in (low, high)],
        "first_index": int(record.reading.get("first_index", 1)),
        "numeric": list(record.reading.get("numeric", ())),
        "categorical": list(record.reading.get("categorical", ())),
        "scores": scores,
        "rounds": int(learner.rounds),
    }
    return json.dumps(kept, allow_nan=False)


def _link(loss: Any) -> str | None:
    """Return how scores become probabilities, None where they mean none."""
    if type(loss) is Logistic:
        return "logistic"
    if type(loss) is Softmax:
        return "softmax"
    if type(loss) is OneAgainstRest and type(loss.loss) is Logistic:
        return "normalised logistic"
    return None
