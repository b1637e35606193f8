"""Whom a learner is compared with afterwards: the best expert, the best sequence of experts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import as_count
from noregret.experts.checks import LARGEST, as_table, require_within

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


def _table(name: str, values: Any) -> Matrix:
    table = as_table(name, values)
    require_within(name, table, -LARGEST, LARGEST)
    if not table.size:
        raise ValueError(f"{name} must have rounds and experts, got the shape {table.shape}")
    return table


def best_expert(costs: Any) -> tuple[int, float]:
    """Return the expert that cost least over all rows, the first of them, and its cost.

    >>> best_expert([[0.5, 0, 1], [1, 0.25, 0]])
    (1, 0.25)
    """
    table = _table("costs", costs)
    totals = [math.fsum(column) for column in table.T]
    best = int(np.argmin(totals))
    return best, totals[best]


@dataclass(frozen=True, eq=False)
class Sequences:
    """The best sequences of experts: `costs[k]` with at most k switches, `path` for the most."""

    costs: Vector
    path: npt.NDArray[np.int64]


def best_sequence(costs: Any, switches: int) -> Sequences:
    """Return the least cost of a sequence of experts with at most k switches, k = 0 ... switches.

    V_k(t, i) = z_(t,i) + min(V_k(t-1, i), min_j V_(k-1)(t-1, j)), exact but for the rounding of its
    sums; O(T d) time for each k.

    >>> costs = [[0.5, 0, 1], [1, 0.25, 0], [0, 1, 0.5], [0.75, 0.5, 0]]
    >>> found = best_sequence(costs, 3)
    >>> found.costs, found.path
    (array([1.5 , 0.5 , 0.25, 0.  ]), array([1, 2, 0, 2]))
    """
    table = _table("costs", costs)
    rounds, count = table.shape
    levels = as_count("switches", switches, least=0) + 1
    # The cost so far by switches allowed and last expert.
    value = np.repeat(table[:1], levels, axis=0)
    switched = np.zeros((rounds, levels, count), np.bool_)
    leader = np.zeros((rounds, levels), np.int64)
    for t in range(1, rounds):
        leader[t] = value.argmin(axis=1)
        least = value[np.arange(levels), leader[t]]
        fresh = np.concatenate([[math.inf], least[:-1]])[:, None]
        switched[t] = fresh < value
        value = np.minimum(value, fresh) + table[t]
    path = np.empty(rounds, np.int64)
    level, expert = levels - 1, int(value[-1].argmin())
    for t in range(rounds - 1, -1, -1):
        path[t] = expert
        if switched[t, level, expert]:
            level -= 1
            expert = int(leader[t, level])
    return Sequences(value.min(axis=1), path)
