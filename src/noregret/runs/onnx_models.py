"""Models as ONNX graphs, which any runtime of that format scores.

Inputs: one column of numbers or texts for each column of the table, 32-bit, or the matrix
`features` where a file numbers its features. Outputs, 32-bit: `scores`, one a class (of two classes
the margin), and `probabilities` where the scores mean some.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from noregret.runs.export import MIXTURE
from noregret.runs.onnx_graph import Graph, import_onnx, probabilities, written
from noregret.runs.onnx_members import mixture_model, no_input


def onnx_model(exported: str) -> bytes:
    """Return the ONNX file of a model that `Model.to_json` has exported."""
    kept = json.loads(exported)
    if not (kept["numbered"] or kept["numeric"] or kept["categorical"]):
        raise ValueError(
            "the features were names in dictionaries, of which ONNX knows no columns: learn from a "
            "table, or use to_json"
        )
    if kept["format"] == MIXTURE:
        return mixture_model(kept)
    graph = Graph(import_onnx())
    parts = kept["scores"]
    total = graph.constant([kept["offset"] + part["intercept"] for part in parts])
    weights: dict[str, list[float]] = {}
    for place, part in enumerate(parts):
        for name, weight in part["coefficients"].items():
            weights.setdefault(name, [0.0] * len(parts))[place] = weight
    for term in (_numbered if kept["numbered"] else _columns)(graph, kept, weights):
        total = graph.node("Add", total, term)
    low, high = kept["range"]
    if low is not None:
        total = graph.node("Max", total, graph.constant([low]))
    if high is not None:
        total = graph.node("Min", total, graph.constant([high]))
    outputs = {"scores": total, **probabilities(graph, kept["link"], total)}
    return written(graph, outputs, len(parts))


def _columns(graph: Graph, kept: Mapping[str, Any], weights: dict[str, list[float]]) -> list[str]:
    """Return the terms that columns of a table add to the scores."""
    terms = []
    for column in kept["numeric"]:
        values, missing = graph.input(column, texts=False), f"{column}=missing"
        absent = graph.node("IsNaN", values)
        if missing in weights:
            one = graph.node("Cast", absent, to=graph.onnx.TensorProto.FLOAT)
            terms.append(graph.node("Mul", one, graph.constant([weights.pop(missing)])))
        if column in weights:
            values = graph.node("Where", absent, graph.constant([0.0]), values)
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
        raise no_input(min(weights))
    return terms


def _numbered(graph: Graph, kept: Mapping[str, Any], weights: dict[str, list[float]]) -> list[str]:
    """Return the one term of features that a file numbers."""
    first = kept["first_index"]
    table = np.zeros((max(map(int, weights), default=first) - first + 1, len(kept["scores"])))
    for name, row in weights.items():
        table[int(name) - first] = row
    features = graph.input("features", texts=False, width=len(table))
    return [graph.node("MatMul", features, graph.constant(table))]
