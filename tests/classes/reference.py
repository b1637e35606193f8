"""Definitions written out, without memory or pruning, for classes small enough."""

from __future__ import annotations

import itertools
import math

import numpy as np


def random_table(rng: np.random.Generator, most_rows: int = 10, most_points: int = 6) -> np.ndarray:
    shape = (int(rng.integers(1, most_rows + 1)), int(rng.integers(1, most_points + 1)))
    return (rng.random(shape) < rng.uniform(0.1, 0.9)).astype(np.uint8)


def littlestone(rows: list[tuple[int, ...]]) -> int:
    """The recursion of the definition, on lists of rows."""
    rows = sorted(set(rows))
    if not rows:
        return -1
    best = 0
    for x in range(len(rows[0])):
        halves = [[row for row in rows if row[x] == y] for y in (0, 1)]
        if all(halves):
            best = max(best, 1 + min(littlestone(half) for half in halves))
    return best


def deepest_tree(rows: list[tuple[int, ...]]) -> int:
    """The definition itself: try all trees of points, all labellings of each."""
    distinct = sorted(set(rows))
    depth = 0
    while 1 << (depth + 1) <= len(distinct) and _some_tree(distinct, depth + 1):
        depth += 1
    return depth


def _some_tree(rows: list[tuple[int, ...]], depth: int) -> bool:
    points = range(len(rows[0]))
    for nodes in itertools.product(points, repeat=(1 << depth) - 1):
        realised = set()
        for row in rows:
            node, labels = 1, []
            for _ in range(depth):
                labels.append(row[nodes[node - 1]])
                node = 2 * node + labels[-1]
            realised.add(tuple(labels))
        if len(realised) == 1 << depth:
            return True
    return False


def vc(rows: list[tuple[int, ...]]) -> int:
    best = 0
    for k in range(1, len(rows[0]) + 1):
        for points in itertools.combinations(range(len(rows[0])), k):
            if len({tuple(row[x] for x in points) for row in rows}) == 1 << k:
                best = k
    return best


def weighted_majority(
    outputs: np.ndarray, labels: list[int], eta: float
) -> tuple[np.ndarray, float]:
    """Probabilities of label 1 and loss of Weighted Majority, experts written out as rows."""
    logs = np.zeros(len(outputs))
    said = []
    for t, y in enumerate(labels):
        weights = np.exp(logs - logs.max())
        said.append(float(weights @ outputs[:, t] / weights.sum()))
        logs -= eta * (outputs[:, t] != y)
    return np.array(said), math.fsum(abs(p - y) for p, y in zip(said, labels, strict=True))


def lists_as_experts(k: int, clicks: list[int], eta: float) -> list[float]:
    """Expected positions of the clicks, all k! lists written out."""
    places = np.array([np.argsort(order) for order in itertools.permutations(range(k))])
    logs = np.zeros(len(places))
    result = []
    for item in clicks:
        weights = np.exp(logs - logs.max())
        result.append(1.0 + float(weights @ places[:, item] / weights.sum()))
        logs -= eta * places[:, item] / max(k - 1, 1)
    return result
