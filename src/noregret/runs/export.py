"""Models for other programs: coefficients by name, as JSON, which `onnx_models` writes as ONNX."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from noregret.experts.representative import linear_part
from noregret.losses import Logistic, OneAgainstRest, Softmax
from noregret.runs.export_members import Columns, is_compound, mixture
from noregret.runs.predicting import NumberedNames, names_of
from noregret.runs.record import Record
from noregret.vocabulary.learners import Learner

#: Raised when a scorer for older files would misread newer ones.
VERSION = 1
LINEAR, MIXTURE = "noregret linear model", "noregret mixture"
INTERCEPT = "intercept"
_PREFIX = "feature "


def coefficients(learner: Learner, record: Record) -> list[dict[str, float]]:
    """Return the weights by name, other than 0, one dictionary for each score.

    Features that a file numbers are called by their number. ValueError for hashed features, which
    have no names.
    """
    namer = _namer(learner, record)
    weights = linear_part(learner).weights
    found = []
    for column in weights.T if weights.ndim == 2 else [weights]:
        chosen = np.flatnonzero(column)
        called = [namer(int(place)) for place in chosen]
        found.append(dict(zip(called, column[chosen].tolist(), strict=True)))
    return found


def _namer(learner: Learner, record: Record) -> Callable[[int], str]:
    """Return what columns are called; ValueError for hashed features, which have no names."""
    if "name_slots" in record.names:
        raise ValueError(
            "the features are hashed, and their weights have no names: learn with bits=0 to keep "
            "the names"
        )
    names = names_of(learner, record)
    prefix = _PREFIX if isinstance(names, NumberedNames) else ""
    return lambda column: names.name(column).removeprefix(prefix)


def as_json(learner: Learner, record: Record) -> str:
    """Return all that is needed to score rows elsewhere, as JSON.

    The score of a row is offset + intercept + sum of coefficient times value, kept within `range`;
    of a text the feature is "column=text" with the value 1, of a missing value "column=missing".
    A learner that is not linear has members, each with such scores, of the row as it is or
    `standardized`, and their shares; see the page about models.
    """
    kept = _mixture(learner, record) if is_compound(learner) else _linear(learner, record)
    reading = {
        "loss": str(learner.loss),
        "link": _link(learner.loss),
        "labels": record.label_names,
        "numbered": not record.names,
        "first_index": int(record.reading.get("first_index", 1)),
        "numeric": list(record.reading.get("numeric", ())),
        "categorical": list(record.reading.get("categorical", ())),
        "rounds": int(learner.rounds),
    }
    return json.dumps(kept | reading, allow_nan=False)


def _linear(learner: Learner, record: Record) -> dict[str, Any]:
    """Return scores that are linear in the row, but for a range."""
    named = coefficients(learner, record)
    constant = float(record.reading.get("constant", 0.0))
    # The constant feature has the same value in every row.
    intercepts = [constant * part.pop(INTERCEPT, 0.0) if constant else 0.0 for part in named]
    low, high = getattr(learner, "limits", (-math.inf, math.inf))
    scores = [
        {"intercept": intercept, "coefficients": part}
        for intercept, part in zip(intercepts, named, strict=True)
    ]
    return {
        "format": LINEAR,
        "version": VERSION,
        "offset": float(getattr(learner, "offset", 0.0)),
        "range": [None if math.isinf(end) else end for end in (low, high)],
        "scores": scores,
    }


def _mixture(learner: Learner, record: Record) -> dict[str, Any]:
    """Return members, their shares and how they are mixed."""
    called, constant = _namer(learner, record), float(record.reading.get("constant", 0.0))
    columns = Columns(
        lambda column: None if constant and called(column) == INTERCEPT else called(column),
        constant,
        None if record.names else int(record.reading.get("first_index", 1)) - bool(constant),
        len(record.names["name_offsets"]) - 1 if record.names else 0,
    )
    return {"format": MIXTURE, "version": VERSION} | mixture(learner, columns)


def _link(loss: Any) -> str | None:
    """Return how scores become probabilities, None where they mean none."""
    if type(loss) is OneAgainstRest and type(loss.loss) is Logistic:
        return "normalised logistic"
    return {Logistic: "logistic", Softmax: "softmax"}.get(type(loss))
