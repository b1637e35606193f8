"""Mixtures as ONNX graphs: every member, how it sees the row, and what mixes them.

Members predict in 64-bit numbers: of weights for features that nearly agree large parts cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from noregret.runs.onnx_graph import Graph, import_onnx, probabilities, written

#: Steps of Newton's method for p + k tanh(p/2): about ln k where both agree, fewer elsewhere.
STEPS = 32


class Seen(NamedTuple):
    """A matrix with a row a row, and what its columns are called."""

    matrix: str
    names: list[str]

    def places(self, names: list[str]) -> list[int]:
        """Return the columns of some features; ValueError if there is no input for one."""
        known = {name: k for k, name in enumerate(self.names)}
        for name in names:
            if name not in known:
                raise no_input(name)
        return [known[name] for name in names]


def no_input(name: str) -> ValueError:
    """Return the error of a feature that is no column."""
    return ValueError(
        f"feature {name!r} is neither a number nor a category of a column (dates, texts and "
        "products are none), and ONNX has no such input: use to_json"
    )


def mixture_model(kept: Mapping[str, Any]) -> bytes:
    """Return the ONNX file of a mixture that `Model.to_json` has exported."""
    graph = Graph(import_onnx())
    used = _used(kept["members"])
    seen = (_numbered if kept["numbered"] else _columns)(graph, kept, used)
    table = [_member(graph, member, seen) for member in kept["members"]]
    shares = [member["share"] for member in kept["members"]]
    stack = kept["stack"]
    if stack:
        every = graph.node("Concat", *table, axis=1)
        if stack["largest"] is not None:
            every = _within(graph, every, -stack["largest"], stack["largest"])
        names = [str(k + 1) for k in range(len(table))]
        table.append(_member(graph, stack, Seen(every, names)))
        shares.append(stack["share"])
    width = len(kept["members"][0]["scores"])
    mix = _mean if kept["mixing"] == "losses" else _mean_probability
    scores = graph.node("Cast", mix(graph, shares, table, width), to=graph.onnx.TensorProto.FLOAT)
    outputs = {"scores": scores, **probabilities(graph, kept["link"], scores)}
    return written(graph, outputs, width)


def _used(members: list[dict[str, Any]]) -> set[str]:
    """Return the features of the row that some member looks at."""
    found: set[str] = set()
    for member in members:
        if how := member["standardized"]:
            found.update(how["features"], how["beyond"])
            continue
        for part in member["scores"]:
            found.update(part["coefficients"])
        if member["anticipated"]:
            found.update(member["anticipated"]["features"])
    return found


def _columns(graph: Graph, kept: Mapping[str, Any], used: set[str]) -> Seen:
    """Return the features that columns of a table have."""
    double = graph.onnx.TensorProto.DOUBLE
    found, names = [], []
    for column in kept["numeric"]:
        values, missing = graph.input(column, texts=False), f"{column}=missing"
        absent = graph.node("IsNaN", values)
        there = graph.node("Where", absent, graph.constant([0.0]), values)
        found += [graph.node("Cast", one, to=double) for one in (there, absent)]
        names += [column, missing]
    for column in kept["categorical"]:
        prefix = f"{column}="
        own = sorted(name for name in used if name.startswith(prefix))
        if own:
            chosen = graph.node(
                "OneHotEncoder",
                graph.input(column, texts=True),
                domain="ai.onnx.ml",
                cats_strings=[name.removeprefix(prefix) for name in own],
                zeros=1,
            )
            flat = graph.node("Reshape", chosen, graph.constant([-1, len(own)], np.int64))
            found.append(graph.node("Cast", flat, to=double))
            names += own
    if not found:
        raise ValueError("no feature has a weight, and the ONNX file would have no input")
    return Seen(graph.node("Concat", *found, axis=1), names)


def _numbered(graph: Graph, kept: Mapping[str, Any], used: set[str]) -> Seen:
    """Return the features of a file that numbers them."""
    first = kept["first_index"]
    names = [str(k) for k in range(first, max(map(int, used), default=first) + 1)]
    features = graph.input("features", texts=False, width=len(names))
    return Seen(graph.node("Cast", features, to=graph.onnx.TensorProto.DOUBLE), names)


def _within(graph: Graph, values: str, low: float | None, high: float | None) -> str:
    if low is not None:
        values = graph.node("Max", values, graph.doubles([low]))
    return values if high is None else graph.node("Min", values, graph.doubles([high]))


def _member(graph: Graph, member: Mapping[str, Any], seen: Seen) -> str:
    """Return the scores of a member, a column a score."""
    if how := member["standardized"]:
        seen = _standardized(graph, how, seen)
    parts = member["scores"]
    table = np.zeros((len(seen.names), len(parts)))
    for k, part in enumerate(parts):
        table[seen.places(list(part["coefficients"])), k] = list(part["coefficients"].values())
    intercepts = graph.doubles([[member["offset"] + part["intercept"] for part in parts]])
    scores = graph.node("Add", graph.node("MatMul", seen.matrix, graph.doubles(table)), intercepts)
    if member["anticipated"]:
        scores = _anticipated(graph, member["anticipated"], seen, scores)
    return _within(graph, scores, *member["range"])


def _standardized(graph: Graph, how: Mapping[str, Any], seen: Seen) -> Seen:
    """Return the features centred and scaled, 0 in rows that are too wide."""
    if not how["features"]:
        # One column of zeros: the number of rows is that of the input.
        nothing = graph.node("Mul", graph.chosen(seen.matrix, [0]), graph.doubles([[0.0]]))
        return Seen(nothing, [""])
    values = graph.chosen(seen.matrix, seen.places(how["features"]))
    for part in ("shift", "mean"):
        values = graph.node("Sub", values, graph.doubles([how[part]]))
    values = graph.node("Div", values, graph.doubles([how["spread"]]))
    size = graph.node("Min", graph.node("Abs", values), graph.doubles([how["bound"]]))
    limit, one = graph.doubles([how["limit"]]), graph.doubles([1.0])
    over = graph.node("Max", graph.node("Sub", size, limit), graph.doubles([0.0]))
    squashed = graph.node("Log", graph.node("Add", over, one))
    size = graph.node("Add", graph.node("Min", size, limit), squashed)
    values = graph.node("Mul", graph.node("Sign", values), size)
    beyond = seen.places(how["beyond"])
    if how["last"] is not None:
        beyond = [k for k, name in enumerate(seen.names) if int(name) > how["last"]]
    if beyond:
        values = graph.node("Mul", values, graph.node("Sub", one, _too_wide(graph, seen, beyond)))
    return Seen(values, how["features"])


def _too_wide(graph: Graph, seen: Seen, beyond: list[int]) -> str:
    """Return a column of 1 for rows with one of these features, and of 0 for others."""
    sizes = graph.total(graph.node("Abs", graph.chosen(seen.matrix, beyond)))
    return graph.node("Sign", sizes)


def _anticipated(graph: Graph, how: Mapping[str, Any], seen: Seen, raw: str) -> str:
    """Return predictions that are ready for the label 0, or for both labels of a class."""
    root = np.zeros((len(how["root"]), 1 + len(how["features"])))
    for row, given in zip(root, how["root"], strict=True):
        row[: len(given)] = given
    along = graph.doubles([root[:, 0]])
    if how["features"]:
        values = graph.chosen(seen.matrix, seen.places(how["features"]))
        products = graph.node("MatMul", values, graph.doubles(root[:, 1:].T))
        along = graph.node("Add", products, along)
    length = graph.total(graph.node("Mul", along, along))
    one, half = graph.doubles([1.0]), graph.doubles([0.5])
    if how["label"] == "0":
        twice = graph.node("Add", length, length)
        return graph.node("Div", raw, graph.node("Add", one, twice))
    far, bent = graph.node("Abs", raw), graph.node("Mul", half, length)
    p = graph.node("Div", far, graph.node("Add", one, bent))
    for _ in range(STEPS):
        tangent = graph.node("Tanh", graph.node("Mul", half, p))
        steep = graph.node("Sub", one, graph.node("Mul", tangent, tangent))
        slope = graph.node("Add", one, graph.node("Mul", bent, steep))
        lacking = graph.node("Sub", far, graph.node("Add", p, graph.node("Mul", length, tangent)))
        p = graph.node("Add", p, graph.node("Div", lacking, slope))
    return graph.node("Mul", graph.node("Sign", raw), p)


def _mean(graph: Graph, shares: list[float], table: list[str], width: int) -> str:
    """Return the mean of the members' scores by their shares."""
    parts = [
        graph.node("Mul", scores, graph.doubles([share]))
        for share, scores in zip(shares, table, strict=True)
    ]
    return graph.node("Sum", *parts)


def _mean_probability(graph: Graph, shares: list[float], table: list[str], width: int) -> str:
    """Return the logarithms of the mean probabilities, of two classes the log-odds."""
    axis, levels = graph.constant([1], np.int64), []
    for share, scores in zip(shares, table, strict=True):
        if width == 1:
            nothing = graph.node("Mul", scores, graph.doubles([0.0]))
            scores = graph.node("Concat", nothing, scores, axis=1)
        logs = graph.node("LogSoftmax", scores, axis=1)
        logs = graph.node("Add", logs, graph.doubles([np.log(share)]))
        levels.append(graph.node("Unsqueeze", logs, axis))
    every = graph.node("Concat", *levels, axis=1)
    top = graph.node("ReduceMax", every, axes=[1], keepdims=1)
    apart = graph.node("Exp", graph.node("Sub", every, top))
    total = graph.node("Add", graph.node("Log", graph.total(apart)), top)
    mixed = graph.node("Squeeze", total, axis)
    if width > 1:
        return mixed
    return graph.node("Sub", graph.chosen(mixed, [1]), graph.chosen(mixed, [0]))
