"""Models for other programs: coefficients by name, as JSON, and as an ONNX graph.

Any runtime of ONNX scores such a graph, in 32-bit floats. Inputs: one column of numbers or texts
for each column of the table, or the matrix `features` where a file numbers its features. Outputs:
`scores`, one a class (of two classes the margin), and `probabilities` where the scores mean some.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Mapping
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
#: The versions of the operators of ONNX that are used; every runtime since 2021 knows them.
_OPSETS = {"": 13, "ai.onnx.ml": 2}
_IR_VERSION = 8


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


def import_onnx() -> Any:
    """Return the package onnx, or say how to install it."""
    try:
        return importlib.import_module("onnx")
    except ImportError:
        raise ImportError("models as ONNX need onnx: pip install 'noregret[onnx]'") from None


class _Graph:
    """Nodes, inputs and constants of a graph that is being built."""

    def __init__(self, onnx: Any) -> None:
        self.onnx, self.helper = onnx, onnx.helper
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a constant and return its name."""
        name = f"c{len(self.constants)}"
        tensor = self.onnx.numpy_helper.from_array(np.asarray(values, dtype), name)
        self.constants.append(tensor)
        return name

    def input(self, name: str, texts: bool, width: int = 1) -> str:
        """Add an input with a row a row."""
        kind = self.onnx.TensorProto.STRING if texts else self.onnx.TensorProto.FLOAT
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, [None, width]))
        return name


def onnx_model(exported: str) -> bytes:
    """Return the ONNX file of a model that `Model.to_json` has exported."""
    kept = json.loads(exported)
    if kept["format"] == MIXTURE:
        raise ValueError("ONNX files are written of linear models, not of mixtures: use to_json")
    graph = _Graph(import_onnx())
    parts = kept["scores"]
    total = graph.constant([kept["offset"] + part["intercept"] for part in parts])
    weights: dict[str, list[float]] = {}
    for place, part in enumerate(parts):
        for name, weight in part["coefficients"].items():
            weights.setdefault(name, [0.0] * len(parts))[place] = weight
    named = kept["numeric"] or kept["categorical"]
    for term in (_columns if named else _numbered)(graph, kept, weights):
        total = graph.node("Add", total, term)
    low, high = kept["range"]
    if low is not None:
        total = graph.node("Max", total, graph.constant([low]))
    if high is not None:
        total = graph.node("Min", total, graph.constant([high]))
    outputs = {"scores": total, **_probabilities(graph, kept["link"], total)}
    return _written(graph, outputs, len(parts))


def _columns(graph: _Graph, kept: Mapping[str, Any], weights: dict[str, list[float]]) -> list[str]:
    """Return the terms that columns of a table add to the scores."""
    terms = []
    for column in kept["numeric"]:
        values, missing = graph.input(column, texts=False), f"{column}=missing"
        if missing in weights:
            absent = graph.node("IsNaN", values)
            one = graph.node("Cast", absent, to=graph.onnx.TensorProto.FLOAT)
            terms.append(graph.node("Mul", one, graph.constant([weights.pop(missing)])))
            values = graph.node("Where", absent, graph.constant([0.0]), values)
        if column in weights:
            terms.append(graph.node("Mul", values, graph.constant([weights.pop(column)])))
    for column in kept["categorical"]:
        prefix = f"{column}="
        names = [name for name in weights if name.startswith(prefix)]
        if names:
            texts = [name.removeprefix(prefix) for name in names]
            chosen = graph.node(
                "OneHotEncoder",
                graph.input(column, texts=True),
                domain="ai.onnx.ml",
                cats_strings=texts,
                zeros=1,
            )
            flat = graph.node("Reshape", chosen, graph.constant([-1, len(texts)], np.int64))
            table = graph.constant([weights.pop(name) for name in names])
            terms.append(graph.node("MatMul", flat, table))
    if weights:
        raise ValueError(
            f"feature {min(weights)!r} is neither a number nor a category of a column (dates, "
            "texts and products are none), and ONNX has no such input: use to_json"
        )
    return terms


def _numbered(graph: _Graph, kept: Mapping[str, Any], weights: dict[str, list[float]]) -> list[str]:
    """Return the one term of features that a file numbers."""
    first = kept["first_index"]
    table = np.zeros((max(map(int, weights), default=first) - first + 1, len(kept["scores"])))
    for name, row in weights.items():
        table[int(name) - first] = row
    features = graph.input("features", texts=False, width=len(table))
    return [graph.node("MatMul", features, graph.constant(table))]


def _probabilities(graph: _Graph, link: str | None, scores: str) -> dict[str, str]:
    """Return the output of probabilities, of two classes that of the positive one."""
    if link is None:
        return {}
    if link == "softmax":
        return {"probabilities": graph.node("Softmax", scores, axis=1)}
    each = graph.node("Sigmoid", scores)
    if link == "logistic":
        return {"probabilities": each}
    whole = graph.node("ReduceSum", each, graph.constant([1], np.int64), keepdims=1)
    return {"probabilities": graph.node("Div", each, whole)}


def _written(graph: _Graph, outputs: Mapping[str, str], width: int) -> bytes:
    helper, kind = graph.helper, graph.onnx.TensorProto.FLOAT
    for name, made in outputs.items():
        graph.nodes.append(helper.make_node("Identity", [made], [name]))
    shown = [helper.make_tensor_value_info(name, kind, [None, width]) for name in outputs]
    body = helper.make_graph(graph.nodes, "noregret", graph.inputs, shown, graph.constants)
    versions = [helper.make_opsetid(domain, number) for domain, number in _OPSETS.items()]
    model = helper.make_model(
        body, opset_imports=versions, producer_name="noregret", ir_version=_IR_VERSION
    )
    graph.onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
