"""A graph of ONNX that is being built: nodes, inputs, constants, and the file of it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

#: The versions of the operators of ONNX that are used; every runtime since 2021 knows them.
_OPSETS = {"": 13, "ai.onnx.ml": 2}
_IR_VERSION = 8


def import_onnx() -> Any:
    """Return the package onnx, or say how to install it."""
    try:
        return importlib.import_module("onnx")
    except ImportError:
        raise ImportError("models as ONNX need onnx: pip install 'noregret[onnx]'") from None


class Graph:
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

    def doubles(self, values: Any) -> str:
        """Add a constant of 64-bit numbers and return its name."""
        return self.constant(values, np.float64)

    def chosen(self, columns: str, places: list[int]) -> str:
        """Return the name of some columns of a matrix."""
        return self.node("Gather", columns, self.constant(places, np.int64), axis=1)

    def total(self, columns: str) -> str:
        """Return the name of the sums of the rows of a matrix, as a column."""
        return self.node("ReduceSum", columns, self.constant([1], np.int64), keepdims=1)

    def input(self, name: str, texts: bool, width: int = 1) -> str:
        """Add an input with a row a row."""
        kind = self.onnx.TensorProto.STRING if texts else self.onnx.TensorProto.FLOAT
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, [None, width]))
        return name


def probabilities(graph: Graph, link: str | None, scores: str) -> dict[str, str]:
    """Return the output of probabilities, of two classes that of the positive one."""
    if link is None:
        return {}
    if link == "softmax":
        return {"probabilities": graph.node("Softmax", scores, axis=1)}
    each = graph.node("Sigmoid", scores)
    if link == "logistic":
        return {"probabilities": each}
    whole = graph.total(each)
    return {"probabilities": graph.node("Div", each, whole)}


def written(graph: Graph, outputs: Mapping[str, str], width: int) -> bytes:
    """Return the file of a graph with these outputs, which have a column a score."""
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
